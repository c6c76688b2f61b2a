{{- define "sliced.labels" -}}
app.kubernetes.io/name: sliced
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "sliced.selector" -}}
app.kubernetes.io/name: sliced
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: daemon
{{- end }}

{{- define "sliced.tlsSecret" -}}
{{ .Values.tls.existingSecret | default "sliced-tls" }}
{{- end }}

{{- define "sliced.clientSecret" -}}
{{ .Values.tls.clientSecret | default "sliced-client" }}
{{- end }}

{{- define "sliced.scheduler.selector" -}}
app.kubernetes.io/name: sliced
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: scheduler
{{- end }}

{{- define "sliced.service" -}}
sliced.{{ .Release.Namespace }}.svc
{{- end }}

{{- /* The port of config.telemetry.url; empty when nothing is measured. */}}
{{- define "sliced.telemetryPort" -}}
{{- with dig "telemetry" "url" "" .Values.config }}
{{- $url := urlParse . }}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (eq $url.scheme "https" | ternary 443 80) }}
{{- end }}
{{- end }}

{{- define "sliced.daemonConfig" -}}
apiVersion: sliced.dev/v1alpha1
kind: SlicedConfiguration
server:
  # a port for each kind of callers; the API is on 127.0.0.1:8888, for kubectl port-forward
  listen: 0.0.0.0:8443
  {{- if eq (include "sliced.gate" .) "webhook" }}
  webhookListen: 0.0.0.0:8444
  {{- end }}
  {{- if include "sliced.visibility" . }}
  visibilityListen: 0.0.0.0:8445
  {{- end }}
  probeListen: 0.0.0.0:8081
  metricsListen: 0.0.0.0:9090
  tls:
    certFile: /etc/sliced/tls/tls.crt
    keyFile: /etc/sliced/tls/tls.key
    clientCAFile: /etc/sliced/clients/ca.crt
    clients: {{- range .Values.tls.clientNames }}
    - name: {{ . | quote }}
    {{- end }}
leaderElection:
  enabled: true
  namespace: {{ .Release.Namespace | quote }}
  name: sliced
queue:
  enabled: {{ .Values.queue.enabled }}
  gate: {{ include "sliced.gate" . }}
  schedulerName: {{ .Values.scheduler.name | quote }}
  daemonSetUser: {{ .Values.queue.daemonSetUser | quote }}
  {{- with .Values.queue.daemonSetNamespaces }}
  daemonSets:
  {{- range . }}
  - namespace: {{ . | quote }}
  {{- end }}
  {{- end }}
{{- if .Values.gpushare.unhealthyGpus }}
gpushare:
  unhealthyGpus: true
  namespace: {{ .Values.gpushare.namespace | quote }}
{{- end }}
log:
  format: json
{{- end }}

{{- /* What is in the TLS Secret that the chart makes; the same wherever it is asked for. */}}
{{- define "sliced.tls" -}}
{{- if not (hasKey .Values "tlsData") }}
{{- $old := lookup "v1" "Secret" .Release.Namespace "sliced-tls" }}
{{- if $old }}
{{- /* an upgrade keeps the certificate: kube-scheduler trusts it */}}
{{- $_ := set .Values "tlsData" (pick $old.data "ca.crt" "tls.crt" "tls.key") }}
{{- else }}
{{- /* ecdsa: a stranger's handshake costs the daemon a tenth of what it does with RSA */}}
{{- $ca := genCAWithKey "sliced-ca" 3650 (genPrivateKey "ecdsa") }}
{{- $name := include "sliced.service" . }}
{{- $names := list $name (printf "%s.cluster.local" $name) }}
{{- $cert := genSignedCertWithKey $name nil $names 3650 $ca (genPrivateKey "ecdsa") }}
{{- $_ := set .Values "tlsData" (dict "ca.crt" (b64enc $ca.Cert) "tls.crt" (b64enc $cert.Cert) "tls.key" (b64enc $cert.Key)) }}
{{- end }}
{{- end }}
{{- toYaml .Values.tlsData }}
{{- end }}

{{- /* What is in the Secret by which kube-scheduler shows who it is. Its authority signs nothing else,
so that no certificate of another use is one to call with; nobody keeps its key. An upgrade keeps it
while its name is the one that is wanted. */}}
{{- define "sliced.client" -}}
{{- $old := lookup "v1" "Secret" .Release.Namespace "sliced-client" }}
{{- $name := first .Values.tls.clientNames }}
{{- if and $old (eq (dig "metadata" "annotations" "sliced.dev/client-name" "" $old) $name) }}
{{- pick $old.data "ca.crt" "tls.crt" "tls.key" | toYaml }}
{{- else }}
{{- $ca := genCAWithKey "sliced-client-ca" 3650 (genPrivateKey "ecdsa") }}
{{- $cert := genSignedCertWithKey $name nil nil 3650 $ca (genPrivateKey "ecdsa") }}
{{- dict "ca.crt" (b64enc $ca.Cert) "tls.crt" (b64enc $cert.Cert) "tls.key" (b64enc $cert.Key) | toYaml }}
{{- end }}
{{- end }}

{{- /* The authority by which the API server checks the webhook; empty when it is not known. */}}
{{- define "sliced.caBundle" -}}
{{- if .Values.queue.caBundle }}
{{- .Values.queue.caBundle }}
{{- else if .Values.tls.existingSecret }}
{{- with lookup "v1" "Secret" .Release.Namespace .Values.tls.existingSecret }}
{{- index .data "ca.crt" }}
{{- end }}
{{- else }}
{{- index (include "sliced.tls" . | fromYaml) "ca.crt" }}
{{- end }}
{{- end }}

{{- /* Is visibility.sliced.dev there? The API server must know the certificate's authority. */}}
{{- define "sliced.visibility" -}}
{{- if and .Values.visibility.enabled (include "sliced.caBundle" .) }}yes{{ end }}
{{- end }}

{{- /* How pods get the gate: policy, webhook or none. */}}
{{- define "sliced.gate" -}}
{{- if not .Values.queue.enabled }}none
{{- else if .Values.queue.gate }}{{ .Values.queue.gate }}
{{- else if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}policy
{{- else if include "sliced.caBundle" . }}webhook
{{- else }}none
{{- end }}
{{- end }}

{{- /* Is the guard of the gate and of sliced's annotations there? Kubernetes 1.30 has what it needs. */}}
{{- define "sliced.guard" -}}
{{- if and .Values.guard.enabled (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) }}yes{{ end }}
{{- end }}

{{- define "sliced.guard.others" -}}
- name: not-by-sliced-or-a-node
  expression: >-
    request.userInfo.username != 'system:serviceaccount:{{ .Release.Namespace }}:sliced' &&
    !(has(request.userInfo.groups) && 'system:nodes' in request.userInfo.groups)
{{- end }}

{{- define "sliced.gate.rules" -}}
- apiGroups: [""]
  apiVersions: [v1]
  resources: [pods]
  operations: [CREATE]
{{- end }}

{{- /* Never where Kubernetes' own pods and ours are. */}}
{{- define "sliced.namespaces" -}}
matchExpressions:
- {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, {{ .Release.Namespace }}]}
{{- end }}

{{- define "sliced.gate.namespaces" -}}
{{ include "sliced.namespaces" . }}
{{- with .Values.queue.namespaceSelector.matchExpressions }}
{{ toYaml . }}
{{- end }}
{{- with .Values.queue.namespaceSelector.matchLabels }}
matchLabels: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sliced.daemonSetNamespaces" -}}
['kube-system'{{ range .Values.queue.daemonSetNamespaces }}, '{{ . }}'{{ end }}]
{{- end }}

{{- /* Which pods: those that the queue will see as waiting, and whose gate it will open. */}}
{{- define "sliced.gate.conditions" -}}
- name: of-our-scheduler
  expression: object.spec.schedulerName == '{{ .Values.scheduler.name }}'
- name: not-placed
  # the API server refuses a gate on a pod that has a node
  expression: "!has(object.spec.nodeName) || object.spec.nodeName == ''"
- name: not-of-a-daemonset
  # anybody may name one as a pod's owner: it counts where, and from whom, it is believed
  expression: >-
    request.userInfo.username != '{{ .Values.queue.daemonSetUser }}' ||
    !({{ include "sliced.daemonSetNamespaces" . }}.exists(n, n == request.namespace)) ||
    !has(object.metadata.ownerReferences) ||
    !object.metadata.ownerReferences.exists(o, o.apiVersion.startsWith('apps/') &&
    o.kind == 'DaemonSet' && has(o.controller) && o.controller)
- name: not-gated
  expression: >-
    !has(object.spec.schedulingGates) ||
    !object.spec.schedulingGates.exists(g, g.name == 'sliced.dev/queue')
- name: asks-for-gpus
  expression: |-
    (object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))
    .filter(c, has(c.resources)).map(c, c.resources)
    .exists(r, ((has(r.limits) ? [r.limits] : []) + (has(r.requests) ? [r.requests] : []))
    .exists(m, m.exists(name, m[name] != '0' && name in [
      {{- range $i, $name := .Values.managedResources }}
      {{- if $i }},{{ end }}
      '{{ $name }}'
      {{- end }}
    ])))
{{- end }}

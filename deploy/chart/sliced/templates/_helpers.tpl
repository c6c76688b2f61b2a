{{- /* What every object's name begins with. */}}
{{- define "sliced.name" -}}
{{ .Values.nameOverride | default "sliced" }}
{{- end }}

{{- define "sliced.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "sliced.name" .) }}
{{- end }}

{{- /* The profile's schedulerName. A scheduler of your own has one already: the guards ask for it. */}}
{{- define "sliced.schedulerName" -}}
{{ .Values.scheduler.name | default "sliced-scheduler" }}
{{- end }}

{{- define "sliced.labels" -}}
app.kubernetes.io/name: {{ include "sliced.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "sliced.monitoring.labels" -}}
{{- include "sliced.labels" . }}
{{- with .Values.monitoring.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sliced.monitoring.endpoint" -}}
port: metrics
interval: {{ .Values.monitoring.interval }}
{{- if .Values.monitoring.https }}
scheme: https
tlsConfig:
  serverName: {{ include "sliced.service" . }}
  ca: {secret: {name: {{ include "sliced.tlsSecret" . }}, key: ca.crt}}
{{- with .Values.monitoring.clientSecret }}
  cert: {secret: {name: {{ . }}, key: tls.crt}}
  keySecret: {name: {{ . }}, key: tls.key}
{{- end }}
{{- with .Values.monitoring.tokenSecret }}
authorization:
  credentials: {name: {{ . }}, key: token}
{{- end }}
{{- end }}
{{- end }}

{{- define "sliced.selector" -}}
app.kubernetes.io/name: {{ include "sliced.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: daemon
{{- end }}

{{- define "sliced.tlsSecret" -}}
{{ .Values.tls.existingSecret | default (printf "%s-tls" (include "sliced.name" .)) }}
{{- end }}

{{- define "sliced.clientSecret" -}}
{{ .Values.tls.clientSecret | default (printf "%s-client" (include "sliced.name" .)) }}
{{- end }}

{{- define "sliced.scheduler.selector" -}}
app.kubernetes.io/name: {{ include "sliced.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: scheduler
{{- end }}

{{- define "sliced.service" -}}
{{ include "sliced.name" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- /* The port of config.telemetry.url, or of the exporters; empty when nothing is measured. */}}
{{- define "sliced.telemetryPort" -}}
{{- with dig "telemetry" "url" "" .Values.config | default (dig "telemetry" "exporters" "" .Values.config) }}
{{- $url := urlParse (regexReplaceAll "[{][a-z]+[}]" . "node") }}
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
  {{- if .Values.visibility.enabled }}
  visibilityListen: 0.0.0.0:8445
  {{- end }}
  probeListen: 0.0.0.0:8081
  metricsListen: 0.0.0.0:9090
  {{- if .Values.monitoring.https }}
  metricsTls: true
  {{- if .Values.monitoring.tokenSecret }}
  metricsTokenFile: /etc/sliced/metrics/token
  {{- end }}
  {{- if .Values.monitoring.clientSecret }}
  metricsClientCAFile: /etc/sliced/metrics-clients/ca.crt
  metricsClients: {{- range .Values.monitoring.clientNames }}
  - name: {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- end }}
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
  name: {{ include "sliced.name" . }}
queue:
  enabled: {{ .Values.queue.enabled }}
  gate: {{ include "sliced.gate" . }}
  schedulerName: {{ include "sliced.schedulerName" . | quote }}
  daemonSetUser: {{ .Values.queue.daemonSetUser | quote }}
  {{- if ne (int .Values.scheduler.percentageOfNodesToScore) 100 }}
  nominateFrom: 101 # kube-scheduler looks for 100 nodes at least; of more it may pass over the nominated one
  {{- end }}
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

{{- /* The daemon's configuration: what the chart sets, under what the values say. */}}
{{- define "sliced.config" -}}
{{ mergeOverwrite (include "sliced.daemonConfig" . | fromYaml) .Values.config | toYaml }}
{{- end }}

{{- define "sliced.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The port of an address of the configuration: (list . "probeListen"). */}}
{{- define "sliced.port" -}}
{{- $server := (include "sliced.config" (index . 0) | fromYaml).server }}
{{- regexFind "[0-9]+$" (index $server (index . 1)) }}
{{- end }}

{{- /* The addresses that have a port in the pod, by the port's name. */}}
{{- define "sliced.listens" -}}
https: listen
{{- if eq (include "sliced.gate" .) "webhook" }}
webhook: webhookListen
{{- end }}
{{- if .Values.visibility.enabled }}
visibility: visibilityListen
{{- end }}
probes: probeListen
metrics: metricsListen
{{- end }}

{{- /* Keys of config that follow from other values, or from what the chart mounts and permits, with what to
say instead. Those of the schema are of the same kind. */}}
{{- define "sliced.ofChart" -}}
server.tls: the chart mounts the certificates, see tls.existingSecret, tls.clientSecret and tls.clientNames
server.insecure: kube-scheduler has a certificate, nobody needs to call without one
leaderElection.namespace: the daemon may write the lease in the release's namespace alone
extender.pathPrefix: the scheduler's configuration of the chart has the verbs at /scheduler
extender.filterVerb: the scheduler's configuration of the chart names it filter
extender.prioritizeVerb: the scheduler's configuration of the chart names it prioritize
extender.bindVerb: the scheduler's configuration of the chart names it bind
extender.preemptVerb: the scheduler's configuration of the chart names it preempt
kubernetes.kubeconfig: the daemon has its service account
kubernetes.context: the daemon has its service account
gpushare.unhealthyGpus: set gpushare.unhealthyGpus, which gives the rights too
gpushare.namespace: set gpushare.namespace, which gives the rights too
{{- end }}

{{- /* A duration, such as 1m30s or 1.5s, in milliseconds. */}}
{{- define "sliced.milliseconds" -}}
{{- $of := dict "ns" 1e-6 "us" 1e-3 "µs" 1e-3 "ms" 1 "s" 1000 "m" 60000 "h" 3600000 }}
{{- $sum := 0.0 }}
{{- range regexFindAll "[0-9.]+[a-zµ]+" . -1 }}
{{- $number := regexFind "^[0-9.]+" . }}
{{- $sum = addf $sum (mulf $number (get $of (trimPrefix $number .))) }}
{{- end }}
{{- int64 $sum }}
{{- end }}

{{- /* What contradicts another value, or what the chart itself does. */}}
{{- define "sliced.check.config" -}}
{{- range $path, $instead := include "sliced.ofChart" . | fromYaml }}
{{- $at := splitList "." $path }}
{{- if hasKey (get $.Values.config (first $at) | default dict) (last $at) }}
{{- fail (printf "config.%s: leave it out, %s" $path $instead) }}
{{- end }}
{{- end }}
{{- range $each := .Values.extraArgs }}
{{- if regexMatch "^--(config|cluster|listen|pod|check-config|print-config.*|version|help)(=|$)" $each }}
{{- fail (printf "extraArgs: %s is the chart's own; the configuration is under config" $each) }}
{{- end }}
{{- end }}
{{- range $each := .Values.scheduler.extraArgs }}
{{- if regexMatch "^--(config|secure-port)(=|$)" $each }}
{{- fail (printf "scheduler.extraArgs: %s is the chart's own; the configuration follows from scheduler" $each) }}
{{- end }}
{{- end }}
{{- range .Values.env }}
{{- if eq .name "POD_NAME" }}
{{- fail "env: POD_NAME is the chart's own; by it the leader finds its pod" }}
{{- end }}
{{- end }}
{{- if and (dig "partitioning" "enabled" false .Values.config) (not .Values.queue.enabled) }}
{{- fail "config.partitioning.enabled: GPUs are cut for pods of the queue, set queue.enabled to true" }}
{{- end }}
{{- $tenants := .Values.config.tenants | default dict }}
{{- if and (or $tenants.namespaceLabel $tenants.shares $tenants.namespaces) (not .Values.queue.enabled) }}
{{- fail "config.tenants: tenants share what the queue gives, set queue.enabled to true" }}
{{- end }}
{{- $bind := dig "kubernetes" "bindTimeout" "4s" .Values.config }}
{{- $call := .Values.scheduler.httpTimeout }}
{{- if le (int64 (include "sliced.milliseconds" $call)) (int64 (include "sliced.milliseconds" $bind)) }}
{{- fail (printf "scheduler.httpTimeout: found %s, expected more than config.kubernetes.bindTimeout, %s: the scheduler would give up before a binding ends" $call $bind) }}
{{- end }}
{{- $stop := dig "server" "shutdownTimeout" "10s" .Values.config }}
{{- if ge (add (int64 (include "sliced.milliseconds" (toString $stop))) (mul 1000 (int $.Values.handoverSeconds))) (mul 1000 (int (include "sliced.graceSeconds" $))) }}
{{- fail (printf "config.server.shutdownTimeout: %s and handoverSeconds, %d, are more than the %s s that a pod has to end" (toString $stop) (int $.Values.handoverSeconds) (include "sliced.graceSeconds" $)) }}
{{- end }}
{{- if and .Values.tls.certManager.issuerRef (not .Values.tls.certManager.enabled) }}
{{- fail "tls.certManager.issuerRef: set tls.certManager.enabled" }}
{{- end }}
{{- end }}

{{- /* Each certificate has a Secret of its own: whoever gets another's key can do what the other may. */}}
{{- define "sliced.check.secrets" -}}
{{- $tls := include "sliced.tlsSecret" . }}
{{- $client := include "sliced.clientSecret" . }}
{{- if eq $tls $client }}
{{- fail (printf "tls: %s would be the daemon's certificate and kube-scheduler's; whatever that authority signed could call the verbs, use one that signs nothing else" $tls) }}
{{- end }}
{{- if has .Values.monitoring.clientSecret (list $tls $client) }}
{{- fail (printf "monitoring.clientSecret: %s is %s; Prometheus would get the key, give it a certificate of its own" .Values.monitoring.clientSecret (eq .Values.monitoring.clientSecret $tls | ternary "the daemon's" "kube-scheduler's")) }}
{{- end }}
{{- with .Values.queue.caBundle }}
{{- if not (contains "-----BEGIN CERTIFICATE-----" (b64dec .)) }}
{{- fail "queue.caBundle: expected certificates in PEM, in base64 once, as base64 -w0 makes it of ca.crt" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* How long a pod has to end: handoverSeconds, then requests in flight. */}}
{{- define "sliced.graceSeconds" -}}
40
{{- end }}

{{- /* Refuses what cannot work, before anything is installed. */}}
{{- define "sliced.check" -}}
{{- include "sliced.check.config" . }}
{{- include "sliced.check.secrets" . }}
{{- $config := include "sliced.config" . | fromYaml }}
{{- if and (not $config.leaderElection.enabled) (gt (int .Values.replicas) 1) }}
{{- fail (printf "config.leaderElection.enabled false: each of %d replicas would give devices without asking the others, set replicas to 1" (int .Values.replicas)) }}
{{- end }}
{{- if and (eq .Values.scheduler.mode "second") $config.leaderElection.enabled (eq $config.leaderElection.name (include "sliced.schedulerName" .)) }}
{{- fail (printf "scheduler.name: the second scheduler and sliced would both lead by the lease %s; name the scheduler otherwise, or the lease (config.leaderElection.name)" $config.leaderElection.name) }}
{{- end }}
{{- if and $config.server.visibilityListen (not .Values.visibility.enabled) }}
{{- fail "config.server.visibilityListen: set visibility.enabled, which gives the rights too" }}
{{- end }}
{{- if not (or .Values.guard.otherSchedulers (include "sliced.guard" .)) }}
{{- fail (printf "guard.otherSchedulers false: nobody would refuse such pods, %s" (ternary "guard.enabled needs Kubernetes 1.30" "set guard.enabled" .Values.guard.enabled)) }}
{{- end }}
{{- if .Values.guard.devices.void }}
{{- if not (and (include "sliced.guard" .) .Values.guard.devices.enabled) }}
{{- fail "guard.devices.void: set guard.enabled and guard.devices.enabled, else pods would take the variable off again" }}
{{- end }}
{{- if not (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") }}
{{- fail "guard.devices.void: needs MutatingAdmissionPolicy, which Kubernetes has since 1.36" }}
{{- end }}
{{- end }}
{{- $seen := dict }}
{{- range $port, $key := include "sliced.listens" . | fromYaml }}
{{- $address := index $config.server $key }}
{{- $number := regexFind "[0-9]+$" $address }}
{{- if or (not $number) (eq $number "0") (gt (int $number) 65535) (regexMatch "^(127[.]|localhost:|.::1.:)" $address) }}
{{- fail (printf "config.server.%s: found \"%s\", expected an address that other pods reach, with a port of its own, as 0.0.0.0:8443" $key $address) }}
{{- end }}
{{- if hasKey $seen $number }}
{{- fail (printf "config.server.%s: port %s is that of config.server.%s too" $key $number (index $seen $number)) }}
{{- end }}
{{- $_ := set $seen $number $key }}
{{- end }}
{{- if and (eq .Values.scheduler.mode "config") (not .Values.scheduler.name) }}
{{- fail "scheduler.mode config: set scheduler.name to the schedulerName of your scheduler's profile, such as default-scheduler" }}
{{- end }}
{{- if and (eq .Values.scheduler.mode "second") (eq .Values.scheduler.name "default-scheduler") }}
{{- fail "scheduler.name: default-scheduler is the cluster's own; a second scheduler of that name would bind the same pods. Name it otherwise, or set scheduler.mode to config" }}
{{- end }}
{{- $first := first .Values.tls.clientNames }}
{{- if and (has (include "sliced.clientSecret" .) (include "sliced.certs.made" . | fromYamlArray)) (gt (len $first) 64) }}
{{- fail (printf "tls.clientNames: \"%s\" is longer than a certificate's common name may be, 64 characters" $first) }}
{{- end }}
{{- if .Values.queue.assignScheduler }}
{{- if ne .Values.scheduler.mode "second" }}
{{- fail "queue.assignScheduler: with scheduler.mode config there is no second scheduler to give pods to; they name yours, or none" }}
{{- end }}
{{- if eq (include "sliced.gate" .) "none" }}
{{- fail "queue.assignScheduler: who puts the gate on pods gives them their scheduler; set queue.enabled to true, and queue.gate to policy or webhook" }}
{{- end }}
{{- end }}
{{- if and .Values.monitoring.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.metricsFrom) }}
{{- fail "monitoring.enabled: networkPolicy.metricsFrom lets nobody read the metrics, say where Prometheus is, as [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]" }}
{{- end }}
{{- if and .Values.monitoring.tokenSecret (not .Values.monitoring.https) }}
{{- fail "monitoring.tokenSecret: set monitoring.https, by plain HTTP everybody on the way reads the token" }}
{{- end }}
{{- if and .Values.monitoring.clientSecret (not .Values.monitoring.https) }}
{{- fail "monitoring.clientSecret: set monitoring.https, by plain HTTP nobody shows a certificate" }}
{{- end }}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- fail "serviceAccount.create false: set serviceAccount.name to the one that is there" }}
{{- end }}
{{- range $key, $path := $config.telemetry }}
{{- if and (hasSuffix "File" $key) (hasPrefix "/etc/sliced/telemetry/" $path) (not $.Values.telemetry.secret) }}
{{- fail (printf "config.telemetry.%s: set telemetry.secret to the Secret that has %s" $key (base $path)) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Which of the certificates the chart's Job makes: those of nobody else. */}}
{{- define "sliced.certs.made" -}}
{{- if not .Values.tls.certManager.enabled }}
{{- if not .Values.tls.existingSecret }}
- {{ include "sliced.tlsSecret" . }}
{{- end }}
{{- if not .Values.tls.clientSecret }}
- {{ include "sliced.clientSecret" . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* By whom webhook and APIService are told whom to trust: "values", "cert-manager" or "job". */}}
{{- define "sliced.trust" -}}
{{- if .Values.queue.caBundle }}values
{{- else if and .Values.tls.certManager.enabled (not .Values.tls.existingSecret) }}cert-manager
{{- else }}job
{{- end }}
{{- end }}

{{- /* What that Job does: arguments of sliced certs; none where others do it all. */}}
{{- define "sliced.certs.args" -}}
{{- $made := include "sliced.certs.made" . | fromYamlArray }}
{{- $tls := include "sliced.tlsSecret" . }}
{{- $trust := list }}
{{- if eq (include "sliced.trust" .) "job" }}
{{- if eq (include "sliced.gate" .) "webhook" }}
{{- $trust = append $trust (printf "--webhook=%s-queue" (include "sliced.name" .)) }}
{{- end }}
{{- if .Values.visibility.enabled }}
{{- $trust = append $trust "--api-service=v1alpha1.visibility.sliced.dev" }}
{{- end }}
{{- end }}
{{- if or $made $trust }}
- certs
- --namespace={{ .Release.Namespace }}
{{- if or $trust (has $tls $made) }}
- --server={{ $tls }}
{{- end }}
{{- if has $tls $made }}
- --service={{ include "sliced.name" . }}
{{- end }}
{{- if has (include "sliced.clientSecret" .) $made }}
- --client={{ include "sliced.clientSecret" . }}
- {{ printf "--client-name=%s" (first .Values.tls.clientNames) | quote }}
{{- end }}
{{- range $trust }}
- {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* How pods get the gate: policy, webhook or none. */}}
{{- define "sliced.gate" -}}
{{- if not .Values.queue.enabled }}none
{{- else if .Values.queue.gate }}{{ .Values.queue.gate }}
{{- else if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}policy
{{- else }}webhook
{{- end }}
{{- end }}

{{- /* Is the guard of the gate and of sliced's annotations there? Kubernetes 1.30 has what it needs. */}}
{{- define "sliced.guard" -}}
{{- if and .Values.guard.enabled (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) }}yes{{ end }}
{{- end }}

{{- define "sliced.guard.others" -}}
- name: not-by-sliced-or-a-node
  expression: >-
    request.userInfo.username != 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "sliced.serviceAccount" . }}' &&
    !(has(request.userInfo.groups) && 'system:nodes' in request.userInfo.groups)
{{- end }}

{{- /* Is name, in CEL, that of a GPU's resource? */}}
{{- define "sliced.guard.gpuName" -}}
name in ['nvidia.com/gpu', 'nvidia.com/gpu.shared', 'aliyun.com/gpu-mem'] || name.startsWith('nvidia.com/mig-') || name.matches('^nvidia[.]com/gpu-[1-9][0-9]{0,3}gb$')
{{- end }}

{{- /* Does the container c, in CEL, ask for no GPU? */}}
{{- define "sliced.devices.unasked" -}}
!has(c.resources) || !((has(c.resources.limits) ? [c.resources.limits] : []) + (has(c.resources.requests) ? [c.resources.requests] : [])).exists(m, m.exists(name, m[name] != '0' && ({{ include "sliced.guard.gpuName" . }})))
{{- end }}

{{- /* Does the annotation k, in CEL, name devices to a container runtime, or to a plugin of its NRI? */}}
{{- define "sliced.devices.annotation" -}}
k.matches('^(([^/]*[.])?cdi[.]k8s[.]io/|(cdi-)?devices[.](nri[.]io|noderesource[.]dev)(/|$))')
{{- end }}

{{- /* Where devices have to be asked for: not where the operator's own pods are. */}}
{{- define "sliced.devices.namespaces" -}}
{{- $in := concat (list "kube-system" .Release.Namespace) .Values.guard.devices.exemptNamespaces | uniq -}}
matchExpressions:
- {key: kubernetes.io/metadata.name, operator: NotIn, values: {{ toJson $in }}}
{{- with .Values.guard.devices.namespaceSelector.matchExpressions }}
{{ toYaml . }}
{{- end }}
{{- with .Values.guard.devices.namespaceSelector.matchLabels }}
matchLabels: {{- toYaml . | nindent 2 }}
{{- end }}
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
  {{- if .Values.queue.assignScheduler }}
  # by now Kubernetes has put default-scheduler on a pod that names none
  expression: object.spec.schedulerName in ['{{ include "sliced.schedulerName" . }}', 'default-scheduler']
  {{- else }}
  expression: object.spec.schedulerName == '{{ include "sliced.schedulerName" . }}'
  {{- end }}
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
    {{- if .Values.queue.assignScheduler }}
    object.spec.schedulerName == 'default-scheduler' ||
    {{- end }}
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

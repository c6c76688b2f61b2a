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

{{- define "sliced.service" -}}
sliced.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "sliced.daemonConfig" -}}
apiVersion: sliced.dev/v1alpha1
kind: SlicedConfiguration
server:
  listen: 0.0.0.0:8443
  tls:
    certFile: /etc/sliced/tls/tls.crt
    keyFile: /etc/sliced/tls/tls.key
    {{- if .Values.tls.clientSecret }}
    clientCAFile: /etc/sliced/tls/ca.crt
    {{- end }}
leaderElection:
  enabled: true
  namespace: {{ .Release.Namespace }}
  name: sliced
log:
  format: json
{{- end }}

{{- define "routebook.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "routebook.selector" -}}
app.kubernetes.io/name: routebook
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "routebook.labels" -}}
{{ include "routebook.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "routebook.domain" -}}
{{ include "routebook.name" . }}-pods.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

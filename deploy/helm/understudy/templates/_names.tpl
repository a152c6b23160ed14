{{- define "understudy.fullname" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "understudy.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "understudy.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.name: name an account, or let the chart create one" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "understudy.selector" -}}
app.kubernetes.io/name: understudy
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "understudy.labels" -}}
{{ include "understudy.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "understudy.nodeAgentSelector" -}}
app.kubernetes.io/name: understudy-node-agent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "understudy.nodeAgentLabels" -}}
{{ include "understudy.nodeAgentSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "understudy.settings" -}}
{{ toYaml .Values.settings }}
{{- end -}}

{{/* The version of admission policies that the cluster has; empty where it has none. */}}
{{- define "understudy.admissionVersion" -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- if not .Values.admissionPolicy.enabled -}}
{{- else if .Values.admissionPolicy.apiVersion -}}
{{- printf "%s/%s" $group .Values.admissionPolicy.apiVersion -}}
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group) -}}
{{- printf "%s/v1" $group -}}
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) -}}
{{- printf "%s/v1beta1" $group -}}
{{- end -}}
{{- end -}}

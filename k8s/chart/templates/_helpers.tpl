{{- define "cdc-sidecar.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "cdc-sidecar.labels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: cdc-sidecar
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Immutable: no version. The argument is a list of the root and the agent's name. */}}
{{- define "cdc-sidecar.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/instance: {{ $root.Release.Name }}
cdc-sidecar/agent: {{ index . 1 }}
{{- end -}}

{{- define "cdc-sidecar.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "cdc-sidecar.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "cdc-sidecar.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default $root.Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{/* A Java properties file. Backslashes are doubled, as in such a file. */}}
{{- define "cdc-sidecar.properties" -}}
{{- range $name, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{ $name }}={{ $value | toString | replace "\\" "\\\\" }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "cdc-sidecar.restricted" -}}
runAsNonRoot: true
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "cdc-sidecar.podSecurityContext" -}}
runAsUser: {{ .user }}
runAsGroup: {{ .group }}
fsGroup: {{ .group }}
fsGroupChangePolicy: OnRootMismatch
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Of an agent by its values. */}}
{{- define "cdc-sidecar.port" -}}
{{- get .properties "http.port" | default 8000 | int -}}
{{- end -}}

{{/* For the supervisor, if it is another port than the image's. */}}
{{- define "cdc-sidecar.port.variable" -}}
{{- $port := include "cdc-sidecar.port" . -}}
{{- if ne $port "8000" -}}
- name: HTTP_PORT
  value: {{ $port | quote }}
{{- end -}}
{{- end -}}

{{/* Of agents in pods of their own. */}}
{{- define "cdc-sidecar.probes" -}}
startupProbe:
  httpGet:
    path: /ping
    port: cdc-http
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /live
    port: cdc-http
  periodSeconds: 15
  timeoutSeconds: 5
  failureThreshold: 4
readinessProbe:
  httpGet:
    path: /ready
    port: cdc-http
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

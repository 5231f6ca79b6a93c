{{- define "cdc-sidecar.mongo.configuration" -}}
{{- $own := dict
  "mongodb.user" "${file:/run/secrets/cdc/username}"
  "mongodb.password" "${file:/run/secrets/cdc/password}"
  "offset.backing.store.dir" "/var/lib/mongo-agent"
  "http.host" "*"
  "http.port" "8000"
  "http.token.file" "/run/secrets/cdc/http-token"
  "log.format" "json"
  "shutdown.timeout.ms" "20000" -}}
{{- if has .Values.mongo.mode (list "deployment" "snippet") }}{{ $_ := set $own "position.store" "kafka" }}{{ end }}
{{- if eq .Values.mongo.mode "deployment" }}{{ $_ := set $own "standby.enabled" "true" }}{{ end }}
{{- include "cdc-sidecar.properties" (merge (deepCopy .Values.mongo.properties) $own) | trim -}}
{{- end -}}

{{- define "cdc-sidecar.mongo.name" -}}
{{ include "cdc-sidecar.fullname" . }}-mongo
{{- end -}}

{{- define "cdc-sidecar.mongo.container.shared" -}}
image: {{ include "cdc-sidecar.image" (list . .Values.mongo.image) }}
imagePullPolicy: {{ .Values.mongo.image.pullPolicy }}
ports:
  - name: cdc-http
    containerPort: {{ include "cdc-sidecar.port" .Values.mongo }}
resources: {{- toYaml .Values.mongo.resources | nindent 2 }}
volumeMounts:
  - name: cdc-directory
    mountPath: /var/lib/mongo-agent
  - name: cdc-configuration
    mountPath: /etc/cdc
    readOnly: true
  - name: cdc-secrets
    mountPath: /run/secrets/cdc
    readOnly: true
  {{- with .Values.mongo.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The pod of an agent of its own. */}}
{{- define "cdc-sidecar.mongo.pod" -}}
metadata:
  labels:
    {{- include "cdc-sidecar.selector" (list . "mongo") | nindent 4 }}
    app.kubernetes.io/part-of: cdc-sidecar
    {{- with .Values.mongo.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    cdc-sidecar/configuration: {{ include "cdc-sidecar.mongo.configuration" . | sha256sum | trunc 16 | quote }}
    {{- with .Values.mongo.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "cdc-sidecar.serviceAccountName" . }}
  automountServiceAccountToken: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: 40
  {{- with .Values.mongo.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.mongo.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.mongo.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq .Values.mongo.mode "deployment" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "cdc-sidecar.selector" (list . "mongo") | nindent 10 }}
  {{- end }}
  {{- with .Values.mongo.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext: {{- include "cdc-sidecar.podSecurityContext" .Values.mongo | nindent 4 }}
  containers:
    - name: cdc
      {{- include "cdc-sidecar.mongo.container.shared" . | nindent 6 }}
      args: ["run", "--config", "/etc/cdc/mongo.properties"]
      {{- with .Values.mongo.extraEnv }}
      env: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "cdc-sidecar.probes" . | nindent 6 }}
      securityContext: {{- include "cdc-sidecar.restricted" . | nindent 8 }}
  volumes:
    {{- if eq .Values.mongo.mode "deployment" }}
    {{- include "cdc-sidecar.mongo.volumes" . | nindent 4 }}
    {{- else }}
    {{- include "cdc-sidecar.mongo.files" . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The container beside mongod: an element of `containers`. It runs in the pod with index 0. */}}
{{- define "cdc-sidecar.mongo.container" -}}
- name: cdc
  {{- include "cdc-sidecar.mongo.container.shared" . | nindent 2 }}
  command: ["/opt/cdc-sidecar/bin/python", "-P", "-m", "sidecar.supervisor"]
  args:
    - --only-pod-index=0
    - mongo-agent
    - run
    - --config=/etc/cdc/mongo.properties
  env:
    {{- include "cdc-sidecar.port.variable" .Values.mongo | nindent 4 }}
    - name: POD_INDEX
      valueFrom:
        fieldRef:
          fieldPath: metadata.labels['apps.kubernetes.io/pod-index']
    {{- with .Values.mongo.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  securityContext:
    runAsUser: {{ .Values.mongo.user }}
    runAsGroup: {{ .Values.mongo.group }}
    {{- include "cdc-sidecar.restricted" . | nindent 4 }}
{{- end -}}

{{/* The volumes of a container without a claim: elements of `volumes`. Dead letters end with the pod. */}}
{{- define "cdc-sidecar.mongo.volumes" -}}
- name: cdc-directory
  emptyDir:
    sizeLimit: 2Gi
{{ include "cdc-sidecar.mongo.files" . }}
{{- end -}}

{{- define "cdc-sidecar.mongo.files" -}}
- name: cdc-configuration
  configMap:
    name: {{ include "cdc-sidecar.mongo.name" . }}
- name: cdc-secrets
  secret:
    secretName: {{ .Values.mongo.existingSecret }}
    defaultMode: 0440
{{- with .Values.mongo.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

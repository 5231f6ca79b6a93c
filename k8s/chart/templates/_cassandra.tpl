{{- define "cdc-sidecar.cassandra.configuration" -}}
{{- $directory := .Values.cassandra.node.directory | trimSuffix "/" -}}
{{- $own := dict
  "cassandra.hosts" (default "${env:CASSANDRA_HOST}" .Values.cassandra.node.host)
  "cdc.raw.directory" (printf "%s/cdc_raw" $directory)
  "commit.log.relocation.dir" (printf "%s/cdc_relocation" $directory)
  "offset.backing.store.dir" (printf "%s/cdc_offsets" $directory)
  "cassandra.username" "${file:/run/secrets/cdc/username}"
  "cassandra.password" "${file:/run/secrets/cdc/password}"
  "http.host" "*"
  "http.port" "8000"
  "http.token.file" "/run/secrets/cdc/http-token"
  "log.format" "json"
  "shutdown.timeout.ms" "20000" -}}
{{- include "cdc-sidecar.properties" (merge (deepCopy .Values.cassandra.properties) $own) | trim -}}
{{- end -}}

{{- define "cdc-sidecar.cassandra.name" -}}
{{ include "cdc-sidecar.fullname" . }}-cassandra
{{- end -}}

{{/* Everything of the agent's container that both modes share. */}}
{{- define "cdc-sidecar.cassandra.container.shared" -}}
image: {{ include "cdc-sidecar.image" (list . .Values.cassandra.image) }}
imagePullPolicy: {{ .Values.cassandra.image.pullPolicy }}
ports:
  - name: cdc-http
    containerPort: {{ include "cdc-sidecar.port" .Values.cassandra }}
resources: {{- toYaml .Values.cassandra.resources | nindent 2 }}
{{- end -}}

{{/* The argument is a list of the root and the name of the node's volume. */}}
{{- define "cdc-sidecar.cassandra.mounts" -}}
{{- $root := index . 0 -}}
- name: {{ index . 1 }}
  mountPath: {{ $root.Values.cassandra.node.directory }}
- name: cdc-configuration
  mountPath: /etc/cdc
  readOnly: true
- name: cdc-secrets
  mountPath: /run/secrets/cdc
  readOnly: true
{{- with $root.Values.cassandra.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The container beside a node: an element of `containers`. A parent chart can include it. */}}
{{- define "cdc-sidecar.cassandra.container" -}}
{{- $directory := .Values.cassandra.node.directory | trimSuffix "/" -}}
- name: cdc
  {{- include "cdc-sidecar.cassandra.container.shared" . | nindent 2 }}
  command: ["/opt/cdc-sidecar/bin/python", "-P", "-m", "sidecar.supervisor"]
  args:
    - --mkdir={{ $directory }}/cdc_relocation
    - --mkdir={{ $directory }}/cdc_offsets
    - agent
    - run
    - --config=/etc/cdc/cdc.properties
  env:
    {{- include "cdc-sidecar.port.variable" .Values.cassandra | nindent 4 }}
    - name: CASSANDRA_HOST
      valueFrom:
        fieldRef:
          fieldPath: status.podIP
    {{- with .Values.cassandra.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  securityContext:
    runAsUser: {{ .Values.cassandra.node.user }}
    runAsGroup: {{ .Values.cassandra.node.group }}
    {{- include "cdc-sidecar.restricted" . | nindent 4 }}
  volumeMounts:
    {{- include "cdc-sidecar.cassandra.mounts" (list . .Values.cassandra.node.volume) | nindent 4 }}
{{- end -}}

{{/* The volumes of that container: elements of `volumes`. */}}
{{- define "cdc-sidecar.cassandra.volumes" -}}
- name: cdc-configuration
  configMap:
    name: {{ include "cdc-sidecar.cassandra.name" . }}
- name: cdc-secrets
  secret:
    secretName: {{ .Values.cassandra.existingSecret }}
    defaultMode: 0440
{{- with .Values.cassandra.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

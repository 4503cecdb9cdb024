{{- define "perdure.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "perdure" $name) }}{{ $name = printf "%s-perdure" $name }}{{ end -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "perdure.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "perdure.labels" -}}
app.kubernetes.io/name: perdure
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* What selects the pods of one component: (dict "root" $ "component" "api") */}}
{{- define "perdure.selector" -}}
app.kubernetes.io/name: perdure
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "perdure.adminSecret" -}}
{{ required "secrets.admin names the secret with the first admin's key (perdure serve new-key makes one)" .Values.secrets.admin }}
{{- end -}}

{{- define "perdure.databaseSecret" -}}
{{- if .Values.trial.enabled }}{{ include "perdure.name" . }}-trial{{ else }}{{ required "secrets.database names the secret with the database's url (or set trial.enabled)" .Values.secrets.database }}{{ end -}}
{{- end -}}

{{- define "perdure.keysSecret" -}}
{{- if and .Values.trial.enabled (not .Values.secrets.keys) }}{{ include "perdure.name" . }}-trial{{ else }}{{ required "secrets.keys names the secret with the keys that seal secrets" .Values.secrets.keys }}{{ end -}}
{{- end -}}

{{- define "perdure.temporalAddress" -}}
{{- if .Values.trial.enabled }}{{ include "perdure.name" . }}-trial-temporal:7233{{ else }}{{ required "temporal.address is the engine's host:port (or set trial.enabled)" .Values.temporal.address }}{{ end -}}
{{- end -}}

{{/* Environment of every process. */}}
{{- define "perdure.environment" -}}
- {name: PERDURE_HOME, value: /home/perdure/state/home}
- {name: PERDURE_TEMPORAL_ADDRESS, value: {{ include "perdure.temporalAddress" . | quote }}}
- {name: PERDURE_TEMPORAL_NAMESPACE, value: {{ .Values.temporal.namespace | quote }}}
{{- if .Values.temporal.tls }}
- {name: PERDURE_TEMPORAL_TLS, value: "true"}
{{- end }}
{{- with .Values.temporal.serverName }}
- {name: PERDURE_TEMPORAL_TLS_SERVER_NAME, value: {{ . | quote }}}
{{- end }}
{{- with .Values.temporal.uiUrl }}
- {name: PERDURE_PUBLIC_UI_URL, value: {{ . | quote }}}
{{- end }}
- name: PERDURE_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ include "perdure.databaseSecret" . }}, key: url}}
- name: PERDURE_SECRETS_KEY
  valueFrom: {secretKeyRef: {name: {{ include "perdure.keysSecret" . }}, key: secrets}}
- {name: PERDURE_OBJECT_STORE, value: {{ required "objects.url is where snapshots, logs and artifacts are kept: s3://BUCKET/PREFIX" .Values.objects.url | quote }}}
{{- with .Values.objects.endpoint }}
- {name: PERDURE_S3_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- with .Values.objects.region }}
- {name: PERDURE_S3_REGION, value: {{ . | quote }}}
{{- end }}
{{- with .Values.objects.podEndpoint }}
- {name: PERDURE_S3_POD_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- with .Values.secrets.objects }}
- name: AWS_ACCESS_KEY_ID
  valueFrom: {secretKeyRef: {name: {{ . }}, key: accessKeyId}}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: secretAccessKey}}
{{- end }}
{{- with .Values.api.publicUrl }}
- {name: PERDURE_PUBLIC_URL, value: {{ . | quote }}}
{{- end }}
- {name: PERDURE_METRICS_HOST, value: "0.0.0.0"}
- {name: PERDURE_ADMIN_TOKEN_FILE, value: /etc/perdure/admin/token}
{{- if .Values.payloads.enabled }}
- {name: PERDURE_PAYLOAD_KEYS_FILE, value: /etc/perdure/keys/payloads}
{{- end }}
{{- with .Values.secrets.temporal }}
{{- range $key, $setting := dict "ca.crt" "CA" "tls.crt" "CERT" "tls.key" "KEY" }}
{{- if has $key $.Values.temporal.files }}
- {name: PERDURE_TEMPORAL_TLS_{{ $setting }}, value: /etc/perdure/temporal/{{ $key }}}
{{- end }}
{{- end }}
{{- if has "apiKey" $.Values.temporal.files }}
- {name: PERDURE_TEMPORAL_API_KEY_FILE, value: /etc/perdure/temporal/apiKey}
{{- end }}
{{- end }}
- {name: PERDURE_LOCAL_JOBS, value: "false"}
{{- with .Values.clusters }}
- {name: PERDURE_DEFAULT_CLUSTER, value: {{ (first .).name }}}
{{- end }}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end -}}

{{- define "perdure.mounts" -}}
- {name: state, mountPath: /home/perdure/state}
- {name: tmp, mountPath: /tmp}
- {name: admin, mountPath: /etc/perdure/admin, readOnly: true}
{{- if .Values.secrets.temporal }}
- {name: temporal, mountPath: /etc/perdure/temporal, readOnly: true}
{{- end }}
{{- if .Values.payloads.enabled }}
- {name: keys, mountPath: /etc/perdure/keys, readOnly: true}
{{- end }}
{{- end -}}

{{- define "perdure.volumes" -}}
- {name: state, emptyDir: {}}
- {name: tmp, emptyDir: {}}
- name: admin
  secret: {secretName: {{ include "perdure.adminSecret" . }}, defaultMode: 0440}
{{- with .Values.secrets.temporal }}
- name: temporal
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- if .Values.payloads.enabled }}
- name: keys
  secret: {secretName: {{ include "perdure.keysSecret" . }}, defaultMode: 0440, items: [{key: payloads, path: payloads}]}
{{- end }}
{{- end -}}

{{- define "perdure.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Fields of every pod. */}}
{{- define "perdure.pod" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- {name: {{ . }}}
{{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Nothing starts on tables that are not its own version's: the migration job is under way then. */}}
{{- define "perdure.wait" -}}
- name: wait-for-tables
  image: {{ include "perdure.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [sh, -c, 'until python3 -I -m perdure serve check-tables; do sleep 2; done']
  env: {{- include "perdure.environment" . | nindent 4 }}
  securityContext: {{- include "perdure.containerSecurity" . | nindent 4 }}
  volumeMounts: {{- include "perdure.mounts" . | nindent 4 }}
{{- end -}}

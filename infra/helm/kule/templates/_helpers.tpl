{{- define "kule.name" -}}
{{- printf "%s" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "kule.labels" -}}
app.kubernetes.io/name: kule
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* Of the pods of one process: (dict "root" $ "process" "api") */ -}}
{{- define "kule.selector" -}}
app.kubernetes.io/name: kule
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .process }}
{{- end -}}

{{- define "kule.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "kule.databasePlace" -}}
{{- if .Values.postgres.cluster.enabled -}}
{{ .Values.postgres.cluster.name }}-rw:5432/{{ .Values.database.name }}
{{- else -}}
{{ .Values.database.host }}:{{ .Values.database.port }}/{{ .Values.database.name }}
{{- end -}}
{{- with .Values.database.parameters -}}?{{ . }}{{- end -}}
{{- end -}}

{{- define "kule.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "kule.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
privileged: false
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* The keys of the Secret as files, and no others: (dict "root" $ "keys" (list …)) */ -}}
{{- define "kule.secretVolume" -}}
- name: secrets
  secret:
    secretName: {{ .root.Values.secrets.name }}
    # Readable by the pod's group; other accounts of the container have no part in it.
    defaultMode: 0440
    items:
    {{- range .keys }}
      - key: {{ . }}
        path: {{ . }}
    {{- end }}
{{- end -}}

{{- /* Variables that name these files. The master key is the worker's, where it is given. */ -}}
{{- define "kule.secretVariables" -}}
{{- $known := list "api-database-password" "worker-database-password" "api-secret" "console-key" "console-secret" "audit-keys" "master-key" -}}
{{- range .keys }}
{{- if has . $known }}
- name: KULE_{{ . | upper | replace "-" "_" }}_FILE
  value: /run/secrets/kule/{{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Variables that name the files of other services. */ -}}
{{- define "kule.fileVariables" -}}
{{- range $name, $_ := .Values.files }}
- name: KULE_{{ trimSuffix ".yaml" $name | upper }}_FILE
  value: /etc/kule/{{ $name }}
{{- end }}
{{- end -}}

{{- define "kule.placement" -}}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "kule.selector" . | nindent 8 }}
{{- end -}}

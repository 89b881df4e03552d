{{- /*
A Deployment of one process: (dict "root" $ "process" "api" "values" .Values.api "keys" (list …) "hasFiles" true "port" 8080 "portName" "http"
"ready" "…" "alive" "…"). One that serves clients goes on for a moment after it is told to stop.
*/ -}}
{{- define "kule.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "kule.name" .root }}-{{ .process }}
  labels:
    {{- include "kule.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .process }}
spec:
  replicas: {{ .values.replicas }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  selector:
    matchLabels:
      {{- include "kule.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "kule.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .process }}
      annotations:
        kule.dev/settings: {{ include (print .root.Template.BasePath "/config.yaml") .root | sha256sum }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      # Nothing here calls the cluster's API.
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30
      securityContext:
        {{- include "kule.podSecurity" . | nindent 8 }}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "kule.placement" . | nindent 6 }}
      containers:
        - name: {{ .process }}
          image: {{ include "kule.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [{{ .process }}]
          securityContext:
            {{- include "kule.containerSecurity" . | nindent 12 }}
          envFrom:
            - configMapRef:
                name: {{ include "kule.name" .root }}-settings
          env:
            {{- if ne .portName "http" }}
            # Its health, for the probes, and its metrics.
            - name: KULE_WORKER_METRICS_PORT
              value: {{ .port | quote }}
            - name: KULE_METRICS_HOST
              value: 0.0.0.0
            {{- end }}
            {{- if eq .process "api" }}
            - name: POD_IP
              valueFrom:
                fieldRef:
                  fieldPath: status.podIP
            # Consoles whose two sides met different pods are joined between them.
            - name: KULE_REPLICA_URL
              value: http://$(POD_IP):8080
            {{- end }}
            {{- include "kule.secretVariables" . | nindent 12 }}
            {{- if .hasFiles }}
            {{- include "kule.fileVariables" .root | nindent 12 }}
            {{- end }}
          ports:
            - name: {{ .portName }}
              containerPort: {{ .port }}
          startupProbe:
            httpGet: { path: {{ .alive }}, port: {{ .portName }} }
            periodSeconds: 2
            failureThreshold: 60
          readinessProbe:
            httpGet: { path: {{ .ready }}, port: {{ .portName }} }
            periodSeconds: 5
            timeoutSeconds: 5
          livenessProbe:
            httpGet: { path: {{ .alive }}, port: {{ .portName }} }
            periodSeconds: 20
            timeoutSeconds: 10
            failureThreshold: 6
          {{- if eq .portName "http" }}
          lifecycle:
            preStop:
              # Until no proxy sends anything here any more.
              exec: { command: [sleep, "5"] }
          {{- end }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - name: secrets
              mountPath: /run/secrets/kule
              readOnly: true
            {{- if and .hasFiles .root.Values.files }}
            - name: files
              mountPath: /etc/kule
              readOnly: true
            {{- end }}
      volumes:
        {{- include "kule.secretVolume" . | nindent 8 }}
        {{- if and .hasFiles .root.Values.files }}
        - name: files
          configMap:
            name: {{ include "kule.name" .root }}-files
        {{- end }}
{{- end -}}

{{- /* Service and disruption budget of one process: (dict "root" $ "process" "api" "values" … "port" 8080) */ -}}
{{- define "kule.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "kule.name" .root }}-{{ .process }}
  labels:
    {{- include "kule.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .process }}
spec:
  selector:
    {{- include "kule.selector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .port }}
      targetPort: http
{{- if gt (int .values.replicas) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "kule.name" .root }}-{{ .process }}
  labels:
    {{- include "kule.labels" .root | nindent 4 }}
spec:
  minAvailable: 1
  selector:
    matchLabels:
      {{- include "kule.selector" . | nindent 6 }}
{{- end }}
{{- end -}}

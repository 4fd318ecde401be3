{{- /* A component's labels; takes a dict of `root` and `component`. */}}
{{- define "pkb.labels" -}}
app.kubernetes.io/name: pkb
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "pkb.database-host" -}}
{{- if .Values.postgres.cluster.enabled -}}
{{ .Release.Name }}-db-rw.{{ .Release.Namespace }}.svc
{{- else -}}
{{ .Values.postgres.host }}
{{- end }}
{{- end }}

{{- /* What all containers have in common; takes a dict of `root` and `resources`. */}}
{{- define "pkb.container" -}}
image: {{ .root.Values.image }}
imagePullPolicy: {{ .root.Values.imagePullPolicy }}
envFrom:
  - configMapRef: {name: {{ .root.Release.Name }}-settings}
  {{- with .root.Values.settingsSecret }}
  - secretRef: {name: {{ . }}}
  {{- end }}
env:
  - name: POSTGRES_USER
    valueFrom: {secretKeyRef: {name: {{ .root.Values.postgres.appSecret }}, key: username}}
  - name: POSTGRES_PASSWORD
    valueFrom: {secretKeyRef: {name: {{ .root.Values.postgres.appSecret }}, key: password}}
  - name: POSTGRES_OWNER
    valueFrom: {secretKeyRef: {name: {{ .root.Values.postgres.ownerSecret }}, key: username}}
  - name: POSTGRES_OWNER_PASSWORD
    valueFrom: {secretKeyRef: {name: {{ .root.Values.postgres.ownerSecret }}, key: password}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{- toYaml .resources | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: data, mountPath: /var/lib/pkb}
  {{- if .root.Values.models.claim }}
  - {name: models, mountPath: /models}
  {{- end }}
  {{- with .root.Values.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* What all pods have in common; takes the root. */}}
{{- define "pkb.pod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
automountServiceAccountToken: false
# Else Kubernetes sets variables such as PKB_WEB_PORT, and pkb rejects unknown names with PKB_.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.user }}
  runAsGroup: {{ .Values.user }}
  fsGroup: {{ .Values.user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- if eq .Values.data.accessMode "ReadWriteOnce" }}
# The volume can be mounted on one node only.
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {app.kubernetes.io/name: pkb, app.kubernetes.io/instance: {{ .Release.Name }}}
{{- else }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {app.kubernetes.io/name: pkb, app.kubernetes.io/instance: {{ .Release.Name }}}
{{- end }}
volumes:
  # Bodies that wait take up to 20 times MAX_FILE_BYTES.
  - name: tmp
    emptyDir: {sizeLimit: 2Gi}
  - name: data
    persistentVolumeClaim: {claimName: {{ .Values.data.claim | default (printf "%s-data" .Release.Name) }}}
  {{- with .Values.models.claim }}
  - name: models
    persistentVolumeClaim: {claimName: {{ . }}}
  {{- end }}
  {{- with .Values.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* Scale a component by its CPU; takes a dict of `root`, `component` and `values`. */}}
{{- define "pkb.scale-by-cpu" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ .root.Release.Name }}-{{ .component }}
  labels: {{- include "pkb.labels" . | nindent 4 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .root.Release.Name }}-{{ .component }}}
  minReplicas: {{ .values.min }}
  maxReplicas: {{ .values.max }}
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: {{ .values.cpu }}}}
{{- end }}

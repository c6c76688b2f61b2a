"""Values of the chart, by what they are for: each is rendered, linted and taken by real API servers."""

VALUES = {
    "defaults": {},
    "own secret": {"tls": {"existingSecret": "from-cert-manager"}},
    "client certificates": {"tls": {"existingSecret": "ours", "clientSecret": "scheduler-tls"}},
    "own scheduler": {"scheduler": {"mode": "config", "name": "default-scheduler"},
                      "service": {"clusterIP": "10.0.0.53"}},
    "all in": {
        "image": {"repository": "registry.example.com/sliced", "tag": "1"}, "replicas": 3,
        "imagePullSecrets": [{"name": "pull"}], "priorityClassName": "",
        "config": {"log": {"level": "debug"}, "leaderElection": {"name": "mine"}},
        "scheduler": {"name": "gpu-scheduler", "replicas": 1, "nodeCacheCapable": False,
                      "image": {"repository": "registry.example.com/kube-scheduler"}},
        "nodeSelector": {"role": "infra"}, "podAnnotations": {"team": "gpu"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "networkPolicy": {"from": [{"namespaceSelector": {}}]},
        "managedResources": ["nvidia.com/gpu"]},
    "webhook": {"queue": {"gate": "webhook"}},
    "assigned": {"queue": {"assignScheduler": True}},
    "ports for few": {"queue": {"gate": "webhook"}, "networkPolicy": {
        "from": [{"namespaceSelector": {}}], "apiServerFrom": [{"ipBlock": {"cidr": "10.0.0.7/32"}}],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"role": "monitoring"}}}]}},
    "no queue": {"queue": {"enabled": False}},
    "strict": {"queue": {"daemonSetNamespaces": ["monitoring", "agents"],
                         "daemonSetUser": "system:kube-controller-manager"},
               "guard": {"otherSchedulers": False, "devicePlugins": []}},
    "no guard": {"guard": {"enabled": False}},
    "no guard of devices": {"guard": {"devices": {"enabled": False}}},
    "devices always": {"guard": {"devices": {
        "always": True, "runtimeClasses": [], "exemptNamespaces": ["gpu-operator", "monitoring"],
        "namespaceSelector": {"matchExpressions": [{"key": "gpus", "operator": "NotIn", "values": ["all"]}]}}}},
    "some namespaces": {"queue": {"namespaceSelector": {
        "matchLabels": {"gpus": "queued"},
        "matchExpressions": [{"key": "team", "operator": "Exists"}]}}},
    "telemetry": {
        "telemetry": {"secret": "prometheus-access"},
        "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "networkPolicy": {"egressPorts": [3128]},
        "config": {"telemetry": {"url": "https://prometheus-operated.monitoring:9090",
                                 "tokenFile": "/etc/sliced/telemetry/token",
                                 "caFile": "/etc/sliced/telemetry/ca.crt", "sharing": "peaks"}}},
    "tenants": {"config": {"tenants": {"namespaceLabel": "example.com/team", "shares": [
        {"tenant": "vision", "weight": 2.5, "users": True}, {"tenant": "speech", "maxTimeout": "24h"}]}}},
    "one replica": {"replicas": 1, "config": {"leaderElection": {"enabled": False}}},
    "other ports": {"config": {"server": {"listen": "[::]:8443", "probeListen": "[::]:8082",
                                          "metricsListen": "[::]:9191"}}},
    "cert-manager": {"tls": {"certManager": {"enabled": True}}, "queue": {"gate": "webhook"}},
    "own issuer": {"tls": {"certManager": {"enabled": True, "issuerRef": {
        "kind": "ClusterIssuer", "name": "internal"}}}},
    "monitored": {
        "monitoring": {"enabled": True, "dashboards": True, "labels": {"release": "prometheus"}},
        "networkPolicy": {"metricsFrom": [{"namespaceSelector": {"matchLabels": {"role": "monitoring"}}}]}},
    "monitored by service": {"monitoring": {"enabled": True, "monitor": "ServiceMonitor", "https": True,
                                            "tokenSecret": "metrics-token"},
                             "networkPolicy": {"enabled": False}},
    "monitored by certificate": {"monitoring": {"enabled": True, "https": True, "clientSecret": "prometheus-tls",
                                                "clientNames": ["prometheus", "agent"]},
                                 "networkPolicy": {"enabled": False}},
    "bare": {"networkPolicy": {"enabled": False}, "podDisruptionBudget": {"enabled": False}},
}

# Nothing is named as the others take it to be.
OTHER_NAMES = {
    "nameOverride": "gpu-slices", "serviceAccount": {"name": "slicer", "annotations": {"team": "gpu"}},
    "podLabels": {"team": "gpu"}, "extraArgs": ["--kubeconfig=/x"],
    "affinity": {"nodeAffinity": {}}, "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    "scheduler": {"podLabels": {"team": "gpu"}, "extraArgs": ["--v=2"], "affinity": {"nodeAffinity": {}}},
    "gpushare": {"unhealthyGpus": True}, "config": {"partitioning": {"enabled": True}}}

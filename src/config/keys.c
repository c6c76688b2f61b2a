/* Every configuration key, once: path, type, built-in value, limits, meaning. */
#include "config/keys.h"

#include "util/time.h"

#define KI  ((int64_t)1024)
#define MI  (1024 * KI)
#define GI  (1024 * MI)
#define ONE ((int64_t)SL_ORDER_ONE)

/* Where a key's value lives in struct sl_config. */
#define AT(field)                                                                                  \
    .offset = offsetof(struct sl_config, field), .size = sizeof(((struct sl_config *)NULL)->field)

static const char *const LEVELS[] = {[SL_LOG_ERROR] = "error",
                                     [SL_LOG_WARN] = "warn",
                                     [SL_LOG_INFO] = "info",
                                     [SL_LOG_DEBUG] = "debug",
                                     NULL};
static const char *const FORMATS[] = {"text", "json", NULL};
static const char *const GATES[] = {[SL_QUEUE_GATE_POLICY] = "policy",
                                    [SL_QUEUE_GATE_WEBHOOK] = "webhook",
                                    [SL_QUEUE_GATE_NONE] = "none",
                                    NULL};
static const char *const ACTUATORS[] = {[SL_CHOOSE_AUTO] = "auto",
                                        [SL_CHOOSE_MIG_MANAGER] = "mig-manager",
                                        [SL_CHOOSE_NOS] = "nos",
                                        NULL};
static const char *const SHARING[] = {[SL_SHARING_ASKS] = "asks",
                                      [SL_SHARING_CBP] = "cbp",
                                      [SL_SHARING_CBP_PP] = "cbp-pp",
                                      [SL_SHARING_PEAKS] = "peaks",
                                      NULL};
#define WEIGHT_KEY(path, member, value, text)                                                      \
    {path, SL_KEY_INTEGER, AT(member), .min = 0, .max = 1000, .number = (value), .help = (text)},
#define WEIGHT(term, word, value, own, text, ...)                                                  \
    WEIGHT_KEY("score.weights." #word, plan.score.weight[SL_TERM_##term], value, text)
#define KIND_WEIGHT(term, word, value, own, text, kind, name, has_own)                             \
    WEIGHT_KEY("score.byKind." #name "." #word,                                                    \
               plan.score.by_kind[SL_KIND_##kind][SL_TERM_##term], (has_own) ? (own) : 0,          \
               "Weight of " #word " for these asks.")
#define KIND_WEIGHTS(kind, name, units, own, ...) SL_TERMS(KIND_WEIGHT, kind, name, own)
#define KIND_SECTION(kind, name, units, ...)      {"score.byKind." #name, "Asks for " units "."},

const struct sl_key_section sl_key_sections[SL_KEY_SECTIONS] = {
    {"", "The configuration of sliced."},
    {"server", "The HTTP server."},
    {"server.tls",
     "HTTPS: with a certificate there is no plain HTTP. Files are read again when they "
     "change."},
    {"extender", "The scheduler extender's verbs, as KubeSchedulerConfiguration names them."},
    {"cluster", "Limits of what the daemon keeps of the cluster."},
    {"kubernetes", "The API server; not used with --cluster."},
    {"gpushare", "The other parts of gpushare; not used with --cluster."},
    {"leaderElection",
     "One replica leads, the others are ready to take over (coordination.k8s.io Lease)."},
    {"events", "Events for pods' owners (events.k8s.io)."},
    {"json", "How bodies and manifests are read, JSON and YAML alike."},
    {"queue", "The order of waiting pods; without it kube-scheduler's own order holds."},
    {"queue.condition", "The condition sliced.dev/Queued in the status of waiting pods: "
                        "position, reason, start; not used with --cluster."},
    {"tenants", "Who shares the cluster, and how much of it is whose (docs/queue.md, \"Tenants\"); "
                "needs queue.enabled."},
    {"partitioning",
     "Cuts MIG GPUs by what the queue's pods wait for (docs/partitioning.md); not used with "
     "--cluster."},
    {"partitioning.migManager", "Nodes whose GPUs NVIDIA's mig-manager cuts."},
    {"partitioning.nosMps", "Nodes whose GPUs nos shares by MPS."},
    {"telemetry", "Measurements of GPUs, read from a Prometheus that scrapes dcgm-exporter, or "
                  "from dcgm-exporter (docs/telemetry.md)."},
    {"telemetry.metrics",
     "Names of the metrics that are read; an empty one is not. Their series need the labels gpu "
     "(its index) and, of MIG instances, GPU_I_ID."},
    {"score", "How nodes are ranked."},
    {"score.weights",
     "The terms of a node's score: a weighted mean; all 0 counts as all equal. They "
     "hold for kinds without weights of their own in score.byKind."},
    {"score.byKind",
     "Other weights for asks of a kind; a kind whose weights are all 0 has those of "
     "score.weights. An ask of several kinds counts as the one that comes first "
     "in: memory, whole, replica, mig."},
    SL_KINDS(KIND_SECTION)

        {"log", "Log lines, on standard error."},
};

const struct sl_key sl_keys[] = {
    {"server.listen", SL_KEY_ADDRESS, .restart = true, .text = true, AT(server.listen),
     .string = "127.0.0.1:8888",
     .help = "Address and port that serve the extender's verbs, and on loopback everything else; "
             "port 0 picks a free one."},
    {"server.webhookListen", SL_KEY_ADDRESS, .restart = true, .text = true,
     AT(server.webhook_listen), .string = "",
     .help = "Address and port that serve the gate's webhook alone, for API servers: HTTPS, no "
             "client certificate."},
    {"server.visibilityListen", SL_KEY_ADDRESS, .restart = true, .text = true,
     AT(server.visibility_listen), .string = "",
     .help = "Address and port that serve the API group visibility.sliced.dev alone, for the API "
             "server's front proxy: HTTPS, by its certificate. A loopback server.listen serves it "
             "too."},
    {"server.probeListen", SL_KEY_ADDRESS, .restart = true, .text = true, AT(server.probe_listen),
     .string = "", .help = "Address and port that serve the probes alone, by plain HTTP."},
    {"server.metricsListen", SL_KEY_ADDRESS, .restart = true, .text = true,
     AT(server.metrics_listen), .string = "",
     .help = "Address and port that serve the metrics alone, by plain HTTP or as "
             "server.metricsTls says."},
    {"server.metricsTls", SL_KEY_BOOLEAN, .restart = true, AT(server.metrics_tls), .max = 1,
     .number = 0, .help = "Serve server.metricsListen by HTTPS."},
    {"server.metricsTokenFile", SL_KEY_PATH, .restart = true, .text = true,
     AT(server.metrics_token_file), .string = "",
     .help = "File of the bearer token that callers of server.metricsListen must send; read at "
             "each call. Empty: none."},
    {"server.metricsClientCAFile", SL_KEY_PATH, .restart = true, .text = true,
     AT(server.metrics_ca_file), .string = "",
     .help = "File (PEM) of the authority that signs the certificates with which "
             "server.metricsClients call server.metricsListen, in place of the token. Empty: "
             "none."},
    {"server.apiListen", SL_KEY_ADDRESS, .restart = true, .text = true, AT(server.api_listen),
     .string = "",
     .help = "Address and port that serve the API, the probes and the metrics, by plain HTTP and "
             "on loopback only; empty: 127.0.0.1:8888 where server.listen is not loopback."},
    {"server.threads", SL_KEY_INTEGER, .restart = true, AT(server.threads), .min = 0, .max = 64,
     .number = 0, .help = "Threads that answer requests; 0: one per processor."},
    {"server.maxConnections", SL_KEY_INTEGER, .restart = true, AT(server.max_connections), .min = 1,
     .max = 65536, .number = 256,
     .help = "Maximum number of open connections to server.listen; one more closes the connection "
             "that has kept the server waiting longest."},
    {"server.maxBodyBytes", SL_KEY_SIZE, AT(server.max_body_bytes), .min = KI, .max = 4 * GI,
     .number = 128 * MI,
     .help = "Maximum length of a request's body; a longer one is answered with 413."},
    {"server.maxReplyBytes", SL_KEY_SIZE, AT(server.max_reply_bytes), .min = KI, .max = 4 * GI,
     .number = 64 * MI, .help = "Maximum length of a reply; a request that needs more fails."},
    {"server.maxBufferedBytes", SL_KEY_SIZE, AT(server.max_buffered_bytes), .min = MI,
     .max = 64 * GI, .number = 64 * MI,
     .help = "Maximum number of bytes that the bodies and replies of all requests in flight hold, "
             "half of it outside server.listen; a request that gets no share is answered with "
             "503."},
    {"server.connectionMemory", SL_KEY_SIZE, .restart = true, AT(server.connection_memory),
     .min = 4 * KI, .max = 16 * MI, .number = 64 * KI,
     .help = "Memory of a connection for headers and pieces of a body."},
    {"server.requestTimeout", SL_KEY_DURATION, .restart = true, AT(server.request_timeout_us),
     .min = SL_SECOND_US, .max = SL_HOUR_US, .number = 30 * SL_SECOND_US,
     .help = "A connection is closed when nothing moves on it for this long, when a request and "
             "its headers take twice as long, or when its body or the reading of the reply takes "
             "four times as long."},
    {"server.shutdownTimeout", SL_KEY_DURATION, AT(server.shutdown_timeout_us), .min = 0,
     .max = SL_HOUR_US, .number = 10 * SL_SECOND_US,
     .help = "How long requests in flight may still take when the daemon is told to stop."},
    {"server.insecure", SL_KEY_BOOLEAN, .restart = true, AT(server.insecure), .max = 1, .number = 0,
     .help = "Answer the verbs to everybody, by plain HTTP too, even on addresses that other "
             "machines can reach."},

    {"server.tls.certFile", SL_KEY_PATH, .restart = true, .text = true, AT(server.cert_file),
     .string = "",
     .help = "File (PEM) of the server's certificate, followed by its chain; empty: plain HTTP."},
    {"server.tls.keyFile", SL_KEY_PATH, .restart = true, .text = true, AT(server.key_file),
     .string = "", .help = "File (PEM) of the certificate's private key."},
    {"server.tls.clientCAFile", SL_KEY_PATH, .restart = true, .text = true,
     AT(server.client_ca_file), .string = "",
     .help = "File (PEM) of the authorities that must have signed a client's certificate, for all "
             "but probes and webhook; empty: no certificate is asked for."},

    {"extender.pathPrefix", SL_KEY_PREFIX, .text = true, AT(extender.prefix),
     .string = "/scheduler",
     .help = "Path before the verbs: what follows host and port in the extender's urlPrefix."},
    {"extender.filterVerb", SL_KEY_VERB, .text = true, AT(extender.filter), .string = "filter",
     .help = "Name of the filter verb: the extender's filterVerb."},
    {"extender.prioritizeVerb", SL_KEY_VERB, .text = true, AT(extender.prioritize),
     .string = "prioritize", .help = "Name of the prioritize verb: the extender's prioritizeVerb."},
    {"extender.bindVerb", SL_KEY_VERB, .text = true, AT(extender.bind), .string = "bind",
     .help = "Name of the bind verb: the extender's bindVerb."},
    {"extender.preemptVerb", SL_KEY_VERB, .text = true, AT(extender.preempt), .string = "preempt",
     .help = "Name of the preempt verb: the extender's preemptVerb."},
    {"extender.maxNodeNames", SL_KEY_INTEGER, AT(extender.max_node_names), .min = 1, .max = 1000000,
     .number = 20000,
     .help = "Maximum number of candidate nodes in a request; a request with more fails."},

    {"cluster.maxNodes", SL_KEY_INTEGER, .restart = true, AT(cluster.max_nodes), .min = 1,
     .max = 1000000, .number = 10000,
     .help = "Maximum number of nodes that are kept; further ones are refused."},
    {"cluster.maxPods", SL_KEY_INTEGER, .restart = true, AT(cluster.max_pods), .min = 1,
     .max = 10000000, .number = 200000,
     .help = "Maximum number of pods that are kept; further ones are refused, unless they hold "
             "devices. A namespace may have three times as many as it leaves for the others."},
    {"cluster.maxReservations", SL_KEY_INTEGER, .restart = true, AT(cluster.max_reservations),
     .min = 1, .max = 1000000, .number = 10000,
     .help = "Maximum number of binds that the cluster has not shown yet; one more fails."},
    {"cluster.reservationTimeout", SL_KEY_DURATION, .restart = true, AT(cluster.reservation_us),
     .min = SL_SECOND_US, .max = SL_HOUR_US, .number = SL_MINUTE_US,
     .help = "How long after a bind of unknown outcome the daemon reads its pod, at least a "
             "minute."},
    {"cluster.maxManifestBytes", SL_KEY_SIZE, .restart = true, AT(cluster.max_manifest_bytes),
     .min = KI, .max = 64 * GI, .number = GI, .help = "Maximum length of a file of manifests."},

    {"kubernetes.kubeconfig", SL_KEY_PATH, .restart = true, .text = true, AT(kubernetes.kubeconfig),
     .string = "",
     .help = "File with the access to the API server; empty: $KUBECONFIG, else the pod's service "
             "account, else ~/.kube/config."},
    {"kubernetes.context", SL_KEY_WORD, .restart = true, .text = true, AT(kubernetes.context),
     .string = "", .help = "Context of the kubeconfig; empty: its current-context."},
    {"kubernetes.qps", SL_KEY_INTEGER, .restart = true, AT(kubernetes.qps), .min = 0, .max = 100000,
     .number = 1000, .help = "Maximum number of calls to the API server per second; 0: no limit."},
    {"kubernetes.burst", SL_KEY_INTEGER, .restart = true, AT(kubernetes.burst), .min = 1,
     .max = 100000, .number = 1000,
     .help = "Number of calls that may be made at once after a quiet time."},
    {"kubernetes.maxInFlight", SL_KEY_INTEGER, .restart = true, AT(kubernetes.max_in_flight),
     .min = 1, .max = 10000, .number = 100,
     .help = "Maximum number of calls under way at a time, not counting watches."},
    {"kubernetes.requestTimeout", SL_KEY_DURATION, .restart = true,
     AT(kubernetes.request_timeout_us), .min = SL_SECOND_US / 10, .max = SL_HOUR_US,
     .number = 10 * SL_SECOND_US, .help = "How long the API server may take to answer a call."},
    {"kubernetes.bindTimeout", SL_KEY_DURATION, .restart = true, AT(kubernetes.bind_timeout_us),
     .min = SL_SECOND_US / 10, .max = SL_HOUR_US, .number = 4 * SL_SECOND_US,
     .help = "How long a binding may take: less than leaseDuration, and less than the extender's "
             "httpTimeout. One try takes at most half of it, and no longer than leaseDuration "
             "minus renewDeadline."},
    {"kubernetes.watchTimeout", SL_KEY_DURATION, .restart = true, AT(kubernetes.watch_timeout_us),
     .min = SL_SECOND_US, .max = SL_DAY_US, .number = 5 * SL_MINUTE_US,
     .help = "How long a watch is asked to last, plus up to as much again at random."},
    {"kubernetes.watchSilence", SL_KEY_DURATION, .restart = true, AT(kubernetes.watch_silence_us),
     .min = SL_SECOND_US, .max = SL_HOUR_US, .number = 90 * SL_SECOND_US,
     .help = "A watch that brings nothing for this long is replaced; bookmarks come every minute."},
    {"kubernetes.listPage", SL_KEY_INTEGER, .restart = true, AT(kubernetes.list_page), .min = 1,
     .max = 10000, .number = 500, .help = "Number of objects in one page of a list."},

    {"gpushare.unhealthyGpus", SL_KEY_BOOLEAN, .restart = true, AT(gpushare.unhealthy_gpus),
     .max = 1, .number = 0,
     .help = "Watch the ConfigMaps unhealthy-gpu-<node>, whose key gpus lists GPUs that get no "
             "more pods; needs the right to list and watch ConfigMaps of gpushare.namespace."},
    {"gpushare.oneEqualShare", SL_KEY_BOOLEAN, AT(gpushare.one_equal_share), .max = 1, .number = 0,
     .help = "Bind a pod to another GPU of a node only after the device plugin has taken the "
             "earlier pods with an equal share, since the plugin tells pods apart by size alone."},
    {"gpushare.namespace", SL_KEY_OBJECT, .restart = true, .text = true, AT(gpushare.namespace),
     .string = "kube-system", .help = "Namespace of these ConfigMaps."},

    {"leaderElection.enabled", SL_KEY_BOOLEAN, .restart = true, AT(election.enabled), .max = 1,
     .number = 1,
     .help = "Lead only while holding the lease; when false, only one replica may run."},
    {"leaderElection.namespace", SL_KEY_OBJECT, .restart = true, .text = true,
     AT(election.namespace), .string = "",
     .help = "Namespace of the lease; empty: that of the access to the API server, else default."},
    {"leaderElection.name", SL_KEY_OBJECT, .restart = true, .text = true, AT(election.name),
     .string = "sliced", .help = "Name of the lease."},
    {"leaderElection.leaseDuration", SL_KEY_DURATION, .restart = true,
     AT(election.lease_duration_us), .min = SL_SECOND_US, .max = SL_HOUR_US,
     .number = 15 * SL_SECOND_US,
     .help = "Others take the lease when its holder has not renewed it for this long; whole "
             "seconds."},
    {"leaderElection.renewDeadline", SL_KEY_DURATION, .restart = true,
     AT(election.renew_deadline_us), .min = SL_SECOND_US / 2, .max = SL_HOUR_US,
     .number = 10 * SL_SECOND_US,
     .help = "A leader that could not renew the lease for this long stops leading."},
    {"leaderElection.retryPeriod", SL_KEY_DURATION, .restart = true, AT(election.retry_period_us),
     .min = SL_SECOND_US / 10, .max = SL_HOUR_US, .number = 2 * SL_SECOND_US,
     .help = "Time between two looks at the lease."},

    {"events.enabled", SL_KEY_BOOLEAN, .restart = true, AT(events.enabled), .max = 1, .number = 1,
     .help = "Write Events on pods: where a pod was bound, why it waits."},
    {"events.perSecond", SL_KEY_INTEGER, .restart = true, AT(events.per_second), .min = 1,
     .max = 10000, .number = 20,
     .help = "Maximum number of Events written per second, over all pods."},
    {"events.burst", SL_KEY_INTEGER, .restart = true, AT(events.burst), .min = 1, .max = 10000,
     .number = 100, .help = "Number of Events that may be written at once after a quiet time."},
    {"events.repeatAfter", SL_KEY_DURATION, .restart = true, AT(events.repeat_us),
     .min = SL_SECOND_US, .max = SL_DAY_US, .number = 5 * SL_MINUTE_US,
     .help = "Minimum time before the same is told about a pod again."},

    {"json.maxDepth", SL_KEY_INTEGER, AT(decode.max_depth), .min = 16, .max = 1024, .number = 64,
     .help = "Maximum nesting of maps and lists in a file or in posted manifests. Parts of other "
             "requests that are passed over may have any depth."},
    {"json.maxString", SL_KEY_SIZE, AT(decode.max_string), .min = 4 * KI, .max = 64 * MI,
     .number = MI, .help = "Maximum length of a string in a field that is read."},

    {"queue.enabled", SL_KEY_BOOLEAN, .restart = true, AT(queue.enabled), .max = 1, .number = 0,
     .help = "Plan for the waiting pods: set devices aside for those whose turn it is, open their "
             "gates, hold the others."},
    {"queue.gate", SL_KEY_ENUM, AT(queue.gate), .words = GATES, .number = SL_QUEUE_GATE_NONE,
     .help = "What puts the gate sliced.dev/queue on pods: a MutatingAdmissionPolicy, the "
             "daemon's webhook, or nothing. With policy, pods that never had the gate are not in "
             "the queue and go where there is room. With webhook, which may fail to answer, and "
             "with none, filter holds such pods."},
    {"queue.schedulerName", SL_KEY_WORD, .restart = true, .text = true, AT(queue.scheduler),
     .string = "",
     .help = "The queue takes pods without the gate when they name this scheduler; empty: all of "
             "them. It takes every pod with the gate."},
    {"queue.daemonSetUser", SL_KEY_WORD, .text = true, AT(queue.daemon_set_user),
     .string = "system:serviceaccount:kube-system:daemon-set-controller",
     .help = "User that creates the pods of DaemonSets; the webhook trusts an owner reference to "
             "a DaemonSet from nobody else."},
    {"queue.order", SL_KEY_ENUM, AT(plan.order.kind), .words = sl_order_words,
     .number = SL_ORDER_BOUNDED,
     .help = "The order of waiting pods; docs/policies.md says what each order does."},
    {"queue.alpha", SL_KEY_DECIMAL, AT(plan.order.weights.alpha), .min = 0,
     .max = SL_ORDER_ALPHA_MAX, .number = SL_ORDER_ALPHA_MAX,
     .help = "Order p: weight of a unit of the pod's priority."},
    {"queue.beta", SL_KEY_DECIMAL, AT(plan.order.weights.beta), .min = 0,
     .max = SL_ORDER_WEIGHT_MAX, .number = SL_ORDER_ONE,
     .help = "Order p: weight of a second of the pod's timeout."},
    {"queue.gamma", SL_KEY_DECIMAL, AT(plan.order.weights.gamma), .min = 0,
     .max = SL_ORDER_WEIGHT_MAX, .number = SL_ORDER_ONE,
     .help = "Order p: weight of a second of submission."},
    {"queue.bound", SL_KEY_DECIMAL, AT(queue.bound), .min = ONE, .max = 100 * ONE,
     .number = 115 * ONE / 100,
     .help = "Order bounded: no pod waits longer than this many times the longest wait under "
             "fifo."},
    {"queue.defaultTimeout", SL_KEY_DURATION, AT(plan.default_timeout_us), .min = SL_SECOND_US,
     .max = 365 * SL_DAY_US, .number = 7 * SL_DAY_US,
     .help = "Timeout of pods that state none; long, so that they go behind those that do."},
    {"queue.holdSeconds", SL_KEY_INTEGER, AT(queue.hold_s), .min = 1, .max = 86400, .number = 30,
     .help = "A pod that was released and is not bound after this long gives its devices back; "
             "each time this happens doubles the time until its next turn."},
    {"queue.maxReleases", SL_KEY_INTEGER, AT(queue.max_releases), .min = 1, .max = 10000,
     .number = 256,
     .help = "Maximum number of pods that are released and not yet bound; the number in force "
             "follows how many get bound."},
    {"queue.nominateFrom", SL_KEY_INTEGER, AT(queue.nominate_from), .min = 0, .max = 1000000,
     .number = 500,
     .help = "Number of nodes from which a pod's nomination is also written to its "
             "status.nominatedNodeName, which saves kube-scheduler its search; with fewer nodes "
             "the search costs less than the write."},
    {"queue.maxPredecessors", SL_KEY_INTEGER, AT(queue.max_predecessors), .min = 1, .max = 1000000,
     .number = 20000,
     .help = "Maximum number of items of sliced.dev/after that pods wait for, and of pods that "
             "selectors match; a pod with further ones does not start before there is room. A "
             "namespace may have three times as many as it leaves for the others."},
    {"queue.backfill", SL_KEY_BOOLEAN, AT(plan.backfill), .max = 1, .number = 1,
     .help = "Let pods behind one that has no room yet start when that does not delay it."},
    {"queue.preemption", SL_KEY_BOOLEAN, AT(plan.preemption), .max = 1, .number = 1,
     .help = "Release a pod that could start by preempting pods of lower priority."},
    {"queue.learnRuntime", SL_KEY_BOOLEAN, AT(plan.learn_runtime), .max = 1, .number = 0,
     .help = "Also say when a pod would start if all pods ran as long as earlier pods of the same "
             "owner did, beside the estimate by timeouts; no decision depends on it."},
    {"queue.autoscalerPods", SL_KEY_INTEGER, AT(plan.autoscaler_pods), .min = 0, .max = 1000,
     .number = 0,
     .help = "Number of held pods of each resource that are released all the same, to show a "
             "cluster autoscaler that more nodes are wanted."},
    {"queue.condition.enabled", SL_KEY_BOOLEAN, AT(queue.condition.enabled), .max = 1, .number = 1,
     .help = "Keep the condition sliced.dev/Queued on pods that wait; with false, conditions that "
             "pods have are set to Unknown."},
    {"queue.condition.perSecond", SL_KEY_INTEGER, AT(queue.condition.per_second), .min = 1,
     .max = 200, .number = 10,
     .help = "Maximum number of conditions written per second, and of writes under way at a time, "
             "over all pods."},
    {"queue.condition.maxPods", SL_KEY_INTEGER, AT(queue.condition.max_pods), .min = 1,
     .max = 1000000, .number = 10000,
     .help = "Maximum number of pods with a condition, those at the front of the queue first. A "
             "namespace may have three times as many as it leaves for the others."},

    {"tenants.namespaceLabel", SL_KEY_LABEL, .text = true, AT(tenants.label), .string = "",
     .help = "Label of Namespaces whose value is the tenant of all pods there; needs the right to "
             "list and watch Namespaces. Empty: none."},
    {"tenants.borrowMaxTimeout", SL_KEY_DURATION, AT(tenants.borrow_max_timeout_us), .min = 0,
     .max = 365 * SL_DAY_US, .number = 0,
     .help = "Pods of a longer timeout hold no more than their tenant's share, so that others need "
             "not wait longer than this for theirs; 0s: they may."},
    {"tenants.reclaim", SL_KEY_BOOLEAN, AT(tenants.reclaim), .max = 1, .number = 0,
     .help = "A pod that is due may preempt runs of lower priority that their tenant borrows, the "
             "youngest first, though queue.preemption is off."},
    {"tenants.minRuntime", SL_KEY_DURATION, AT(tenants.min_runtime_us), .min = 0,
     .max = 365 * SL_DAY_US, .number = 10 * SL_MINUTE_US,
     .help = "For how long a borrowed run is left alone by tenants.reclaim."},

    {"partitioning.enabled", SL_KEY_BOOLEAN, .restart = true, AT(partitioning.enabled), .max = 1,
     .number = 0,
     .help = "Cut GPUs so that waiting pods can start; instances in use stay. Needs "
             "queue.enabled."},
    {"partitioning.nodeSelector", SL_KEY_SELECTOR, .restart = true, .text = true,
     AT(partitioning.node_selector), .string = "sliced.dev/partitioning=dynamic",
     .help = "Labels of the nodes whose GPUs may be cut: LABEL=VALUE, several joined by commas; a "
             "node needs all of them. Empty: every node."},
    {"partitioning.actuator", SL_KEY_ENUM, .restart = true, AT(partitioning.actuator),
     .words = ACTUATORS, .number = SL_CHOOSE_AUTO,
     .help = "The agent that cuts the GPUs; auto: nos' agent on nodes with the label "
             "nos.nebuly.com/gpu-partitioning, else the mig-manager."},
    {"partitioning.maxNodes", SL_KEY_INTEGER, AT(partitioning.max_nodes), .min = 1, .max = 1000,
     .number = 2, .help = "Maximum number of nodes that are cut at the same time."},
    {"partitioning.batchWindow", SL_KEY_DURATION, AT(partitioning.batch_us), .min = 0,
     .max = SL_HOUR_US, .number = 5 * SL_SECOND_US,
     .help = "How long a pod that needs a cut waits for others, so that one cut serves them all; "
             "the wait ends early when no other comes for a fifth of it."},
    {"partitioning.timeout", SL_KEY_DURATION, AT(partitioning.timeout_us), .min = SL_SECOND_US,
     .max = SL_DAY_US, .number = 15 * SL_MINUTE_US,
     .help = "A cut that has not ended after this long has failed; the mig-manager alone may wait "
             "5 minutes for each of the pods that it stops."},
    {"partitioning.backoff", SL_KEY_DURATION, AT(partitioning.backoff_us), .min = SL_SECOND_US,
     .max = SL_DAY_US, .number = SL_MINUTE_US,
     .help = "How long a node is left out after a cut of it failed; each further failure doubles "
             "it."},
    {"partitioning.maxBackoff", SL_KEY_DURATION, AT(partitioning.max_backoff_us),
     .min = SL_SECOND_US, .max = 7 * SL_DAY_US, .number = SL_HOUR_US,
     .help = "Maximum time for which a node is left out."},
    {"partitioning.migMode", SL_KEY_BOOLEAN, .restart = true, AT(partitioning.mig_mode), .max = 1,
     .number = 0,
     .help = "Also switch MIG mode on and off, which resets the GPU and on some machines needs a "
             "reboot; only the mig-manager can."},
    {"partitioning.drain", SL_KEY_BOOLEAN, AT(partitioning.drain), .max = 1, .number = 1,
     .help = "Keep pods that would run too long off a node, so that its free instances can be "
             "joined into a larger one."},
    {"partitioning.nosReportInterval", SL_KEY_DURATION, AT(partitioning.nos_report_us), .min = 0,
     .max = 10 * SL_MINUTE_US, .number = 15 * SL_SECOND_US,
     .help = "Longest interval at which nos' agents report what is in use; a node of theirs is "
             "not cut within this time after a pod started there."},
    {"partitioning.migManager.namespace", SL_KEY_OBJECT, .restart = true, .text = true,
     AT(partitioning.config_namespace), .string = "gpu-operator",
     .help = "Namespace of the mig-manager and of its configuration."},
    {"partitioning.migManager.configMap", SL_KEY_OBJECT, .restart = true, .text = true,
     AT(partitioning.config_map), .string = "sliced-mig-config",
     .help = "ConfigMap with the mig-manager's configuration; sliced adds its entries to the key "
             "config.yaml and leaves others as they are."},
    {"partitioning.migManager.delay", SL_KEY_DURATION, AT(partitioning.config_delay_us), .min = 0,
     .max = 10 * SL_MINUTE_US, .number = 2 * SL_SECOND_US,
     .help = "How long a change of that ConfigMap takes to reach the mig-manager, whose pod "
             "sliced annotates so that the kubelet looks at once; only then does the node name "
             "the entry."},
    {"partitioning.nosMps.namespace", SL_KEY_OBJECT, .restart = true, .text = true,
     AT(partitioning.mps_namespace), .string = "nebuly-nvidia",
     .help = "Namespace of nos' device plugin and of its configuration."},
    {"partitioning.nosMps.configMap", SL_KEY_OBJECT, .restart = true, .text = true,
     AT(partitioning.mps_config_map), .string = "nebuly-device-plugin-configs",
     .help = "ConfigMap with the device plugin's configurations; sliced adds keys of its own, and "
             "leaves others as they are."},
    {"partitioning.nosMps.delay", SL_KEY_DURATION, AT(partitioning.mps_delay_us), .min = 0,
     .max = 10 * SL_MINUTE_US, .number = 5 * SL_SECOND_US,
     .help = "How long a change of that ConfigMap takes to reach the device plugin; only then is "
             "the plugin told to use it."},

    {"telemetry.url", SL_KEY_URL, .restart = true, .text = true, AT(telemetry.url), .string = "",
     .help =
         "URL of Prometheus, as http://prometheus.monitoring:9090 or https://...; where this and "
         "telemetry.exporters are empty, nothing is measured."},
    {"telemetry.exporters", SL_KEY_URL, .restart = true, .text = true, AT(telemetry.exporters),
     .string = "",
     .help = "In place of Prometheus: URL of dcgm-exporter's page on each node, as "
             "http://{address}:9400/metrics; {address} stands for the node's InternalIP, {node} "
             "for its name. The keys of TLS and credentials then hold for these pages."},
    {"telemetry.caFile", SL_KEY_PATH, .restart = true, .text = true, AT(telemetry.ca_file),
     .string = "",
     .help = "File (PEM) of the authorities that must have signed the certificate of Prometheus; "
             "empty: the system's."},
    {"telemetry.certFile", SL_KEY_PATH, .restart = true, .text = true, AT(telemetry.cert_file),
     .string = "", .help = "File (PEM) of the certificate that the daemon shows."},
    {"telemetry.keyFile", SL_KEY_PATH, .restart = true, .text = true, AT(telemetry.key_file),
     .string = "", .help = "File (PEM) of that certificate's private key."},
    {"telemetry.tokenFile", SL_KEY_PATH, .restart = true, .text = true, AT(telemetry.token_file),
     .string = "",
     .help = "File of the bearer token that the daemon sends; read again when it changes."},
    {"telemetry.username", SL_KEY_WORD, .restart = true, .text = true, AT(telemetry.username),
     .string = "", .help = "User name for basic authentication."},
    {"telemetry.passwordFile", SL_KEY_PATH, .restart = true, .text = true,
     AT(telemetry.password_file), .string = "",
     .help = "File of that user's password; read at the start."},
    {"telemetry.selector", SL_KEY_SELECTOR, .restart = true, .text = true, AT(telemetry.selector),
     .string = "",
     .help = "Labels that series must have, as job=dcgm-exporter; needed where one Prometheus "
             "scrapes several clusters."},
    {"telemetry.ownSelector", SL_KEY_SELECTOR, .restart = true, .text = true, AT(telemetry.own),
     .string = "",
     .help =
         "Labels that sliced's own series must have for the page's lines, as job=sliced; needed "
         "where Prometheus scrapes several clusters or users' pods."},
    {"telemetry.nodeLabels", SL_KEY_WORD, .restart = true, .text = true, AT(telemetry.node_labels),
     .string = "Hostname,hostname,node,kubernetes_node",
     .help = "Labels that may name the node, at most four, joined by commas; the first one that "
             "names a known node counts."},
    {"telemetry.podLabels", SL_KEY_WORD, .restart = true, .text = true, AT(telemetry.pod_labels),
     .string = "pod,pod_name",
     .help = "Labels that may name the pod that has the GPU, at most four, joined by commas; each "
             "also counts with exported_ before it, as Prometheus writes it."},
    {"telemetry.namespaceLabels", SL_KEY_WORD, .restart = true, .text = true,
     AT(telemetry.namespace_labels), .string = "namespace,pod_namespace",
     .help = "Labels that may name that pod's namespace, at most four, likewise."},
    {"telemetry.interval", SL_KEY_DURATION, .restart = true, AT(telemetry.interval_us),
     .min = SL_SECOND_US / 10, .max = SL_HOUR_US, .number = 10 * SL_SECOND_US,
     .help = "How often new samples are asked for."},
    {"telemetry.timeout", SL_KEY_DURATION, .restart = true, AT(telemetry.timeout_us),
     .min = SL_SECOND_US, .max = SL_HOUR_US, .number = 10 * SL_SECOND_US,
     .help = "How long an answer may take; one that is not complete by then is given up."},
    {"telemetry.staleAfter", SL_KEY_DURATION, .restart = true, AT(telemetry.stale_us),
     .min = SL_SECOND_US, .max = SL_DAY_US, .number = 90 * SL_SECOND_US,
     .help = "A GPU whose last sample is older than this is judged as if nothing were measured."},
    {"telemetry.maxGap", SL_KEY_DURATION, .restart = true, AT(telemetry.gap_us),
     .min = SL_SECOND_US, .max = SL_DAY_US, .number = 65 * SL_SECOND_US,
     .help = "Longest time between two samples in a window that decisions use: twice the "
             "exporter's interval or more."},
    {"telemetry.window", SL_KEY_INTEGER, .restart = true, AT(telemetry.window), .min = 20,
     .max = SL_SERIES_CAP_MAX, .number = 60,
     .help = "Number of samples that are kept for each GPU."},
    {"telemetry.maxUnits", SL_KEY_INTEGER, .restart = true, AT(telemetry.max_units), .min = 1,
     .max = 1000000, .number = 16384,
     .help = "Maximum number of GPUs and MIG instances that are kept; further ones count as not "
             "measured. When energy is kept for more namespaces than this, those without pods are "
             "forgotten."},
    {"telemetry.sharing", SL_KEY_ENUM, .restart = true, AT(telemetry.sharing), .words = SHARING,
     .number = SL_SHARING_ASKS,
     .help =
         "Which pods that declare sliced.dev/gpu-memory may share a GPU by replicas: those "
         "whose asks fit together (asks); or also by what is used: by what pods of each workload "
         "came to use (peaks, advised), or by the published rules (cbp, cbp-pp: for comparison, "
         "pods run out of memory)."},
    {"telemetry.margin", SL_KEY_DECIMAL, .restart = true, AT(telemetry.margin), .min = 0,
     .max = 10 * ONE, .number = ONE * 15 / 100,
     .help = "With peaks: maximum part of a workload's highest use that is added to it."},
    {"telemetry.horizon", SL_KEY_DURATION, .restart = true, AT(telemetry.horizon_us), .min = 0,
     .max = SL_DAY_US, .number = 2 * SL_MINUTE_US,
     .help = "With peaks: memory that grows beyond what is expected counts as it will be after "
             "this long."},
    {"telemetry.idleBelow", SL_KEY_DECIMAL, .restart = true, AT(telemetry.idle_below), .min = 0,
     .max = ONE, .number = ONE / 100,
     .help = "A GPU that is busy for a smaller part of the time than this is idle."},
    {"telemetry.idleAfter", SL_KEY_DURATION, .restart = true, AT(telemetry.idle_us),
     .min = SL_SECOND_US, .max = SL_DAY_US, .number = 30 * SL_MINUTE_US,
     .help = "A pod counts as idle, and its owner is told, when nothing has run on its GPUs for "
             "this long."},
    {"telemetry.idleDeadline", SL_KEY_DURATION, .restart = true, AT(telemetry.idle_deadline_us),
     .min = 0, .max = SL_DAY_US, .number = 0,
     .help = "A pod that states a timeout and is still idle this long after its owner was warned "
             "is ended: its deadline is shortened. 0s: never."},
    {"telemetry.metrics.memoryUsed", SL_KEY_WORD, .restart = true, .text = true,
     AT(telemetry.memory_used), .string = "DCGM_FI_DEV_FB_USED", .help = "Used memory, in MiB."},
    {"telemetry.metrics.podMemoryUsed", SL_KEY_WORD, .restart = true, .text = true,
     AT(telemetry.pod_memory_used), .string = "",
     .help = "Memory that each pod uses of a GPU, by labels namespace and pod, in MiB (in bytes if "
             "the name ends in _bytes): one series for each pod and GPU."},
    {"telemetry.metrics.busyPercent", SL_KEY_WORD, .restart = true, .text = true,
     AT(telemetry.busy_percent), .string = "DCGM_FI_DEV_GPU_UTIL",
     .help = "Time in which something ran, 0 to 100; MIG instances have none."},
    {"telemetry.metrics.busyRatio", SL_KEY_WORD, .restart = true, .text = true,
     AT(telemetry.busy_ratio), .string = "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
     .help = "The same, 0 to 1: of MIG instances, and where the percentage is not there."},
    {"telemetry.metrics.bandwidthRatio", SL_KEY_WORD, .restart = true, .text = true,
     AT(telemetry.bandwidth_ratio), .string = "DCGM_FI_PROF_DRAM_ACTIVE",
     .help = "Time in which the memory was read or written, 0 to 1."},
    {"telemetry.metrics.powerWatts", SL_KEY_WORD, .restart = true, .text = true,
     AT(telemetry.power_watts), .string = "DCGM_FI_DEV_POWER_USAGE",
     .help = "Power that a GPU draws, in watts."},

    SL_TERMS(WEIGHT, ) SL_KINDS(KIND_WEIGHTS)

        {"log.level", SL_KEY_ENUM, AT(log.level), .words = LEVELS, .number = SL_LOG_INFO,
         .help = "Least important level that is written."},
    {"log.format", SL_KEY_ENUM, AT(log.json), .words = FORMATS, .number = 0,
     .help = "Write lines as text or as JSON objects."},
    {"log.pod", SL_KEY_WORD, .text = true, AT(log.pod), .string = "",
     .help = "A pod, as `namespace/name`, whose lines are all written, whatever their level."},
};

const size_t sl_n_keys = sizeof(sl_keys) / sizeof(sl_keys[0]);
_Static_assert(sizeof(sl_keys) / sizeof(sl_keys[0]) <= SL_KEYS_MAX, "more keys than numbers");

/* Reading the configuration: what is taken, and what is said, and where, of what is not. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

#define HEAD "apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\n"

static struct sl_config parsed(const char *text)
{
    struct sl_config config;
    struct sl_error err = {0};
    memset(&config, 0, sizeof(config));
    if (sl_config_parse("test.yaml", text, strlen(text), &config, NULL, &err) != 0) {
        fail_msg("%u:%u: %s: %s\nin\n%s", err.line, err.column, err.field, err.message, text);
    }
    return config;
}

TEST_THAT(a_file_with_nothing_but_its_kind_gives_the_defaults)
{
    struct sl_config c = parsed(HEAD);
    assert_string_equal(c.server.listen, "127.0.0.1:8888");
    assert_int_equal(c.server.threads, 0);
    assert_int_equal(c.server.max_connections, 256);
    assert_int_equal(c.server.max_body_bytes, 128 << 20);
    assert_int_equal(c.server.max_reply_bytes, 64 << 20);
    assert_int_equal(c.server.connection_memory, 64 << 10);
    assert_int_equal(c.server.request_timeout_us, 30000000);
    assert_int_equal(c.server.shutdown_timeout_us, 10000000);
    assert_string_equal(c.extender.prefix, "/scheduler");
    assert_string_equal(c.extender.filter, "filter");
    assert_string_equal(c.extender.prioritize, "prioritize");
    assert_string_equal(c.extender.bind, "bind");
    assert_string_equal(c.extender.preempt, "preempt");
    assert_int_equal(c.extender.max_node_names, 20000);
    assert_int_equal(c.cluster.max_nodes, 10000);
    assert_int_equal(c.cluster.max_pods, 200000);
    assert_int_equal(c.cluster.max_reservations, 10000);
    assert_int_equal(c.cluster.reservation_us, 60000000);
    assert_int_equal(c.cluster.max_manifest_bytes, 1 << 30);
    assert_int_equal(c.decode.max_depth, 64);
    assert_int_equal(c.decode.max_string, 1 << 20);
    assert_int_equal(c.plan.score.weight[SL_TERM_AVAILABILITY], 100);
    assert_int_equal(c.plan.score.weight[SL_TERM_PACKING], 50);
    assert_int_equal(c.plan.score.weight[SL_TERM_SPREADING], 0);
    assert_int_equal(c.log.level, SL_LOG_INFO);
    assert_false(c.log.json);
}

TEST_THAT(every_kind_of_value_is_read)
{
    struct sl_config c = parsed("# a comment\n" HEAD "server:\n"
                                "  listen: \"[::1]:0\"\n"
                                "  threads: 8\n"
                                "  maxBodyBytes: 1Mi\n"
                                "  maxReplyBytes: 2000000\n"
                                "  requestTimeout: 1m30s\n"
                                "  shutdownTimeout: 1.5s\n"
                                "extender:\n"
                                "  pathPrefix: /a/b\n"
                                "  filterVerb: pick\n"
                                "cluster:\n"
                                "score:\n"
                                "  weights: {packing: 0, spreading: 1000}\n"
                                "log: {level: debug, format: json}\n");
    assert_string_equal(c.server.listen, "[::1]:0");
    assert_int_equal(c.server.threads, 8);
    assert_int_equal(c.server.max_body_bytes, 1 << 20);
    assert_int_equal(c.server.max_reply_bytes, 2000000);
    assert_int_equal(c.server.request_timeout_us, 90000000);
    assert_int_equal(c.server.shutdown_timeout_us, 1500000);
    assert_string_equal(c.extender.prefix, "/a/b");
    assert_string_equal(c.extender.filter, "pick");
    assert_string_equal(c.extender.bind, "bind");
    assert_int_equal(c.plan.score.weight[SL_TERM_AVAILABILITY], 100);
    assert_int_equal(c.plan.score.weight[SL_TERM_PACKING], 0);
    assert_int_equal(c.plan.score.weight[SL_TERM_SPREADING], 1000);
    assert_int_equal(c.log.level, SL_LOG_DEBUG);
    assert_true(c.log.json);
}

TEST_THAT(sections_of_a_deployment_are_read)
{
    struct sl_config c =
        parsed(HEAD "server:\n  insecure: true\n  tls:\n    certFile: /etc/sliced/tls/tls.crt\n"
                    "    keyFile: /etc/sliced/tls/tls.key\n    clientCAFile: ca.crt\n"
                    "    clients: [{name: sliced-scheduler}, {name: \"system:kube-scheduler\"}]\n"
                    "kubernetes:\n  kubeconfig: /etc/kc\n  context: a@b\n  qps: 0\n"
                    "  watchSilence: 2m\n"
                    "leaderElection:\n  enabled: false\n  namespace: sliced-system\n"
                    "events:\n  perSecond: 7\n  repeatAfter: 1m\n");
    assert_true(c.server.insecure);
    assert_string_equal(c.server.cert_file, "/etc/sliced/tls/tls.crt");
    assert_string_equal(c.server.key_file, "/etc/sliced/tls/tls.key");
    assert_string_equal(c.server.client_ca_file, "ca.crt");
    assert_int_equal(c.server.n_clients, 2);
    assert_string_equal(c.server.client[0].name, "sliced-scheduler");
    assert_string_equal(c.server.client[1].name, "system:kube-scheduler");
    assert_string_equal(c.kubernetes.kubeconfig, "/etc/kc");
    assert_string_equal(c.kubernetes.context, "a@b");
    assert_int_equal(c.kubernetes.qps, 0);
    assert_int_equal(c.kubernetes.burst, 1000);
    assert_int_equal(c.kubernetes.watch_silence_us, 120000000);
    assert_false(c.election.enabled);
    assert_string_equal(c.election.namespace, "sliced-system");
    assert_string_equal(c.election.name, "sliced");
    assert_int_equal(c.election.lease_duration_us, 15000000);
    assert_true(c.events.enabled);
    assert_int_equal(c.events.per_second, 7);
    assert_int_equal(c.events.repeat_us, 60000000);
}

TEST_THAT(json_is_read_as_well)
{
    struct sl_config c =
        parsed("{\"kind\": \"SlicedConfiguration\", \"apiVersion\": \"sliced.dev/v1alpha1\",\n"
               " \"server\": {\"threads\": 3, \"maxBodyBytes\": 4096}}\n");
    assert_int_equal(c.server.threads, 3);
    assert_int_equal(c.server.max_body_bytes, 4096);
}

struct error_case {
    const char *text;
    enum sl_error_code code;
    unsigned line;
    unsigned column;
    const char *field;
    const char *message; /* a part of it */
};

static void check_error(const struct error_case *c)
{
    struct sl_config config;
    struct sl_config before;
    struct sl_error err = {0};
    memset(&config, 0x5a, sizeof(config));
    memset(&before, 0x5a, sizeof(before));
    if (sl_config_parse("test.yaml", c->text, strlen(c->text), &config, NULL, &err) != -1) {
        fail_msg("accepted:\n%s", c->text);
    }
    assert_memory_equal(&config, &before, sizeof(config));
    if (err.code != c->code || err.line != c->line || err.column != c->column ||
        strcmp(err.field, c->field) != 0 || strstr(err.message, c->message) == NULL) {
        fail_msg("%s at %u:%u: \"%s\": %s\nnot %s at %u:%u: \"%s\": %s\nfor\n%s",
                 sl_error_code_name(err.code), err.line, err.column, err.field, err.message,
                 sl_error_code_name(c->code), c->line, c->column, c->field, c->message, c->text);
    }
}

static void check_errors(const struct error_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check_error(&cases[i]);
    }
}

TEST_THAT(a_wrong_value_is_told_with_place_and_expectation)
{
    const struct error_case cases[] = {
        {HEAD "server:\n  threads: many\n", SL_ERR_TYPE, 4, 12, "server.threads",
         "found \"many\", expected an integer from 0 to 64"},
        {HEAD "server:\n  threads: 65\n", SL_ERR_FIELD, 4, 12, "server.threads",
         "found 65, expected an integer from 0 to 64"},
        {HEAD "server:\n  threads: -1\n", SL_ERR_FIELD, 4, 12, "server.threads", "found -1"},
        {HEAD "server:\n  threads: \"4\"\n", SL_ERR_TYPE, 4, 12, "server.threads", "found \"4\""},
        {HEAD "server:\n  threads: 4.0\n", SL_ERR_TYPE, 4, 12, "server.threads", "found 4.0"},
        {HEAD "server:\n  threads: 99999999999999999999\n", SL_ERR_FIELD, 4, 12, "server.threads",
         "found 99999999999999999999"},
        {HEAD "server:\n  threads: true\n", SL_ERR_TYPE, 4, 12, "server.threads", "found true"},
        {HEAD "server:\n  threads:\n", SL_ERR_TYPE, 4, 11, "server.threads", "found nothing"},
        {HEAD "server:\n  threads: {a: 1}\n", SL_ERR_TYPE, 4, 12, "server.threads", "found a map"},
        {HEAD "server:\n  threads:\n  - 1\n", SL_ERR_TYPE, 5, 3, "server.threads", "found a list"},
        {HEAD "server: 5\n", SL_ERR_TYPE, 3, 9, "server", "found 5, expected a map of keys"},
        {HEAD "server: []\n", SL_ERR_TYPE, 3, 9, "server", "found a list, expected a map of keys"},
        {HEAD "score:\n  weights: 5\n", SL_ERR_TYPE, 4, 12, "score.weights", "found 5"},
        {HEAD "score:\n  weights:\n    packing: 1001\n", SL_ERR_FIELD, 5, 14,
         "score.weights.packing", "found 1001, expected an integer from 0 to 1000"},
        {HEAD "server:\n  maxBodyBytes: 1KB\n", SL_ERR_TYPE, 4, 17, "server.maxBodyBytes",
         "found \"1KB\", expected a size from 1Ki to 4Gi"},
        {HEAD "server:\n  maxBodyBytes: 100\n", SL_ERR_FIELD, 4, 17, "server.maxBodyBytes",
         "found 100"},
        {HEAD "server:\n  maxBodyBytes: 1500.5\n", SL_ERR_FIELD, 4, 17, "server.maxBodyBytes",
         "found 1500.5"},
        {HEAD "server:\n  maxBodyBytes: 99999Ei\n", SL_ERR_FIELD, 4, 17, "server.maxBodyBytes",
         "found \"99999Ei\""},
        {HEAD "server:\n  requestTimeout: 30\n", SL_ERR_TYPE, 4, 19, "server.requestTimeout",
         "found 30, expected a duration from 1s to 1h (as 500ms, 5s, 1m30s)"},
        {HEAD "server:\n  requestTimeout: 2h\n", SL_ERR_FIELD, 4, 19, "server.requestTimeout",
         "found \"2h\""},
        {HEAD "server:\n  listen: 8888\n", SL_ERR_TYPE, 4, 11, "server.listen",
         "found 8888, expected ADDRESS:PORT"},
        {HEAD "server:\n  listen: example.org:80\n", SL_ERR_FIELD, 4, 11, "server.listen",
         "found \"example.org:80\", expected ADDRESS:PORT"},
        {HEAD "log:\n  level: loud\n", SL_ERR_FIELD, 4, 10, "log.level",
         "found \"loud\", expected one of error, warn, info, debug"},
        {HEAD "log:\n  level: 3\n", SL_ERR_TYPE, 4, 10, "log.level", "found 3"},
        {HEAD "extender:\n  pathPrefix: scheduler\n", SL_ERR_FIELD, 4, 15, "extender.pathPrefix",
         "found \"scheduler\", expected a path such as /scheduler"},
        {HEAD "extender:\n  bindVerb: a/b\n", SL_ERR_FIELD, 4, 13, "extender.bindVerb",
         "found \"a/b\""},
        {HEAD "events:\n  enabled: 1\n", SL_ERR_TYPE, 4, 12, "events.enabled",
         "found 1, expected true or false"},
        {HEAD "events:\n  enabled: \"true\"\n", SL_ERR_TYPE, 4, 12, "events.enabled",
         "found \"true\", expected true or false"},
        {HEAD "events:\n  perSecond: true\n", SL_ERR_TYPE, 4, 14, "events.perSecond", "found true"},
        {HEAD "server:\n  tls:\n    certFile: \"a\\tb\"\n", SL_ERR_FIELD, 5, 15,
         "server.tls.certFile", "expected a file's name"},
        {HEAD "leaderElection:\n  name: Sliced\n", SL_ERR_FIELD, 4, 9, "leaderElection.name",
         "found \"Sliced\", expected the name of a Kubernetes object"},
        {HEAD "leaderElection:\n  name: \"\"\n", SL_ERR_FIELD, 4, 9, "leaderElection.name",
         "found \"\""},
        {HEAD "log:\n  level: \"a\\e[31m\\n\"\n", SL_ERR_FIELD, 4, 10, "log.level",
         "found \"a?[31m?\""},
    };
    check_errors(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_THAT(lists_of_maps_are_read)
{
    struct sl_config c = parsed(
        HEAD "queue:\n  enabled: true\n  gate: webhook\n  order: p\n  alpha: 0.25\n  gamma: 2\n"
             "  bound: 1.5\n  defaultTimeout: 24h\n  holdSeconds: 5\n"
             "  limits:\n  - maxTimeout: 48h\n  - {resource: nvidia.com/gpu, maxTimeout: 1h}\n"
             "  headroom: [{resource: nvidia.com/gpu, maxTimeout: 10m, devices: 2}]\n"
             "  overrides:\n  - namespace: batch\n    beta: 0.5\n  - priority: -7\n"
             "    gamma: 0\n"
             "  maxReleases: 9\n  nominateFrom: 0\n");
    assert_true(c.queue.enabled);
    assert_int_equal(c.queue.gate, SL_QUEUE_GATE_WEBHOOK);
    assert_int_equal(c.plan.order.kind, SL_ORDER_P);
    assert_int_equal(c.plan.order.weights.alpha, 250000);
    assert_int_equal(c.plan.order.weights.beta, 1000000);
    assert_int_equal(c.plan.order.weights.gamma, 2000000);
    assert_int_equal(c.queue.bound, 1500000);
    assert_int_equal(c.queue.hold_s, 5);
    assert_int_equal(c.queue.max_releases, 9);
    assert_int_equal(c.queue.nominate_from, 0);
    assert_int_equal(c.plan.n_limits, 2);
    assert_string_equal(c.plan.limit[0].resource, "");
    assert_int_equal(c.plan.limit[0].max_timeout_us, 48 * INT64_C(3600000000));
    assert_string_equal(c.plan.limit[1].resource, "nvidia.com/gpu");
    assert_int_equal(c.plan.n_headrooms, 1);
    assert_int_equal(c.plan.headroom[0].units, 2);
    assert_int_equal(c.plan.n_overrides, 2);
    assert_string_equal(c.plan.override[0].namespace, "batch");
    assert_int_equal(c.plan.override[0].priority, INT32_MIN);
    assert_int_equal(c.plan.override[0].weights.alpha, -1);
    assert_int_equal(c.plan.override[0].weights.beta, 500000);
    assert_string_equal(c.plan.override[1].namespace, "");
    assert_int_equal(c.plan.override[1].priority, -7);
    assert_int_equal(c.plan.override[1].weights.gamma, 0);
}

TEST_THAT(the_queue_is_off_unless_it_is_asked_for)
{
    struct sl_config c = parsed(HEAD "queue:\n  limits:\n  headroom: []\n");
    assert_false(c.queue.enabled);
    assert_int_equal(c.plan.order.kind, SL_ORDER_BOUNDED);
    assert_int_equal(c.queue.bound, 1150000);
    assert_int_equal(c.plan.n_limits, 0);
    assert_int_equal(c.plan.n_headrooms, 0);
}

TEST_THAT(an_error_in_a_list_is_told_with_the_entry)
{
    static const char line[] = "  - {maxTimeout: 1h, resource: r%02d}\n";
    char many[2048] = HEAD "queue:\n  limits:\n";
    for (int i = 0; i < SL_PLAN_RULES_MAX + 1; i++) {
        (void)snprintf(many + strlen(many), sizeof(many) - strlen(many), line, i);
    }
    const struct error_case cases[] = {
        {HEAD "queue:\n  limits: 5\n", SL_ERR_TYPE, 4, 11, "queue.limits",
         "found 5, expected a list of maps"},
        {HEAD "queue:\n  limits:\n    maxTimeout: 1h\n", SL_ERR_TYPE, 5, 5, "queue.limits",
         "found a map, expected a list of maps"},
        {HEAD "queue:\n  limits: [1h]\n", SL_ERR_TYPE, 4, 12, "queue.limits[0]",
         "found \"1h\", expected a map"},
        {HEAD "queue:\n  limits: [[]]\n", SL_ERR_TYPE, 4, 12, "queue.limits[0]", "found a list"},
        {HEAD "queue:\n  limits:\n  - maxTimeout: 1h\n  - resource: x\n", SL_ERR_FIELD, 6, 5,
         "queue.limits[1]", "found no maxTimeout, expected one"},
        {HEAD "queue:\n  limits:\n  - maxTimeout: soon\n", SL_ERR_TYPE, 5, 17,
         "queue.limits[0].maxTimeout", "found \"soon\", expected a duration"},
        {HEAD "queue:\n  limits:\n  - maxTimeout: {}\n", SL_ERR_TYPE, 5, 17,
         "queue.limits[0].maxTimeout", "found a map, expected a duration"},
        {HEAD "queue:\n  limits:\n  - {maxTimeout: 1h, maxTimeout: 2h}\n", SL_ERR_FIELD, 5, 22,
         "queue.limits[0].maxTimeout", "found a second time, expected once (first on line 5)"},
        {HEAD "queue:\n  limits:\n  - {maxTimeout: 1h}\n  - {maxTimeout: 2h}\n", SL_ERR_FIELD, 6, 5,
         "queue.limits[1].resource", "found what queue.limits[0] has, expected another"},
        {HEAD "queue:\n  limits:\n  - maxTimout: 1h\n", SL_ERR_FIELD, 5, 5,
         "queue.limits.maxTimout", "expected perhaps \"queue.limits.maxTimeout\""},
        {HEAD "queue:\n  headroom:\n  - color: red\n", SL_ERR_FIELD, 5, 5, "queue.headroom.color",
         "expected one of resource, maxTimeout, devices"},
        {HEAD "queue:\n  overrides:\n  - alpha: -1\n", SL_ERR_TYPE, 5, 12,
         "queue.overrides[0].alpha", "found -1, expected a number from 0 to 1000000000"},
        {HEAD "queue:\n  beta: 0.1234567\n", SL_ERR_FIELD, 4, 9, "queue.beta",
         "found 0.1234567, expected a number from 0 to 1000000, with at most six digits"},
        {HEAD "queue:\n  bound: 0.9\n", SL_ERR_FIELD, 4, 10, "queue.bound", "found 0.9"},
        {HEAD "queue:\n  bound: \"2\"\n", SL_ERR_TYPE, 4, 10, "queue.bound", "found \"2\""},
        {HEAD "queue:\n  limit: []\n", SL_ERR_FIELD, 4, 3, "queue.limit",
         "expected perhaps \"queue.limits\""},
        {many, SL_ERR_LIMIT, 5 + SL_PLAN_RULES_MAX, 5, "queue.limits",
         "found one more entry, expected at most 32"},
    };
    check_errors(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_THAT(an_unknown_key_is_told_with_the_nearest_known_one)
{
    const struct error_case cases[] = {
        {HEAD "server:\n  thread: 4\n", SL_ERR_FIELD, 4, 3, "server.thread",
         "found an unknown key, expected perhaps \"server.threads\""},
        {HEAD "server:\n  maxbodybytes: 4\n", SL_ERR_FIELD, 4, 3, "server.maxbodybytes",
         "\"server.maxBodyBytes\""},
        {HEAD "server:\n  MAXBODYBYTES: 4\n", SL_ERR_FIELD, 4, 3, "server.MAXBODYBYTES",
         "\"server.maxBodyBytes\""},
        {HEAD "cluster:\n  maxNodeNames: 4\n", SL_ERR_FIELD, 4, 3, "cluster.maxNodeNames",
         "\"extender.maxNodeNames\""},
        {HEAD "log:\n  thread: 4\n", SL_ERR_FIELD, 4, 3, "log.thread",
         "found an unknown key, expected one of level, format"},
        {HEAD "threads: 4\n", SL_ERR_FIELD, 3, 1, "threads", "\"server.threads\""},
        {HEAD "sever:\n  threads: 4\n", SL_ERR_FIELD, 3, 1, "sever", "\"server\""},
        {HEAD "score:\n  packing: 4\n", SL_ERR_FIELD, 4, 3, "score.packing",
         "\"score.weights.packing\""},
        {HEAD "log:\n  colour: red\n", SL_ERR_FIELD, 4, 3, "log.colour",
         "found an unknown key, expected one of level, format"},
        {HEAD "zzz: 1\n", SL_ERR_FIELD, 3, 1, "zzz",
         "expected one of apiVersion, kind, server, extender, cluster, kubernetes, gpushare, "
         "leaderElection, "
         "events, json, queue, tenants, partitioning, telemetry, score, log"},
        {"apiversion: x\n", SL_ERR_FIELD, 1, 1, "apiversion", "\"apiVersion\""},
        {HEAD "\"\": 1\n", SL_ERR_FIELD, 3, 1, "", "found an unknown key"},
        {HEAD "server.threads: 4\n", SL_ERR_FIELD, 3, 1, "server.threads",
         "found a key with \".\" in it, expected nested maps"},
        {HEAD "\"server\\0\": {}\n", SL_ERR_FIELD, 3, 1, "server?", "found an unknown key"},
        {HEAD "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 4\n",
         SL_ERR_FIELD, 3, 1, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...",
         "found an unknown key, expected one of"},
    };
    check_errors(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_THAT(a_key_given_twice_is_refused)
{
    const struct error_case cases[] = {
        {HEAD "server:\n  threads: 4\n  threads: 4\n", SL_ERR_FIELD, 5, 3, "server.threads",
         "found a second time, expected once (first on line 4)"},
        {HEAD "server: {}\nlog: {}\nserver: {}\n", SL_ERR_FIELD, 5, 1, "server",
         "(first on line 3)"},
        {HEAD "kind: SlicedConfiguration\n", SL_ERR_FIELD, 3, 1, "kind", "(first on line 2)"},
    };
    check_errors(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_THAT(the_version_and_the_kind_must_be_there)
{
    const struct error_case cases[] = {
        {"", SL_ERR_FIELD, 1, 1, "apiVersion", "found nothing, expected sliced.dev/v1alpha1"},
        {"# only a comment\n", SL_ERR_FIELD, 1, 1, "apiVersion", "found nothing"},
        {"\n\nkind: SlicedConfiguration\n", SL_ERR_FIELD, 3, 1, "apiVersion", "found nothing"},
        {"apiVersion: sliced.dev/v1alpha1\n", SL_ERR_FIELD, 1, 1, "kind",
         "found nothing, expected SlicedConfiguration"},
        {"apiVersion: v1\nkind: SlicedConfiguration\n", SL_ERR_FIELD, 1, 13, "apiVersion",
         "found \"v1\", expected sliced.dev/v1alpha1"},
        {"apiVersion: sliced.dev/v1alpha1\nkind: Pod\n", SL_ERR_FIELD, 2, 7, "kind",
         "found \"Pod\", expected SlicedConfiguration"},
        {"apiVersion: 1\n", SL_ERR_TYPE, 1, 13, "apiVersion", "found 1"},
        {"- a\n", SL_ERR_TYPE, 1, 1, "", "found a list, expected a map with apiVersion and kind"},
        {"hello\n", SL_ERR_TYPE, 1, 1, "", "found \"hello\""},
        {HEAD "---\n" HEAD, SL_ERR_FIELD, 4, 1, "", "found a second document, expected one"},
    };
    check_errors(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_THAT(values_that_contradict_each_other_are_refused)
{
    const struct error_case cases[] = {
        {HEAD "extender:\n  bindVerb: go\n  filterVerb: go\n", SL_ERR_FIELD, 5, 3,
         "extender.filterVerb",
         "found \"go\", expected another name than that of extender.bindVerb"},
        {HEAD "extender: {bindVerb: go, filterVerb: go}\n", SL_ERR_FIELD, 3, 26,
         "extender.filterVerb", "expected another name than that of extender.bindVerb"},
        {HEAD "extender:\n  filterVerb: preempt\n", SL_ERR_FIELD, 4, 3, "extender.filterVerb",
         "expected another name than that of extender.preemptVerb"},
        {HEAD "server:\n  threads: 8\n  maxConnections: 4\n", SL_ERR_FIELD, 5, 3,
         "server.maxConnections", "found 4, expected at least as many as server.threads, 8"},
        {HEAD "server:\n  tls:\n    certFile: a\n", SL_ERR_FIELD, 5, 5, "server.tls.keyFile",
         "found nothing, expected a file beside that of server.tls.certFile"},
        {HEAD "server:\n  tls: {keyFile: a}\n", SL_ERR_FIELD, 4, 9, "server.tls.certFile",
         "found nothing"},
        {HEAD "server:\n  tls: {clientCAFile: a}\n", SL_ERR_FIELD, 4, 9, "server.tls.clientCAFile",
         "found \"a\" without server.tls.certFile"},
        {HEAD "server:\n  listen: 0.0.0.0:80\n", SL_ERR_FIELD, 4, 3, "server.listen",
         "found \"0.0.0.0:80\", which other machines can reach, without client certificates"},
        {HEAD "server:\n  listen: 10.0.0.1:80\n  tls: {certFile: a, keyFile: b}\n", SL_ERR_FIELD, 4,
         3, "server.listen", "without client certificates: set server.tls (certFile, keyFile, "},
        {HEAD "server:\n  tls: {certFile: a, keyFile: b, clientCAFile: c}\n", SL_ERR_FIELD, 4, 34,
         "server.tls.clients", "expected the names of clients beside server.tls.clientCAFile"},
        {HEAD "server:\n  tls: {certFile: a, keyFile: b, clients: [{name: c}]}\n", SL_ERR_FIELD, 4,
         34, "server.tls.clientCAFile", "expected the authority of server.tls.clients"},
        {HEAD
         "server:\n  tls: {certFile: a, keyFile: b, clientCAFile: c, clients: [{name: \"\"}]}\n",
         SL_ERR_FIELD, 4, 34, "server.tls.clientCAFile", "found a client without a name"},
        {HEAD "server:\n  apiListen: 0.0.0.0:80\n", SL_ERR_FIELD, 4, 3, "server.apiListen",
         "found \"0.0.0.0:80\", expected an address of loopback"},
        {HEAD "server:\n  metricsTls: true\n", SL_ERR_FIELD, 4, 3, "server.metricsTls",
         "server.tls.certFile"},
        {HEAD "server:\n  metricsTokenFile: /token\n", SL_ERR_FIELD, 4, 3,
         "server.metricsTokenFile", "server.metricsTls"},
        {HEAD "server:\n  metricsClientCAFile: /ca\n  metricsClients: [{name: p}]\n", SL_ERR_FIELD,
         4, 3, "server.metricsClientCAFile", "server.metricsTls"},
        {HEAD "server:\n  metricsClientCAFile: /ca\n", SL_ERR_FIELD, 4, 3, "server.metricsClients",
         "such as [{name: prometheus}]"},
        {HEAD "server:\n  metricsClients: [{name: p}]\n", SL_ERR_FIELD, 4, 3,
         "server.metricsClientCAFile", "expected the authority of server.metricsClients"},
        {HEAD "queue:\n  namespaceClasses: [{namespace: \"a*b\", class: c}]\n", SL_ERR_FIELD, 4, 34,
         "queue.namespaceClasses[0].namespace", "or how names begin and then *"},
        {HEAD "server:\n  webhookListen: 0.0.0.0:80\n", SL_ERR_FIELD, 4, 3, "server.webhookListen",
         "without server.tls.certFile"},
        {HEAD "server:\n  visibilityListen: 0.0.0.0:80\n", SL_ERR_FIELD, 4, 3,
         "server.visibilityListen", "without server.tls.certFile"},
        {HEAD "server:\n  listen: \"[::]:80\"\n", SL_ERR_FIELD, 4, 3, "server.listen",
         "set server.insecure to true"},
        {HEAD "leaderElection:\n  renewDeadline: 15s\n", SL_ERR_FIELD, 4, 3,
         "leaderElection.renewDeadline", "found 15s, expected less than"},
        {HEAD "leaderElection:\n  leaseDuration: 10s\n", SL_ERR_FIELD, 4, 3,
         "leaderElection.renewDeadline", "found 10s, expected less than"},
        {HEAD "leaderElection:\n  leaseDuration: 15500ms\n", SL_ERR_FIELD, 4, 3,
         "leaderElection.leaseDuration", "found 15.5s, expected whole seconds"},
        {HEAD "leaderElection:\n  retryPeriod: 8334ms\n", SL_ERR_FIELD, 4, 3,
         "leaderElection.retryPeriod", "found 8.334s, expected less than"},
        {HEAD "kubernetes:\n  bindTimeout: 15s\n", SL_ERR_FIELD, 4, 3, "kubernetes.bindTimeout",
         "found 15s, expected less than leaderElection.leaseDuration, 15s"},
        {HEAD "partitioning:\n  enabled: true\n", SL_ERR_FIELD, 4, 3, "partitioning.enabled",
         "expected queue.enabled beside it"},
        {HEAD "partitioning:\n  maxBackoff: 30s\n", SL_ERR_FIELD, 4, 3, "partitioning.maxBackoff",
         "found 30s, expected at least partitioning.backoff, 60s"},
        {HEAD "partitioning:\n  timeout: 20s\n  migManager:\n    delay: 20s\n", SL_ERR_FIELD, 4, 3,
         "partitioning.timeout",
         "found 20s, expected more than partitioning.migManager.delay, 20s"},
        {HEAD "partitioning:\n  timeout: 70s\n  nosMps:\n    delay: 80s\n", SL_ERR_FIELD, 4, 3,
         "partitioning.timeout", "found 70s, expected more than partitioning.nosMps.delay, 80s"},
        {HEAD "telemetry:\n  url: prometheus:9090\n", SL_ERR_FIELD, 4, 8, "telemetry.url",
         "expected http://HOST:PORT or https://HOST:PORT"},
        {HEAD "telemetry:\n  sharing: cbp\n", SL_ERR_FIELD, 4, 3, "telemetry.sharing",
         "found cbp, expected telemetry.url or telemetry.exporters beside it"},
        {HEAD "telemetry:\n  exporters: http://e:9400/metrics\n", SL_ERR_FIELD, 4, 3,
         "telemetry.exporters",
         "found \"http://e:9400/metrics\", expected {address} or {node} in it, as in "
         "http://{address}:9400/metrics"},
        {HEAD "telemetry:\n  url: http://p\n  exporters: http://{node}\n", SL_ERR_FIELD, 5, 3,
         "telemetry.exporters", "expected either this or telemetry.url, not both"},
        {HEAD "log:\n  pod: a\n", SL_ERR_FIELD, 4, 3, "log.pod",
         "found \"a\", expected NAMESPACE/NAME"},
        {HEAD "log:\n  pod: a/\n", SL_ERR_FIELD, 4, 3, "log.pod", "expected NAMESPACE/NAME"},
        {HEAD "log:\n  pod: a/b/c\n", SL_ERR_FIELD, 4, 3, "log.pod", "expected NAMESPACE/NAME"},
        {HEAD "telemetry:\n  idleDeadline: 30m\n", SL_ERR_FIELD, 4, 3, "telemetry.idleDeadline",
         "expected telemetry.url or telemetry.exporters beside it"},
        {HEAD "telemetry:\n  idleDeadline: 30m\n  url: http://p\nevents:\n  enabled: false\n",
         SL_ERR_FIELD, 4, 3, "telemetry.idleDeadline", "expected events.enabled beside it"},
        {HEAD "telemetry:\n  username: a\n", SL_ERR_FIELD, 4, 3, "telemetry.username",
         "expected telemetry.passwordFile beside it"},
        {HEAD "telemetry:\n  keyFile: a\n", SL_ERR_FIELD, 4, 3, "telemetry.certFile",
         "expected both telemetry.certFile and keyFile"},
        {HEAD "telemetry:\n  window: 19\n", SL_ERR_FIELD, 4, 11, "telemetry.window",
         "expected an integer from 20 to 1024"},
        {HEAD "partitioning:\n  nodeSelector: a,b=c\n", SL_ERR_FIELD, 4, 17,
         "partitioning.nodeSelector", "expected LABEL=VALUE"},
    };
    check_errors(cases, sizeof(cases) / sizeof(cases[0]));
    (void)parsed(HEAD "server: {listen: \"0.0.0.0:80\", insecure: true}\n");
    (void)parsed(HEAD "server: {listen: \"0.0.0.0:80\", tls: {certFile: a, keyFile: b, "
                      "clientCAFile: c, clients: [{name: d}]}}\n");
    (void)parsed(HEAD "server: {apiListen: \"[::1]:80\", probeListen: \"0.0.0.0:1\"}\n");
    (void)parsed(HEAD "leaderElection: {retryPeriod: 8333ms}\n");
    (void)parsed(HEAD "kubernetes: {bindTimeout: 14999ms}\n");
    (void)parsed(HEAD "kubernetes: {bindTimeout: 15s}\nleaderElection: {enabled: false}\n");
    (void)parsed(HEAD "extender:\n  filterVerb: bind\n  bindVerb: filter\n");
}

TEST_THAT(what_is_not_yaml_is_told_with_its_place)
{
    struct sl_config config;
    struct sl_error err = {0};
    const char *text = HEAD "server: {threads: 1\n";
    assert_int_equal(sl_config_parse("test.yaml", text, strlen(text), &config, NULL, &err), -1);
    assert_int_equal(err.code, SL_ERR_SYNTAX);
    assert_true(err.line >= 3);
}

TEST_THAT(a_file_that_is_too_long_is_refused)
{
    static char text[1024 * 1024 + 1];
    struct sl_config config;
    struct sl_error err = {0};
    memset(text, '\n', sizeof(text));
    assert_int_equal(sl_config_parse("test.yaml", text, sizeof(text), &config, NULL, &err), -1);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_non_null(strstr(err.message, "test.yaml"));
}

TEST_THAT(a_file_is_loaded_and_a_missing_one_is_told)
{
    char path[] = "/tmp/sliced-config-XXXXXX";
    const char *text = HEAD "server:\n  threads: 7\n";
    struct sl_config config;
    struct sl_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    int rc = sl_config_load(path, &config, NULL, &err);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rc, 0);
    assert_int_equal(config.server.threads, 7);
    assert_int_equal(sl_config_load(path, &config, NULL, &err), -1);
    assert_int_equal(err.code, SL_ERR_NOTFOUND);
    assert_int_equal(sl_config_load("/", &config, NULL, &err), -1);
    assert_int_equal(err.code, SL_ERR_SYSTEM);
    assert_int_equal(config.server.threads, 7);
}

TEST_THAT(errors_are_described_like_a_compiler_does)
{
    char text[256];
    struct sl_error err = {0};
    struct sl_config config;
    const char *bad = HEAD "server:\n  threads: many\n";
    assert_int_equal(sl_config_parse("a.yaml", bad, strlen(bad), &config, NULL, &err), -1);
    sl_config_describe("a.yaml", &err, text, sizeof(text));
    assert_string_equal(text, "a.yaml:4:12: server.threads: found \"many\", expected an integer "
                              "from 0 to 64");
    (void)sl_error_set(&err, SL_ERR_SYSTEM, "cannot open");
    sl_config_describe("a.yaml", &err, text, sizeof(text));
    assert_string_equal(text, "a.yaml: cannot open");
}

/* "line:column: field: message" of each, a line each. */
static void assert_warnings(const char *text, const char *expected)
{
    struct sl_config config;
    struct sl_config_warnings warnings;
    struct sl_error err;
    struct sl_buf all;
    assert_int_equal(sl_config_parse("f", text, strlen(text), &config, &warnings, &err), 0);
    sl_buf_init(&all, 4096);
    for (size_t i = 0; i < warnings.n; i++) {
        char one[sizeof(err)];
        sl_config_describe("f", &warnings.item[i], one, sizeof(one));
        sl_buf_printf(&all, "%s\n", one);
    }
    sl_buf_putc(&all, '\0');
    assert_int_equal(all.failed, SL_BUF_OK);
    assert_string_equal(all.data, expected);
    sl_buf_free(&all);
}

TEST_THAT(what_does_nothing_in_the_order_at_hand_is_warned_of)
{
    assert_warnings(HEAD "queue:\n  order: sjf\n  bound: 2\n  overrides:\n"
                         "  - namespace: a\n    alpha: 5\n",
                    "f:5:3: queue.bound: has no effect: it is of the order bounded, and "
                    "queue.order is sjf\n"
                    "f:6:3: queue.overrides: has no effect: it is of the order p, and "
                    "queue.order is sjf\n");
    assert_warnings(HEAD "queue: {beta: 2}\n",
                    "f:3:9: queue.beta: has no effect: it is of the order p, and "
                    "queue.order is bounded\n");
    assert_warnings(HEAD "queue: {order: p, beta: 2, overrides: [{alpha: 1}]}\n", "");
    assert_warnings(HEAD "queue: {order: bounded, bound: 2, overrides: []}\n", "");
    assert_warnings(HEAD "queue: {order: sjf, bound: 1.15, alpha: 4}\n",
                    "f:3:34: queue.alpha: has no effect: it is of the order p, and "
                    "queue.order is sjf\n");
}

TEST_THAT(an_override_without_a_weight_is_warned_of)
{
    assert_warnings(HEAD "queue:\n  order: p\n  overrides:\n  - {namespace: a, gamma: 0}\n"
                         "  - {namespace: b}\n",
                    "f:7:5: queue.overrides[1]: has no effect: it states none of alpha, beta, "
                    "gamma\n");
}

TEST_THAT(more_warnings_than_there_is_room_for_are_left_out)
{
    static const char text[] = HEAD "queue: {order: p, overrides: [{}, {}, {}, {}, {}, {}, {}, {}, "
                                    "{}, {}]}\n";
    struct sl_config config;
    struct sl_config_warnings warnings;
    assert_int_equal(sl_config_parse("f", text, strlen(text), &config, &warnings, NULL), 0);
    assert_int_equal(config.plan.n_overrides, 10);
    assert_int_equal(warnings.n, SL_CONFIG_WARNINGS_MAX);
}

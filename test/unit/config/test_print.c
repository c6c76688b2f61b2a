/* The table of keys, printing, and the reference page. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <string.h>

#include "config/keys.h"

static uint64_t g_random = 88172645463325252u;

static uint64_t random_u64(void)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return g_random;
}

static const char *random_of(const char *const *texts, size_t n)
{
    return texts[random_u64() % n];
}

static void random_text(const struct sl_key *key, size_t index, struct sl_config *config)
{
    static const char *const addresses[] = {"127.0.0.1:0", "[::1]:80", "localhost:65535",
                                            "10.1.2.3:8888"};
    static const char *const prefixes[] = {"/scheduler", "/a/b", "/null", "/123", "/x-1.0~_"};
    static const char *const verbs[] = {"filter", "null", "true", "1e3", "-", "~", "0x1f", "a.b"};
    static const char *const files[] = {"", "/etc/x/tls.crt", "a b#c", "null", "x: y"};
    static const char *const words[] = {"", "admin@cluster", "arn:aws:eks:1:cluster/x", "~", "'"};
    static const char *const selectors[] = {"", "sliced.dev/partitioning=", "a=b,c=d", "x=null"};
    static const char *const urls[] = {"", "http://a:1", "https://[::1]/p?q=#x",
                                       "http://{node}:1/"};
    static const char *const objects[] = {"a", "null", "x-1.y", "0"};
    static const char *const labels[] = {"", "team", "0.example-1.com/Team_x.y-z", "null"};
    char text[80];
    if (key->type == SL_KEY_PATH) {
        (void)snprintf(text, sizeof(text), "%s", random_of(files, 5));
    } else if (key->type == SL_KEY_WORD) {
        (void)snprintf(text, sizeof(text), "%s", random_of(words, 5));
    } else if (key->type == SL_KEY_OBJECT) {
        (void)snprintf(text, sizeof(text), "%s", random_of(objects, 4));
    } else if (key->type == SL_KEY_LABEL) {
        (void)snprintf(text, sizeof(text), "%s", random_of(labels, 4));
    } else if (key->type == SL_KEY_URL) {
        (void)snprintf(text, sizeof(text), "%s", random_of(urls, 4));
    } else if (key->type == SL_KEY_SELECTOR) {
        (void)snprintf(text, sizeof(text), "%s", random_of(selectors, 4));
    } else if (key->type == SL_KEY_ADDRESS) {
        (void)snprintf(text, sizeof(text), "%s", random_of(addresses, 4));
    } else if (key->type == SL_KEY_PREFIX) {
        (void)snprintf(text, sizeof(text), "%s", random_of(prefixes, 5));
    } else { /* told apart by the key's place */
        (void)snprintf(text, sizeof(text), "%.*s%s", (int)(index % 4), "____", random_of(verbs, 8));
    }
    assert_true(sl_value_text(key, sl_str_of(text)));
    assert_true(sl_key_set_text(key, config, sl_str_of(text)));
}

static int64_t random_number(const struct sl_key *key)
{
    if (key->type == SL_KEY_ENUM) {
        size_t n = 0;
        while (key->words[n] != NULL) {
            n++;
        }
        assert_true(n > 0);
        return n == 0 ? 0 : (int64_t)(random_u64() % n);
    }
    uint64_t span = (uint64_t)(key->max - key->min) + 1;
    switch (random_u64() % 4) {
    case 0:
        return key->min;
    case 1:
        return key->max;
    default:
        return key->min + (int64_t)(random_u64() % span);
    }
}

static void random_field(const struct sl_key *key, size_t n, void *entry)
{
    static const char *const names[] = {"", "null", "nvidia.com/mig-1g.5gb", "x-1"};
    if (key->text) {
        char text[64];
        const char *name = key->type == SL_KEY_WORD ? names[random_u64() % 4] : "ns";
        (void)snprintf(text, sizeof(text), "%s%s%zu", name, key->unique ? "-" : "",
                       key->unique ? n : 0);
        assert_true(sl_key_set_text(key, entry, sl_str_of(text)));
    } else if (!key->required && random_u64() % 2 == 0) {
        sl_key_set_default(key, entry);
    } else {
        sl_key_set_number(key, entry, random_number(key));
    }
}

static void random_lists(struct sl_config *config)
{
    for (size_t i = 0; i < SL_KEY_LISTS; i++) {
        const struct sl_key_list *list = &sl_key_lists[i];
        size_t most = list->max < SL_PLAN_RULES_MAX ? list->max : SL_PLAN_RULES_MAX;
        size_t n = random_u64() % (random_u64() % 4 == 0 ? most + 1 : 3);
        sl_list_set_count(list, config, n);
        for (size_t e = 0; e < n; e++) {
            for (size_t f = 0; f < list->n_fields; f++) {
                random_field(&list->field[f], e, sl_list_entry(list, config, e));
            }
        }
    }
}

/* Guarantees of tenants with shares, and no more than their caps. */
static void mend_tenants(struct sl_config *config)
{
    struct sl_tenants *tenants = &config->tenants;
    uint8_t most = tenants->n_shares;
    tenants->n_guarantees = tenants->n_guarantees < most ? tenants->n_guarantees : most;
    tenants->n_caps = tenants->n_caps < most ? tenants->n_caps : most;
    for (size_t i = 0; i < tenants->n_caps; i++) {
        tenants->cap[i].units = i < tenants->n_guarantees ? tenants->guarantee[i].units : 7;
    }
    if (sl_tenants_on(tenants)) {
        config->queue.enabled = true;
        config->plan.order.kind =
            config->plan.order.kind == SL_ORDER_HRRN ? SL_ORDER_FIFO : config->plan.order.kind;
    }
    tenants->reclaim = tenants->reclaim && !config->plan.preemption;
}

static void random_config(struct sl_config *config)
{
    memset(config, 0, sizeof(*config));
    random_lists(config);
    for (size_t i = 0; i < sl_n_keys; i++) {
        if (sl_keys[i].text) {
            random_text(&sl_keys[i], i, config);
        } else {
            sl_key_set_number(&sl_keys[i], config, random_number(&sl_keys[i]));
        }
    }
    if (config->server.max_connections < config->server.threads) {
        config->server.max_connections = config->server.threads;
    }
    if (config->telemetry.url[0] != '\0' || strchr(config->telemetry.exporters, '{') == NULL) {
        config->telemetry.exporters[0] = '\0';
    }
    if (!sl_config_measures(config)) {
        config->telemetry.sharing = SL_SHARING_ASKS;
    }
    if (config->log.pod[0] != '\0') {
        (void)snprintf(config->log.pod, sizeof(config->log.pod), "ns/%u", (unsigned)random_u64());
    }
    if (config->telemetry.url[0] == '\0' || !config->events.enabled) {
        config->telemetry.idle_deadline_us = 0;
    }
    if (config->telemetry.password_file[0] == '\0') {
        config->telemetry.username[0] = '\0';
    }
    if (config->telemetry.cert_file[0] == '\0' || config->telemetry.key_file[0] == '\0') {
        config->telemetry.cert_file[0] = '\0';
        config->telemetry.key_file[0] = '\0';
    }
    if (config->server.cert_file[0] == '\0' || config->server.key_file[0] == '\0') {
        config->server.cert_file[0] = '\0';
        config->server.key_file[0] = '\0';
        config->server.client_ca_file[0] = '\0';
        config->server.webhook_listen[0] = '\0';
        config->server.metrics_tls = false;
        config->server.visibility_listen[0] = '\0';
        config->server.insecure = true;
    }
    if (!config->server.metrics_tls) {
        config->server.metrics_token_file[0] = '\0';
        config->server.metrics_ca_file[0] = '\0';
    }
    if (config->server.metrics_ca_file[0] == '\0' || config->server.n_metrics_clients == 0) {
        config->server.metrics_ca_file[0] = '\0';
        config->server.n_metrics_clients = 0;
    }
    for (unsigned i = 0; i < config->server.n_metrics_clients; i++) {
        if (config->server.metrics_client[i].name[0] == '\0') {
            config->server.metrics_client[i].name[0] = (char)('a' + i);
        }
    }
    if (config->server.client_ca_file[0] == '\0') {
        config->server.insecure = true;
        config->server.n_clients = 0;
    } else if (config->server.n_clients == 0) {
        config->server.client_ca_file[0] = '\0';
        config->server.insecure = true;
    }
    for (unsigned i = 0; i < config->server.n_clients; i++) {
        if (config->server.client[i].name[0] == '\0') {
            config->server.client[i].name[0] = (char)('a' + i);
        }
    }
    mend_tenants(config);
    if (!sl_config_is_loopback(config->server.api_listen)) {
        config->server.api_listen[0] = '\0';
    }
    config->election.lease_duration_us -= config->election.lease_duration_us % 1000000;
    config->election.renew_deadline_us = config->election.lease_duration_us / 2;
    config->election.retry_period_us = config->election.lease_duration_us / 4;
    config->kubernetes.bind_timeout_us = config->election.lease_duration_us / 2 - 1;
    config->queue.enabled = config->queue.enabled || config->partitioning.enabled;
    if (config->partitioning.max_backoff_us < config->partitioning.backoff_us) {
        config->partitioning.max_backoff_us = config->partitioning.backoff_us;
    }
    config->partitioning.timeout_us += 600 * INT64_C(1000000); /* no delay is longer */
    if (config->partitioning.timeout_us > 86400 * INT64_C(1000000)) {
        config->partitioning.timeout_us = 86400 * INT64_C(1000000);
    }
    struct sl_error err = {.code = SL_ERR_NONE};
    if (sl_config_check(config, &err) < 0) {
        fail_msg("%s: %s", err.field, err.message);
    }
}

static void check_round_trip(const struct sl_config *config)
{
    struct sl_buf out;
    struct sl_config again;
    struct sl_error err = {0};
    sl_buf_init(&out, 1 << 20);
    memset(&again, 0, sizeof(again));
    sl_config_print(config, &out);
    assert_int_equal(out.failed, SL_BUF_OK);
    if (sl_config_parse("printed", out.data, out.len, &again, NULL, &err) != 0) {
        fail_msg("%u:%u: %s: %s\nin\n%.*s", err.line, err.column, err.field, err.message,
                 (int)out.len, out.data);
    }
    for (size_t i = 0; i < sl_n_keys; i++) {
        if (!sl_key_equal(&sl_keys[i], config, &again)) {
            fail_msg("%s differs after\n%.*s", sl_keys[i].path, (int)out.len, out.data);
        }
    }
    for (size_t i = 0; i < SL_KEY_LISTS; i++) {
        const struct sl_key_list *list = &sl_key_lists[i];
        size_t n = sl_list_count(list, config);
        assert_int_equal(n, sl_list_count(list, &again));
        for (size_t k = 0; k < n * list->n_fields; k++) {
            size_t e = k / list->n_fields;
            assert_true(sl_key_equal(&list->field[k % list->n_fields],
                                     sl_list_entry_of(list, config, e),
                                     sl_list_entry_of(list, &again, e)));
        }
    }
    sl_buf_free(&out);
}

TEST_THAT(what_is_printed_reads_back_to_the_same)
{
    struct sl_config config;
    sl_config_defaults(&config);
    check_round_trip(&config);
    for (int i = 0; i < 500; i++) {
        random_config(&config);
        check_round_trip(&config);
    }
}

TEST_THAT(every_key_has_a_section_a_help_and_a_good_default)
{
    struct sl_config defaults;
    sl_config_defaults(&defaults);
    for (size_t i = 0; i < sl_n_keys; i++) {
        const struct sl_key *key = &sl_keys[i];
        size_t len = sl_key_parent_len(key->path);
        bool section = false;
        for (size_t s = 1; s < SL_KEY_SECTIONS; s++) {
            section = section || (strlen(sl_key_sections[s].path) == len &&
                                  memcmp(sl_key_sections[s].path, key->path, len) == 0);
        }
        assert_true(section);
        assert_true(strlen(key->help) > 10);
        assert_true(!key->text || key->string != NULL);
        assert_null(strpbrk(key->help, "|\n"));
        if (key->text) {
            assert_true(sl_value_text(key, sl_str_of(sl_key_text(key, &defaults))));
            assert_true(key->size >= SL_CONFIG_TEXT_MAX);
        } else if (key->type != SL_KEY_ENUM) {
            assert_in_range(key->number, key->min, key->max);
        }
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(key->path, sl_keys[k].path);
            assert_int_not_equal(key->offset, sl_keys[k].offset);
        }
    }
}

TEST_THAT(every_list_has_a_help_and_fields_that_say_whether_they_must_be_there)
{
    for (size_t i = 0; i < SL_KEY_LISTS; i++) {
        const struct sl_key_list *list = &sl_key_lists[i];
        assert_true(strlen(list->help) > 10);
        assert_in_range(list->n_fields, 1, SL_KEY_FIELDS_MAX);
        for (size_t f = 0; f < list->n_fields; f++) {
            const struct sl_key *key = &list->field[f];
            size_t parent = sl_key_parent_len(key->path);
            assert_int_equal(parent, strlen(list->path));
            assert_memory_equal(key->path, list->path, parent);
            assert_true(key->offset + key->size <= list->stride);
            assert_true(key->text == (key->string != NULL));
        }
    }
}

/* Sets the key of that name to 77. */
static void set_weight(struct sl_config *config, const char *path)
{
    size_t i = 0;
    while (i < sl_n_keys && strcmp(sl_keys[i].path, path) != 0) {
        i++;
    }
    assert_true(i < sl_n_keys);
    sl_config_defaults(config);
    sl_key_set_number(&sl_keys[i], config, 77);
}

TEST_THAT(every_term_of_the_score_has_its_weights)
{
    for (int t = 0; t < SL_TERM_COUNT; t++) {
        const char *term = sl_term_name((enum sl_term)t);
        char path[64];
        struct sl_config config;
        (void)snprintf(path, sizeof(path), "score.weights.%s", term);
        set_weight(&config, path);
        assert_int_equal(config.plan.score.weight[t], 77);
        for (int k = 0; k < SL_KIND_COUNT; k++) {
            (void)snprintf(path, sizeof(path), "score.byKind.%s.%s", sl_kind_name((enum sl_kind)k),
                           term);
            set_weight(&config, path);
            assert_int_equal(config.plan.score.by_kind[k][t], 77);
        }
    }
}

TEST_THAT(only_keys_so_marked_need_a_restart)
{
    char kept[256];
    for (size_t i = 0; i < sl_n_keys; i++) {
        const struct sl_key *key = &sl_keys[i];
        struct sl_config old;
        struct sl_config fresh;
        sl_config_defaults(&old);
        sl_config_defaults(&fresh);
        assert_int_equal(sl_config_keep(&old, &fresh, kept, sizeof(kept)), 0);
        if (key->text) {
            assert_true(sl_key_set_text(key, &fresh, SL_STR("changed")));
        } else {
            int64_t number = sl_key_number(key, &old);
            sl_key_set_number(key, &fresh, number == 0 ? 1 : number - 1);
        }
        assert_false(sl_key_equal(key, &old, &fresh));
        assert_int_equal(sl_config_keep(&old, &fresh, kept, sizeof(kept)), key->restart);
        assert_int_equal(sl_key_equal(key, &old, &fresh), key->restart);
        if (key->restart) {
            assert_string_equal(kept, key->path);
        }
    }
}

static void set_other(const struct sl_key *key, struct sl_config *config)
{
    int64_t number = key->text ? 0 : sl_key_number(key, config);
    if (key->text) {
        assert_true(sl_key_set_text(key, config, SL_STR("changed")));
    } else {
        sl_key_set_number(key, config, number == 0 ? 1 : number - 1);
    }
}

TEST_THAT(a_reload_of_everything_changes_what_needs_no_restart_and_names_the_rest)
{
    struct sl_config running;
    struct sl_config fresh;
    struct sl_config other;
    char kept[8192];
    char cut[40];
    size_t expected = 0;
    sl_config_defaults(&running);
    sl_config_defaults(&fresh);
    for (size_t i = 0; i < sl_n_keys; i++) {
        set_other(&sl_keys[i], &fresh);
        expected += sl_keys[i].restart;
    }
    other = fresh;
    assert_int_equal(sl_config_keep(&running, &fresh, kept, sizeof(kept)), expected);
    for (size_t i = 0; i < sl_n_keys; i++) {
        const struct sl_key *key = &sl_keys[i];
        assert_true(sl_key_equal(key, &fresh, key->restart ? &running : &other));
        assert_true(!key->restart || strstr(kept, key->path) != NULL);
    }
    assert_int_equal(sl_config_keep(&running, &other, cut, sizeof(cut)), expected);
    assert_int_equal(strlen(cut), sizeof(cut) - 1);
    assert_memory_equal(kept, cut, sizeof(cut) - 1);
}

/* What the schema takes is tried with helm, on the chart's values. */
TEST_THAT(the_schema_names_every_key_and_list_once)
{
    struct sl_buf out;
    sl_buf_init(&out, 1 << 20);
    sl_config_schema(&out);
    sl_buf_putc(&out, '\0');
    assert_int_equal(out.failed, SL_BUF_OK);
    size_t helps = 0;
    for (const char *at = out.data; (at = strstr(at, "\"description\":")) != NULL; at++) {
        helps++;
    }
    size_t wanted = sl_n_keys + SL_KEY_SECTIONS;
    for (size_t i = 0; i < SL_KEY_LISTS; i++) {
        wanted += 1U + sl_key_lists[i].n_fields;
    }
    assert_int_equal(helps, wanted);
    for (size_t i = 0; i < sl_n_keys; i++) {
        char member[128];
        const char *path = sl_keys[i].path;
        (void)snprintf(member, sizeof(member), "\"%s\":{", path + sl_key_parent_len(path) + 1);
        assert_non_null(strstr(out.data, member));
    }
    sl_buf_free(&out);
}

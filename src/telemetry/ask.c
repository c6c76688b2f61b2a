/* Question, answer, and again. */
#include <stdio.h>

#include "telemetry/internal.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { PATH_MAX_BYTES = 64 << 10 };

static const int64_t first_range_us = 5 * SL_MINUTE_US;
static const int64_t range_slack_us = 5 * SL_SECOND_US;

static int64_t number_of(const char *text, int64_t absent)
{
    int64_t number = 0;
    if (text[0] == '\0') {
        return absent;
    }
    return sl_str_to_i64(sl_str_of(text), &number) && number >= 0 ? number : -2;
}

static const struct sl_view *view_of(const struct sl_telemetry *telemetry, const char *name)
{
    const struct sl_snapshot *snapshot = telemetry->snapshot;
    uint32_t at = name[0] == '\0' ? SL_NODE_NONE : sl_snapshot_find(snapshot, sl_str_of(name), 0);
    return at == SL_NODE_NONE ? NULL : snapshot->view[at];
}

/* Returns the sl_usage_pod_key() of the pod that a series of the node names; 0: none for sure. */
static uint64_t pod_of(const struct sl_telemetry *telemetry, const struct sl_view *view,
                       const struct sl_answer_series *metric)
{
    /* Prometheus adds the name of the exporter's own pod; on an exporter's page there is none. */
    struct sl_usage_said said = {.others = telemetry->node == NULL,
                                 .more = metric->pod.more || metric->namespace.more};
    for (size_t i = 0; i < SL_ANSWER_NAMES; i++) {
        said.pod[i] = sl_str_of(metric->pod.text[i]);
        said.namespace[i] = sl_str_of(metric->namespace.text[i]);
    }
    bool doubt = false;
    uint64_t pod = sl_usage_named(view, &said, &doubt);
    uint64_t elsewhere[SL_UNITS_OF_NODE_MAX];
    if (doubt) {
        said.elsewhere = elsewhere;
        said.n_elsewhere = sl_units_named_beside(
            sl_units_node(&telemetry->units, sl_str_of(view->node->name)),
            number_of(metric->gpu, -2), number_of(metric->instance, -1),
            telemetry->config->telemetry.gap_us, elsewhere, SL_UNITS_OF_NODE_MAX);
        pod = sl_usage_named(view, &said, &doubt);
    }
    return pod;
}

/* The node of a series, and whom it names there, in out[]; NULL: none. Whose exporter was asked has
 * it, whatever labels say. */
static const struct sl_usage_home *home_of(const struct sl_telemetry *telemetry,
                                           const struct sl_answer_series *metric,
                                           struct sl_usage_home out[SL_ANSWER_LABELS])
{
    const char *asked = telemetry->node;
    size_t n = 0;
    for (size_t i = 0; i < SL_ANSWER_LABELS; i++) {
        const struct sl_view *view = view_of(telemetry, asked == NULL ? metric->node[i] : asked);
        if (view != NULL && (n == 0 || view != out[n - 1].view)) {
            out[n++] = (struct sl_usage_home){view, pod_of(telemetry, view, metric)};
        }
    }
    return sl_usage_home(out, n);
}

/* The unit of a series; NULL when the series is of no use. Power is the GPU's, also where it is
 * told for each instance. */
static struct sl_unit *unit_of(struct sl_telemetry *telemetry, const struct sl_view *view,
                               const struct sl_answer_series *metric)
{
    bool of_gpu = telemetry->kind.figure == SL_FIGURE_POWER || !sl_usage_has_instances(view->node);
    const struct sl_unit_claim claim = {.node = view->node,
                                        .gpu = number_of(metric->gpu, -2),
                                        .instance = of_gpu ? -1 : number_of(metric->instance, -1),
                                        .uuid = metric->uuid,
                                        .profile = metric->profile,
                                        .silent_us = telemetry->latest_us - SL_FUTURE_US -
                                                     telemetry->config->telemetry.stale_us};
    struct sl_unit *unit = sl_units_find(
        sl_units_node(&telemetry->units, sl_str_of(view->node->name)), claim.gpu, claim.instance);
    unit = unit == NULL ? sl_units_add(&telemetry->units, &claim) : unit;
    if (unit != NULL && metric->uuid[0] != '\0') { /* who tells of pods may leave it out */
        (void)snprintf(unit->uuid, sizeof(unit->uuid), "%.*s", SL_UNIT_UUID_MAX - 1, metric->uuid);
    }
    if (unit != NULL && !of_gpu && metric->profile[0] != '\0') {
        (void)snprintf(unit->profile, sizeof(unit->profile), "%.*s", SL_UNIT_PROFILE_MAX - 1,
                       metric->profile);
    }
    return unit;
}

static bool series_take(void *context, const struct sl_answer_series *metric)
{
    struct sl_telemetry *telemetry = context;
    telemetry->unit = NULL;
    if (!sl_question_kind(telemetry->config, metric->name, &telemetry->kind)) {
        return false;
    }
    struct sl_usage_home homes[SL_ANSWER_LABELS];
    const struct sl_usage_home *home = home_of(telemetry, metric, homes);
    if (home == NULL) {
        telemetry->stats.strangers++;
        return false;
    }
    telemetry->pod = home->pod;
    telemetry->unit = unit_of(telemetry, home->view, metric);
    return telemetry->unit != NULL;
}

/* False: it is known, too old or out of range. */
static bool figure_take(const struct sl_telemetry *telemetry, int64_t at_us, int64_t figure)
{
    struct sl_unit *unit = telemetry->unit;
    int64_t gap_us = telemetry->config->telemetry.gap_us;
    switch (telemetry->kind.figure) {
    case SL_FIGURE_POWER:
        return at_us >= telemetry->begun_us && sl_energy_take(&unit->energy, at_us, figure, gap_us);
    case SL_FIGURE_POD_USED:
        return sl_unit_own(unit, telemetry->pod, at_us, figure, gap_us);
    default:
        return sl_series_put(&unit->series, at_us, telemetry->kind.figure, figure);
    }
}

/* As far back as questions go. */
static int64_t longest_range_us(const struct sl_telemetry *telemetry)
{
    int64_t range_us = 2 * telemetry->config->telemetry.interval_us + range_slack_us;
    return range_us > first_range_us ? range_us : first_range_us;
}

static void sample_take(void *context, int64_t at_us, double value)
{
    struct sl_telemetry *telemetry = context;
    struct sl_unit *unit = telemetry->unit;
    int64_t figure = sl_question_value(telemetry->kind, value);
    sl_usage_ahead(&unit->usage, telemetry->units.round, at_us, telemetry->latest_us - SL_FUTURE_US,
                   longest_range_us(telemetry));
    if (at_us > telemetry->latest_us) {
        telemetry->stats.future++; /* it would keep the present ones out of a full ring */
        return;
    }
    int64_t gap_us = telemetry->config->telemetry.gap_us;
    bool taken = figure_take(telemetry, at_us, figure);
    telemetry->stats.samples += taken;
    telemetry->stats.refused += !taken;
    if (telemetry->kind.figure == SL_FIGURE_POWER) {
        return; /* told for an instance, it names that instance's pod */
    }
    if (telemetry->kind.figure == SL_FIGURE_BUSY && figure >= 0) {
        sl_spell_take(&unit->spell, at_us, figure * 1000 >= telemetry->config->telemetry.idle_below,
                      gap_us);
    }
    (void)sl_unit_name(unit, telemetry->pod, at_us, gap_us);
}

struct sl_answer_options sl_telemetry_options(struct sl_telemetry *telemetry)
{
    struct sl_answer_options options = {
        .series = series_take, .sample = sample_take, .context = telemetry};
    sl_question_labels(telemetry->config->telemetry.node_labels, options.node_label);
    sl_question_labels(telemetry->config->telemetry.pod_labels, options.pod_label);
    sl_question_labels(telemetry->config->telemetry.namespace_labels, options.namespace_label);
    return options;
}

static int on_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    struct sl_telemetry *telemetry = context;
    int64_t begun_ns = sl_clock_monotonic_ns();
    (void)pthread_mutex_lock(&telemetry->lock);
    telemetry->latest_us = sl_telemetry_now(telemetry) + SL_FUTURE_US;
    int rc = sl_answer_feed(telemetry->answer, data, len, err);
    (void)pthread_mutex_unlock(&telemetry->lock);
    telemetry->work_ns += sl_clock_monotonic_ns() - begun_ns;
    return rc;
}

void sl_telemetry_count(struct sl_telemetry *telemetry, const char *node, int status,
                        const struct sl_error *err, char trouble[SL_TROUBLE_MAX])
{
    char code[24] = "";
    if (status > 0 && status != 200) {
        (void)snprintf(code, sizeof(code), "HTTP %d: ", status);
    }
    trouble[0] = '\0';
    if (err != NULL) {
        (void)snprintf(trouble, SL_TROUBLE_MAX, "%.80s%s%s%.140s", node == NULL ? "" : node,
                       node == NULL ? "" : ": ", code, err->message);
    }
    (void)pthread_mutex_lock(&telemetry->lock);
    if (err == NULL) {
        telemetry->stats.answers++;
        telemetry->stats.answered_us = sl_clock_real_us();
    } else {
        telemetry->stats.failures++;
    }
    (void)pthread_mutex_unlock(&telemetry->lock);
}

static void say_outcome(struct sl_telemetry *telemetry)
{
    const struct sl_config *config = telemetry->config;
    bool one = config->telemetry.url[0] != '\0';
    const char *url = one ? config->telemetry.url : config->telemetry.exporters;
    bool good = telemetry->failures == 0;
    char more[40] = "";
    if (telemetry->failures > 1) {
        (void)snprintf(more, sizeof(more), " (and %zu more)", telemetry->failures - 1);
    }
    (void)pthread_mutex_lock(&telemetry->lock);
    bool changed = !telemetry->said || telemetry->well != good;
    telemetry->said = true;
    telemetry->well = good;
    telemetry->answered = good || telemetry->answers > 0;
    (void)snprintf(telemetry->error, sizeof(telemetry->error), "%.200s%s",
                   good ? "" : telemetry->trouble, more);
    size_t units = telemetry->units.n;
    (void)pthread_mutex_unlock(&telemetry->lock);
    if (changed && good) {
        sl_log(SL_LOG_INFO, one ? "Prometheus answers" : "all exporters answer", "url", url,
               "#gpus", SL_LOG_NUMBER(units), (char *)NULL);
    } else if (changed) {
        sl_log(SL_LOG_WARN, "no telemetry: GPUs are soon judged as if nothing were measured", "url",
               url, "error", telemetry->error, (char *)NULL);
    }
}

/* Later questions go back less far than the first: that must not be wasted. And pods that have run
 * for long must not pass for newcomers. */
static bool knows_all(struct sl_telemetry *telemetry, const struct sl_snapshot *snapshot)
{
    const struct sl_pod_watch *watch = &telemetry->watch;
    telemetry->known =
        telemetry->known ||
        (snapshot->n_nodes > 0 && (watch->knows_all == NULL || watch->knows_all(watch->context)));
    return telemetry->known;
}

bool sl_telemetry_begin(struct sl_telemetry *telemetry, void (*again)(void *context))
{
    const struct sl_snapshot *snapshot = sl_store_acquire(telemetry->store);
    if (!knows_all(telemetry, snapshot)) {
        sl_store_release(telemetry->store, snapshot);
        (void)sl_client_after(telemetry->client, SL_ASK_SOON_US, again, telemetry);
        return false;
    }
    sl_store_release(telemetry->store, telemetry->snapshot);
    telemetry->snapshot = snapshot;
    return true;
}

void sl_telemetry_end(struct sl_telemetry *telemetry, void (*again)(void *context))
{
    int64_t begun_ns = sl_clock_monotonic_ns();
    if (telemetry->answers + telemetry->failures > 0) {
        say_outcome(telemetry);
    }
    sl_telemetry_judge(telemetry);
    telemetry->work_ns += sl_clock_monotonic_ns() - begun_ns;
    (void)pthread_mutex_lock(&telemetry->lock);
    telemetry->stats.work_us += telemetry->work_ns / 1000;
    telemetry->work_ns = 0;
    (void)pthread_mutex_unlock(&telemetry->lock);
    (void)sl_client_after(telemetry->client, telemetry->config->telemetry.interval_us, again,
                          telemetry);
}

/* Prometheus has answered, or (err) has not. */
static void question_end(struct sl_telemetry *telemetry, int status, const struct sl_error *err)
{
    sl_telemetry_count(telemetry, NULL, status, err, telemetry->trouble);
    telemetry->answers = err == NULL;
    telemetry->failures = err != NULL;
    sl_telemetry_end(telemetry, sl_telemetry_ask);
}

static void on_done(void *context, const struct sl_reply *reply)
{
    struct sl_telemetry *telemetry = context;
    struct sl_error err = reply->err;
    int rc = reply->status == 200 && reply->err.code == SL_ERR_NONE ? 0 : -1;
    if (rc == 0) {
        (void)pthread_mutex_lock(&telemetry->lock);
        rc = sl_answer_finish(telemetry->answer, &err);
        (void)pthread_mutex_unlock(&telemetry->lock);
    }
    question_end(telemetry, reply->status, rc < 0 ? &err : NULL);
}

int64_t sl_telemetry_range_s(const struct sl_telemetry *telemetry, int64_t now_us)
{
    int64_t range_us = 2 * telemetry->config->telemetry.interval_us + range_slack_us;
    int64_t since_us = telemetry->stats.answered_us == 0
                           ? first_range_us
                           : now_us - telemetry->stats.answered_us + range_us;
    range_us = since_us > range_us ? since_us : range_us;
    range_us =
        range_us > first_range_us && first_range_us > 2 * telemetry->config->telemetry.interval_us
            ? first_range_us
            : range_us;
    return (range_us + SL_SECOND_US - 1) / SL_SECOND_US;
}

void sl_telemetry_ask(void *context)
{
    struct sl_telemetry *telemetry = context;
    struct sl_error err = {0};
    struct sl_buf path;
    if (!sl_telemetry_begin(telemetry, sl_telemetry_ask)) {
        return;
    }
    sl_buf_init(&path, PATH_MAX_BYTES);
    sl_question_put(&path, telemetry->config, sl_telemetry_range_s(telemetry, sl_clock_real_us()));
    sl_buf_putc(&path, '\0');
    const struct sl_call_options call = {
        .method = "GET",
        .path = path.data,
        .priority = SL_CALL_NORMAL,
        .timeout_us = telemetry->config->telemetry.timeout_us,
        .data = on_data,
        .done = on_done,
        .context = telemetry,
    };
    sl_answer_reset(telemetry->answer);
    if (path.failed != SL_BUF_OK) {
        (void)sl_error_nomem(&err);
    }
    if (path.failed != SL_BUF_OK || sl_client_call(telemetry->client, &call, NULL, &err) < 0) {
        /* stopping, or out of memory: asked again, unless stopping refuses that too */
        question_end(telemetry, 0, &err);
    }
    sl_buf_free(&path);
}

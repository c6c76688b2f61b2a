/* Workloads from a generator. */
#include "sim/input/generate.h"

#include <math.h>
#include <stdio.h>

#include "sim/input/csv/csv.h"
#include "util/time.h"

/* Each kind of draw has a stream of its own. */
enum stream {
    STREAM_GAP = 1,
    STREAM_RUN,
    STREAM_ASK,
    STREAM_ESTIMATE,
    STREAM_PRIORITY,
    STREAM_NAMESPACE,
};

static const int64_t unit = 1000000; /* of fixed point numbers as they are read */
static const double ln10 = 2.302585092994045684018;

/* ---- pieces of text ---- */

/* A number, with a sign where that is allowed. */
static bool parse_number(struct sl_str text, double *out)
{
    int64_t millionths = 0;
    bool negative = text.len > 0 && text.s[0] == '-';
    struct sl_str digits = negative ? (struct sl_str){text.s + 1, text.len - 1} : text;
    if (!sl_csv_parse_time(digits, unit, &millionths)) {
        return false;
    }
    *out = (double)millionths / (double)unit;
    *out = negative ? -*out : *out;
    return true;
}

static int shown_length(struct sl_str text)
{
    return text.len < 60 ? (int)text.len : 60;
}

/* ---- distributions ---- */

static const struct kind {
    const char *name;
    const char *form;
    double min_a; /* of the parameters */
    double max_b;
    unsigned parameters;
    bool ordered; /* the second is not below the first */
} kinds[] = {
    [SL_DISTRIBUTION_CONSTANT] = {"constant", "constant:SECONDS", 0, 1e9, 1, false},
    [SL_DISTRIBUTION_UNIFORM] = {"uniform", "uniform:LOW:HIGH", 0, 1e9, 2, true},
    [SL_DISTRIBUTION_EXP] = {"exp", "exp:MEAN", 0, 1e9, 1, false},
    [SL_DISTRIBUTION_LOGUNIFORM] = {"loguniform", "loguniform:A:B (10^A..10^B)", -6, 9, 2, true},
    [SL_DISTRIBUTION_LOGNORMAL] = {"lognormal", "lognormal:MU:SIGMA", -20, 20, 2, false},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int wrong_distribution(struct sl_str text, const struct kind *kind, struct sl_error *err)
{
    if (kind != NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "\"%.*s\": expected %s", shown_length(text), text.s,
                            kind->form);
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "\"%.*s\" is no distribution; there are constant:X, uniform:LOW:HIGH, "
                        "exp:MEAN, loguniform:A:B, lognormal:MU:SIGMA",
                        shown_length(text), text.s);
}

int sl_distribution_parse(struct sl_str text, struct sl_distribution *out, struct sl_error *err)
{
    struct sl_str rest = text;
    struct sl_str name = sl_str_cut(&rest, ':');
    double value[2] = {0, 0};
    size_t at = 0;
    while (at < KINDS && !sl_str_eq(name, sl_str_of(kinds[at].name))) {
        at++;
    }
    if (at == KINDS) {
        return wrong_distribution(text, NULL, err);
    }
    const struct kind *kind = &kinds[at];
    for (unsigned i = 0; i < kind->parameters; i++) {
        struct sl_str piece = sl_str_cut(&rest, ':');
        if (!parse_number(piece, &value[i]) || value[i] < kind->min_a || value[i] > kind->max_b) {
            return wrong_distribution(text, kind, err);
        }
    }
    bool upside_down = kind->ordered && value[1] < value[0];
    bool negative = at == SL_DISTRIBUTION_LOGNORMAL && value[1] < 0;
    if (rest.len > 0 || upside_down || negative) {
        return wrong_distribution(text, kind, err);
    }
    *out = (struct sl_distribution){(enum sl_distribution_kind)at, value[0], value[1]};
    return 0;
}

static double distribution_draw(const struct sl_distribution *d, struct sl_rng *rng)
{
    switch (d->kind) {
    case SL_DISTRIBUTION_CONSTANT:
        return d->a;
    case SL_DISTRIBUTION_UNIFORM:
        return d->a + (d->b - d->a) * sl_rng_unit(rng);
    case SL_DISTRIBUTION_EXP:
        return d->a * sl_rng_exponential(rng);
    case SL_DISTRIBUTION_LOGUNIFORM:
        return sl_rng_exp(ln10 * (d->a + (d->b - d->a) * sl_rng_unit(rng)));
    case SL_DISTRIBUTION_LOGNORMAL:
        return sl_rng_exp(d->a + d->b * sl_rng_normal(rng));
    }
    return 0;
}

int64_t sl_distribution_draw(const struct sl_distribution *distribution, struct sl_rng *rng)
{
    double us = floor(distribution_draw(distribution, rng) * (double)SL_SECOND_US + 0.5);
    return us < (double)SL_CSV_TIME_MAX ? (int64_t)us : SL_CSV_TIME_MAX;
}

/* ---- estimates ---- */

int sl_estimate_parse(struct sl_str text, struct sl_estimate_error *out, struct sl_error *err)
{
    struct sl_str rest = text;
    struct sl_str name = sl_str_cut(&rest, ':');
    struct sl_estimate_error made = {1, 1};
    if (sl_str_eq(text, SL_STR("exact"))) {
        *out = made;
        return 0;
    }
    struct sl_str low = sl_str_cut(&rest, ':');
    if (!sl_str_eq(name, SL_STR("factor")) || !parse_number(low, &made.low) ||
        !parse_number(rest, &made.high) || made.low <= 0 || made.high < made.low ||
        made.high > 1e6) {
        return sl_error_set(err, SL_ERR_FIELD, "\"%.*s\": expected exact or factor:LOW:HIGH",
                            shown_length(text), text.s);
    }
    *out = made;
    return 0;
}

bool sl_estimate_random(const struct sl_estimate_error *estimate)
{
    return estimate->low < estimate->high;
}

static int32_t estimate_s(const struct sl_estimate_error *estimate, int64_t run_us,
                          struct sl_rng *rng)
{
    double factor = estimate->low;
    if (sl_estimate_random(estimate)) {
        factor += (estimate->high - estimate->low) * sl_rng_unit(rng);
    } else if (estimate->low >= 1 && estimate->high <= 1) {
        return sl_timeout_seconds(run_us);
    }
    double us = ceil((double)run_us * factor);
    return sl_timeout_seconds(us < (double)SL_CSV_TIME_MAX ? (int64_t)us : SL_CSV_TIME_MAX);
}

/* ---- mixes ---- */

static int parse_mix(struct sl_str text, struct sl_mix *out, struct sl_error *err)
{
    struct sl_str rest = text;
    double sum = 0;
    memset(out, 0, sizeof(*out));
    do {
        struct sl_str entry = sl_str_cut(&rest, '+');
        struct sl_str share_text = entry;
        struct sl_str what = sl_str_cut(&share_text, '@');
        double share = 1;
        if (out->n == SL_MIX_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "more than %d kinds", SL_MIX_MAX);
        }
        if (what.len == 0 || what.len >= SL_MIX_TEXT_MAX ||
            (what.len < entry.len && (!parse_number(share_text, &share) || share <= 0))) {
            return sl_error_set(err, SL_ERR_FIELD,
                                "\"%.*s\": expected WHAT or WHAT@SHARE, several joined by +",
                                shown_length(entry), entry.s);
        }
        memcpy(out->text[out->n], what.s, what.len);
        sum += share;
        out->share[out->n++] = sum;
    } while (rest.len > 0);
    return 0;
}

static uint32_t draw_mix(const struct sl_mix *mix, struct sl_rng *rng)
{
    if (mix->n == 1) {
        return 0;
    }
    double at = sl_rng_unit(rng) * mix->share[mix->n - 1];
    uint32_t i = 0;
    while (i + 1 < mix->n && at >= mix->share[i]) {
        i++;
    }
    return i;
}

/* RESOURCE:COUNT or RESOURCE; the text is cut to the resource. */
static int parse_asks(struct sl_mix *mix, struct sl_error *err)
{
    for (uint32_t i = 0; i < mix->n; i++) {
        char *colon = strrchr(mix->text[i], ':');
        struct sl_resource resource;
        mix->count[i] = 1;
        if (colon != NULL) {
            *colon = '\0';
            if (!sl_str_to_i64(sl_str_of(colon + 1), &mix->count[i]) || mix->count[i] < 1 ||
                mix->count[i] > INT32_MAX) {
                return sl_error_set(err, SL_ERR_FIELD,
                                    "\"%s\": expected a count such as nvidia.com/gpu:4", colon + 1);
            }
        }
        if (!sl_resource_parse(sl_str_of(mix->text[i]), &resource) || resource.inventory) {
            return sl_error_set(err, SL_ERR_FIELD,
                                "\"%s\" is no resource that sliced schedules; for example "
                                "nvidia.com/gpu, nvidia.com/mig-1g.5gb, aliyun.com/gpu-mem",
                                mix->text[i]);
        }
    }
    return 0;
}

static int parse_priorities(struct sl_mix *mix, struct sl_error *err)
{
    for (uint32_t i = 0; i < mix->n; i++) {
        if (!sl_str_to_i64(sl_str_of(mix->text[i]), &mix->count[i]) || mix->count[i] < INT32_MIN ||
            mix->count[i] > INT32_MAX) {
            return sl_error_set(err, SL_ERR_FIELD, "\"%s\": expected an integer", mix->text[i]);
        }
    }
    return 0;
}

/* ---- the specification ---- */

static int parse_tasks(struct sl_str text, struct sl_generator *out, struct sl_error *err)
{
    if (!sl_str_to_i64(text, &out->tasks) || out->tasks < 1 || out->tasks > SL_JOBS_MAX) {
        return sl_error_set(err, SL_ERR_FIELD, "\"%.*s\": expected an integer in 1..%d",
                            shown_length(text), text.s, SL_JOBS_MAX);
    }
    return 0;
}

static int parse_gap(struct sl_str text, struct sl_generator *out, struct sl_error *err)
{
    return sl_distribution_parse(text, &out->gap, err);
}

static int parse_runtime(struct sl_str text, struct sl_generator *out, struct sl_error *err)
{
    return sl_distribution_parse(text, &out->runtime, err);
}

static int parse_estimate(struct sl_str text, struct sl_generator *out, struct sl_error *err)
{
    return sl_estimate_parse(text, &out->estimate, err);
}

static int parse_ask(struct sl_str text, struct sl_generator *out, struct sl_error *err)
{
    return parse_mix(text, &out->ask, err) < 0 ? -1 : parse_asks(&out->ask, err);
}

static int parse_priority(struct sl_str text, struct sl_generator *out, struct sl_error *err)
{
    return parse_mix(text, &out->priority, err) < 0 ? -1 : parse_priorities(&out->priority, err);
}

static int parse_namespace(struct sl_str text, struct sl_generator *out, struct sl_error *err)
{
    return parse_mix(text, &out->namespace, err);
}

static const struct key {
    const char *name;
    const char *initial;
    int (*parse)(struct sl_str text, struct sl_generator *out, struct sl_error *err);
} keys[] = {
    {"tasks", "20", parse_tasks},
    {"gap", "exp:25", parse_gap},
    {"runtime", "loguniform:1:3", parse_runtime},
    {"ask", "nvidia.com/gpu:1", parse_ask},
    {"estimate", "exact", parse_estimate},
    {"priority", "0", parse_priority},
    {"namespace", "default", parse_namespace},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static int pair_apply(struct sl_str pair, struct sl_generator *out, unsigned *seen,
                      struct sl_error *err)
{
    struct sl_str value = pair;
    struct sl_str name = sl_str_cut(&value, '=');
    value.s = value.s == NULL ? "" : value.s;
    for (unsigned i = 0; i < KEYS; i++) {
        if (!sl_str_eq(name, sl_str_of(keys[i].name))) {
            continue;
        }
        if ((*seen & 1U << i) != 0) {
            return sl_error_set(err, SL_ERR_FIELD, "%s: given twice", keys[i].name);
        }
        *seen |= 1U << i;
        return keys[i].parse(value, out, err) < 0 ? sl_error_wrap(err, "%s", keys[i].name) : 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "\"%.*s\" is no key; there are tasks, gap, runtime, ask, estimate, "
                        "priority, namespace",
                        shown_length(name), name.s);
}

int sl_generator_parse(struct sl_str text, struct sl_generator *out, struct sl_error *err)
{
    struct sl_generator made;
    struct sl_str rest = text;
    unsigned seen = 0;
    memset(&made, 0, sizeof(made));
    for (unsigned i = 0; i < KEYS; i++) {
        if (keys[i].parse(sl_str_of(keys[i].initial), &made, err) < 0) {
            return -1;
        }
    }
    while (rest.len > 0) {
        struct sl_str pair = sl_str_cut(&rest, ',');
        if (pair.len > 0 && pair_apply(pair, &made, &seen, err) < 0) {
            return -1;
        }
    }
    *out = made;
    return 0;
}

/* ---- jobs ---- */

/* Rounds to whole seconds, at least one, which a deadline can state exactly. */
static int64_t whole_seconds(int64_t us)
{
    return (int64_t)sl_timeout_seconds(us) * unit;
}

int sl_generate(const struct sl_generator *generator, uint64_t seed, struct sl_workload *out,
                struct sl_error *err)
{
    struct sl_rng rng[STREAM_NAMESPACE + 1];
    int64_t at_us = 0;
    for (unsigned i = 0; i <= STREAM_NAMESPACE; i++) {
        sl_rng_seed(&rng[i], seed, i);
    }
    for (int64_t i = 0; i < generator->tasks; i++) {
        uint32_t ask = draw_mix(&generator->ask, &rng[STREAM_ASK]);
        uint32_t priority = draw_mix(&generator->priority, &rng[STREAM_PRIORITY]);
        uint32_t namespace = draw_mix(&generator->namespace, &rng[STREAM_NAMESPACE]);
        int64_t run_us = whole_seconds(sl_distribution_draw(&generator->runtime, &rng[STREAM_RUN]));
        int32_t timeout_s = estimate_s(&generator->estimate, run_us, &rng[STREAM_ESTIMATE]);
        at_us += i > 0 ? sl_distribution_draw(&generator->gap, &rng[STREAM_GAP]) : 0;
        if (at_us > SL_CSV_TIME_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "gap: the jobs span more than 285 years");
        }
        const struct sl_trace_job facts = {
            .namespace = sl_str_of(generator->namespace.text[namespace]),
            .resource = sl_str_of(generator->ask.text[ask]),
            .count = generator->ask.count[ask],
            .submit_us = at_us,
            .run_us = run_us,
            .timeout_us = timeout_s * unit,
            .priority = (int32_t)generator->priority.count[priority],
        };
        if (sl_workload_add(out, &facts, err) < 0) {
            return -1;
        }
    }
    return sl_workload_finish(out, err);
}

void sl_redraw_run_times(struct sl_workload *workload, const struct sl_distribution *runtime,
                         uint64_t seed)
{
    struct sl_rng rng;
    sl_rng_seed(&rng, seed, STREAM_RUN);
    for (size_t i = 0; i < workload->n; i++) {
        struct sl_job *job = &workload->job[i];
        job->run_us = whole_seconds(sl_distribution_draw(runtime, &rng));
        job->timeout_s = sl_timeout_seconds(job->run_us);
    }
}

void sl_redraw_timeouts(struct sl_workload *workload, const struct sl_estimate_error *estimate,
                        uint64_t seed)
{
    struct sl_rng rng;
    sl_rng_seed(&rng, seed, STREAM_ESTIMATE);
    for (size_t i = 0; i < workload->n; i++) {
        struct sl_job *job = &workload->job[i];
        job->timeout_s = estimate_s(estimate, job->run_us, &rng);
    }
}

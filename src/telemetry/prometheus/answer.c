/* {"status": "success", "data": {"resultType": "matrix", "result": [
 *    {"metric": {"__name__": "...", "gpu": "0"}, "values": [[1700000000.5, "12"], ...]}, ...]}} */
#include "telemetry/prometheus/answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How deep the text is open, by what was opened last. */
enum depth { OUTSIDE, ROOT, DATA, RESULT, SERIES, METRIC_OR_VALUES, PAIR };

enum field { NONE, STATUS, ERROR, DATA_FIELD, RESULT_FIELD, METRIC, VALUES, VALUE };

struct sl_answer {
    struct sl_answer_options options;
    struct sl_json *json;
    enum depth depth;
    enum field field; /* of the value that comes, or that is open */
    char *label;      /* of the label whose value comes */
    bool told;        /* the series' labels were told */
    bool wanted;
    bool success;
    unsigned place; /* in a pair: 0 the time, 1 the value */
    int64_t at_us;
    char error[256]; /* that Prometheus told */
    struct sl_answer_series metric;
};

static int wrong(struct sl_error *err, const char *expected)
{
    return sl_error_set(err, SL_ERR_TYPE, "expected %s", expected);
}

static bool is_one_of(struct sl_str key, const struct sl_str label[SL_ANSWER_LABELS])
{
    bool found = false;
    for (size_t i = 0; i < SL_ANSWER_LABELS; i++) {
        found = found || (key.len > 0 && sl_str_eq(key, label[i]));
    }
    return found;
}

/* Is it one of the labels, with or without what Prometheus puts before those of an exporter? */
static bool is_exported(struct sl_str key, const struct sl_str label[SL_ANSWER_LABELS])
{
    static const struct sl_str prefix = {"exported_", 9};
    bool found = is_one_of(key, label);
    while (!found && sl_str_starts(key, prefix)) {
        key = (struct sl_str){key.s + prefix.len, key.len - prefix.len};
        found = is_one_of(key, label);
    }
    return found;
}

/* A place for one name more. */
static char *names_next(struct sl_answer_names *names)
{
    for (size_t i = 0; i < SL_ANSWER_NAMES; i++) {
        if (names->text[i][0] == '\0') {
            return names->text[i];
        }
    }
    names->more = true;
    return NULL;
}

char *sl_answer_label(const struct sl_answer_options *options, struct sl_answer_series *metric,
                      struct sl_str key)
{
    const struct {
        struct sl_str name;
        char *out;
    } rows[] = {{SL_STR("__name__"), metric->name},
                {SL_STR("gpu"), metric->gpu},
                {SL_STR("UUID"), metric->uuid},
                {SL_STR("GPU_I_ID"), metric->instance},
                {SL_STR("GPU_I_PROFILE"), metric->profile}};
    for (size_t i = 0; i < SL_ANSWER_LABELS; i++) {
        if (key.len > 0 && sl_str_eq(key, options->node_label[i])) {
            return metric->node[i];
        }
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (sl_str_eq(key, rows[i].name)) {
            return rows[i].out;
        }
    }
    return is_exported(key, options->pod_label)         ? names_next(&metric->pod)
           : is_exported(key, options->namespace_label) ? names_next(&metric->namespace)
                                                        : NULL;
}

static int take_key(struct sl_answer *answer, struct sl_str key)
{
    static const struct {
        struct sl_str name;
        enum depth depth;
        enum field field;
    } rows[] = {
        {{"status", 6}, ROOT, STATUS},   {{"error", 5}, ROOT, ERROR},
        {{"data", 4}, ROOT, DATA_FIELD}, {{"result", 6}, DATA, RESULT_FIELD},
        {{"metric", 6}, SERIES, METRIC}, {{"values", 6}, SERIES, VALUES},
        {{"value", 5}, SERIES, VALUE},
    };
    if (answer->depth == METRIC_OR_VALUES) {
        answer->label = sl_answer_label(&answer->options, &answer->metric, key);
        return answer->label == NULL ? SL_EVENT_SKIP : SL_EVENT_GO;
    }
    answer->field = NONE;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].depth == answer->depth && sl_str_eq(rows[i].name, key)) {
            answer->field = rows[i].field;
            return SL_EVENT_GO;
        }
    }
    return SL_EVENT_SKIP;
}

static int open_object(struct sl_answer *answer, struct sl_error *err)
{
    bool good = answer->depth == OUTSIDE || answer->depth == RESULT ||
                (answer->depth == ROOT && answer->field == DATA_FIELD) ||
                (answer->depth == SERIES && answer->field == METRIC);
    if (!good) {
        return wrong(err, "no object here");
    }
    if (answer->depth == RESULT) {
        answer->metric = (struct sl_answer_series){.name = ""};
        answer->told = false;
    }
    answer->depth++;
    return SL_EVENT_GO;
}

/* Tells the series before its first sample. */
static bool is_wanted(struct sl_answer *answer)
{
    if (!answer->told) {
        answer->told = true;
        answer->wanted = answer->options.series(answer->options.context, &answer->metric);
    }
    return answer->wanted;
}

static int open_array(struct sl_answer *answer, struct sl_error *err)
{
    if (answer->depth == DATA && answer->field == RESULT_FIELD) {
        answer->depth = RESULT;
        return SL_EVENT_GO;
    }
    if (answer->depth == SERIES && (answer->field == VALUES || answer->field == VALUE)) {
        if (!is_wanted(answer)) {
            return SL_EVENT_SKIP;
        }
        answer->depth = answer->field == VALUE ? PAIR : METRIC_OR_VALUES;
        answer->place = 0;
        return SL_EVENT_GO;
    }
    if (answer->depth == METRIC_OR_VALUES && answer->field == VALUES) {
        answer->depth = PAIR;
        answer->place = 0;
        return SL_EVENT_GO;
    }
    return wrong(err, "no list here");
}

static int close_array(struct sl_answer *answer)
{
    if (answer->depth == PAIR) {
        answer->depth = answer->field == VALUE ? SERIES : METRIC_OR_VALUES;
    } else if (answer->depth == METRIC_OR_VALUES) {
        answer->depth = SERIES;
    } else {
        answer->depth = DATA;
    }
    return SL_EVENT_GO;
}

/* Reads digits with at most one point among them, as most numbers are: a quotient of two integers
 * that a double holds exactly is rounded once, as strtod() rounds. False for anything else. */
static bool plain_number(struct sl_str text, double *out)
{
    enum { DIGITS = 15 }; /* below 2^53 */
    static const double power[DIGITS + 1] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    uint64_t digits = 0;
    size_t point = text.len;
    if (text.len == 0 || text.len > DIGITS) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == '.' && point == text.len) {
            point = i;
        } else if (text.s[i] >= '0' && text.s[i] <= '9') {
            digits = digits * 10 + (uint64_t)(text.s[i] - '0');
        } else {
            return false;
        }
    }
    *out = (double)digits / power[point == text.len ? 0 : text.len - point - 1];
    return text.len > 1 || point == text.len;
}

bool sl_answer_number(struct sl_str text, double *out)
{
    char digits[64];
    char *end = NULL;
    if (plain_number(text, out)) {
        return true;
    }
    if (text.len == 0 || text.len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, text.s, text.len);
    digits[text.len] = '\0';
    *out = strtod(digits, &end);
    return *end == '\0' && isfinite(*out) != 0;
}

static void take_time(struct sl_answer *answer, struct sl_str text)
{
    double seconds = 0;
    bool good = sl_answer_number(text, &seconds) && seconds >= 0 && seconds < SL_ANSWER_TIME_MAX_S;
    answer->at_us = good ? (int64_t)(seconds * 1e6 + 0.5) : -1;
}

static int take_text(struct sl_answer *answer, const struct sl_event *event, struct sl_error *err)
{
    double value = 0;
    if (answer->depth == METRIC_OR_VALUES && answer->field == METRIC) {
        if (event->text.len < SL_LABEL_TEXT_MAX &&
            memchr(event->text.s, '\0', event->text.len) == NULL) {
            memcpy(answer->label, event->text.s, event->text.len);
            answer->label[event->text.len] = '\0';
        }
        return SL_EVENT_GO;
    }
    if (answer->depth == PAIR && answer->place == 1) {
        answer->place++;
        if (answer->at_us >= 0 && sl_answer_number(event->text, &value)) {
            answer->options.sample(answer->options.context, answer->at_us, value);
        }
        return SL_EVENT_GO;
    }
    if (answer->depth == ROOT && answer->field == STATUS) {
        answer->success = sl_str_eq(event->text, SL_STR("success"));
        return SL_EVENT_GO;
    }
    if (answer->depth == ROOT && answer->field == ERROR) {
        (void)snprintf(answer->error, sizeof(answer->error), "%.*s",
                       (int)(event->text.len < 200 ? event->text.len : 200), event->text.s);
        return SL_EVENT_GO;
    }
    return wrong(err, "no string here");
}

static int receive(void *context, const struct sl_event *event, struct sl_error *err)
{
    struct sl_answer *answer = context;
    switch (event->type) {
    case SL_EVENT_OBJECT:
        return open_object(answer, err);
    case SL_EVENT_OBJECT_END:
        answer->depth--;
        return SL_EVENT_GO;
    case SL_EVENT_ARRAY:
        return open_array(answer, err);
    case SL_EVENT_ARRAY_END:
        return close_array(answer);
    case SL_EVENT_KEY:
        return take_key(answer, event->text);
    case SL_EVENT_STRING:
        return take_text(answer, event, err);
    case SL_EVENT_NUMBER:
        if (answer->depth != PAIR || answer->place != 0) {
            return wrong(err, "no number here");
        }
        answer->place++;
        take_time(answer, event->text);
        return SL_EVENT_GO;
    case SL_EVENT_DOCUMENT_END:
        return SL_EVENT_GO;
    case SL_EVENT_NULL:
        if (answer->depth == ROOT || (answer->depth == DATA && answer->field == RESULT_FIELD)) {
            return SL_EVENT_GO;
        }
        return wrong(err, "no null here");
    default:
        return wrong(err, "an object, a list or a string");
    }
}

struct sl_answer *sl_answer_new(const struct sl_answer_options *options)
{
    static const struct sl_text_limits limits = {
        .max_bytes = SL_ANSWER_BYTES_MAX, .max_string = 4096, .max_depth = 16};
    struct sl_answer *answer = calloc(1, sizeof(*answer));
    if (answer == NULL) {
        return NULL;
    }
    answer->options = *options;
    answer->json = sl_json_new(&limits, receive, answer);
    if (answer->json == NULL) {
        free(answer);
        return NULL;
    }
    return answer;
}

void sl_answer_free(struct sl_answer *answer)
{
    if (answer != NULL) {
        sl_json_free(answer->json);
        free(answer);
    }
}

void sl_answer_reset(struct sl_answer *answer)
{
    answer->depth = OUTSIDE;
    answer->field = NONE;
    answer->success = false;
    answer->error[0] = '\0';
    sl_json_reset(answer->json, receive, answer);
}

static int answer_refuse(struct sl_error *err)
{
    return sl_error_wrap(err, "this is no answer of Prometheus");
}

int sl_answer_feed(struct sl_answer *answer, const char *data, size_t len, struct sl_error *err)
{
    return sl_json_feed(answer->json, data, len, err) < 0 ? answer_refuse(err) : 0;
}

int sl_answer_finish(struct sl_answer *answer, struct sl_error *err)
{
    if (sl_json_finish(answer->json, err) < 0) {
        return answer_refuse(err);
    }
    return answer->success
               ? 0
               : sl_error_set(err, SL_ERR_CONFLICT, "Prometheus has no answer: %s",
                              answer->error[0] == '\0' ? "it gives no reason" : answer->error);
}

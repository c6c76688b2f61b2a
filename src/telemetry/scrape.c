/* # HELP DCGM_FI_DEV_FB_USED Framebuffer memory used (in MiB).
 * DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-...",Hostname="..."} 4000 1700000000500 */
#include "telemetry/scrape.h"

#include <stdlib.h>

struct sl_scrape {
    struct sl_answer_options options;
    bool (*wanted)(void *context, const char *name);
    int64_t now_us;
    size_t bytes;
    size_t lines;
    bool told; /* of something that was asked for */
    struct sl_answer_series metric;
    size_t held; /* of a line that is not whole yet */
    char line[SL_SCRAPE_LINE_MAX];
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_space(struct sl_str *rest)
{
    while (rest->len > 0 && is_space(rest->s[0])) {
        rest->s++;
        rest->len--;
    }
}

static bool skip_char(struct sl_str *rest, char c)
{
    skip_space(rest);
    if (rest->len == 0 || rest->s[0] != c) {
        return false;
    }
    rest->s++;
    rest->len--;
    return true;
}

static bool begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

/* A name of letters, digits, '_' and ':'; empty: there is none. */
static struct sl_str take_name(struct sl_str *rest)
{
    struct sl_str name = {rest->s, 0};
    while (name.len < rest->len) {
        char c = name.s[name.len];
        if (!begins_name(c) && (name.len == 0 || c < '0' || c > '9')) {
            break;
        }
        name.len++;
    }
    rest->s += name.len;
    rest->len -= name.len;
    return name;
}

/* Takes the text up to the next space. */
static struct sl_str take_word(struct sl_str *rest)
{
    skip_space(rest);
    struct sl_str word = {rest->s, 0};
    while (word.len < rest->len && !is_space(word.s[word.len])) {
        word.len++;
    }
    rest->s += word.len;
    rest->len -= word.len;
    return word;
}

/* A label's value, behind its opening quote, into out (NULL: nowhere); one that is too long is as
 * none. False: it has no end. */
static bool take_value(struct sl_str *rest, char *out)
{
    size_t n = 0;
    size_t at = 0;
    for (; at < rest->len && rest->s[at] != '"'; at++) {
        char c = rest->s[at];
        if (c == '\\' && ++at < rest->len) {
            c = rest->s[at] == 'n' ? '\n' : rest->s[at];
        }
        if (out != NULL && n < SL_LABEL_TEXT_MAX) {
            out[n] = c;
        }
        n++;
    }
    if (at >= rest->len) {
        return false;
    }
    if (out != NULL) {
        out[n < SL_LABEL_TEXT_MAX ? n : 0] = '\0';
    }
    rest->s += at + 1;
    rest->len -= at + 1;
    return true;
}

/* The labels behind '{'. */
static bool take_labels(struct sl_scrape *scrape, struct sl_str *rest)
{
    while (!skip_char(rest, '}')) {
        struct sl_str name = take_name(rest);
        char *out = sl_answer_label(&scrape->options, &scrape->metric, name);
        bool again = out != NULL && out[0] != '\0'; /* the exporter's own come first */
        if (name.len == 0 || !skip_char(rest, '=') || !skip_char(rest, '"') ||
            !take_value(rest, again ? NULL : out)) {
            return false;
        }
        if (!skip_char(rest, ',')) {
            return skip_char(rest, '}');
        }
    }
    return true;
}

/* Value and time. False: they are none; NaN is one, and told to nobody. */
static bool take_sample(const struct sl_scrape *scrape, struct sl_str *rest)
{
    const struct sl_answer_options *options = &scrape->options;
    struct sl_str number = take_word(rest);
    struct sl_str time = take_word(rest);
    int64_t at_us = scrape->now_us;
    int64_t ms = 0;
    double value = 0;
    skip_space(rest);
    if (number.len == 0 || rest->len > 0 || (time.len > 0 && !sl_str_to_i64(time, &ms))) {
        return false;
    }
    if (time.len > 0) {
        at_us = ms >= 0 && ms < (int64_t)(SL_ANSWER_TIME_MAX_S * 1000) ? ms * 1000 : -1;
    }
    if (options->series(options->context, &scrape->metric) && at_us >= 0 &&
        sl_answer_number(number, &value)) {
        options->sample(options->context, at_us, value);
    }
    return true;
}

/* A line that is whole. */
static bool take_line(struct sl_scrape *scrape, struct sl_str rest)
{
    skip_space(&rest);
    if (rest.len == 0 || rest.s[0] == '#') {
        return true;
    }
    struct sl_str name = take_name(&rest);
    if (name.len == 0 || rest.len == 0 || memchr(rest.s, '\0', rest.len) != NULL) {
        return false;
    }
    if (name.len >= SL_LABEL_TEXT_MAX) {
        return true;
    }
    scrape->metric = (struct sl_answer_series){.name = ""};
    memcpy(scrape->metric.name, name.s, name.len);
    if (!scrape->wanted(scrape->options.context, scrape->metric.name)) {
        return true;
    }
    scrape->told = true;
    return (!skip_char(&rest, '{') || take_labels(scrape, &rest)) && take_sample(scrape, &rest);
}

static int line_refuse(const struct sl_scrape *scrape, struct sl_error *err)
{
    return sl_error_set(err, SL_ERR_SYNTAX,
                        "this is no page of an exporter: line %zu is no sample of Prometheus' text "
                        "format",
                        scrape->lines);
}

/* Keeps a part of a line until the rest comes; of a comment, that it is one. A sample that is too
 * long counts as a comment: an exporter may repeat a pod's labels there, and a pod may have as many
 * as it likes, but not blind others on the node. */
static bool line_hold(struct sl_scrape *scrape, const char *data, size_t len)
{
    const char *first = scrape->held > 0 ? scrape->line : data;
    bool comment = (scrape->held > 0 || len > 0) && first[0] == '#';
    bool too_long = len > sizeof(scrape->line) - scrape->held;
    if (comment || (too_long && begins_name(first[0]))) {
        scrape->line[0] = '#';
        scrape->held = 1;
        return true;
    }
    if (too_long) {
        return false;
    }
    if (len > 0) {
        memcpy(scrape->line + scrape->held, data, len);
    }
    scrape->held += len;
    return true;
}

int sl_scrape_feed(struct sl_scrape *scrape, const char *data, size_t len, struct sl_error *err)
{
    scrape->bytes += len;
    if (scrape->bytes > SL_SCRAPE_BYTES_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "the page is longer than %d bytes",
                            SL_SCRAPE_BYTES_MAX);
    }
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t n = end == NULL ? len : (size_t)(end - data);
        scrape->lines += scrape->held == 0;
        if (!line_hold(scrape, data, n)) {
            return line_refuse(scrape, err);
        }
        if (end == NULL) {
            return 0;
        }
        if (!take_line(scrape, (struct sl_str){scrape->line, scrape->held})) {
            return line_refuse(scrape, err);
        }
        scrape->held = 0;
        data += n + 1;
        len -= n + 1;
    }
    return 0;
}

int sl_scrape_finish(struct sl_scrape *scrape, struct sl_error *err)
{
    if (scrape->held > 0) {
        return sl_error_set(err, SL_ERR_SYNTAX, "the page is cut in line %zu", scrape->lines);
    }
    return scrape->told ? 0
                        : sl_error_set(err, SL_ERR_NOTFOUND,
                                       "the page has none of the metrics of telemetry.metrics");
}

void sl_scrape_reset(struct sl_scrape *scrape, int64_t now_us)
{
    scrape->now_us = now_us;
    scrape->bytes = 0;
    scrape->lines = 0;
    scrape->told = false;
    scrape->held = 0;
}

struct sl_scrape *sl_scrape_new(const struct sl_answer_options *options,
                                bool (*wanted)(void *context, const char *name))
{
    struct sl_scrape *scrape = calloc(1, sizeof(*scrape));
    if (scrape != NULL) {
        scrape->options = *options;
        scrape->wanted = wanted;
    }
    return scrape;
}

void sl_scrape_free(struct sl_scrape *scrape)
{
    free(scrape);
}

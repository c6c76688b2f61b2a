/* {__name__=~"A|B",job="x"}[30s] */
#include "telemetry/question.h"

#include "kube/client/url.h"
#include "sliced/energy.h"

enum { QUERY_MAX = 8192 };

/* Names of metrics are words of letters, digits, '_' and ':'; anything else is taken literally by
 * the regular expression. */
static void put_name(struct sl_buf *out, const char *name)
{
    for (; *name != '\0'; name++) {
        bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                     (*name >= '0' && *name <= '9') || *name == '_' || *name == ':';
        if (plain) {
            sl_buf_putc(out, *name);
        }
    }
}

void sl_question_put(struct sl_buf *out, const struct sl_config *config, int64_t range_s)
{
    const char *const names[] = {
        config->telemetry.memory_used,     config->telemetry.busy_percent,
        config->telemetry.busy_ratio,      config->telemetry.bandwidth_ratio,
        config->telemetry.pod_memory_used, config->telemetry.power_watts};
    struct sl_config_selector selector;
    struct sl_buf query;
    bool first = true;
    sl_buf_init(&query, QUERY_MAX);
    sl_buf_puts(&query, "{__name__=~\"");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i][0] != '\0') {
            sl_buf_puts(&query, first ? "" : "|");
            put_name(&query, names[i]);
            first = false;
        }
    }
    sl_buf_puts(&query, "\"");
    if (sl_config_selector_read(sl_str_of(config->telemetry.selector), &selector)) {
        for (size_t i = 0; i < selector.n; i++) {
            sl_buf_printf(&query, ",%s=\"%s\"", selector.label[i].key, selector.label[i].value);
        }
    }
    sl_buf_printf(&query, "}[%llds]", (long long)range_s);
    sl_buf_puts(out, "/api/v1/query?query=");
    sl_url_put(out, (struct sl_str){query.data, query.len});
    if (query.failed != SL_BUF_OK) {
        out->failed = query.failed;
    }
    sl_buf_free(&query);
}

/* By Prometheus' convention for names. */
static enum sl_figure_scale memory_scale(const char *name)
{
    return sl_str_ends(sl_str_of(name), SL_STR("_bytes")) ? SL_SCALE_BYTES : SL_SCALE_MIB;
}

bool sl_question_kind(const struct sl_config *config, const char *name, struct sl_figure_kind *out)
{
    const struct {
        const char *name;
        struct sl_figure_kind kind;
    } rows[] = {
        {config->telemetry.memory_used, {SL_FIGURE_USED, memory_scale(name)}},
        {config->telemetry.pod_memory_used, {SL_FIGURE_POD_USED, memory_scale(name)}},
        {config->telemetry.busy_ratio, {SL_FIGURE_BUSY, SL_SCALE_RATIO}},
        {config->telemetry.busy_percent, {SL_FIGURE_BUSY, SL_SCALE_PERCENT}},
        {config->telemetry.bandwidth_ratio, {SL_FIGURE_BANDWIDTH, SL_SCALE_RATIO}},
        {config->telemetry.power_watts, {SL_FIGURE_POWER, SL_SCALE_WATTS}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (name[0] != '\0' && strcmp(rows[i].name, name) == 0) {
            *out = rows[i].kind;
            return true;
        }
    }
    return false;
}

int64_t sl_question_value(struct sl_figure_kind kind, double value)
{
    static const struct {
        double most, unit;
        double slack; /* a ratio of two counters may end a hair above 1 */
    } scales[] = {[SL_SCALE_MIB] = {INT32_MAX, 1, 0},
                  [SL_SCALE_BYTES] = {INT32_MAX * 1048576.0, 1 / 1048576.0, 0},
                  [SL_SCALE_PERCENT] = {100, 10, 0},
                  [SL_SCALE_RATIO] = {1, 1000, 0.01},
                  [SL_SCALE_WATTS] = {SL_ENERGY_MW_MAX / 1000.0, 1000, 0}};
    double most = scales[kind.scale].most;
    if (!(value >= 0) || value > most + scales[kind.scale].slack) {
        return -1;
    }
    return (int64_t)((value > most ? most : value) * scales[kind.scale].unit + 0.5);
}

void sl_question_labels(const char *list, struct sl_str out[SL_ANSWER_LABELS])
{
    struct sl_str rest = sl_str_of(list);
    for (size_t i = 0; i < SL_ANSWER_LABELS; i++) {
        out[i] = rest.len == 0 ? (struct sl_str){0} : sl_str_cut(&rest, ',');
    }
}

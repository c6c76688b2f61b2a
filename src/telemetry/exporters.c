/* Asks dcgm-exporter on each node, where there is no Prometheus: some nodes at a time, until all
 * have been asked. */
#include <stdlib.h>

#include "kube/client/url.h"
#include "telemetry/internal.h"
#include "telemetry/scrape.h"
#include "util/clock.h"

enum { URL_MAX_BYTES = 4096 };

struct sl_exporter {
    struct sl_telemetry *telemetry;
    struct sl_scrape *scrape;
    const char *node; /* of the snapshot; NULL: no call is under way */
};

static bool is_wanted(void *context, const char *name)
{
    const struct sl_telemetry *telemetry = context;
    struct sl_figure_kind kind;
    return sl_question_kind(telemetry->config, name, &kind);
}

int sl_telemetry_make_exporters(struct sl_telemetry *telemetry, struct sl_error *err)
{
    const struct sl_answer_options options = {
        .series = sl_telemetry_series, .sample = sl_telemetry_sample, .context = telemetry};
    telemetry->exporter = calloc(SL_EXPORTERS_AT_ONCE, sizeof(*telemetry->exporter));
    for (size_t i = 0; telemetry->exporter != NULL && i < SL_EXPORTERS_AT_ONCE; i++) {
        struct sl_exporter *exporter = &telemetry->exporter[i];
        exporter->telemetry = telemetry;
        exporter->scrape = sl_scrape_new(&options, is_wanted);
        if (exporter->scrape == NULL) {
            return sl_error_nomem(err);
        }
    }
    return telemetry->exporter == NULL ? sl_error_nomem(err) : 0;
}

void sl_telemetry_free_exporters(struct sl_telemetry *telemetry)
{
    for (size_t i = 0; telemetry->exporter != NULL && i < SL_EXPORTERS_AT_ONCE; i++) {
        sl_scrape_free(telemetry->exporter[i].scrape);
    }
    free(telemetry->exporter);
}

/* ---- one call ---- */

static void put_address(struct sl_buf *out, const char *address)
{
    bool v6 = strchr(address, ':') != NULL;
    sl_buf_printf(out, v6 ? "[%s]" : "%s", address);
}

/* telemetry.exporters with the node's name and address in it. False: it has no address. */
static bool put_url(struct sl_buf *out, const char *pattern, const struct sl_node *node)
{
    static const struct sl_str name = {"{node}", 6};
    static const struct sl_str address = {"{address}", 9};
    struct sl_str rest = sl_str_of(pattern);
    while (rest.len > 0) {
        size_t n = 1;
        if (sl_str_starts(rest, name)) {
            n = name.len;
            sl_url_put(out, sl_str_of(node->name));
        } else if (sl_str_starts(rest, address)) {
            n = address.len;
            if (node->address == NULL) {
                return false;
            }
            put_address(out, node->address);
        } else {
            sl_buf_putc(out, rest.s[0]);
        }
        rest.s += n;
        rest.len -= n;
    }
    sl_buf_putc(out, '\0');
    return true;
}

static int on_page(void *context, const char *data, size_t len, struct sl_error *err)
{
    struct sl_exporter *exporter = context;
    struct sl_telemetry *telemetry = exporter->telemetry;
    int64_t begun_ns = sl_clock_monotonic_ns();
    (void)pthread_mutex_lock(&telemetry->lock);
    telemetry->latest_us = sl_telemetry_now(telemetry) + SL_FUTURE_US;
    telemetry->node = exporter->node;
    int rc = sl_scrape_feed(exporter->scrape, data, len, err);
    (void)pthread_mutex_unlock(&telemetry->lock);
    telemetry->work_ns += sl_clock_monotonic_ns() - begun_ns;
    return rc;
}

static void exporters_go_on(struct sl_telemetry *telemetry);

static void on_end(void *context, const struct sl_reply *reply)
{
    struct sl_exporter *exporter = context;
    struct sl_telemetry *telemetry = exporter->telemetry;
    struct sl_error err = reply->err;
    int rc = reply->status == 200 && reply->err.code == SL_ERR_NONE ? 0 : -1;
    if (rc == 0) {
        rc = sl_scrape_finish(exporter->scrape, &err);
    }
    sl_telemetry_count(telemetry, exporter->node, reply->status, rc < 0 ? &err : NULL);
    exporter->node = NULL;
    telemetry->asking--;
    exporters_go_on(telemetry);
}

static int exporter_ask(struct sl_exporter *exporter, const struct sl_node *node,
                        struct sl_error *err)
{
    struct sl_telemetry *telemetry = exporter->telemetry;
    struct sl_buf url;
    int rc = -1;
    sl_buf_init(&url, URL_MAX_BYTES);
    if (!put_url(&url, telemetry->config->telemetry.exporters, node)) {
        (void)sl_error_set(err, SL_ERR_NOTFOUND, "the node states no InternalIP");
    } else if (url.failed != SL_BUF_OK) {
        (void)sl_error_nomem(err);
    } else {
        const struct sl_call_options call = {
            .method = "GET",
            .path = url.data,
            .priority = SL_CALL_NORMAL,
            .timeout_us = telemetry->config->telemetry.timeout_us,
            .data = on_page,
            .done = on_end,
            .context = exporter,
        };
        exporter->node = node->name;
        sl_scrape_reset(exporter->scrape, sl_clock_real_us());
        rc = sl_client_call(telemetry->client, &call, NULL, err);
    }
    sl_buf_free(&url);
    return rc;
}

/* ---- all of them ---- */

static struct sl_exporter *exporter_idle(const struct sl_telemetry *telemetry)
{
    for (size_t i = 0; i < SL_EXPORTERS_AT_ONCE; i++) {
        if (telemetry->exporter[i].node == NULL) {
            return &telemetry->exporter[i];
        }
    }
    return NULL;
}

/* Asks as many as may be asked at once; ends when the last one has answered. */
static void exporters_go_on(struct sl_telemetry *telemetry)
{
    const struct sl_snapshot *snapshot = telemetry->snapshot;
    for (; telemetry->asking < SL_EXPORTERS_AT_ONCE && telemetry->next_node < snapshot->n_nodes;
         telemetry->next_node++) {
        const struct sl_node *node = snapshot->view[telemetry->next_node]->node;
        struct sl_exporter *exporter = exporter_idle(telemetry);
        struct sl_error err = {0};
        if (!sl_node_has_gpus(node) || exporter == NULL) {
            continue;
        }
        if (exporter_ask(exporter, node, &err) < 0) {
            sl_telemetry_count(telemetry, node->name, 0, &err);
            exporter->node = NULL;
        } else {
            telemetry->asking++;
        }
    }
    if (telemetry->asking == 0) {
        sl_telemetry_end(telemetry, sl_telemetry_ask_exporters);
    }
}

void sl_telemetry_ask_exporters(void *context)
{
    struct sl_telemetry *telemetry = context;
    if (sl_telemetry_begin(telemetry, sl_telemetry_ask_exporters)) {
        telemetry->next_node = 0;
        exporters_go_on(telemetry);
    }
}

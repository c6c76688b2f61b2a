/* Asks dcgm-exporter on each node, where there is no Prometheus. Each has a clock of its own: it is
 * asked again an interval after its last answer, whatever others do. They take turns at
 * SL_EXPORTERS_AT_ONCE places, of which a quarter is for those that have proved quick: any number
 * of slow ones leaves these their turns. */
#include <stdio.h>
#include <stdlib.h>

#include "kube/client/url.h"
#include "telemetry/internal.h"
#include "telemetry/scrape.h"
#include "util/clock.h"

enum { URL_MAX_BYTES = 4096, SLOW_AT_ONCE = SL_EXPORTERS_AT_ONCE * 3 / 4, OWED = 2 };

/* One node's exporter; it stands in a line, or at a place. Times are of the monotonic clock. */
struct sl_exporter {
    struct sl_exporter *next; /* in its line */
    int64_t due_us;           /* it is not asked before */
    int64_t asked_us;
    bool ended;   /* it was asked, and has answered or failed */
    bool quick;   /* it answers within half an interval, as far as is known */
    uint8_t owed; /* so many such answers in a row until that is believed */
    char trouble[SL_TROUBLE_MAX];
    char name[];
};

/* Ordered by due_us: whoever leaves a place goes to the end. */
struct line {
    struct sl_exporter *first, *last;
    size_t asking; /* at places */
};

struct place {
    struct sl_telemetry *telemetry;
    struct sl_scrape *scrape;
    struct sl_exporter *exporter; /* NULL: the place is free */
};

struct sl_exporters {
    struct sl_map map;   /* struct sl_exporter by the node's name */
    struct line line[2]; /* of slow ones and new ones, and of quick ones */
    bool waking;         /* a timer runs */
    struct place place[SL_EXPORTERS_AT_ONCE];
};

static bool is_wanted(void *context, const char *name)
{
    const struct sl_telemetry *telemetry = context;
    struct sl_figure_kind kind;
    return sl_question_kind(telemetry->config, name, &kind);
}

int sl_telemetry_make_exporters(struct sl_telemetry *telemetry, struct sl_error *err)
{
    const struct sl_answer_options options = sl_telemetry_options(telemetry);
    telemetry->exporters = calloc(1, sizeof(*telemetry->exporters));
    for (size_t i = 0; telemetry->exporters != NULL && i < SL_EXPORTERS_AT_ONCE; i++) {
        struct place *place = &telemetry->exporters->place[i];
        place->telemetry = telemetry;
        place->scrape = sl_scrape_new(&options, is_wanted);
        if (place->scrape == NULL) {
            return sl_error_nomem(err);
        }
    }
    return telemetry->exporters == NULL ? sl_error_nomem(err) : 0;
}

void sl_telemetry_free_exporters(struct sl_telemetry *telemetry)
{
    struct sl_exporters *all = telemetry->exporters;
    size_t at = 0;
    if (all == NULL) {
        return;
    }
    for (struct sl_exporter *exporter = sl_map_next(&all->map, &at); exporter != NULL;
         exporter = sl_map_next(&all->map, &at)) {
        free(exporter);
    }
    for (size_t i = 0; i < SL_EXPORTERS_AT_ONCE; i++) {
        sl_scrape_free(all->place[i].scrape);
    }
    sl_map_free(&all->map);
    free(all);
}

/* ---- lines ---- */

static void line_join(struct sl_exporters *all, struct sl_exporter *exporter, int64_t due_us)
{
    struct line *line = &all->line[exporter->quick];
    exporter->due_us = due_us;
    exporter->next = NULL;
    if (line->first == NULL) {
        line->first = exporter;
    } else {
        line->last->next = exporter;
    }
    line->last = exporter;
}

static struct sl_exporter *line_leave(struct line *line)
{
    struct sl_exporter *exporter = line->first;
    line->first = exporter->next;
    return exporter;
}

/* Takes the next one that is due out of its line; NULL: nobody is, or may be asked now. */
static struct sl_exporter *next_due(struct sl_exporters *all, int64_t now_us)
{
    struct line *quick = &all->line[true];
    struct line *slow = &all->line[false];
    bool room = quick->asking + slow->asking < SL_EXPORTERS_AT_ONCE;
    bool quick_due = room && quick->first != NULL && quick->first->due_us <= now_us;
    bool slow_due =
        room && slow->first != NULL && slow->first->due_us <= now_us && slow->asking < SLOW_AT_ONCE;
    if (slow_due && (!quick_due || slow->first->due_us < quick->first->due_us)) {
        return line_leave(slow);
    }
    return quick_due ? line_leave(quick) : NULL;
}

/* New nodes are asked at once. */
static void enlist(struct sl_telemetry *telemetry)
{
    struct sl_exporters *all = telemetry->exporters;
    const struct sl_snapshot *snapshot = telemetry->snapshot;
    int64_t now_us = sl_clock_monotonic_us();
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        const struct sl_node *node = snapshot->view[i]->node;
        struct sl_str name = sl_str_of(node->name);
        if (!sl_node_has_gpus(node) || sl_map_get(&all->map, name.s, name.len) != NULL) {
            continue;
        }
        struct sl_exporter *exporter = SL_MAP_ADD(&all->map, struct sl_exporter, name, name);
        if (exporter == NULL) {
            return; /* the next time */
        }
        line_join(all, exporter, now_us);
    }
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
    struct place *place = context;
    struct sl_telemetry *telemetry = place->telemetry;
    int64_t begun_ns = sl_clock_monotonic_ns();
    (void)pthread_mutex_lock(&telemetry->lock);
    telemetry->latest_us = sl_telemetry_now(telemetry) + SL_FUTURE_US;
    telemetry->node = place->exporter->name;
    int rc = sl_scrape_feed(place->scrape, data, len, err);
    (void)pthread_mutex_unlock(&telemetry->lock);
    telemetry->work_ns += sl_clock_monotonic_ns() - begun_ns;
    return rc;
}

/* It has answered, or (err) has not: it leaves its place, if it has one, and its turn comes again
 * after the others'. */
static void exporter_end(struct sl_telemetry *telemetry, struct sl_exporter *exporter, int status,
                         const struct sl_error *err)
{
    int64_t now_us = sl_clock_monotonic_us();
    int64_t interval_us = telemetry->config->telemetry.interval_us;
    sl_telemetry_count(telemetry, exporter->name, status, err, exporter->trouble);
    exporter->ended = true;
    bool quickly = err == NULL && now_us - exporter->asked_us < interval_us / 2;
    exporter->owed = !quickly ? OWED : exporter->owed > 0 ? exporter->owed - 1 : 0;
    exporter->quick = exporter->owed == 0;
    line_join(telemetry->exporters, exporter, now_us + interval_us);
}

static void exporters_go_on(struct sl_telemetry *telemetry);

static void on_end(void *context, const struct sl_reply *reply)
{
    struct place *place = context;
    struct sl_telemetry *telemetry = place->telemetry;
    struct sl_error err = reply->err;
    int rc = reply->status == 200 && reply->err.code == SL_ERR_NONE ? 0 : -1;
    if (rc == 0) {
        rc = sl_scrape_finish(place->scrape, &err);
    }
    telemetry->exporters->line[place->exporter->quick].asking--;
    exporter_end(telemetry, place->exporter, reply->status, rc < 0 ? &err : NULL);
    place->exporter = NULL;
    exporters_go_on(telemetry);
}

static int exporter_ask(struct place *place, const struct sl_node *node, struct sl_error *err)
{
    struct sl_telemetry *telemetry = place->telemetry;
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
            .context = place,
        };
        sl_scrape_reset(place->scrape, sl_clock_real_us());
        rc = sl_client_call(telemetry->client, &call, NULL, err);
    }
    sl_buf_free(&url);
    return rc;
}

/* ---- all of them ---- */

static struct place *place_find(struct sl_exporters *all)
{
    size_t i = 0;
    while (all->place[i].exporter != NULL) {
        i++;
    }
    return &all->place[i];
}

/* Asks it, at a place that is free, or forgets it, for its node is gone. */
static void exporter_turn(struct sl_telemetry *telemetry, struct sl_exporter *exporter)
{
    struct sl_exporters *all = telemetry->exporters;
    const struct sl_snapshot *snapshot = telemetry->snapshot;
    struct place *place = place_find(all);
    struct sl_error err = {0};
    uint32_t at = sl_snapshot_find(snapshot, sl_str_of(exporter->name), 0);
    if (at == SL_NODE_NONE || !sl_node_has_gpus(snapshot->view[at]->node)) {
        (void)sl_map_remove(&all->map, exporter->name, strlen(exporter->name));
        free(exporter);
        return;
    }
    exporter->asked_us = sl_clock_monotonic_us();
    place->exporter = exporter;
    all->line[exporter->quick].asking++;
    if (exporter_ask(place, snapshot->view[at]->node, &err) < 0) {
        place->exporter = NULL;
        all->line[exporter->quick].asking--;
        exporter_end(telemetry, exporter, 0, &err);
    }
}

static void on_timer(void *context)
{
    struct sl_telemetry *telemetry = context;
    telemetry->exporters->waking = false;
    exporters_go_on(telemetry);
}

/* Asks those that are due, as many as may be asked at once, and comes again when the next one is:
 * who is due by now waits for a place, and so for an answer. */
static void exporters_go_on(struct sl_telemetry *telemetry)
{
    struct sl_exporters *all = telemetry->exporters;
    int64_t now_us = sl_clock_monotonic_us();
    int64_t wake_us = INT64_MAX;
    for (struct sl_exporter *exporter = next_due(all, now_us); exporter != NULL;
         exporter = next_due(all, now_us)) {
        exporter_turn(telemetry, exporter);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct sl_exporter *first = all->line[i].first;
        bool later = first != NULL && first->due_us > now_us && first->due_us < wake_us;
        wake_us = later ? first->due_us : wake_us;
    }
    if (!all->waking && wake_us < INT64_MAX) {
        all->waking =
            sl_client_after(telemetry->client, wake_us - now_us, on_timer, telemetry) == 0;
    }
}

/* Counts the last answer of each exporter that was asked. */
static void count_outcomes(struct sl_telemetry *telemetry)
{
    const struct sl_exporters *all = telemetry->exporters;
    size_t at = 0;
    telemetry->answers = 0;
    telemetry->failures = 0;
    for (const struct sl_exporter *exporter = sl_map_next(&all->map, &at); exporter != NULL;
         exporter = sl_map_next(&all->map, &at)) {
        bool failed = exporter->trouble[0] != '\0';
        if (failed && telemetry->failures == 0) {
            (void)snprintf(telemetry->trouble, SL_TROUBLE_MAX, "%s", exporter->trouble);
        }
        telemetry->failures += failed;
        telemetry->answers += exporter->ended && !failed;
    }
}

void sl_telemetry_ask_exporters(void *context)
{
    struct sl_telemetry *telemetry = context;
    if (sl_telemetry_begin(telemetry, sl_telemetry_ask_exporters)) {
        enlist(telemetry);
        exporters_go_on(telemetry);
        count_outcomes(telemetry);
        sl_telemetry_end(telemetry, sl_telemetry_ask_exporters);
    }
}

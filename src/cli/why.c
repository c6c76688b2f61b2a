/* One pod's story. The cells come from the server, so that all who look read the same figures; here
 * they are only set below each other. */
#include "cli/commands.h"

#include "cli/table.h"
#include "util/data/sat.h"
#include "util/show.h"

enum { HEAD_WIDTH = 12, STORY_MAX = 4 << 20 };

static void put_shown(struct sl_buf *out, struct sl_str text)
{
    char shown[SL_SHOWN_MAX];
    while (text.len > 0) {
        sl_buf_append(out, shown, sl_show_next(&text, shown));
    }
}

void sl_cli_line(struct sl_buf *out, struct sl_str head, struct sl_str text)
{
    size_t begin = out->len;
    if (text.len == 0) {
        return;
    }
    put_shown(out, head);
    sl_buf_putc(out, ':');
    do {
        sl_buf_putc(out, ' ');
    } while (out->failed == SL_BUF_OK && out->len - begin < HEAD_WIDTH);
    put_shown(out, text);
    sl_buf_putc(out, '\n');
}

/* ---- what the nodes have against it ---- */

static void add_reason(struct sl_grid *grid, const struct sl_value *reason)
{
    const struct sl_value *never = sl_value_at(reason, "never");
    sl_grid_str(grid, sl_value_text(reason, "nodes"));
    sl_grid_str(grid, sl_value_text(reason, "reason"));
    sl_grid_text(grid, never != NULL && never->boolean ? "never" : "not now");
    sl_grid_str(grid, sl_value_text(reason, "nearest"));
}

/* The reason that most nodes have, of those that were not told yet: fewer than below have it, or
 * it stands behind the one that as many have. */
static const struct sl_value *next_reason(const struct sl_value *reasons,
                                          const struct sl_value *told)
{
    const struct sl_value *most = NULL;
    int64_t below = told == NULL ? INT64_MAX : sl_value_i64(told, "nodes", 0);
    bool behind = false;
    for (const struct sl_value *each = reasons->first; each != NULL; each = each->next) {
        int64_t nodes = sl_value_i64(each, "nodes", 0);
        bool left = nodes < below || (nodes == below && behind);
        behind = behind || each == told;
        if (left && each != told && (most == NULL || nodes > sl_value_i64(most, "nodes", 0))) {
            most = each;
        }
    }
    return most;
}

/* Nodes that the pod excludes are of no use to it. */
static void put_fit(struct sl_buf *out, const struct sl_value *nodes)
{
    int64_t excluded = sl_value_i64(nodes, "excluded", 0);
    int64_t admitted = sl_value_i64(nodes, "nodes", 0);
    admitted = excluded > 0 ? sl_sat_add(admitted, -excluded) : admitted;
    sl_buf_printf(out, "\nIt fits on %lld of %lld nodes now",
                  (long long)sl_value_i64(nodes, "fit", 0), (long long)admitted);
    if (excluded > 0) {
        sl_buf_printf(out, "; it excludes %lld more itself", (long long)excluded);
    }
    sl_buf_puts(out, ".\n");
}

/* Why nodes are not cut for it: a sentence each. */
static void put_uncut(struct sl_buf *out, const struct sl_value *uncut)
{
    for (const struct sl_value *each = uncut == NULL ? NULL : uncut->first; each != NULL;
         each = each->next) {
        put_shown(out, sl_value_text(each, "text"));
        sl_buf_puts(out, ".\n");
    }
}

static void put_nodes(struct sl_buf *out, const struct sl_value *nodes)
{
    static const char *const head[] = {"NODES", "REASON", "WHEN", "NEAREST"};
    const struct sl_value *reasons = sl_value_at(nodes, "reasons");
    struct sl_grid grid;
    if (nodes == NULL) {
        return;
    }
    put_fit(out, nodes);
    put_uncut(out, sl_value_at(nodes, "uncut"));
    if (reasons == NULL || reasons->first == NULL) {
        return;
    }
    sl_grid_init(&grid, sizeof(head) / sizeof(head[0]), head, STORY_MAX);
    const struct sl_value *each = next_reason(reasons, NULL);
    for (; each != NULL; each = next_reason(reasons, each)) {
        add_reason(&grid, each);
    }
    sl_buf_putc(out, '\n');
    sl_grid_write(&grid, out);
    sl_grid_free(&grid);
}

/* ---- what would help ---- */

static void put_remedy(struct sl_buf *out, bool *begun, struct sl_str remedy)
{
    if (remedy.len > 0) {
        sl_buf_puts(out, *begun ? "" : "\nWhat would help:\n");
        sl_buf_puts(out, "  - ");
        put_shown(out, remedy);
        sl_buf_putc(out, '\n');
        *begun = true;
    }
}

static void put_remedies(struct sl_buf *out, const struct sl_value *status)
{
    const struct sl_value *reasons = sl_value_at(status, "nodes.reasons");
    bool begun = false;
    put_remedy(out, &begun, sl_value_text(status, "remedy"));
    if (reasons != NULL) {
        const struct sl_value *each = next_reason(reasons, NULL);
        for (; each != NULL; each = next_reason(reasons, each)) {
            put_remedy(out, &begun, sl_value_text(each, "remedy"));
        }
    }
}

/* ---- the story ---- */

int sl_cli_story(const struct sl_value *table, struct sl_buf *out, struct sl_error *err)
{
    const struct sl_value *column = sl_value_at(table, "columnDefinitions");
    const struct sl_value *row = sl_value_at(table, "rows");
    const struct sl_value *cell = sl_value_at(row == NULL ? NULL : row->first, "cells");
    if (!sl_str_eq(sl_value_text(table, "kind"), SL_STR("Table")) || column == NULL ||
        cell == NULL) {
        return sl_error_set(err, SL_ERR_TYPE, "the server's answer is no table of one row");
    }
    const struct sl_value *object = sl_value_at(row->first, "object");
    sl_cli_line(out, SL_STR("Namespace"), sl_value_text(object, "metadata.namespace"));
    cell = cell->first;
    for (column = column->first; column != NULL && cell != NULL; column = column->next) {
        sl_cli_line(out, sl_value_text(column, "name"), sl_cli_cell(cell));
        cell = cell->next;
    }
    put_nodes(out, sl_value_at(object, "status.nodes"));
    put_remedies(out, sl_value_at(object, "status"));
    return 0;
}

static bool wants_whole(const struct sl_cli *cli)
{
    return cli->options->output == SL_CLI_JSON || cli->options->output == SL_CLI_YAML;
}

static int ask_pod(struct sl_cli *cli, const char *kind, struct sl_cli_answer *answer)
{
    bool whole = wants_whole(cli);
    struct sl_cli_call call = {.form = whole ? SL_FORM_OBJECT : SL_FORM_TABLE};
    sl_cli_path(&call.path, cli->namespace, kind, cli->options->name);
    sl_buf_puts(&call.path, whole ? "" : "?includeObject=Object");
    return sl_cli_ask(cli, &call, answer);
}

static int print_story(struct sl_cli *cli, const struct sl_value *table)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf out;
    sl_buf_init(&out, STORY_MAX);
    int rc = sl_cli_story(table, &out, &err);
    int status = rc < 0 ? SL_CLI_REFUSED : sl_cli_print(&out);
    if (rc < 0) {
        sl_cli_complain("%s: %s", cli->access.server, err.message);
    }
    sl_buf_free(&out);
    return status;
}

/* A pod waits, or it is on its node. */
int sl_cli_why(struct sl_cli *cli)
{
    struct sl_cli_answer waits;
    struct sl_cli_answer runs;
    const struct sl_cli_answer *found = &waits;
    if (ask_pod(cli, "queuedpods", &waits) < 0) {
        if (waits.status != 404) {
            return sl_cli_fail(cli, &waits, "queuedpods");
        }
        if (ask_pod(cli, "runningpods", &runs) < 0) {
            int status = sl_cli_fail(cli, &waits, "queuedpods");
            if (runs.status != 404) {
                return sl_cli_fail(cli, &runs, "runningpods");
            }
            if (!cli->unserved) {
                sl_cli_complain("it is on no node either: it has ended, asks for no GPU, or is "
                                "not there at all");
            }
            return status;
        }
        found = &runs;
    }
    return wants_whole(cli) ? sl_cli_print_value(cli, found->value)
                            : print_story(cli, found->value);
}

/* Lists of a kind, and watches of it. Events come on the client's thread, while this one waits. */
#include "cli/commands.h"

#include <stdio.h>
#include <time.h>

#include "cli/table.h"
#include "kube/client/url.h"

enum {
    PAGES_MAX = 1000,
    LINE_BYTES_MAX = 16 << 20,
    TRIES_MAX = 60, /* a second apart: longer than it takes to elect a leader */
    REVISION_MAX = 64,
};

struct list {
    struct sl_cli *cli;
    const char *kind;
    bool as_table;
    struct sl_cli_table table;
    struct sl_buf out;
    char revision[REVISION_MAX]; /* up to which all is known; empty: none */
    struct sl_arena arena;       /* of one event */
    struct sl_buf line;
    bool lost;  /* the server told that it forgot what happened since */
    int status; /* of printing */
};

/* ---- lists ---- */

static const char *namespace_of(const struct list *list)
{
    return list->cli->options->command->namespaced ? list->cli->namespace : NULL;
}

static struct sl_cli_call call_of(const struct list *list, bool watch)
{
    const char *name = list->cli->options->name;
    struct sl_cli_call call = {.form = list->as_table ? SL_FORM_TABLE : SL_FORM_OBJECT};
    sl_cli_path(&call.path, namespace_of(list), list->kind, watch ? NULL : name);
    if (watch && name != NULL) {
        sl_buf_puts(&call.path, "?fieldSelector=metadata.name%3D");
        sl_url_put(&call.path, sl_str_of(name));
    }
    if (list->cli->options->command->bit == SL_CLI_USAGE) {
        const char *since = list->cli->options->since;
        sl_buf_printf(&call.path, "?fieldSelector=status.since%%3D%s",
                      since == NULL ? "30d" : since);
    }
    return call;
}

/* The server ends a page where it gets large: then it says where to go on. */
static int ask_page(struct list *list, struct sl_str next, struct sl_cli_answer *answer)
{
    struct sl_cli_call call = call_of(list, false);
    if (next.len > 0) {
        sl_buf_puts(&call.path,
                    list->cli->options->command->bit == SL_CLI_USAGE ? "&continue=" : "?continue=");
        sl_url_put(&call.path, next);
    }
    return sl_cli_ask(list->cli, &call, answer);
}

/* All pages as one. */
static int ask_all(struct list *list, struct sl_cli_answer *answer)
{
    if (ask_page(list, SL_STR(""), answer) < 0) {
        return -1;
    }
    struct sl_value *whole = answer->value;
    struct sl_str next = sl_value_text(whole, "metadata.continue");
    for (unsigned i = 1; next.len > 0; i++) {
        if (i == PAGES_MAX) {
            answer->status = 0;
            return sl_error_set(&answer->err, SL_ERR_LIMIT, "its list has more than %d pages",
                                (int)PAGES_MAX);
        }
        if (ask_page(list, next, answer) < 0) {
            return -1;
        }
        next = sl_value_text(answer->value, "metadata.continue");
        sl_value_join(whole, answer->value, list->as_table ? "rows" : "items");
    }
    answer->value = whole;
    return 0;
}

static void keep_revision(struct list *list, const struct sl_value *value)
{
    struct sl_str revision = sl_value_text(value, "metadata.resourceVersion");
    if (revision.len > 0 && revision.len < sizeof(list->revision)) {
        memcpy(list->revision, revision.s, revision.len);
        list->revision[revision.len] = '\0';
    }
}

/* As a table, or as -o says. */
static int print_value(struct list *list, const struct sl_value *value)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    if (!list->as_table) {
        return sl_cli_print_value(list->cli, value);
    }
    if (sl_cli_table_add(&list->table, value, &err) < 0) {
        sl_cli_complain("%s: %s", list->cli->access.server, err.message);
        return SL_CLI_REFUSED;
    }
    if (list->cli->options->output == SL_CLI_CSV) {
        sl_grid_csv(&list->table.grid, &list->out);
    } else {
        sl_cli_table_write(&list->table, &list->out);
    }
    return sl_cli_print(&list->out);
}

static bool is_empty(const struct list *list, const struct sl_value *value)
{
    const struct sl_value *rows = sl_value_at(value, "rows");
    return list->as_table && rows != NULL && rows->first == NULL;
}

/* ---- watches ---- */

static int print_event(struct list *list, struct sl_str type, const struct sl_value *object)
{
    if (sl_str_eq(type, SL_STR("ERROR"))) {
        list->lost = sl_value_i64(object, "code", 0) == 410;
        if (!list->lost) {
            sl_cli_complain("Error from server: %.*s", (int)sl_value_text(object, "message").len,
                            sl_value_text(object, "message").s);
        }
        return SL_CLI_REFUSED;
    }
    keep_revision(list, object);
    if (sl_str_eq(type, SL_STR("BOOKMARK"))) {
        return SL_CLI_DONE;
    }
    if (list->cli->options->output == SL_CLI_YAML) {
        sl_buf_puts(&list->out, "---\n");
        (void)sl_cli_print(&list->out);
    }
    return print_value(list, object);
}

static int read_event(struct list *list, struct sl_str line, struct sl_error *err)
{
    struct sl_value *event = NULL;
    sl_arena_reset(&list->arena);
    if (sl_value_read(line, &list->arena, &event, err) < 0) {
        return -1;
    }
    list->status = print_event(list, sl_value_text(event, "type"), sl_value_at(event, "object"));
    return list->status == SL_CLI_DONE ? 0
                                       : sl_error_set(err, SL_ERR_CONFLICT, "the watch has ended");
}

static bool is_blank(struct sl_str line)
{
    return line.len == 0 || (line.len == 1 && line.s[0] == '\r');
}

/* Takes a piece of the stream: events stand a line each, blank ones only show that it lives. */
static int take_piece(void *context, const char *data, size_t len, struct sl_error *err)
{
    struct list *list = context;
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t n = end == NULL ? len : (size_t)(end - data);
        sl_buf_append(&list->line, data, n);
        if (list->line.failed != SL_BUF_OK) {
            return sl_error_set(err, SL_ERR_LIMIT, "an event of the watch is longer than %d bytes",
                                (int)LINE_BYTES_MAX);
        }
        if (end == NULL) {
            return 0;
        }
        struct sl_str line = {list->line.data, list->line.len};
        list->line.len = 0;
        if (!is_blank(line) && read_event(list, line, err) < 0) {
            return -1;
        }
        data += n + 1;
        len -= n + 1;
    }
    return 0;
}

/* Until it ends. -1: the server refused it, or it broke off. */
static int watch_once(struct list *list, struct sl_cli_answer *answer)
{
    struct sl_cli_call call = call_of(list, true);
    call.data = take_piece;
    call.context = list;
    list->line.len = 0;
    list->lost = false;
    sl_buf_printf(&call.path, "%cwatch=true", list->cli->options->name == NULL ? '?' : '&');
    if (list->revision[0] != '\0') {
        sl_buf_puts(&call.path, "&resourceVersion=");
        sl_url_put(&call.path, sl_str_of(list->revision));
    }
    return sl_cli_ask(list->cli, &call, answer);
}

static void wait_a_second(void)
{
    const struct timespec second = {.tv_sec = 1};
    (void)nanosleep(&second, NULL);
}

/* May the same be asked again? The leader changes, the server is busy, the connection broke. */
static bool is_passing(const struct list *list, const struct sl_cli_answer *answer)
{
    return list->status == SL_CLI_DONE &&
           (answer->status == 0 || answer->status == 429 || answer->status >= 500);
}

/* Follows what changes for as long as there is somebody to ask; where the server forgot what
 * happened since, all is told again. */
static int follow(struct list *list, struct sl_cli_answer *answer)
{
    unsigned tries = 0;
    while (tries < TRIES_MAX) {
        char before[REVISION_MAX];
        memcpy(before, list->revision, sizeof(before));
        int rc = watch_once(list, answer);
        bool gone = answer->status == 410 || list->lost;
        if (gone) {
            list->status = SL_CLI_DONE;
            list->revision[0] = '\0';
        } else if (rc < 0 && !is_passing(list, answer)) {
            break;
        }
        tries = rc < 0 && strcmp(before, list->revision) == 0 ? tries + 1 : 0;
        wait_a_second();
    }
    return list->status == SL_CLI_DONE ? sl_cli_fail(list->cli, answer, list->kind) : list->status;
}

/* ---- the command ---- */

static void list_init(struct list *list, struct sl_cli *cli)
{
    const struct sl_cli_options *options = cli->options;
    bool whole = cli->namespace == NULL && options->command->kind_of_all != NULL;
    *list =
        (struct list){.cli = cli,
                      .kind = whole ? options->command->kind_of_all : options->command->kind,
                      .as_table = options->output != SL_CLI_JSON && options->output != SL_CLI_YAML};
    sl_cli_table_init(&list->table, options->output == SL_CLI_WIDE,
                      options->command->namespaced && cli->namespace == NULL && !whole);
    sl_buf_init(&list->out, SL_CLI_TEXT_MAX);
    sl_buf_init(&list->line, LINE_BYTES_MAX);
    sl_arena_init(&list->arena, 8 * (size_t)LINE_BYTES_MAX);
}

static void list_free(struct list *list)
{
    sl_cli_table_free(&list->table);
    sl_buf_free(&list->out);
    sl_buf_free(&list->line);
    sl_arena_free(&list->arena);
}

static void tell_empty(const struct list *list)
{
    if (namespace_of(list) != NULL) {
        sl_cli_complain("No %s found in %s namespace.", list->kind, namespace_of(list));
    } else {
        sl_cli_complain("No %s found.", list->kind);
    }
}

static int list_and_follow(struct list *list)
{
    struct sl_cli_answer answer;
    bool watch = list->cli->options->watch;
    if (watch && !list->as_table) {
        return follow(list, &answer); /* tells what there is one by one */
    }
    if (ask_all(list, &answer) < 0) {
        return sl_cli_fail(list->cli, &answer, list->kind);
    }
    keep_revision(list, answer.value);
    if (is_empty(list, answer.value) && !watch) {
        tell_empty(list);
        return SL_CLI_DONE;
    }
    int status = print_value(list, answer.value);
    return watch && status == SL_CLI_DONE ? follow(list, &answer) : status;
}

int sl_cli_list(struct sl_cli *cli)
{
    struct list list;
    list_init(&list, cli);
    int status = list_and_follow(&list);
    list_free(&list);
    return status;
}

/* Access, calls that are waited for, and complaints. */
#include "cli/session.h"

#include <stdarg.h>
#include <stdio.h>

#include "kube/access/find.h"
#include "kube/client/ask.h"
#include "kube/client/url.h"
#include "util/show.h"
#include "util/time.h"

enum { PAGE_BYTES_MAX = 64 << 20, COMPLAINT_MAX = 2048, TRIES_MAX = 3 };

static const int64_t connect_timeout_us = 10 * SL_SECOND_US;
static const int64_t answer_timeout_us = SL_MINUTE_US;
static const int64_t stream_silence_us = SL_MINUTE_US; /* the server speaks every 20 s */

/* ---- access ---- */

/* A server that is named is asked as nobody: no credentials of a kubeconfig go to it. */
static int use_server(struct sl_cli *cli, const char *server, struct sl_error *err)
{
    size_t len = strlen(server);
    const char *host = strstr(server, "://");
    if ((strncmp(server, "http://", 7) != 0 && strncmp(server, "https://", 8) != 0) ||
        host[3] == '\0' || host[3] == '/') {
        return sl_error_set(err, SL_ERR_FIELD,
                            "--server takes a URL such as http://127.0.0.1:8888, not \"%s\"",
                            server);
    }
    while (server[len - 1] == '/') {
        len--;
    }
    cli->access.server = sl_arena_strdup(&cli->arena, server, len);
    return cli->access.server == NULL ? sl_error_nomem(err) : 0;
}

static int find_access(struct sl_cli *cli, struct sl_error *err)
{
    const struct sl_cli_options *options = cli->options;
    struct sl_access_places places = {.kubeconfig = options->kubeconfig,
                                      .context = options->context};
    char from[SL_ACCESS_FROM_MAX];
    if (options->server != NULL) {
        return use_server(cli, options->server, err);
    }
    sl_access_environment(&places);
    return sl_access_find(&places, &cli->arena, &cli->access, from, err);
}

int sl_cli_open(struct sl_cli *cli, const struct sl_cli_options *options, struct sl_error *err)
{
    *cli = (struct sl_cli){.options = options};
    sl_arena_init(&cli->arena, SL_CLI_TEXT_MAX);
    if (find_access(cli, err) < 0) {
        return -1;
    }
    const char *own = cli->access.namespace == NULL ? "default" : cli->access.namespace;
    cli->namespace = options->all ? NULL : options->namespace != NULL ? options->namespace : own;
    const struct sl_client_options client = {.access = &cli->access,
                                             .user_agent = "kubectl-sliced/" SL_VERSION,
                                             .burst = 1,
                                             .max_in_flight = 64,
                                             .max_queued = 1024,
                                             .connect_timeout_us = connect_timeout_us,
                                             .max_reply = PAGE_BYTES_MAX};
    cli->client = sl_client_new(&client, err);
    return cli->client == NULL ? -1 : 0;
}

void sl_cli_close(struct sl_cli *cli)
{
    sl_client_free(cli->client);
    sl_arena_free(&cli->arena);
}

/* ---- calls ---- */

struct taker {
    struct sl_cli *cli;
    const struct sl_cli_call *call;
    struct sl_cli_answer *answer;
};

static int take_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    const struct taker *taker = context;
    return taker->call->data(taker->call->context, data, len, err);
}

static void take_reply(void *context, const struct sl_reply *reply)
{
    const struct taker *taker = context;
    struct sl_cli_answer *answer = taker->answer;
    struct sl_error err = {.code = SL_ERR_NONE};
    answer->status = reply->status;
    answer->err = reply->err;
    memcpy(answer->reason, reply->reason, sizeof(answer->reason));
    if (taker->call->data == NULL && reply->status >= 200 && reply->status < 300 &&
        sl_value_read(reply->body, &taker->cli->arena, &answer->value, &err) < 0) {
        answer->status = 0;
        answer->value = NULL;
        (void)sl_error_set(&answer->err, err.code,
                           "its answer is not JSON: %s (line %u, column %u)", err.message, err.line,
                           err.column);
    }
}

int sl_cli_ask(struct sl_cli *cli, struct sl_cli_call *call, struct sl_cli_answer *answer)
{
    struct taker taker = {.cli = cli, .call = call, .answer = answer};
    sl_buf_putc(&call->path, '\0');
    const bool stream = call->data != NULL;
    const struct sl_asker asker = {
        .client = cli->client,
        .tries = TRIES_MAX, /* where the server says "later" (429), or nothing was sent */
        .call_us = stream ? 0 : answer_timeout_us,
    };
    const struct sl_question question = {
        .method = call->method == NULL ? "GET" : call->method,
        .path = call->path.data,
        .body = call->body,
        .form = call->form,
        .silence_us = stream ? stream_silence_us : 0,
        .data = stream ? take_data : NULL,
        .take = take_reply,
        .context = &taker,
    };
    struct sl_error err = {.code = SL_ERR_NONE};
    *answer = (struct sl_cli_answer){.status = 0};
    if (call->path.failed != SL_BUF_OK) {
        (void)sl_error_nomem(&answer->err);
    } else if (sl_ask(&asker, &question, NULL, &err) == 0 && answer->status == 0) {
        answer->err = answer->err.code == SL_ERR_NONE ? err : answer->err;
    }
    sl_buf_free(&call->path);
    return answer->status >= 200 && answer->status < 300 ? 0 : -1;
}

void sl_cli_path(struct sl_buf *path, const char *namespace, const char *kind, const char *name)
{
    sl_buf_init(path, SL_CLI_PATH_MAX);
    sl_buf_puts(path, "/apis/visibility.sliced.dev/v1alpha1");
    if (namespace != NULL) {
        sl_buf_puts(path, "/namespaces/");
        sl_url_put(path, sl_str_of(namespace));
    }
    if (kind != NULL) {
        sl_buf_putc(path, '/');
        sl_buf_puts(path, kind);
    }
    if (name != NULL) {
        sl_buf_putc(path, '/');
        sl_url_put(path, sl_str_of(name));
    }
}

/* ---- what went wrong ---- */

/* The key of the configuration without which a kind is not served. */
static const struct {
    const char *kind;
    const char *needs;
} needs[] = {
    {"queuedpods", "queue.enabled"},
    {"startestimates", "queue.enabled"},
    {"tenantqueues", "tenants"},
    {"clustertenantqueues", "tenants"},
    {"clustertenantusages", "tenants and telemetry.url, a Prometheus that scrapes sliced,"},
    {"partitions", "partitioning.enabled"},
    {"usages", "telemetry.url or telemetry.exporters"},
};

static void explain_kind(const struct sl_value *resources, const char *kind)
{
    const struct sl_value *each = sl_value_at(resources, "resources");
    for (each = each == NULL ? NULL : each->first; each != NULL; each = each->next) {
        if (sl_str_eq(sl_value_text(each, "name"), sl_str_of(kind))) {
            return;
        }
    }
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (strcmp(kind, needs[i].kind) == 0) {
            sl_cli_complain("sliced has no %s here: it has them with %s in its configuration", kind,
                            needs[i].needs);
        }
    }
}

/* Nothing is there: not the object, not the kind, or not the group? */
static void explain_missing(struct sl_cli *cli, const char *kind)
{
    struct sl_cli_answer answer;
    struct sl_cli_call call = {.method = "GET"};
    sl_cli_path(&call.path, NULL, NULL, NULL);
    if (sl_cli_ask(cli, &call, &answer) == 0) {
        explain_kind(answer.value, kind);
    } else if (answer.status == 404) {
        cli->unserved = true;
        sl_cli_complain("visibility.sliced.dev is not served there: sliced is not installed, or "
                        "without visibility.enabled");
    }
}

/* What to do about an answer that may be another one later, by the daemon's own words. */
static const char *later_help(const struct sl_cli_answer *answer)
{
    static const struct {
        const char *says;
        const char *help;
    } cases[] = {
        {"no queue is kept here now", "the replica of sliced that was asked does not lead, or has "
                                      "not read the whole cluster yet: try again in some seconds"},
        {"a copy of the process", "only its operators can change that: tell them"},
        {"Prometheus is being asked", "try again in some seconds"},
        {"Prometheus", "what telemetry.url names does not answer: see the log of sliced"},
        {"shutting down", "another replica of sliced will lead: try again in some seconds"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strstr(answer->err.message, cases[i].says) != NULL) {
            return cases[i].help;
        }
    }
    return answer->status == 429
               ? "it is asked too much at the moment: try again in some seconds"
               : "no replica of sliced that leads is reached: try again in some seconds; if that "
                 "lasts, kubectl get apiservice v1alpha1.visibility.sliced.dev says why";
}

int sl_cli_fail(struct sl_cli *cli, const struct sl_cli_answer *answer, const char *kind)
{
    if (answer->status == 0) {
        sl_cli_complain("%s: %s", cli->access.server, answer->err.message);
        return SL_CLI_REFUSED;
    }
    bool said = answer->reason[0] != '\0';
    sl_cli_complain("Error from server%s%s%s: %s", said ? " (" : "", answer->reason,
                    said ? ")" : "", answer->err.message);
    if (answer->status == 403 && kind != NULL) {
        sl_cli_complain("the ClusterRole sliced-visibility allows it in a namespace (it is part of "
                        "view, edit and admin), sliced-visibility-cluster everywhere");
    } else if (answer->status == 404 && kind != NULL) {
        explain_missing(cli, kind);
    } else if (answer->status == 429 || answer->status == 503) {
        sl_cli_complain("%s", later_help(answer));
        return SL_CLI_LATER;
    }
    return SL_CLI_REFUSED;
}

void sl_cli_complain(const char *format, ...)
{
    char text[COMPLAINT_MAX];
    char shown[COMPLAINT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)sl_show(sl_str_of(text), shown, sizeof(shown));
    (void)fprintf(stderr, "kubectl-sliced: %s\n", shown);
}

/* ---- what is told ---- */

int sl_cli_print(struct sl_buf *text)
{
    bool written = text->failed == SL_BUF_OK &&
                   (text->len == 0 || fwrite(text->data, 1, text->len, stdout) == text->len) &&
                   fflush(stdout) == 0;
    if (!written) {
        sl_cli_complain(text->failed == SL_BUF_OK ? "standard output cannot be written"
                                                  : "out of memory");
    }
    text->len = 0;
    return written ? SL_CLI_DONE : SL_CLI_REFUSED;
}

int sl_cli_print_value(const struct sl_cli *cli, const struct sl_value *value)
{
    struct sl_buf text;
    sl_buf_init(&text, SL_CLI_TEXT_MAX);
    if (cli->options->output == SL_CLI_YAML) {
        sl_value_to_yaml(value, &text);
    } else {
        sl_value_to_json(value, &text);
    }
    int status = sl_cli_print(&text);
    sl_buf_free(&text);
    return status;
}

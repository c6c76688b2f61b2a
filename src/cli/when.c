/* A StartEstimate of the pod in a file, or of one made from --ask. */
#include "cli/commands.h"

#include <stdio.h>

#include "codec/write.h"
#include "kube/access/file.h"
#include "sliced/plan.h"
#include "sliced/timeout.h"
#include "util/time.h"

enum { FILE_BYTES_MAX = 4 << 20, BODY_BYTES_MAX = 16 << 20, TEXT_MAX = 256 };

/* ---- the pod ---- */

static int check_asks(const struct sl_cli_options *options, struct sl_error *err)
{
    int64_t seconds = 0;
    if ((options->file != NULL) == (options->n_asks > 0)) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "say either -f FILE or --ask RESOURCE=N; kubectl sliced when --help");
    }
    if (options->file != NULL && options->timeout != NULL) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "--timeout goes with --ask; a file states sliced.dev/timeout");
    }
    if (options->timeout != NULL && !sl_timeout_parse(sl_str_of(options->timeout), &seconds)) {
        return sl_error_set(err, SL_ERR_FIELD, "--timeout takes a duration such as 30m, not \"%s\"",
                            options->timeout);
    }
    return 0;
}

static void write_asked(struct sl_writer *w, const struct sl_cli_options *options)
{
    sl_buf_puts(w->buf, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"when\"");
    if (options->timeout != NULL) {
        sl_buf_puts(w->buf, ",\"annotations\":{\"sliced.dev/timeout\":");
        sl_write_text(w, options->timeout);
        sl_buf_puts(w->buf, "}");
    }
    sl_buf_puts(w->buf,
                "},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":");
    w->comma = false;
    sl_write_object(w);
    for (unsigned i = 0; i < options->n_asks; i++) {
        const char *sign = strrchr(options->ask[i], '=');
        sl_write_key_str(w, (struct sl_str){options->ask[i], (size_t)(sign - options->ask[i])});
        sl_write_text(w, sign + 1);
    }
    sl_write_object_end(w);
    sl_buf_puts(w->buf, "}}]}}");
}

/* The pod of the file; its namespace counts where no option names one. */
static int write_file(struct sl_cli *cli, struct sl_buf *body, struct sl_error *err)
{
    const char *file = cli->options->file;
    struct sl_str text;
    struct sl_value *pod = NULL;
    const char *path = strcmp(file, "-") == 0 ? "/dev/stdin" : file;
    if (sl_file_read(path, FILE_BYTES_MAX, &cli->arena, &text, err) < 0) {
        return -1;
    }
    if (sl_value_read(text, &cli->arena, &pod, err) < 0) {
        return sl_error_locate(err, file);
    }
    struct sl_str kind = sl_value_text(pod, "kind");
    struct sl_str namespace = sl_value_text(pod, "metadata.namespace");
    if (!sl_str_eq(kind, SL_STR("Pod"))) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: kind is \"%.*s\", expected Pod", file,
                            (int)(kind.len > 64 ? 64 : kind.len), kind.len == 0 ? "" : kind.s);
    }
    if (namespace.len > 0 && cli->options->namespace == NULL) {
        cli->namespace = namespace.s; /* the arena's texts end with NUL */
    }
    sl_value_to_json(pod, body);
    return 0;
}

static int write_body(struct sl_cli *cli, struct sl_buf *body, struct sl_error *err)
{
    struct sl_writer w = {.buf = body};
    sl_buf_puts(body, "{\"apiVersion\":\"visibility.sliced.dev/v1alpha1\","
                      "\"kind\":\"StartEstimate\",\"spec\":{\"pod\":");
    if (cli->options->file == NULL) {
        write_asked(&w, cli->options);
    } else if (write_file(cli, body, err) < 0) {
        return -1;
    }
    sl_buf_puts(body, "}}");
    return body->failed == SL_BUF_OK ? 0 : sl_error_nomem(err);
}

/* ---- the answer ---- */

/* "4m10s, at 2026-11-24T02:35:35Z (estimate)" */
static void put_start(const struct sl_value *status, struct sl_buf *out)
{
    struct sl_str at = sl_value_text(status, "estimatedStart");
    struct sl_str sure = sl_value_text(status, "estimateKind");
    int64_t seconds = sl_value_i64(status, "startsInSeconds", -1);
    char duration[TEXT_MAX];
    struct sl_buf text;
    if (seconds < 0) {
        sl_cli_line(out, SL_STR("Start-In"), SL_STR("unknown"));
        return;
    }
    if (seconds == 0) {
        sl_cli_line(out, SL_STR("Start-In"), SL_STR("now"));
        return;
    }
    seconds = seconds > INT32_MAX ? INT32_MAX : seconds;
    (void)sl_queue_duration_text(seconds * SL_SECOND_US, duration, sizeof(duration));
    sl_buf_init(&text, BODY_BYTES_MAX);
    sl_buf_puts(&text, duration);
    sl_buf_puts(&text, at.len == 0 ? "" : ", at ");
    sl_buf_append(&text, at.s, at.len);
    sl_buf_puts(&text, sure.len == 0 ? "" : " (");
    sl_buf_append(&text, sure.s, sure.len);
    sl_buf_puts(&text, sure.len == 0 ? "" : ")");
    sl_cli_line(out, SL_STR("Start-In"), (struct sl_str){text.data, text.len});
    sl_buf_free(&text);
}

static void put_delayed(const struct sl_value *status, struct sl_buf *out)
{
    int64_t delayed = sl_value_i64(status, "delayed", 0);
    char text[TEXT_MAX];
    if (delayed == 0) {
        sl_cli_line(out, SL_STR("Delays"), SL_STR("no pod that waits now"));
        return;
    }
    (void)snprintf(text, sizeof(text), "%lld pod%s that wait%s now would start later",
                   (long long)delayed, delayed == 1 ? "" : "s", delayed == 1 ? "s" : "");
    sl_cli_line(out, SL_STR("Delays"), sl_str_of(text));
}

int sl_cli_when_text(const struct sl_value *answer, struct sl_buf *out)
{
    static const struct {
        const char *head;
        const char *field;
    } rows[] = {{"Position", "position"}, {"Ahead", "ahead"},        {"State", "state"},
                {"Reason", "reason"},     {"Node", "node"},          {"Devices", "devices"},
                {"Tenant", "tenant"},     {"Own-Start", "ownStart"}, {"Message", "message"}};
    const struct sl_value *status = sl_value_at(answer, "status");
    put_start(status, out);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sl_str text = sl_value_text(status, rows[i].field);
        if (!sl_str_eq(text, SL_STR("None"))) { /* the reason of a pod that nothing holds */
            sl_cli_line(out, sl_str_of(rows[i].head), text);
        }
    }
    put_delayed(status, out);
    return sl_value_i64(status, "startsInSeconds", -1) < 0 ? SL_CLI_NEVER : SL_CLI_DONE;
}

static int print_answer(struct sl_cli *cli, const struct sl_value *answer)
{
    enum sl_cli_output output = cli->options->output;
    struct sl_buf out;
    sl_buf_init(&out, BODY_BYTES_MAX);
    int status = sl_cli_when_text(answer, &out);
    int printed = output == SL_CLI_JSON || output == SL_CLI_YAML ? sl_cli_print_value(cli, answer)
                                                                 : sl_cli_print(&out);
    sl_buf_free(&out);
    return printed == SL_CLI_DONE ? status : printed;
}

static int ask_start(struct sl_cli *cli, const struct sl_buf *body)
{
    struct sl_cli_answer answer;
    struct sl_cli_call call = {.method = "POST", .body = {body->data, body->len}};
    sl_cli_path(&call.path, cli->namespace, "startestimates", NULL);
    return sl_cli_ask(cli, &call, &answer) == 0 ? print_answer(cli, answer.value)
                                                : sl_cli_fail(cli, &answer, "startestimates");
}

int sl_cli_when(struct sl_cli *cli)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf body;
    sl_buf_init(&body, BODY_BYTES_MAX);
    int status = SL_CLI_WRONG;
    if (check_asks(cli->options, &err) < 0 || write_body(cli, &body, &err) < 0) {
        sl_cli_complain("%s", err.message);
    } else {
        status = ask_start(cli, &body);
    }
    sl_buf_free(&body);
    return status;
}

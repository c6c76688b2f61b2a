/* sliced certs. */
#include "daemon/certs.h"

#include <stdio.h>
#include <time.h>

#include "codec/write.h"
#include "daemon/command.h"
#include "kube/certs/secret.h"
#include "kube/client/url.h"
#include "util/base64.h"
#include "util/clock.h"
#include "util/time.h"

enum { AT_ONCE = 1, NAME_MAX_BYTES = 512, DATE_BYTES = 32, TEXT_BYTES_MAX = 1 << 20 };
enum { OK = 200, NOT_FOUND = 404 };
/* Helm makes the objects after the Job that runs this. */
enum { LOOKS = 120 };

static const struct timespec between_looks = {.tv_sec = 1};

static void tell_secret(const char *namespace, const char *name,
                        const struct sl_cert_outcome *outcome)
{
    static const char *const words[] = {
        [SL_CERT_KEPT] = "kept",
        [SL_CERT_MADE] = "made",
        [SL_CERT_RENAMED] = "made for another name",
        [SL_CERT_NEXT_MADE] = "its successor is made",
        [SL_CERT_NEXT_USED] = "renewed",
    };
    char date[DATE_BYTES] = "";
    struct tm parts;
    const time_t until = (time_t)outcome->until_s;
    if (gmtime_r(&until, &parts) != NULL) {
        (void)strftime(date, sizeof(date), "%Y-%m-%d", &parts);
    }
    (void)fprintf(stderr, "Secret %s/%s: %s, the certificate ends on %s\n", namespace, name,
                  words[outcome->change], date);
}

static int keep_secret(const struct sl_asker *asker, const char *namespace, const char *name,
                       const struct sl_cert_wish *wish, const char **ca, struct sl_error *err)
{
    struct sl_cert_outcome outcome;
    if (sl_cert_secret_keep(asker, namespace, name, wish, sl_clock_real_us() / SL_SECOND_US,
                            &outcome, err) < 0) {
        return -1;
    }
    *ca = outcome.ca;
    tell_secret(namespace, name, &outcome);
    return 0;
}

static int keep_server(const struct sl_asker *asker, const struct sl_certs_options *options,
                       const char **ca, struct sl_error *err)
{
    char name[NAME_MAX_BYTES];
    char long_name[NAME_MAX_BYTES];
    int n = snprintf(name, sizeof(name), "%s.%s.svc", options->service, options->namespace);
    int m = snprintf(long_name, sizeof(long_name), "%s.%s.svc.cluster.local", options->service,
                     options->namespace);
    if (n < 0 || m < 0 || (size_t)m >= sizeof(long_name)) {
        return sl_error_set(err, SL_ERR_LIMIT, "--service: the name is too long");
    }
    const struct sl_cert_wish wish = {.authority = "sliced-ca", .dns = {name, long_name}};
    return keep_secret(asker, options->namespace, options->server, &wish, ca, err);
}

/* ---- who trusts ---- */

/* An object with a caBundle, and the patch that puts it there. */
struct truster {
    const char *kind;
    const char *collection;
    const char *content_type;
    void (*write)(struct sl_writer *w, struct sl_str bundle);
};

static void write_webhook(struct sl_writer *w, struct sl_str bundle)
{
    sl_write_member_array(w, "webhooks");
    sl_write_object(w);
    sl_write_member_text(w, "name", "queue.sliced.dev");
    sl_write_member_object(w, "clientConfig");
    sl_write_member_str(w, "caBundle", bundle);
    sl_write_object_end(w);
    sl_write_object_end(w);
    sl_write_array_end(w);
}

static void write_api_service(struct sl_writer *w, struct sl_str bundle)
{
    sl_write_member_object(w, "spec");
    sl_write_member_str(w, "caBundle", bundle);
    sl_write_object_end(w);
}

static const struct truster webhooks = {
    "MutatingWebhookConfiguration",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/",
    "application/strategic-merge-patch+json", write_webhook};
static const struct truster api_services = {"APIService",
                                            "/apis/apiregistration.k8s.io/v1/apiservices/",
                                            "application/merge-patch+json", write_api_service};

/* Until the object is there. */
static int patch_looking(const struct sl_asker *asker, const struct sl_question *question,
                         struct sl_error *err)
{
    int status = sl_ask(asker, question, NULL, err);
    for (unsigned i = 1; i < LOOKS && status == NOT_FOUND; i++) {
        (void)nanosleep(&between_looks, NULL);
        status = sl_ask(asker, question, NULL, err);
    }
    return status;
}

static int trust(const struct sl_asker *asker, const struct truster *truster, const char *name,
                 const char *ca, struct sl_error *err)
{
    struct sl_buf path;
    struct sl_buf bundle;
    struct sl_buf body;
    struct sl_writer w = {.buf = &body};
    sl_buf_init(&path, TEXT_BYTES_MAX);
    sl_buf_init(&bundle, TEXT_BYTES_MAX);
    sl_buf_init(&body, TEXT_BYTES_MAX);
    sl_buf_puts(&path, truster->collection);
    sl_url_put(&path, sl_str_of(name));
    sl_buf_putc(&path, '\0');
    sl_base64_encode(sl_str_of(ca), &bundle);
    sl_write_object(&w);
    truster->write(&w, (struct sl_str){bundle.data, bundle.len});
    sl_write_object_end(&w);
    const struct sl_question question = {.method = "PATCH",
                                         .path = path.data,
                                         .content_type = truster->content_type,
                                         .body = {body.data, body.len}};
    int status = 0;
    if (path.failed == SL_BUF_OK && bundle.failed == SL_BUF_OK && body.failed == SL_BUF_OK) {
        status = patch_looking(asker, &question, err);
    } else {
        (void)sl_error_nomem(err);
    }
    sl_buf_free(&path);
    sl_buf_free(&bundle);
    sl_buf_free(&body);
    if (status != OK) {
        return sl_error_wrap(err, "%s %s", truster->kind, name);
    }
    *err = (struct sl_error){.code = SL_ERR_NONE}; /* of the looks before */
    (void)fprintf(stderr, "%s %s: trusts the daemon's certificate\n", truster->kind, name);
    return 0;
}

static int keep_all(const struct sl_asker *asker, const struct sl_certs_options *options,
                    struct sl_error *err)
{
    const char *ca = NULL;
    const char *client_ca = NULL;
    const struct sl_cert_wish client = {.authority = "sliced-client-ca",
                                        .name = options->client_name};
    int result = 0;
    /* first what others wait for */
    if (options->service != NULL) {
        result = keep_server(asker, options, &ca, err);
    }
    if (result == 0 && options->client != NULL) {
        result = keep_secret(asker, options->namespace, options->client, &client, &client_ca, err);
    }
    if (result == 0 && options->service == NULL && options->server != NULL) {
        result = sl_cert_secret_ca(asker, options->namespace, options->server, &ca, err);
    }
    if (result == 0 && options->webhook != NULL) {
        result = trust(asker, &webhooks, options->webhook, ca, err);
    }
    if (result == 0 && options->api_service != NULL) {
        result = trust(asker, &api_services, options->api_service, ca, err);
    }
    return result;
}

int sl_certs_main(int argc, char **argv)
{
    struct sl_certs_options options;
    struct sl_command command;
    struct sl_error err = {.code = SL_ERR_NONE};
    if (sl_certs_options_parse(argc, argv, &options, &err) < 0) {
        (void)fprintf(stderr, "sliced certs: %s\n", err.message);
        return SL_COMMAND_WRONG;
    }
    if (options.help) {
        return sl_command_help(sl_certs_options_help);
    }
    int status = SL_COMMAND_WRONG;
    if (sl_command_begin(&command, options.kubeconfig, options.context, AT_ONCE, &err) == 0) {
        status = keep_all(&command.asker, &options, &err) < 0 ? SL_COMMAND_FAILED : SL_COMMAND_DONE;
    }
    if (err.code != SL_ERR_NONE) {
        (void)fprintf(stderr, "sliced certs: %s\n", err.message);
    }
    sl_command_end(&command);
    return status;
}

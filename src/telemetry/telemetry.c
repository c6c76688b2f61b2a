/* Makes and ends the reader of Prometheus, or of exporters. */
#include <stdlib.h>

#include "kube/access/file.h"
#include "telemetry/internal.h"
#include "util/clock.h"
#include "util/time.h"

enum { REPLY_MAX = 64 << 10, SECRET_MAX = 64 << 10, WORKLOADS = 4096 };

static const int64_t connect_timeout_us = 5 * SL_SECOND_US;

static int make_access(struct sl_telemetry *telemetry, const struct sl_config *config,
                       struct sl_error *err)
{
    struct sl_kube_access *access = &telemetry->access;
    struct sl_str url = sl_str_of(config->telemetry.url);
    struct sl_str password = {0};
    while (url.len > 0 && url.s[url.len - 1] == '/') {
        url.len--;
    }
    /* "" for exporters: each call names its own */
    access->server = sl_arena_strdup(&telemetry->arena, url.s, url.len);
    access->ca_file = sl_text_or_null(config->telemetry.ca_file);
    access->cert_file = sl_text_or_null(config->telemetry.cert_file);
    access->key_file = sl_text_or_null(config->telemetry.key_file);
    access->token_file = sl_text_or_null(config->telemetry.token_file);
    access->username = sl_text_or_null(config->telemetry.username);
    if (access->server == NULL) {
        return sl_error_nomem(err);
    }
    if (access->username == NULL) {
        return 0;
    }
    if (sl_file_read(config->telemetry.password_file, SECRET_MAX, &telemetry->arena, &password,
                     err) < 0) {
        return sl_error_wrap(err, "telemetry.passwordFile");
    }
    while (password.len > 0 && (unsigned char)password.s[password.len - 1] <= ' ') {
        password.len--;
    }
    access->password = sl_arena_strdup(&telemetry->arena, password.s, password.len);
    return access->password == NULL ? sl_error_nomem(err) : 0;
}

void sl_telemetry_configure(struct sl_telemetry *telemetry, const struct sl_config *config)
{
    const struct sl_ask share = {.n = 1, .item = {{.kind = SL_KIND_MEMORY}}};
    const int32_t *weight = sl_score_weights(&config->plan.score, &share);
    (void)pthread_mutex_lock(&telemetry->lock);
    telemetry->apart = weight[SL_TERM_CONTENTION] != 0;
    (void)pthread_mutex_unlock(&telemetry->lock);
}

struct sl_telemetry *sl_telemetry_new(const struct sl_config *config, struct sl_store *store,
                                      struct sl_error *err)
{
    struct sl_telemetry *telemetry = calloc(1, sizeof(*telemetry));
    if (telemetry == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    telemetry->config = config;
    telemetry->store = store;
    (void)pthread_mutex_init(&telemetry->lock, NULL);
    sl_arena_init(&telemetry->arena, (size_t)4 * SECRET_MAX);
    sl_telemetry_configure(telemetry, config);
    telemetry->begun_us = sl_clock_real_us();
    telemetry->ahead_us = telemetry->begun_us - sl_clock_monotonic_us();
    telemetry->units.max = (size_t)config->telemetry.max_units;
    telemetry->units.window = (uint16_t)config->telemetry.window;
    struct sl_answer_options answer = sl_telemetry_options(telemetry);
    telemetry->answer = sl_answer_new(&answer);
    telemetry->peaks = sl_past_new((size_t)4 * WORKLOADS);
    telemetry->suffer.past = sl_past_new((size_t)2 * WORKLOADS);
    telemetry->used = calloc((size_t)config->telemetry.window, sizeof(*telemetry->used));
    if (telemetry->answer == NULL || telemetry->peaks == NULL || telemetry->suffer.past == NULL ||
        telemetry->used == NULL) {
        (void)sl_error_nomem(err);
        sl_telemetry_free(telemetry);
        return NULL;
    }
    if (make_access(telemetry, config, err) < 0 ||
        (config->telemetry.exporters[0] != '\0' &&
         sl_telemetry_make_exporters(telemetry, err) < 0)) {
        sl_telemetry_free(telemetry);
        return NULL;
    }
    const struct sl_client_options client = {.access = &telemetry->access,
                                             .user_agent = "sliced/" SL_VERSION,
                                             .max_in_flight = SL_EXPORTERS_AT_ONCE * 5 / 4,
                                             .max_queued = SL_EXPORTERS_AT_ONCE,
                                             .connect_timeout_us = connect_timeout_us,
                                             .max_reply = REPLY_MAX};
    telemetry->client = sl_client_new(&client, err);
    if (telemetry->client == NULL) {
        sl_telemetry_free(telemetry);
        return NULL;
    }
    if (config->telemetry.url[0] != '\0') {
        telemetry->hour = sl_hour_new(telemetry->client, config);
        telemetry->spents = sl_spents_new(telemetry->client, config);
        if (telemetry->hour == NULL || telemetry->spents == NULL) {
            (void)sl_error_nomem(err);
            sl_telemetry_free(telemetry);
            return NULL;
        }
    }
    return telemetry;
}

void sl_telemetry_watch_pods(struct sl_telemetry *telemetry, const struct sl_pod_watch *watch)
{
    telemetry->watch = *watch;
}

int sl_telemetry_start(struct sl_telemetry *telemetry, struct sl_error *err)
{
    return sl_client_after(telemetry->client, SL_ASK_SOON_US,
                           telemetry->exporters == NULL ? sl_telemetry_ask
                                                        : sl_telemetry_ask_exporters,
                           telemetry) < 0
               ? sl_error_nomem(err)
               : 0;
}

void sl_telemetry_free(struct sl_telemetry *telemetry)
{
    if (telemetry == NULL) {
        return;
    }
    sl_client_free(telemetry->client);
    sl_hour_free(telemetry->hour);
    sl_spents_free(telemetry->spents);
    sl_store_release(telemetry->store, telemetry->snapshot);
    sl_answer_free(telemetry->answer);
    sl_telemetry_free_exporters(telemetry);
    sl_past_free(telemetry->peaks);
    sl_past_free(telemetry->suffer.past);
    sl_units_free(&telemetry->units);
    sl_accounts_free(&telemetry->pods);
    sl_accounts_free(&telemetry->spaces);
    sl_accounts_free(&telemetry->held);
    free(telemetry->charge);
    free(telemetry->used);
    free(telemetry->given);
    free(telemetry->measured);
    sl_arena_free(&telemetry->arena);
    (void)pthread_mutex_destroy(&telemetry->lock);
    free(telemetry);
}

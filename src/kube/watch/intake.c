/* Decodes lists and watches, and tells of their items. */
#include "kube/watch/intake.h"

#include <stdio.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

static const int64_t skip_log_us = 10 * SL_SECOND_US;

static void skip_object(struct sl_intake *intake, const struct sl_watch_item *item,
                        const struct sl_error *why)
{
    int64_t now_us = sl_clock_monotonic_us();
    bool soon = now_us - intake->skip_logged_us < skip_log_us;
    char object[400];
    sl_account_count(intake->account, &intake->account->stats.skipped);
    (void)snprintf(object, sizeof(object), "%.*s/%.*s", (int)item->namespace.len,
                   item->namespace.len == 0 ? "" : item->namespace.s, (int)item->name.len,
                   item->name.len == 0 ? "" : item->name.s);
    sl_log(soon ? SL_LOG_DEBUG : SL_LOG_WARN, "object skipped", "reflector", intake->options->name,
           "object", object, "field", why->field, "problem", why->message, (char *)NULL);
    intake->skip_logged_us = soon ? intake->skip_logged_us : now_us;
    if (intake->options->calls.skipped != NULL) {
        intake->options->calls.skipped(intake->options->calls.context, item, why);
    }
}

static int take_object(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    struct sl_intake *intake = context;
    const struct sl_reflector_calls *calls = &intake->options->calls;
    struct sl_error why = {.code = SL_ERR_NONE};
    if (item->problem != NULL) {
        skip_object(intake, item, item->problem);
    } else if (calls->object(calls->context, item, intake->received_us, &why) < 0) {
        if (why.code == SL_ERR_NOMEM) {
            *err = why;
            return -1;
        }
        skip_object(intake, item, &why);
    }
    return 0;
}

bool sl_intake_is_expired(int code, struct sl_str reason)
{
    return code == 410 || sl_str_eq(reason, SL_STR("Expired")) || sl_str_eq(reason, SL_STR("Gone"));
}

static int on_error_event(struct sl_intake *intake, const struct sl_watch_status *status,
                          struct sl_error *err)
{
    intake->refused = true;
    intake->expired = sl_intake_is_expired(status->code, status->reason);
    return sl_error_set(err, SL_ERR_SYSTEM, "the watch ended with an error: %d %.*s",
                        (int)status->code,
                        status->message.len < 200 ? (int)status->message.len : 200,
                        status->message.len == 0 ? "" : status->message.s);
}

static int on_watch_item(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    struct sl_intake *intake = context;
    if (item->event == SL_WATCH_ERROR && item->problem == NULL) {
        return on_error_event(intake, item->status, err);
    }
    if (item->problem != NULL) { /* this counts as no news: anything might have sent it */
        intake->lost = intake->lost || item->lost;
        return take_object(intake, item, err);
    }
    if (item->event == SL_WATCH_BOOKMARK) {
        sl_account_news(intake->account, &intake->account->stats.bookmarks);
    } else {
        sl_account_news(intake->account, &intake->account->stats.events);
        if (take_object(intake, item, err) < 0) {
            return -1;
        }
    }
    intake->progress = true;
    intake->news_us = intake->received_us;
    if (item->resource_version.len > 0 && item->resource_version.len < SL_VERSION_MAX) {
        memcpy(intake->version, item->resource_version.s, item->resource_version.len);
        intake->version[item->resource_version.len] = '\0';
    }
    return 0;
}

void sl_intake_begin_watch(struct sl_intake *intake)
{
    sl_watch_reset(intake->stream);
    intake->expired = false;
    intake->refused = false;
    intake->lost = false;
    intake->progress = false;
    intake->news_us = sl_clock_monotonic_us();
}

int sl_intake_feed(struct sl_intake *intake, bool watching, const char *data, size_t len,
                   struct sl_error *err)
{
    int64_t silence_us = intake->options->times.silence_us;
    intake->received_us = sl_clock_monotonic_us();
    if (sl_watch_feed(watching ? intake->stream : intake->list, data, len, err) < 0) {
        return -1;
    }
    if (watching && intake->received_us - intake->news_us >= silence_us) {
        return sl_error_set(err, SL_ERR_SYSTEM, "neither event nor bookmark for %lld ms",
                            (long long)(silence_us / SL_MS_US));
    }
    return 0;
}

bool sl_intake_init(struct sl_intake *intake, const struct sl_reflector_options *options,
                    struct sl_account *account)
{
    struct sl_text_limits page = options->limits;
    page.max_bytes = SIZE_MAX; /* a page is bounded by its time, what is kept of it by object */
    *intake =
        (struct sl_intake){.options = options, .account = account, .skip_logged_us = -skip_log_us};
    intake->list = sl_watch_new(SL_WATCH_LIST, options->kind, &page, take_object, intake);
    intake->stream =
        sl_watch_new(SL_WATCH_STREAM, options->kind, &options->limits, on_watch_item, intake);
    return intake->list != NULL && intake->stream != NULL;
}

void sl_intake_free(struct sl_intake *intake)
{
    sl_watch_free(intake->list);
    sl_watch_free(intake->stream);
}

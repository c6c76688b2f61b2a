/* Goes page by page: lists, opens the gates of its pods, lists on. All on the client's thread. */
#include "kube/write/release_all.h"

#include <pthread.h>
#include <stdlib.h>

#include "codec/watch.h"
#include "codec/write.h"
#include "kube/client/object_call.h"
#include "kube/client/url.h"
#include "kube/write/releaser.h"
#include "util/clock.h"

enum { TEXT_BYTES_MAX = 64 << 10, RESTARTS_MAX = 3 };

/* A pod with the gate. */
struct gated {
    struct gated *next;
    struct sweep *sweep;
    struct sl_str namespace, name, uid; /* their text stands behind */
    bool queued;                        /* its condition says so */
};

struct sweep {
    const struct sl_release_all_options *options;
    struct sl_release_all_counts *counts;
    struct sl_watch *watch;
    struct gated *first; /* of the page, not begun yet */
    char *next;          /* metadata.continue, escaped; NULL: none */
    unsigned in_flight;
    unsigned restarts;
    bool listed; /* the page is complete */
    bool unsure; /* a pod may have been made anew, gated again */
    struct sl_error err;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool done;
};

static void sweep_go_on(void *context);

const char *sl_opening_name(enum sl_opening opening)
{
    static const char *const words[SL_OPENINGS] = {
        [SL_OPENING_DONE] = "opened",
        [SL_OPENING_WOULD] = "would be opened",
        [SL_OPENING_GONE] = "is gone",
        [SL_OPENING_FAILED] = "not opened",
    };
    return words[opening];
}

static void sweep_finish(struct sweep *sweep)
{
    (void)pthread_mutex_lock(&sweep->lock);
    sweep->done = true;
    (void)pthread_cond_signal(&sweep->changed);
    (void)pthread_mutex_unlock(&sweep->lock);
}

/* ---- opening ---- */

static void pod_opened(struct gated *pod, enum sl_opening opening, const struct sl_error *err)
{
    struct sweep *sweep = pod->sweep;
    const struct sl_release_all_options *options = sweep->options;
    sweep->counts->openings[opening]++;
    if (options->tell != NULL) {
        options->tell(options->context, pod->namespace, pod->name, opening,
                      opening == SL_OPENING_FAILED ? err : NULL);
    }
    free(pod);
}

static void on_patched(void *context, const struct sl_reply *reply)
{
    struct gated *pod = context;
    struct sweep *sweep = pod->sweep;
    bool changed = reply->status == 409 || reply->status == 422;
    sweep->in_flight--;
    if (changed && sweep->restarts < RESTARTS_MAX) {
        sweep->unsure = true; /* not told of: the next list tells what it is now */
        free(pod);
    } else {
        pod_opened(pod,
                   reply->status == 200   ? SL_OPENING_DONE
                   : reply->status == 404 ? SL_OPENING_GONE
                                          : SL_OPENING_FAILED,
                   &reply->err);
    }
    sweep_go_on(sweep);
}

static void write_patch(struct sl_buf *body, const struct gated *pod)
{
    sl_buf_init(body, TEXT_BYTES_MAX);
    struct sl_writer w = {.buf = body};
    sl_write_object(&w);
    sl_write_member_object(&w, "metadata");
    sl_write_member_str(&w, "uid", pod->uid);
    sl_write_object_end(&w);
    sl_write_member_object(&w, "spec");
    sl_release_write_gate(&w);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
}

/* Frees the body. -1 with *err: it is not under way. */
static int pod_patch(struct gated *pod, const char *end, struct sl_buf *body, sl_call_done done,
                     struct sl_error *err)
{
    struct sweep *sweep = pod->sweep;
    struct sl_call_options call = {
        .method = "PATCH",
        .content_type = "application/strategic-merge-patch+json",
        .priority = SL_CALL_NORMAL,
        .repeatable = true,
        .max_tries = sweep->options->tries,
        .timeout_us = sweep->options->call_us,
        .done = done,
        .context = pod,
    };
    const struct sl_object_ref object = {SL_OBJECT_POD, pod->namespace, pod->name};
    int result = sl_object_call(sweep->options->client, &object, end, body, &call, err);
    sweep->in_flight += result < 0 ? 0 : 1;
    return result;
}

static void pod_open_gate(struct gated *pod)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_buf body;
    if (pod->sweep->options->dry_run) {
        pod_opened(pod, SL_OPENING_WOULD, NULL);
        return;
    }
    write_patch(&body, pod);
    if (pod_patch(pod, "", &body, on_patched, &err) < 0) {
        pod_opened(pod, SL_OPENING_FAILED, &err);
    }
}

/* However that went, the gate is next: it matters more. */
static void on_ended(void *context, const struct sl_reply *reply)
{
    struct gated *pod = context;
    struct sweep *sweep = pod->sweep;
    (void)reply;
    sweep->in_flight--;
    pod->next = sweep->first;
    sweep->first = pod;
    sweep_go_on(sweep);
}

/* Nobody would end the condition that says that it is queued, once sliced is gone. */
static void pod_begin(struct gated *pod)
{
    const struct sl_queued over = {
        .uid = pod->uid,
        .reason = SL_STR("Released"),
        .message = SL_STR("its gate was opened by hand"),
        .status = SL_QUEUED_FALSE,
        .turned_us = sl_clock_real_us(),
    };
    struct sl_buf body;
    bool ends = pod->queued && !pod->sweep->options->dry_run;
    pod->queued = false;
    if (!ends) {
        pod_open_gate(pod);
        return;
    }
    sl_buf_init(&body, TEXT_BYTES_MAX);
    sl_release_write_condition(&(struct sl_writer){.buf = &body}, &over);
    if (pod_patch(pod, "/status", &body, on_ended, NULL) < 0) {
        pod_open_gate(pod);
    }
}

/* ---- the list ---- */

static int take_pod(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    struct sweep *sweep = context;
    const struct sl_pod_facts *facts = item->object == NULL ? NULL : item->object->pod;
    sweep->counts->seen++;
    if (facts == NULL || sl_pair_find(facts->gates, SL_STR(SL_QUEUE_GATE)) == NULL) {
        return 0;
    }
    struct sl_str namespace = facts->namespace;
    struct sl_str name = facts->name;
    struct sl_str uid = facts->uid;
    struct gated *pod =
        sl_alloc_with_texts(sizeof(*pod), (struct sl_str *[]){&namespace, &name, &uid}, 3);
    if (pod == NULL) {
        return sl_error_nomem(err);
    }
    pod->sweep = sweep;
    pod->namespace = namespace;
    pod->name = name;
    pod->uid = uid;
    pod->queued = facts->queued;
    pod->next = sweep->first;
    sweep->first = pod;
    return 0;
}

static int on_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    struct sweep *sweep = context;
    return sl_watch_feed(sweep->watch, data, len, err);
}

static int keep_token(struct sweep *sweep, struct sl_str token)
{
    struct sl_buf text;
    size_t len = 0;
    free(sweep->next);
    sweep->next = NULL;
    if (token.len == 0) {
        return 0;
    }
    sl_buf_init(&text, TEXT_BYTES_MAX);
    sl_url_put(&text, token);
    sl_buf_putc(&text, '\0');
    int result = text.failed == SL_BUF_OK ? 0 : sl_error_nomem(&sweep->err);
    sweep->next = result == 0 ? sl_buf_steal(&text, &len) : NULL;
    sl_buf_free(&text);
    return result;
}

static void on_listed(void *context, const struct sl_reply *reply)
{
    struct sweep *sweep = context;
    struct sl_list_meta meta = {.remaining = 0};
    sweep->listed = true;
    if (reply->status == 410 && sweep->next != NULL && sweep->restarts < RESTARTS_MAX) {
        sweep->restarts++; /* pods that were opened have no gate any more, so none is counted twice
                            */
        free(sweep->next);
        sweep->next = NULL;
        sweep->listed = false;
    } else if (reply->status != 200 || reply->err.code != SL_ERR_NONE) {
        sweep->err = reply->err;
    } else if (sl_watch_finish(sweep->watch, &meta, &sweep->err) == 0 &&
               keep_token(sweep, meta.next) == 0) {
        sweep->listed = sweep->next == NULL;
    }
    sweep->in_flight--;
    sweep_go_on(sweep);
}

static void write_path(const struct sweep *sweep, struct sl_buf *path)
{
    const struct sl_release_all_options *options = sweep->options;
    sl_buf_init(path, TEXT_BYTES_MAX);
    sl_buf_puts(path, "/api/v1/");
    if (options->namespace != NULL) {
        sl_buf_puts(path, "namespaces/");
        sl_url_put(path, sl_str_of(options->namespace));
        sl_buf_putc(path, '/');
    }
    sl_buf_printf(path, "pods?limit=%u", options->page);
    if (options->name != NULL) {
        sl_buf_puts(path, "&fieldSelector=metadata.name%3D");
        sl_url_put(path, sl_str_of(options->name));
    }
    if (sweep->next != NULL) {
        sl_buf_puts(path, "&continue=");
        sl_buf_puts(path, sweep->next);
    }
    sl_buf_putc(path, '\0');
}

static void list_page(struct sweep *sweep)
{
    struct sl_buf path;
    write_path(sweep, &path);
    const struct sl_call_options call = {
        .method = "GET",
        .path = path.data,
        .priority = SL_CALL_NORMAL,
        .repeatable = true,
        .max_tries = sweep->options->tries,
        .timeout_us = sweep->options->call_us,
        .data = on_data,
        .done = on_listed,
        .context = sweep,
    };
    sl_watch_reset(sweep->watch);
    int result = path.failed == SL_BUF_OK
                     ? sl_client_call(sweep->options->client, &call, NULL, &sweep->err)
                     : sl_error_nomem(&sweep->err);
    sl_buf_free(&path);
    sweep->in_flight += result < 0 ? 0 : 1;
    sweep->listed = result < 0;
}

/* Called whenever something has ended. */
static void sweep_go_on(void *context)
{
    struct sweep *sweep = context;
    while (sweep->first != NULL && sweep->in_flight < sweep->options->at_once) {
        struct gated *pod = sweep->first;
        sweep->first = pod->next;
        pod_begin(pod);
    }
    bool idle = sweep->first == NULL && sweep->in_flight == 0;
    if (idle && sweep->listed && sweep->unsure && sweep->err.code == SL_ERR_NONE) {
        sweep->restarts++;
        sweep->unsure = false;
        sweep->listed = false;
    }
    if (idle && !sweep->listed) {
        list_page(sweep);
    }
    if (sweep->first == NULL && sweep->in_flight == 0 && sweep->listed) {
        sweep_finish(sweep);
    }
}

int sl_release_all(const struct sl_release_all_options *options,
                   struct sl_release_all_counts *counts, struct sl_error *err)
{
    struct sweep sweep = {.options = options,
                          .counts = counts,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER};
    *counts = (struct sl_release_all_counts){.seen = 0};
    sweep.watch =
        sl_watch_new(SL_WATCH_LIST, SL_OBJECT_POD, &sl_kube_text_limits, take_pod, &sweep);
    if (sweep.watch == NULL || sl_client_after(options->client, 0, sweep_go_on, &sweep) < 0) {
        sl_watch_free(sweep.watch);
        return sl_error_nomem(err);
    }
    (void)pthread_mutex_lock(&sweep.lock);
    while (!sweep.done) {
        (void)pthread_cond_wait(&sweep.changed, &sweep.lock);
    }
    (void)pthread_mutex_unlock(&sweep.lock);
    sl_watch_free(sweep.watch);
    free(sweep.next);
    if (sweep.err.code == SL_ERR_NONE) {
        return 0;
    }
    if (err != NULL) {
        *err = sweep.err;
    }
    return -1;
}

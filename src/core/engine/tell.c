/* Tells pods of cuts and drains: the words that their owners read. */
#include <stdio.h>
#include <stdlib.h>

#include "core/engine/internal.h"
#include "util/buf.h"
#include "util/time.h"
#include "util/timestamp.h"

enum {
    NAMES_MAX = 3,   /* pods named one by one */
    PODS_MAX = 4096, /* that are told of one cut */
};

/* ---- a cut ---- */

void sl_book_add_pods(struct sl_cut_book *book, const struct sl_cut_pod *pod,
                      const struct sl_cut_plan *plan)
{
    for (size_t i = 0; i < plan->n_pods && book->uids.len < PODS_MAX; i++) {
        size_t size = strlen(pod[plan->pod[i]].pod->uid) + 1;
        char *uid = malloc(size);
        void *old = NULL;
        if (uid != NULL) {
            memcpy(uid, pod[plan->pod[i]].pod->uid, size);
        }
        if (uid != NULL &&
            (uid[0] == '\0' || sl_map_put(&book->uids, uid, strlen(uid), uid, &old) < 0)) {
            old = uid;
        }
        free(old);
    }
}

void sl_book_note_pods(struct sl_cut_book *book, const struct sl_cut_pod *pod,
                       const struct sl_cut_plan *plan)
{
    size_t len = 0;
    sl_book_forget_pods(book);
    sl_book_add_pods(book, pod, plan);
    book->pods[0] = '\0';
    for (size_t i = 0; i < plan->n_pods; i++) {
        const struct sl_pod *each = pod[plan->pod[i]].pod;
        if (i < NAMES_MAX && len < sizeof(book->pods)) {
            int n = snprintf(book->pods + len, sizeof(book->pods) - len, "%s%s/%s",
                             i == 0 ? "" : ", ", each->namespace, each->name);
            len += n > 0 ? (size_t)n : 0;
        }
    }
    if (plan->n_pods > NAMES_MAX && len < sizeof(book->pods)) {
        (void)snprintf(book->pods + len, sizeof(book->pods) - len, " and %zu more",
                       plan->n_pods - NAMES_MAX);
    }
}

/* "GPU 2 of node-7 is being cut into 2x 3g.20gb for it", or "is to be cut" */
static void say_cut(const struct sl_cut_book *book, char *out, size_t size)
{
    const char *into = strstr(book->cut, " into ");
    const char *being = book->planned ? "to be" : "being";
    if (book->n_made == 1 && into != NULL) {
        (void)snprintf(out, size, "%.*s of %s is %s cut%s for it", (int)(into - book->cut),
                       book->cut, book->name, being, into);
    } else {
        (void)snprintf(out, size, "GPUs of %s are %s cut for it: %s", book->name, being, book->cut);
    }
}

void sl_cuts_tell_pods(struct sl_engine *engine, const struct sl_cut_book *book)
{
    char text[SL_CUT_WORDS_MAX + 300];
    size_t at = 0;
    say_cut(book, text, sizeof(text));
    for (const char *uid = sl_map_next(&book->uids, &at); uid != NULL;
         uid = sl_map_next(&book->uids, &at)) {
        sl_planner_set_cut(engine->planner, sl_str_of(uid), book->name, text, book->expected_us);
    }
}

void sl_cuts_untell_pods(struct sl_engine *engine, struct sl_cut_book *book)
{
    size_t at = 0;
    for (const char *uid = sl_map_next(&book->uids, &at); uid != NULL;
         uid = sl_map_next(&book->uids, &at)) {
        sl_planner_set_cut(engine->planner, sl_str_of(uid), NULL, NULL, 0);
    }
    sl_book_forget_pods(book);
}

/* ---- a drain ---- */

/* "default/a, default/b and 2 pods of others": those of other namespaces are not named. */
static void say_pods(struct sl_buf *text, const struct sl_cut_wait *wait)
{
    uint32_t named = wait->n_own < SL_CUT_WAIT_NAMES ? wait->n_own : SL_CUT_WAIT_NAMES;
    for (uint32_t i = 0; i < named; i++) {
        sl_buf_printf(text, "%s%s/%s", i == 0 ? "" : ", ", wait->own[i]->namespace,
                      wait->own[i]->name);
    }
    if (wait->n_own > named) {
        sl_buf_printf(text, " and %u more of its namespace", wait->n_own - named);
    }
    if (wait->n_others > 0) {
        sl_buf_printf(text, "%s%u pod%s of others", named > 0 ? " and " : "", wait->n_others,
                      wait->n_others == 1 ? "" : "s");
    }
}

/* "node-7 drains for it: GPU 2 is to be cut by 2026-11-26T14:30:00Z, after at most default/a and 2
 * pods of others" */
void sl_cuts_tell_drain(struct sl_engine *engine, const struct sl_view *view,
                        const struct sl_pod *pod, const struct sl_cut_drain *drain, int64_t now_us)
{
    struct sl_cut_wait wait;
    struct sl_buf text;
    char until[32];
    sl_cut_wait_find(view, pod, drain, now_us, &wait);
    sl_time_format((drain->until_us + SL_SECOND_US - 1) / SL_SECOND_US * SL_SECOND_US, until);
    sl_buf_init(&text, 8 * (size_t)SL_CUT_WORDS_MAX);
    sl_buf_printf(&text, "%s drains for it: ", view->node->name);
    if (drain->n_devices == 1) {
        sl_buf_printf(&text, "GPU %d is to be cut by %s", drain->device, until);
    } else {
        sl_buf_printf(&text, "GPUs are to be cut by %s", until);
    }
    sl_buf_puts(&text, wait.n_own + wait.n_others > 0 ? ", after at most " : "");
    say_pods(&text, &wait);
    sl_buf_putc(&text, '\0');
    if (text.failed == SL_BUF_OK) {
        sl_planner_set_drain_text(engine->planner, view->node->name, text.data);
    }
    sl_buf_free(&text);
}

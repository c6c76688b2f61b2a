/* Victims granted, by preemptor. */
#include "server/app/grants.h"

#include <stdlib.h>

#include "util/time.h"

static const int64_t forget_ns = 2 * SL_MINUTE_NS; /* longer than pods take to end, as a rule */
static const int64_t unseen_ns = 5 * SL_SECOND_NS; /* more than a watch is late */

void sl_grants_init(struct sl_grants *grants)
{
    *grants = (struct sl_grants){.next = 0};
    (void)pthread_mutex_init(&grants->lock, NULL);
}

void sl_grants_free(struct sl_grants *grants)
{
    for (unsigned i = 0; i < SL_GRANTS_MAX; i++) {
        sl_grant_unref(grants->slot[i]);
    }
    (void)pthread_mutex_destroy(&grants->lock);
}

static uint64_t hash_of(struct sl_str text)
{
    return sl_hash(text.s, text.len);
}

struct sl_grant *sl_grant_new(struct sl_str preemptor, size_t n, int64_t now_ns)
{
    struct sl_grant *grant = malloc(sizeof(*grant) + n * sizeof(grant->row[0]));
    if (grant != NULL) {
        grant->preemptor = hash_of(preemptor);
        grant->at_ns = now_ns;
        grant->n = 0;
        atomic_init(&grant->refs, 1);
    }
    return grant;
}

void sl_grant_unref(struct sl_grant *grant)
{
    if (grant != NULL && atomic_fetch_sub(&grant->refs, 1) == 1) {
        free(grant);
    }
}

/* The preemptor's slot, or the next to be used. */
static unsigned slot_for(const struct sl_grants *grants, uint64_t preemptor)
{
    for (unsigned i = 0; i < SL_GRANTS_MAX; i++) {
        if (grants->slot[i] != NULL && grants->slot[i]->preemptor == preemptor) {
            return i;
        }
    }
    return grants->next;
}

void sl_grants_put(struct sl_grants *grants, struct sl_grant *grant)
{
    (void)pthread_mutex_lock(&grants->lock);
    unsigned i = slot_for(grants, grant->preemptor);
    struct sl_grant *old = grants->slot[i];
    grants->slot[i] = grant;
    if (i == grants->next) {
        grants->next = (i + 1) % SL_GRANTS_MAX;
    }
    (void)pthread_mutex_unlock(&grants->lock);
    sl_grant_unref(old);
}

struct sl_grant *sl_grants_get(struct sl_grants *grants, struct sl_str preemptor, int64_t now_ns)
{
    uint64_t key = hash_of(preemptor);
    (void)pthread_mutex_lock(&grants->lock);
    struct sl_grant *grant = grants->slot[slot_for(grants, key)];
    if (grant != NULL && (grant->preemptor != key || now_ns - grant->at_ns > forget_ns)) {
        grant = NULL;
    }
    if (grant != NULL) {
        (void)atomic_fetch_add(&grant->refs, 1);
    }
    (void)pthread_mutex_unlock(&grants->lock);
    return grant;
}

static bool is_granted(const struct sl_grant *grant, uint64_t node, uint64_t victim)
{
    for (size_t i = 0; i < grant->n; i++) {
        if (grant->row[i].node == node && grant->row[i].victim == victim) {
            return true;
        }
    }
    return false;
}

bool sl_grant_fits(const struct sl_grant *grant, const struct sl_view *view,
                   const struct sl_ask *ask, int64_t now_ns)
{
    struct sl_scratch scratch;
    uint64_t node = hash_of(sl_str_of(view->node->name));
    bool fresh = now_ns - grant->at_ns <= unseen_ns;
    unsigned removed = 0;
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        if ((fresh || pod->deleting) && is_granted(grant, node, hash_of(sl_str_of(pod->uid)))) {
            if (removed++ == 0) {
                sl_scratch_init(&scratch, view);
            }
            sl_scratch_remove(&scratch, i);
        }
    }
    return removed > 0 && sl_choose_on(&scratch, ask, NULL, NULL);
}

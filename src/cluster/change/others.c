/* Pods that ask for nothing of ours but stand on a node that has GPUs, or may have. The store keeps
 * each one's CPU and memory, and its name as a hash. Should two names share a hash, which is
 * unlikely below some billions of pods, one of them is not counted. */
#include "cluster/change/others.h"

#include <stdlib.h>

#include "cluster/state/state.h"
#include "sliced/constraint.h"

struct other_use {
    uint32_t cpu_milli;
    uint32_t memory_kib;
};

struct sl_other {
    struct sl_chain by_name;
    uint32_t name; /* the other half of the hash */
    uint32_t seen; /* store->sweep when it was last put */
    struct sl_host_entry *host;
    struct other_use use;
};

static uint64_t hash_name(struct sl_str ns, struct sl_str name)
{
    return sl_hash(ns.s, ns.len) * 31 + sl_hash(name.s, name.len);
}

static struct sl_other *other_find(const struct sl_store *store, uint64_t hash)
{
    struct sl_chain *link = sl_table_at(&store->others, (uint32_t)hash);
    for (; link != NULL; link = link->next) {
        struct sl_other *other = SL_CONTAINER(link, struct sl_other, by_name);
        if (link->hash == (uint32_t)hash && other->name == (uint32_t)(hash >> 32)) {
            return other;
        }
    }
    return NULL;
}

/* Adds the use to the host (sign 1) or takes it off (-1), and has the view made anew. */
static void host_book(struct sl_store *store, struct sl_host_entry *host,
                      const struct other_use *use, int sign)
{
    host->n_others += sign > 0 ? 1U : UINT32_MAX;
    host->others_cpu_milli += (int64_t)sign * use->cpu_milli;
    host->others_memory_kib += (int64_t)sign * use->memory_kib;
    if (host->node != NULL) {
        sl_host_touch(store, host);
        store->generation++;
        store->dirty = true;
    }
}

static void other_drop(struct sl_store *store, struct sl_other *other)
{
    sl_table_remove(&store->others, &other->by_name);
    host_book(store, other->host, &other->use, -1);
    sl_host_drop_unused(store, other->host);
    free(other);
}

/* Is it known that the node has no GPUs? A node that loses them while the device plugin restarts
 * still names its devices or product. */
static bool has_no_gpus(const struct sl_host_entry *host)
{
    const struct sl_node *node = host == NULL ? NULL : host->node;
    return node != NULL && !sl_node_has_gpus(node) && node->n_devices == 0 && node->n_absent == 0 &&
           node->product == NULL;
}

static bool is_known(const struct sl_host_entry *host)
{
    return host != NULL && host->node != NULL;
}

static struct other_use use_of(const struct sl_pod *pod)
{
    struct other_use use = {0};
    const struct sl_constraints *c = pod->constraints;
    if (c != NULL) {
        int64_t kib = (c->memory_bytes >> 10) + ((c->memory_bytes & 1023) != 0);
        use.cpu_milli = c->cpu_milli < UINT32_MAX ? (uint32_t)c->cpu_milli : UINT32_MAX;
        use.memory_kib = kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
    }
    return use;
}

/* NULL when out of memory. */
static struct sl_other *other_add(struct sl_store *store, uint64_t hash)
{
    struct sl_other *other = calloc(1, sizeof(*other));
    if (other != NULL) {
        other->name = (uint32_t)(hash >> 32);
        sl_table_add(&store->others, &other->by_name, (uint32_t)hash);
    }
    return other;
}

static void other_move(struct sl_store *store, struct sl_other *other, struct sl_host_entry *host,
                       const struct other_use *use)
{
    struct sl_host_entry *old = other->host;
    if (old != NULL) {
        host_book(store, old, &other->use, -1);
    }
    other->host = host;
    other->use = *use;
    host_book(store, host, use, 1);
    if (old != host) {
        sl_host_drop_unused(store, old);
    }
}

int sl_others_put(struct sl_store *store, const struct sl_pod *pod, struct sl_error *err)
{
    uint64_t hash = hash_name(sl_str_of(pod->namespace), sl_str_of(pod->name));
    struct sl_other *other = other_find(store, hash);
    struct sl_str node = sl_str_of(pod->node);
    if (!sl_pod_holds(pod) || has_no_gpus(sl_host_find(store, node))) {
        if (other != NULL) {
            other_drop(store, other);
        }
        return 0;
    }
    const struct other_use use = use_of(pod);
    if (other != NULL) {
        other->seen = (uint32_t)store->sweep;
        if (other->use.cpu_milli == use.cpu_milli && other->use.memory_kib == use.memory_kib &&
            sl_str_eq((struct sl_str){other->host->name, other->host->name_len}, node)) {
            return 0;
        }
    } else if (!is_known(sl_host_find(store, node)) &&
               store->others.len >= store->limits.max_pods) {
        store->stats.limit_hits++; /* on a known node all count: kubelet bounds them */
        return 0;
    }
    struct sl_host_entry *host = sl_host_get(store, node);
    other = host != NULL && other == NULL ? other_add(store, hash) : other;
    if (host == NULL || other == NULL) {
        sl_host_drop_unused(store, host);
        return sl_error_nomem(err);
    }
    other->seen = (uint32_t)store->sweep;
    other_move(store, other, host, &use);
    return 0;
}

bool sl_others_drop(struct sl_store *store, struct sl_str ns, struct sl_str name)
{
    struct sl_other *other = other_find(store, hash_name(ns, name));
    if (other != NULL) {
        other_drop(store, other);
    }
    return other != NULL;
}

void sl_others_keep(struct sl_store *store, struct sl_str ns, struct sl_str name)
{
    struct sl_other *other = other_find(store, hash_name(ns, name));
    if (other != NULL) {
        other->seen = (uint32_t)store->sweep;
    }
}

void sl_others_sweep(struct sl_store *store, uint64_t from)
{
    for (size_t i = 0; i <= store->others.mask; i++) {
        struct sl_chain *link = store->others.bucket[i];
        while (link != NULL) {
            struct sl_other *other = SL_CONTAINER(link, struct sl_other, by_name);
            link = link->next;
            if (other->seen < (uint32_t)from || has_no_gpus(other->host)) {
                other_drop(store, other);
            }
        }
    }
}

void sl_others_free(struct sl_store *store)
{
    size_t bucket = 0;
    for (struct sl_chain *link = sl_table_pop(&store->others, &bucket); link != NULL;
         link = sl_table_pop(&store->others, &bucket)) {
        free(SL_CONTAINER(link, struct sl_other, by_name));
    }
    sl_table_free(&store->others);
}

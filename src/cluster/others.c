/* Pods that ask for nothing of ours but stand on a node that has GPUs, or may have: of each only
 * what it takes there of CPU and memory. A name is known by its hash alone: where two should agree,
 * which is not to be expected below some billions of pods, one of them is not counted. */
#include <stdlib.h>

#include "cluster/internal.h"
#include "sliced/constraint.h"

struct sl_other {
    struct sl_chain by_name;
    uint32_t name; /* the other half of the hash */
    uint32_t seen; /* store->sweep when it was last put */
    struct sl_home *home;
    struct sl_other_use use;
};

static uint64_t hash_name(struct sl_str ns, struct sl_str name)
{
    return sl_hash(ns.s, ns.len) * 31 + sl_hash(name.s, name.len);
}

static struct sl_other *find(const struct sl_store *store, uint64_t hash)
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

/* Adds (sign 1) or takes off (sign -1); a view of the node has to be made anew then. */
static void book(struct sl_store *store, struct sl_home *home, const struct sl_other_use *use,
                 int sign)
{
    home->n_others += sign > 0 ? 1U : UINT32_MAX;
    home->others_cpu_milli += (int64_t)sign * use->cpu_milli;
    home->others_memory_kib += (int64_t)sign * use->memory_kib;
    if (home->node != NULL) {
        sl_home_touch(store, home);
        store->generation++;
        store->dirty = true;
    }
}

static void drop(struct sl_store *store, struct sl_other *other)
{
    sl_table_remove(&store->others, &other->by_name);
    book(store, other->home, &other->use, -1);
    sl_home_sweep(store, other->home);
    free(other);
}

/* A node that has lost its GPUs for a while, as when the device plugin is restarted, still says
 * what they are. */
static bool has_none(const struct sl_home *home)
{
    const struct sl_node *node = home == NULL ? NULL : home->node;
    return node != NULL && !sl_node_has_gpus(node) && node->n_devices == 0 && node->product == NULL;
}

static bool is_known(const struct sl_home *home)
{
    return home != NULL && home->node != NULL;
}

static struct sl_other_use use_of(const struct sl_pod *pod)
{
    struct sl_other_use use = {0};
    const struct sl_constraints *c = pod->constraints;
    if (c != NULL) {
        int64_t kib = (c->memory_bytes >> 10) + ((c->memory_bytes & 1023) != 0);
        use.cpu_milli = c->cpu_milli < UINT32_MAX ? (uint32_t)c->cpu_milli : UINT32_MAX;
        use.memory_kib = kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
    }
    return use;
}

/* NULL when out of memory. */
static struct sl_other *add(struct sl_store *store, uint64_t hash)
{
    struct sl_other *other = calloc(1, sizeof(*other));
    if (other != NULL) {
        other->name = (uint32_t)(hash >> 32);
        sl_table_add(&store->others, &other->by_name, (uint32_t)hash);
    }
    return other;
}

static void move(struct sl_store *store, struct sl_other *other, struct sl_home *home,
                 const struct sl_other_use *use)
{
    struct sl_home *old = other->home;
    if (old != NULL) {
        book(store, old, &other->use, -1);
    }
    other->home = home;
    other->use = *use;
    book(store, home, use, 1);
    if (old != home) {
        sl_home_sweep(store, old);
    }
}

int sl_others_put(struct sl_store *store, const struct sl_pod *pod, struct sl_error *err)
{
    uint64_t hash = hash_name(sl_str_of(pod->namespace), sl_str_of(pod->name));
    struct sl_other *other = find(store, hash);
    struct sl_str node = sl_str_of(pod->node);
    if (!sl_pod_holds(pod) || has_none(sl_home_find(store, node))) {
        if (other != NULL) {
            drop(store, other);
        }
        return 0;
    }
    const struct sl_other_use use = use_of(pod);
    if (other != NULL) {
        other->seen = (uint32_t)store->sweep;
        if (other->use.cpu_milli == use.cpu_milli && other->use.memory_kib == use.memory_kib &&
            sl_str_eq((struct sl_str){other->home->name, other->home->name_len}, node)) {
            return 0;
        }
    } else if (!is_known(sl_home_find(store, node)) &&
               store->others.len >= store->limits.max_pods) {
        store->stats.limit_hits++; /* on a node that is there all count: kubelet bounds them */
        return 0;
    }
    struct sl_home *home = sl_home_get(store, node);
    other = home != NULL && other == NULL ? add(store, hash) : other;
    if (home == NULL || other == NULL) {
        sl_home_sweep(store, home);
        return sl_error_nomem(err);
    }
    other->seen = (uint32_t)store->sweep;
    move(store, other, home, &use);
    return 0;
}

bool sl_others_drop(struct sl_store *store, struct sl_str ns, struct sl_str name)
{
    struct sl_other *other = find(store, hash_name(ns, name));
    if (other != NULL) {
        drop(store, other);
    }
    return other != NULL;
}

void sl_others_keep(struct sl_store *store, struct sl_str ns, struct sl_str name)
{
    struct sl_other *other = find(store, hash_name(ns, name));
    if (other != NULL) {
        other->seen = (uint32_t)store->sweep;
    }
}

/* Drops those that a list of pods did not name, and those on nodes that have turned out to have no
 * GPUs. from: see sl_store.sweep_from; 0: no list. */
void sl_others_sweep(struct sl_store *store, uint64_t from)
{
    for (size_t i = 0; i <= store->others.mask; i++) {
        struct sl_chain *link = store->others.bucket[i];
        while (link != NULL) {
            struct sl_other *other = SL_CONTAINER(link, struct sl_other, by_name);
            link = link->next;
            if (other->seen < (uint32_t)from || has_none(other->home)) {
                drop(store, other);
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

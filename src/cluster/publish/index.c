/* Maps node names to places in a snapshot, for thousands of lookups in a request. */
#include "cluster/publish/index.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cluster/state/host.h"
#include "cluster/store.h"

/* One block: names in order, and a hash table over them. */
struct sl_node_index {
    atomic_uint refs;
    uint32_t n;
    uint32_t mask;
    const struct sl_index_name *name;
    struct sl_index_slot *slot;
    const char *text;
};

/* The two ends of a name, which hold all of a name up to 16 bytes: only longer names need their
 * text. The tail is compared first, as names of one cluster mostly share their beginning. */
struct sl_index_name {
    uint64_t tail; /* the last eight bytes; of a shorter name all, rest 0 */
    uint64_t head; /* the first eight bytes; of a shorter name all, rest 0 */
    uint32_t at;   /* in text */
    uint32_t len;
};

struct sl_index_slot {
    uint32_t hash;
    uint32_t place; /* SL_NODE_NONE: empty */
};

enum { END = sizeof(uint64_t) };

struct ends {
    uint64_t head;
    uint64_t tail;
};

static inline struct ends ends_of(struct sl_str name)
{
    struct ends ends = {0, 0};
    if (name.len >= END) {
        memcpy(&ends.head, name.s, END);
        memcpy(&ends.tail, name.s + (name.len - END), END);
    } else if (name.len > 0) {
        memcpy(&ends.head, name.s, name.len);
        ends.tail = ends.head;
    }
    return ends;
}

static void index_add(struct sl_node_index *index, uint32_t place, uint32_t hash)
{
    uint32_t slot = hash & index->mask;
    while (index->slot[slot].place != SL_NODE_NONE) {
        slot = (slot + 1) & index->mask;
    }
    index->slot[slot] = (struct sl_index_slot){hash, place};
}

struct sl_node_index *sl_index_new(struct sl_host_entry *const *order, size_t n)
{
    size_t slots = 8;
    while (slots < n * 2) {
        slots *= 2;
    }
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += order[i]->name_len;
    }
    struct sl_index_name *name = NULL;
    struct sl_node_index *index =
        malloc(sizeof(*index) + n * sizeof(*name) + slots * sizeof(*index->slot) + bytes);
    if (index == NULL) {
        return NULL;
    }
    name = (struct sl_index_name *)(index + 1);
    char *text = (char *)(name + n) + slots * sizeof(*index->slot);
    atomic_init(&index->refs, 1);
    index->n = (uint32_t)n;
    index->mask = (uint32_t)(slots - 1);
    index->name = name;
    index->slot = (struct sl_index_slot *)(name + n);
    index->text = text;
    for (size_t i = 0; i < slots; i++) {
        index->slot[i] = (struct sl_index_slot){0, SL_NODE_NONE};
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < index->n; i++) {
        uint32_t len = order[i]->name_len;
        memcpy(text + at, order[i]->name, len);
        struct ends ends = ends_of((struct sl_str){text + at, len});
        name[i] = (struct sl_index_name){ends.tail, ends.head, at, len};
        index_add(index, i, order[i]->by_name.hash);
        at += len;
    }
    return index;
}

struct sl_node_index *sl_index_ref(struct sl_node_index *index)
{
    atomic_fetch_add_explicit(&index->refs, 1, memory_order_relaxed);
    return index;
}

void sl_index_unref(struct sl_node_index *index)
{
    if (index != NULL && atomic_fetch_sub_explicit(&index->refs, 1, memory_order_acq_rel) == 1) {
        free(index);
    }
}

/* Are the names equal between their ends? Names are short, so that words, the last of which may
 * overlap, beat memcmp. */
static inline bool same_middle(const char *a, const char *b, size_t len)
{
    uint64_t differ = 0;
    for (size_t i = END; i < len - END; i += END) {
        size_t at = i < len - 2 * (size_t)END ? i : len - 2 * (size_t)END;
        uint64_t x;
        uint64_t y;
        memcpy(&x, a + at, END);
        memcpy(&y, b + at, END);
        differ |= x ^ y;
    }
    return differ == 0;
}

static inline bool stands_at(const struct sl_node_index *index, uint32_t place, struct sl_str name,
                             struct ends ends)
{
    const struct sl_index_name *at = &index->name[place];
    if (at->tail != ends.tail || at->len != name.len || at->head != ends.head) {
        return false;
    }
    return name.len <= 2 * (size_t)END || same_middle(index->text + at->at, name.s, name.len);
}

/* Not inlined: it would slow the common case down. */
static __attribute__((noinline)) uint32_t index_look_up(const struct sl_node_index *index,
                                                        struct sl_str name, struct ends ends)
{
    uint32_t hash = (uint32_t)sl_hash(name.s, name.len);
    for (uint32_t i = hash & index->mask;; i = (i + 1) & index->mask) {
        uint32_t place = index->slot[i].place;
        if (place == SL_NODE_NONE) {
            return SL_NODE_NONE;
        }
        if (index->slot[i].hash == hash && stands_at(index, place, name, ends)) {
            return place;
        }
    }
}

static inline uint32_t index_find(const struct sl_node_index *index, struct sl_str name,
                                  uint32_t hint)
{
    if (index->n == 0) {
        return SL_NODE_NONE;
    }
    struct ends ends = ends_of(name);
    uint32_t expected = hint < index->n ? hint : 0;
    return stands_at(index, expected, name, ends) ? expected : index_look_up(index, name, ends);
}

uint32_t sl_snapshot_find(const struct sl_snapshot *snapshot, struct sl_str name, uint32_t hint)
{
    return index_find(snapshot->index, name, hint);
}

size_t sl_snapshot_find_run(const struct sl_snapshot *snapshot, const struct sl_str *name, size_t n,
                            uint32_t hint, uint32_t *place)
{
    const struct sl_node_index *index = snapshot->index;
    for (size_t i = 0; i < n; i++) {
        place[i] = index_find(index, name[i], hint);
        if (place[i] == SL_NODE_NONE) {
            return i;
        }
        hint = place[i] + 1;
    }
    return n;
}

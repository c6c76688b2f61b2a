/* Reads from the store anew for each write what nodes use: it has no state to go wrong. */
#include "kube/cut/keep.h"

#include "kube/cut/mig_file.h"

void sl_cut_kept_init(struct sl_cut_kept *kept, struct sl_store *store)
{
    *kept = (struct sl_cut_kept){.store = store};
    (void)pthread_mutex_init(&kept->lock, NULL);
}

void sl_cut_kept_free(struct sl_cut_kept *kept)
{
    (void)pthread_mutex_destroy(&kept->lock);
}

static uint64_t hash_of(struct sl_str stem)
{
    uint64_t hash = sl_hash(stem.s, stem.len);
    return hash == 0 ? 1 : hash;
}

static bool is_noted(struct sl_cut_kept *kept, struct sl_str stem)
{
    uint64_t hash = hash_of(stem);
    bool found = false;
    (void)pthread_mutex_lock(&kept->lock);
    for (size_t i = 0; i < SL_CUT_KEPT_ORDERS && !found; i++) {
        found = kept->order[i] == hash;
    }
    (void)pthread_mutex_unlock(&kept->lock);
    return found;
}

void sl_cut_kept_note(struct sl_cut_kept *kept, struct sl_str stem)
{
    if (!is_noted(kept, stem)) {
        (void)pthread_mutex_lock(&kept->lock);
        kept->order[kept->next++ % SL_CUT_KEPT_ORDERS] = hash_of(stem);
        (void)pthread_mutex_unlock(&kept->lock);
    }
}

static void add_name(struct sl_cut_kept *kept, struct sl_str name)
{
    if (name.len > 0 && sl_map_put(&kept->names, name.s, name.len, kept, NULL) < 0) {
        kept->all = true;
    }
}

void sl_cut_kept_read(struct sl_cut_kept *kept)
{
    kept->all = false;
    kept->snapshot = sl_store_acquire(kept->store);
    for (size_t i = 0; i < kept->snapshot->n_nodes; i++) {
        const struct sl_node *node = kept->snapshot->view[i]->node;
        struct sl_str stem;
        add_name(kept, sl_str_of(node->name));
        /* whether or not sliced still has the node's GPUs cut */
        add_name(kept, sl_str_of(sl_node_label(node, "nvidia.com/mig.config")));
        add_name(kept, sl_str_of(sl_node_label(node, "nvidia.com/device-plugin.config")));
        if (sl_mig_entry_name(sl_str_of(node->partition.cut), &stem)) {
            add_name(kept, stem);
        }
    }
}

void sl_cut_kept_forget(struct sl_cut_kept *kept)
{
    sl_map_free(&kept->names);
    kept->names = (struct sl_map){.len = 0};
    sl_store_release(kept->store, kept->snapshot);
    kept->snapshot = NULL;
}

struct sl_str sl_cut_order_of(struct sl_str name)
{
    const struct sl_str prefix = SL_STR("-sliced-");
    for (size_t at = name.len; at-- > 0;) {
        struct sl_str rest = {name.s + at, name.len - at};
        if (sl_str_starts(rest, prefix)) {
            return (struct sl_str){rest.s + 1, rest.len - 1};
        }
    }
    return name;
}

bool sl_cut_kept_keeps(void *context, struct sl_str name)
{
    struct sl_cut_kept *kept = context;
    struct sl_str order = sl_cut_order_of(name);
    struct sl_str node = {name.s, name.len > order.len ? name.len - order.len - 1 : 0};
    struct sl_str stem;
    return kept->all || !sl_mig_entry_name(order, &stem) ||
           sl_map_get(&kept->names, name.s, name.len) != NULL ||
           sl_map_get(&kept->names, node.s, node.len) != NULL ||
           sl_map_get(&kept->names, stem.s, stem.len) != NULL || is_noted(kept, stem);
}

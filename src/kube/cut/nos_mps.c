/* nos in MPS mode. An order is a key of the device plugin's ConfigMap, whose value is a whole
 * configuration of the plugin on that node, and then the node's label
 * nvidia.com/device-plugin.config, which names the key.
 *
 * The plugin takes the configuration when the label's value changes, if its file has arrived by
 * then; so the ConfigMap is written first, and the label by a later attempt. The configuration
 * names every GPU that has slices, and each slice in use: what it leaves out is gone. A GPU without
 * slices stays whole. An order that is given up is taken back by the label as it was before, or the
 * plugin would carry it out whenever it comes to it. */
#include "kube/cut/actuator.h"
#include "kube/cut/keep.h"
#include "kube/cut/mig_file.h"

#include <stdio.h>

#define LABEL "nvidia.com/device-plugin.config"

enum { TEXT_MAX = 128 << 10, LABEL_MAX = 63, KEY_BYTES = SL_CUT_NAME_MAX + LABEL_MAX + 8 };

/* The node's name stands first, as in nos' own keys, if there is room for it. */
static void key_make(const struct sl_cut_order *order, struct sl_str name, char out[KEY_BYTES])
{
    size_t len = strlen(order->node->name);
    bool room = len + 1 + name.len <= LABEL_MAX;
    (void)snprintf(out, KEY_BYTES, "%.*s%s%.*s", room ? (int)len : 0, order->node->name,
                   room ? "-" : "", (int)name.len, name.s);
}

static int mps_check(const struct sl_cut_order *order, struct sl_error *err)
{
    size_t slices = 0;
    for (size_t i = 0; i < order->n_devices; i++) {
        struct sl_cut_group group[SL_MIG_INSTANCES_MAX];
        size_t n = sl_cut_groups(order->node, &order->device[i], group);
        slices += n;
        for (size_t k = 0; k < n; k++) {
            if (sl_slice_parse(sl_str_of(group[k].profile)) == 0) {
                return sl_error_set(err, SL_ERR_FIELD, "GPU %d: nos cannot share the instance %s",
                                    order->device[i].index, group[k].profile);
            }
        }
    }
    return slices > 0 ? 0 : sl_error_set(err, SL_ERR_FIELD, "the cut leaves no slices");
}

/* ---- the ConfigMap ---- */

static void put_slices(struct sl_buf *out, int device, const struct sl_cut_group *group)
{
    sl_buf_printf(out,
                  "    - name: nvidia.com/gpu\n"
                  "      rename: gpu-%s\n"
                  "      memoryGB: %d\n"
                  "      replicas: %u\n"
                  "      devices: [\"%d\"]\n",
                  group->profile, (int)sl_slice_parse(sl_str_of(group->profile)), group->n, device);
}

static void put_config(struct sl_buf *out, const struct sl_cut_order *order)
{
    sl_buf_puts(out, "version: v1\n"
                     "flags:\n"
                     "  migStrategy: none\n"
                     "sharing:\n"
                     "  mps:\n"
                     "    failRequestsGreaterThanOne: true\n"
                     "    resources:\n");
    for (size_t i = 0; i < order->n_devices; i++) {
        struct sl_cut_group group[SL_MIG_INSTANCES_MAX];
        size_t n = sl_cut_groups(order->node, &order->device[i], group);
        for (size_t k = 0; k < n; k++) {
            put_slices(out, order->device[i].index, &group[k]);
        }
    }
}

static bool is_of_order(const struct sl_cut_order *order, struct sl_str key)
{
    struct sl_str stem;
    return sl_mig_entry_name(sl_cut_order_of(key), &stem) && sl_str_eq(stem, order->stem);
}

/* Is it a key of this node's, by its name? */
static bool is_of_node(const struct sl_cut_order *order, struct sl_str key)
{
    size_t len = strlen(order->node->name);
    struct sl_str own = {key.s, key.len - sl_cut_order_of(key).len};
    return own.len == len + 1 && memcmp(own.s, order->node->name, len) == 0;
}

/* A node may need the key again that its label names. Keys of other existing nodes stay, too: only
 * those nodes know to which key a cut that is given up goes back. */
static bool key_stays(const struct sl_cut_order *order, struct sl_str key)
{
    struct sl_str stem;
    return is_of_order(order, key) || !sl_mig_entry_name(sl_cut_order_of(key), &stem) ||
           (is_of_node(order, key) ? sl_str_eq(key, sl_str_of(order->node->partition.wanted))
                                   : order->keeps(order->context, key));
}

/* Takes off keys of earlier orders. */
static void keys_remove(const struct sl_cut_order *order, const struct sl_pair *data,
                        struct sl_writer *w)
{
    for (const struct sl_pair *p = data; p != NULL; p = p->next) {
        if (!key_stays(order, p->key)) {
            sl_write_key_str(w, p->key);
            sl_write_null(w);
        }
    }
}

/* All attempts have the same configuration. */
static int mps_edit(const struct sl_cut_order *order, const struct sl_pair *data,
                    struct sl_writer *w, struct sl_error *err)
{
    struct sl_buf text;
    int result = 0;
    sl_buf_init(&text, TEXT_MAX);
    put_config(&text, order);
    for (unsigned i = 1; i <= SL_CUT_ATTEMPTS && text.failed == SL_BUF_OK; i++) {
        char name[SL_CUT_NAME_MAX + 4];
        char key[KEY_BYTES];
        (void)snprintf(name, sizeof(name), "%.*s-%u", (int)order->stem.len, order->stem.s, i);
        key_make(order, sl_str_of(name), key);
        const struct sl_pair *old = sl_pair_find(data, sl_str_of(key));
        if (old == NULL || !sl_str_eq(old->value, (struct sl_str){text.data, text.len})) {
            sl_write_key_str(w, sl_str_of(key));
            sl_write_str(w, (struct sl_str){text.data, text.len});
            result = 1;
        }
    }
    if (result > 0) { /* old keys alone are no reason to write */
        keys_remove(order, data, w);
    }
    if (text.failed != SL_BUF_OK) {
        result = sl_error_set(err, SL_ERR_LIMIT, "the device plugin's configuration is too long");
    }
    sl_buf_free(&text);
    return result;
}

/* ---- the node ---- */

static struct sl_str label_of(const struct sl_node_facts *now)
{
    const struct sl_pair *label = sl_pair_find(now->labels, SL_STR(LABEL));
    return label == NULL ? (struct sl_str){NULL, 0} : label->value;
}

static int mps_look(const struct sl_cut_order *order, const struct sl_node_facts *now,
                    struct sl_error *err)
{
    struct sl_str is = label_of(now);
    if (!is_of_order(order, is) && !sl_str_eq(is, sl_str_of(order->node->partition.wanted))) {
        return sl_error_set(err, SL_ERR_CONFLICT, "somebody has set " LABEL " to \"%.*s\"",
                            (int)(is.len < LABEL_MAX ? is.len : LABEL_MAX),
                            is.len == 0 ? "" : is.s);
    }
    return sl_cut_nos_look(order, now, err);
}

static void mps_labels(const struct sl_cut_order *order, struct sl_writer *w)
{
    char key[KEY_BYTES];
    key_make(order, sl_str_of(order->name), key);
    sl_write_member_text(w, LABEL, key);
}

static void mps_annotations(const struct sl_cut_order *order, const struct sl_node_facts *now,
                            struct sl_writer *w)
{
    struct sl_str is = label_of(now);
    if (!is_of_order(order, is)) {
        sl_write_member_str(w, SL_CUT_BEFORE, is);
    }
}

static void mps_cancel(const struct sl_cut_order *order, const struct sl_node_facts *now,
                       struct sl_writer *w)
{
    const struct sl_pair *before = sl_pair_find(now->annotations, SL_STR(SL_CUT_BEFORE));
    if (order->done || order->taken || order->node->partition.follows || before == NULL ||
        !is_of_order(order, label_of(now))) {
        return;
    }
    sl_write_member_object(w, "labels");
    if (before->value.len > 0) {
        sl_write_member_str(w, LABEL, before->value);
    } else {
        sl_write_member_text(w, LABEL, NULL);
    }
    sl_write_object_end(w);
}

const struct sl_cut_actuator sl_cut_nos_mps = {
    .orders = true,
    .notes = true,
    .check = mps_check,
    .edit = mps_edit,
    .look = mps_look,
    .labels = mps_labels,
    .annotations = mps_annotations,
    .cancel = mps_cancel,
};

/* nos' MIG agent. An order is the node's annotations nos.nebuly.com/spec-gpu-<i>-<profile>: "<n>"
 * and the plan's name, which the agent repeats in its status when it has carried the plan out.
 *
 * The annotations say what each GPU of the node shall have: the agent deletes what they do not
 * name, so they name every GPU, also those that stay. It deletes free instances first, but then,
 * when the count asks for it, used ones too: what it reports in use is counted in every order. It
 * splits an annotation's key at each dash and wants four parts; a profile with a dash (-me) is
 * ignored, that is deleted, and a plus (+me) is no character of a key. */
#include "kube/cut/actuator.h"

#include <stdio.h>

#define PREFIX      "nos.nebuly.com/"
#define SPEC_PREFIX PREFIX "spec-gpu-"
#define USED_END    "-used"

enum { KEY_BYTES = 96, SHOWN = 100 };

static int nos_check(const struct sl_cut_order *order, struct sl_error *err)
{
    for (size_t i = 0; i < order->n_devices; i++) {
        const struct sl_cut_device *device = &order->device[i];
        struct sl_cut_group group[SL_MIG_INSTANCES_MAX];
        size_t n = sl_cut_groups(order->node, device, group);
        if (device->cut != NULL && !device->mig) {
            return sl_error_set(err, SL_ERR_FIELD,
                                "GPU %d: nos' agent does not switch MIG mode off", device->index);
        }
        for (size_t k = 0; k < n; k++) {
            if (strpbrk(group[k].profile, "-+") != NULL) {
                return sl_error_set(err, SL_ERR_FIELD,
                                    "GPU %d: nos' agent cannot read the profile %s", device->index,
                                    group[k].profile);
            }
        }
    }
    return 0;
}

/* How many instances the order has for a key's end, "<i>-<profile>"; 0 when it does not name it. */
static unsigned count_of(const struct sl_cut_order *order, struct sl_str end)
{
    for (size_t i = 0; i < order->n_devices; i++) {
        struct sl_cut_group group[SL_MIG_INSTANCES_MAX];
        size_t n = sl_cut_groups(order->node, &order->device[i], group);
        for (size_t k = 0; k < n; k++) {
            char text[KEY_BYTES];
            (void)snprintf(text, sizeof(text), "%d-%.*s", order->device[i].index,
                           SL_CUT_PROFILE_MAX, group[k].profile);
            if (sl_str_eq(end, sl_str_of(text))) {
                return group[k].n;
            }
        }
    }
    return 0;
}

int sl_cut_nos_look(const struct sl_cut_order *order, const struct sl_node_facts *now,
                    struct sl_error *err)
{
    const struct sl_str prefix = SL_STR(PREFIX "status-gpu-");
    const struct sl_str used = SL_STR(USED_END);
    for (const struct sl_pair *p = now->annotations; p != NULL; p = p->next) {
        int64_t n = 0;
        if (!sl_str_starts(p->key, prefix) || !sl_str_ends(p->key, used) ||
            p->key.len < prefix.len + used.len || !sl_str_to_i64(p->value, &n)) {
            continue;
        }
        const struct sl_str end = {p->key.s + prefix.len, p->key.len - prefix.len - used.len};
        if (n > (int64_t)count_of(order, end)) {
            return sl_error_set(
                err, SL_ERR_CONFLICT, "it would take away instances in use: %.*s is %lld",
                (int)(p->key.len < SHOWN ? p->key.len : SHOWN), p->key.s, (long long)n);
        }
    }
    return 0;
}

static void write_spec(const struct sl_cut_order *order, const struct sl_cut_device *device,
                       struct sl_writer *w)
{
    struct sl_cut_group group[SL_MIG_INSTANCES_MAX];
    size_t n = sl_cut_groups(order->node, device, group);
    for (size_t i = 0; i < n; i++) {
        char key[KEY_BYTES];
        char value[16];
        (void)snprintf(key, sizeof(key), SPEC_PREFIX "%d-%.*s", device->index, SL_CUT_PROFILE_MAX,
                       group[i].profile);
        (void)snprintf(value, sizeof(value), "%u", group[i].n);
        sl_write_key_str(w, sl_str_of(key));
        sl_write_text(w, value);
    }
}

static void nos_annotations(const struct sl_cut_order *order, const struct sl_node_facts *now,
                            struct sl_writer *w)
{
    const struct sl_str prefix = SL_STR(SPEC_PREFIX);
    for (const struct sl_pair *p = now->annotations; p != NULL; p = p->next) {
        if (sl_str_starts(p->key, prefix) &&
            count_of(order, (struct sl_str){p->key.s + prefix.len, p->key.len - prefix.len}) == 0) {
            sl_write_key_str(w, p->key);
            sl_write_null(w); /* a merge patch removes it */
        }
    }
    for (size_t i = 0; i < order->n_devices; i++) {
        write_spec(order, &order->device[i], w);
    }
    sl_write_member_text(w, PREFIX "spec-partitioning-plan", order->name);
}

const struct sl_cut_actuator sl_cut_nos_mig = {
    .orders = true,
    .notes = true,
    .check = nos_check,
    .look = sl_cut_nos_look,
    .annotations = nos_annotations,
};

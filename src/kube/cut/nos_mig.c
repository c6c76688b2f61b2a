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

#define PREFIX        "nos.nebuly.com/"
#define SPEC_PREFIX   PREFIX "spec-gpu-"
#define STATUS_PREFIX PREFIX "status-gpu-"
#define USED_END      "-used"
#define FREE_END      "-free"

enum { KEY_BYTES = 96, SHOWN = 100, COUNT_MAX = 64 };

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
    const struct sl_str prefix = SL_STR(STATUS_PREFIX);
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

/* Sets *end to what stands between these, "<i>-<profile>". */
static bool end_of(struct sl_str key, struct sl_str prefix, struct sl_str suffix,
                   struct sl_str *end)
{
    bool long_enough = key.len > prefix.len + suffix.len && key.len < KEY_BYTES;
    if (!long_enough || !sl_str_starts(key, prefix) || !sl_str_ends(key, suffix)) {
        return false;
    }
    *end = (struct sl_str){key.s + prefix.len, key.len - prefix.len - suffix.len};
    return true;
}

static const struct sl_pair *report_find(const struct sl_node_facts *now, struct sl_str end,
                                         const char *state)
{
    char key[KEY_BYTES];
    (void)snprintf(key, sizeof(key), STATUS_PREFIX "%.*s%s", (int)end.len, end.s, state);
    return sl_pair_find(now->annotations, sl_str_of(key));
}

/* How many instances the agent reports there; what is no such number counts as none. */
static int64_t reported_of(const struct sl_node_facts *now, struct sl_str end)
{
    static const char *const state[] = {USED_END, FREE_END};
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof(state) / sizeof(state[0]); i++) {
        const struct sl_pair *pair = report_find(now, end, state[i]);
        int64_t n = 0;
        bool good = pair != NULL && sl_str_to_i64(pair->value, &n) && n > 0 && n <= COUNT_MAX;
        sum += good ? n : 0;
    }
    return sum;
}

static void write_count(struct sl_writer *w, struct sl_str end, int64_t n)
{
    char key[KEY_BYTES];
    char value[24];
    (void)snprintf(key, sizeof(key), SPEC_PREFIX "%.*s", (int)end.len, end.s);
    (void)snprintf(value, sizeof(value), "%lld", (long long)n);
    sl_write_key_str(w, sl_str_of(key));
    sl_write_text(w, value);
}

/* An agent that was away would carry out the order when it comes back, maybe hours later, under
 * pods that have come by then: it is told to leave what it reports. */
static void nos_take_back(const struct sl_cut_order *order, const struct sl_node_facts *now,
                          struct sl_writer *w)
{
    const struct sl_str plan = SL_STR(PREFIX "spec-partitioning-plan");
    const struct sl_pair *told = sl_pair_find(now->annotations, plan);
    if (told == NULL || !sl_str_starts(told->value, order->stem)) {
        return; /* it never was, or somebody else's is */
    }
    for (const struct sl_pair *p = now->annotations; p != NULL; p = p->next) {
        struct sl_str end;
        if (end_of(p->key, SL_STR(SPEC_PREFIX), SL_STR(""), &end) && reported_of(now, end) == 0) {
            sl_write_key_str(w, p->key);
            sl_write_null(w);
        } else if (end_of(p->key, SL_STR(STATUS_PREFIX), SL_STR(USED_END), &end) ||
                   (end_of(p->key, SL_STR(STATUS_PREFIX), SL_STR(FREE_END), &end) &&
                    report_find(now, end, USED_END) == NULL)) {
            write_count(w, end, reported_of(now, end)); /* once, where both are told */
        }
    }
    char name[SL_CUT_NAME_MAX + 4];
    (void)snprintf(name, sizeof(name), "%.*s-0", (int)order->stem.len, order->stem.s);
    sl_write_member_text(w, PREFIX "spec-partitioning-plan", name);
}

const struct sl_cut_actuator sl_cut_nos_mig = {
    .orders = true,
    .notes = true,
    .check = nos_check,
    .look = sl_cut_nos_look,
    .annotations = nos_annotations,
    .take_back = nos_take_back,
};

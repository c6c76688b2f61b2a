/* NVIDIA's mig-manager (GPU operator). An order is an entry of its file and then the node's label
 * nvidia.com/mig.config, which names the entry.
 *
 * While it runs it acts on a change of the label's value alone: each attempt has a name of its own.
 * When it starts it applies the label that it finds, whatever came of that before: the label of an
 * order that is given up names no entry. The file is a ConfigMap in a volume, which the kubelet
 * brings up to date up to a minute or so later; a label whose entry the file does not have yet
 * fails at once. So the entries of all attempts are written some time before the first label. It
 * walks only the GPUs that the entry names, and destroys all instances of each whose instances are
 * not the wanted ones: only GPUs that change are named. */
#include "kube/cut/actuator.h"
#include "kube/cut/edit.h"
#include "kube/cut/mig_file.h"

#include <stdio.h>

enum { ENTRY_BYTES_MAX = 32 << 10, ATTEMPT_DIGITS = 4 };

static void put_devices(struct sl_buf *out, const struct sl_cut_order *order,
                        const struct sl_cut_device *device)
{
    struct sl_cut_group group[SL_MIG_INSTANCES_MAX];
    size_t n = sl_cut_groups(order->node, device, group);
    sl_buf_printf(out, "{devices: [%d], mig-enabled: %s, mig-devices: {", device->index,
                  device->mig ? "true" : "false");
    for (size_t i = 0; i < n; i++) {
        sl_buf_printf(out, "%s\"%s\": %u", i == 0 ? "" : ", ", group[i].profile, group[i].n);
    }
    sl_buf_puts(out, "}}");
}

static void put_entry(struct sl_buf *out, const struct sl_cut_order *order)
{
    const char *separator = "[";
    for (size_t i = 0; i < order->n_devices; i++) {
        if (order->device[i].cut != NULL) {
            sl_buf_puts(out, separator);
            put_devices(out, order, &order->device[i]);
            separator = ", ";
        }
    }
    sl_buf_putc(out, ']');
}

static int mig_check(const struct sl_cut_order *order, struct sl_error *err)
{
    for (size_t i = 0; i < order->n_devices; i++) {
        if (order->device[i].cut != NULL) {
            return 0;
        }
    }
    return sl_error_set(err, SL_ERR_FIELD, "the cut names no GPU");
}

/* ---- the file ---- */

struct names {
    char text[SL_CUT_ATTEMPTS][SL_CUT_NAME_MAX + ATTEMPT_DIGITS];
    struct sl_mig_entry entry[SL_CUT_ATTEMPTS];
};

static void name_attempts(struct names *names, const struct sl_cut_order *order, struct sl_str text)
{
    for (unsigned i = 0; i < SL_CUT_ATTEMPTS; i++) {
        (void)snprintf(names->text[i], sizeof(names->text[i]), "%.*s-%u", (int)order->stem.len,
                       order->stem.s, i + 1);
        names->entry[i] = (struct sl_mig_entry){names->text[i], text};
    }
}

static int mig_edit(const struct sl_cut_order *order, const struct sl_pair *data,
                    struct sl_writer *w, struct sl_error *err)
{
    const struct sl_pair *old = sl_pair_find(data, SL_STR(SL_MIG_FILE_KEY));
    struct names names;
    struct sl_buf text;
    struct sl_buf file;
    sl_buf_init(&text, ENTRY_BYTES_MAX);
    sl_buf_init(&file, SL_MIG_FILE_MAX);
    put_entry(&text, order);
    name_attempts(&names, order, (struct sl_str){text.data, text.len});
    int result =
        text.failed != SL_BUF_OK
            ? sl_error_nomem(err)
            : sl_mig_file_edit(old == NULL ? (struct sl_str){NULL, 0} : old->value, names.entry,
                               SL_CUT_ATTEMPTS, order->keeps, order->context, &file, err);
    if (result < 0) {
        (void)sl_error_wrap(err, "the mig-manager's ConfigMap, " SL_MIG_FILE_KEY);
    } else if (result > 0) {
        sl_write_member_str(w, SL_MIG_FILE_KEY, (struct sl_str){file.data, file.len});
    }
    sl_buf_free(&text);
    sl_buf_free(&file);
    return result;
}

/* ---- the node ---- */

#define LABEL "nvidia.com/mig.config"
#define STATE "nvidia.com/mig.config.state"
enum { SHOWN = 63 };

/* Refuses when somebody has set the label since the cut was decided. */
static int mig_look(const struct sl_cut_order *order, const struct sl_node_facts *now,
                    struct sl_error *err)
{
    const struct sl_pair *label = sl_pair_find(now->labels, SL_STR(LABEL));
    struct sl_str is = label == NULL ? (struct sl_str){NULL, 0} : label->value;
    struct sl_str stem;
    bool ours = sl_mig_entry_name(is, &stem) && sl_str_eq(stem, order->stem);
    if (ours || sl_str_eq(is, sl_str_of(order->node->partition.wanted))) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_CONFLICT, "somebody has set " LABEL " to \"%.*s\"",
                        (int)(is.len < SHOWN ? is.len : SHOWN), is.len == 0 ? "" : is.s);
}

/* The state of the run before would be taken for that of this one. */
static void mig_labels(const struct sl_cut_order *order, struct sl_writer *w)
{
    sl_write_member_text(w, LABEL, order->name);
    sl_write_member_text(w, STATE, "pending");
}

/* A mig-manager that was away, or starts anew, would carry out the order, maybe hours later, on
 * GPUs that pods use by then. A name that the file never has fails, and touches nothing. */
static void mig_cancel(const struct sl_cut_order *order, const struct sl_node_facts *now,
                       struct sl_writer *w)
{
    const struct sl_pair *label = sl_pair_find(now->labels, SL_STR(LABEL));
    struct sl_str stem;
    char name[SL_CUT_NAME_MAX + ATTEMPT_DIGITS];
    if (!order->done && label != NULL && sl_mig_entry_name(label->value, &stem) &&
        sl_str_eq(stem, order->stem)) {
        (void)snprintf(name, sizeof(name), "%.*s-0", (int)stem.len, stem.s);
        sl_write_member_object(w, "labels");
        sl_write_member_text(w, LABEL, name);
        sl_write_object_end(w);
    }
}

const struct sl_cut_actuator sl_cut_mig_manager = {
    .orders = true,
    .nudges = true,
    .tells_nothing = true,
    .check = mig_check,
    .edit = mig_edit,
    .look = mig_look,
    .labels = mig_labels,
    .cancel = mig_cancel,
};

/* A step is one or two edits, one behind the other: of the actuator's ConfigMap, then of the node.
 * The node is named last, so that an order which the node shows can be read. */
#include "kube/cut/cutter.h"

#include <stdlib.h>

#include "kube/cut/actuator.h"
#include "kube/cut/edit.h"
#include "kube/cut/keep.h"
#include "kube/cut/nudge.h"

enum { DEVICES_BYTES_MAX = 128 << 10, SHOWN = 63 };

static const struct sl_cut_actuator *const actuators[] = {
    [SL_ACTUATOR_NONE] = NULL,
    [SL_ACTUATOR_MIG_MANAGER] = &sl_cut_mig_manager,
    [SL_ACTUATOR_NOS_MIG] = &sl_cut_nos_mig,
    [SL_ACTUATOR_NOS_MPS] = &sl_cut_nos_mps,
};

struct config_ref {
    char *namespace;
    char *name;
};

struct sl_kube_cutter {
    struct sl_changes changes;
    struct sl_cut_kept kept;
    struct config_ref config[sizeof(actuators) / sizeof(actuators[0])]; /* of those that edit one */
};

struct op {
    struct sl_kube_cutter *cutter;
    const struct sl_cut_actuator *actuator;
    struct sl_node *node;
    enum sl_cut_step step;
    struct sl_cut_run run;
    struct sl_cut_order order;
    uint64_t leadership;
    enum sl_cut_write_end refusal; /* the end that a refusal means: by the edit, else by the API
                                      server */
    sl_cut_done done;
    void *call;
};

static void op_end(struct op *op, enum sl_cut_write_end end, const struct sl_error *err)
{
    op->done(op->call, end, end == SL_CUT_WRITTEN ? NULL : err);
    sl_node_unref(op->node);
    free(op);
}

/* A node that is gone or was made anew takes no order, however often it is sent. */
static const enum sl_cut_write_end write_ends[SL_CHANGE_ENDS] = {
    [SL_CHANGE_DONE] = SL_CUT_WRITTEN,          [SL_CHANGE_GONE] = SL_CUT_WRITE_MOOT,
    [SL_CHANGE_REFUSED] = SL_CUT_WRITE_REFUSED, [SL_CHANGE_FAILED] = SL_CUT_WRITE_FAILED,
    [SL_CHANGE_UNKNOWN] = SL_CUT_WRITE_UNKNOWN,
};

/* ---- the node ---- */

static const struct sl_pair *mark_of(const struct sl_node_facts *now)
{
    return sl_pair_find(now->annotations, SL_STR(SL_CUT_ANNOTATION));
}

/* Is it a name of this run, whichever attempt's? A name that somebody made up may be longer than
 * the run's. */
static bool is_own(const struct op *op, struct sl_str name)
{
    struct sl_str stem = op->order.stem;
    return sl_str_starts(name, sl_str_of(op->run.name)) ||
           (sl_str_starts(name, stem) && name.len > stem.len && name.s[stem.len] == '-');
}

static int order_refuse(const struct op *op, const struct sl_node_facts *now, struct sl_error *err)
{
    const struct sl_pair *mark = mark_of(now);
    if (mark != NULL && !is_own(op, mark->value)) {
        return sl_error_set(err, SL_ERR_CONFLICT, "a cut of the node is under way: %.*s",
                            (int)(mark->value.len < SHOWN ? mark->value.len : SHOWN),
                            mark->value.s);
    }
    return op->actuator->look == NULL ? 0 : op->actuator->look(&op->order, now, err);
}

/* Has a pod come to the node's GPUs since the cut was decided? Steps before this write take time,
 * in which more is told. */
static bool is_taken(struct op *op)
{
    struct sl_store *store = op->cutter->kept.store;
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    size_t at = sl_snapshot_find(snapshot, sl_str_of(op->node->name), 0);
    if (at != SL_NODE_NONE) {
        sl_cut_run_look_at_pods(&op->run, snapshot->view[at]);
    }
    sl_store_release(store, snapshot);
    return op->run.taken;
}

/* Writes the GPUs' future contents on the node, for the leader that ends the cut. */
static void write_planned(const struct op *op, const char *key, bool unsure, struct sl_writer *w)
{
    struct sl_buf text;
    struct sl_writer devices = {.buf = &text};
    sl_buf_init(&text, DEVICES_BYTES_MAX);
    sl_cut_write_devices(op->node, op->order.device, op->order.n_devices, unsure, &devices);
    if (text.failed == SL_BUF_OK) {
        sl_write_member_str(w, key, (struct sl_str){text.data, text.len});
    }
    sl_buf_free(&text);
}

/* Says on the node what is ordered, for the people whom a later leader tells. */
static void write_text(const struct op *op, struct sl_writer *w)
{
    char text[SL_PARTITION_TEXT_MAX + 1];
    (void)sl_cut_text(op->node, op->run.cut, op->run.n_cuts, text, sizeof(text));
    sl_write_member_text(w, SL_CUT_TEXT, text);
}

static int order_edit(void *context, const struct sl_edit_now *now, struct sl_writer *w,
                      struct sl_error *err)
{
    struct op *op = context;
    const struct sl_cut_actuator *actuator = op->actuator;
    const struct sl_pair *mark = mark_of(now->node);
    if (mark != NULL && sl_str_eq(mark->value, sl_str_of(op->run.name))) {
        return 0; /* one patch wrote it all */
    }
    if (order_refuse(op, now->node, err) < 0) {
        op->refusal = SL_CUT_WRITE_MOOT;
        return -1;
    }
    if (is_taken(op)) { /* the run's next step says so */
        op->refusal = SL_CUT_WRITE_FAILED;
        return sl_error_set(err, SL_ERR_CONFLICT, "a pod has come to its GPUs");
    }
    if (actuator->labels != NULL && !op->run.announces) {
        sl_write_member_object(w, "labels");
        actuator->labels(&op->order, w);
        sl_write_object_end(w);
    }
    sl_write_member_object(w, "annotations");
    if (actuator->annotations != NULL) {
        actuator->annotations(&op->order, now->node, w);
    }
    if ((actuator->tells_nothing || actuator->notes) && mark == NULL) {
        write_planned(op, SL_CUT_DEVICES_PLANNED, false, w); /* else an earlier attempt noted it */
    }
    if (actuator->tells_nothing && mark == NULL) {
        write_planned(op, SL_CUT_UNSURE, true, w);
    }
    if (mark == NULL) {
        write_text(op, w);
    }
    sl_write_member_text(w, SL_CUT_ANNOTATION, op->run.name);
    sl_write_object_end(w);
    return 1;
}

/* May the GPUs hold something else than before the order? A failure leaves them as they were, if
 * the run knew how that was. */
static bool is_unsure(const struct sl_cut_run *run)
{
    return run->outcome == SL_CUT_DONE || run->outcome == SL_CUT_WEDGED ||
           run->outcome == SL_CUT_NOT_FOLLOWED || run->outcome == SL_CUT_HALF_APPLIED ||
           (run->outcome == SL_CUT_TAKEN && run->told) ||
           (run->outcome == SL_CUT_FAILED && run->resumed);
}

/* Nobody can tell what the GPUs hold that were ordered cut; the others are as they were. */
static void write_outcome(const struct op *op, const struct sl_node_facts *now, struct sl_writer *w)
{
    const struct sl_pair *devices = sl_pair_find(
        now->annotations, op->order.done ? SL_STR(SL_CUT_DEVICES_PLANNED) : SL_STR(SL_CUT_UNSURE));
    if (devices != NULL && is_unsure(&op->run)) {
        sl_write_member_str(w, SL_DEVICES_ANNOTATION, devices->value);
    } else if (is_unsure(&op->run)) {
        sl_write_member_text(w, SL_DEVICES_ANNOTATION, NULL);
    }
    sl_write_member_text(w, SL_CUT_DEVICES_PLANNED, NULL);
    sl_write_member_text(w, SL_CUT_UNSURE, NULL);
}

static int finish_edit(void *context, const struct sl_edit_now *now, struct sl_writer *w,
                       struct sl_error *err)
{
    const struct op *op = context;
    const struct sl_pair *mark = mark_of(now->node);
    (void)err;
    if (mark == NULL || !is_own(op, mark->value)) {
        return 0; /* it is off, or another cut's */
    }
    if (op->actuator != NULL && op->actuator->cancel != NULL) {
        op->actuator->cancel(&op->order, now->node, w);
    }
    sl_write_member_object(w, "annotations");
    if (op->actuator != NULL && op->actuator->take_back != NULL && !op->order.done) {
        op->actuator->take_back(&op->order, now->node, w);
    }
    if (op->actuator != NULL && op->actuator->tells_nothing) {
        write_outcome(op, now->node, w);
    }
    if (op->actuator != NULL && op->actuator->notes) {
        sl_write_member_text(w, SL_CUT_DEVICES_PLANNED, NULL);
        if (sl_pair_find(now->node->annotations, SL_STR(SL_CUT_BEFORE)) != NULL) {
            sl_write_member_text(w, SL_CUT_BEFORE, NULL);
        }
    }
    sl_write_member_text(w, SL_CUT_TEXT, NULL);
    sl_write_member_text(w, SL_CUT_ANNOTATION, NULL);
    sl_write_object_end(w);
    return 1;
}

static void node_ended(void *context, enum sl_change_turn end, bool wrote,
                       const struct sl_error *err)
{
    struct op *op = context;
    (void)wrote;
    op_end(op, end == SL_CHANGE_REFUSED ? op->refusal : write_ends[end], err);
}

static void node_begin(struct op *op)
{
    sl_edit_begin(&op->cutter->changes,
                  &(struct sl_edit){
                      .kind = SL_OBJECT_NODE,
                      .name = sl_str_of(op->node->name),
                      .uid = sl_str_of(op->node->uid),
                      .leadership = op->leadership,
                      .edit = op->step == SL_CUT_ORDER ? order_edit : finish_edit,
                      .ended = node_ended,
                      .context = op,
                  });
}

/* ---- the ConfigMap ---- */

static int config_edit(void *context, const struct sl_edit_now *now, struct sl_writer *w,
                       struct sl_error *err)
{
    struct op *op = context;
    sl_cut_kept_read(&op->cutter->kept);
    int result = op->actuator->edit(&op->order, now->data, w, err);
    sl_cut_kept_forget(&op->cutter->kept);
    op->refusal = result < 0 ? SL_CUT_WRITE_BAD_FILE : op->refusal;
    return result;
}

static const struct config_ref *config_of(const struct op *op)
{
    return &op->cutter->config[op->run.actuator];
}

/* While it is not known whether the entry was written the node does not name it: nothing is
 * ordered. */
static void config_ended(void *context, enum sl_change_turn end, bool wrote,
                         const struct sl_error *err)
{
    struct op *op = context;
    const struct sl_change_options *options = &op->cutter->changes.options;
    if (end != SL_CHANGE_DONE) {
        op_end(op, end == SL_CHANGE_REFUSED ? op->refusal : SL_CUT_WRITE_FAILED, err);
        return;
    }
    if (wrote && op->actuator->nudges) {
        sl_nudge(options->client, sl_str_of(config_of(op)->namespace), sl_str_of(op->node->name),
                 options->try_us);
    }
    node_begin(op);
}

static void config_begin(struct op *op)
{
    const struct config_ref *config = config_of(op);
    sl_edit_begin(&op->cutter->changes, &(struct sl_edit){
                                            .kind = SL_OBJECT_CONFIG_MAP,
                                            .namespace = sl_str_of(config->namespace),
                                            .name = sl_str_of(config->name),
                                            .leadership = op->leadership,
                                            .edit = config_edit,
                                            .ended = config_ended,
                                            .context = op,
                                        });
}

/* ---- steps ---- */

static int order_make(struct op *op, struct sl_error *err)
{
    struct sl_cut_order *order = &op->order;
    int n = sl_cut_devices(op->node, op->run.cut, op->run.n_cuts, order->device, err);
    if (n < 0) {
        return -1;
    }
    order->name = op->run.name;
    order->n_devices = (size_t)n;
    order->keeps = sl_cut_kept_keeps;
    order->context = &op->cutter->kept;
    return op->actuator->check(order, err);
}

static void order_begin(struct op *op)
{
    struct sl_error err;
    if (op->actuator == NULL) {
        (void)sl_error_set(&err, SL_ERR_FIELD, "nothing cuts the node's GPUs");
        op_end(op, SL_CUT_WRITE_MOOT, &err);
    } else if (!op->actuator->orders) {
        op_end(op, SL_CUT_WRITTEN, NULL);
    } else if (order_make(op, &err) < 0) {
        op_end(op, SL_CUT_WRITE_MOOT, &err);
    } else if (op->actuator->edit != NULL) {
        sl_cut_kept_note(&op->cutter->kept, op->order.stem);
        config_begin(op);
    } else {
        node_begin(op);
    }
}

/* The name without its attempt; the whole name where it has none. */
static struct sl_str stem_of(const char *name)
{
    const char *dash = strrchr(name, '-');
    return dash == NULL ? sl_str_of(name) : (struct sl_str){name, (size_t)(dash - name)};
}

void sl_kube_cut(void *context, const struct sl_cut_write *write, sl_cut_done done, void *call)
{
    struct sl_kube_cutter *cutter = context;
    struct op *op = calloc(1, sizeof(*op));
    if (op == NULL) {
        struct sl_error err;
        (void)sl_error_nomem(&err);
        done(call, SL_CUT_WRITE_FAILED, &err);
        return;
    }
    op->cutter = cutter;
    op->actuator = actuators[write->run->actuator];
    op->node = sl_node_ref((struct sl_node *)write->node);
    op->step = write->step;
    op->run = *write->run;
    op->order.node = op->node;
    op->order.stem = stem_of(op->run.name);
    op->order.done = op->run.outcome == SL_CUT_DONE;
    op->order.taken = op->run.taken && op->run.moved;
    op->leadership = write->leadership;
    op->refusal = SL_CUT_WRITE_REFUSED;
    op->done = done;
    op->call = call;
    if (op->step == SL_CUT_ORDER) {
        order_begin(op);
    } else {
        node_begin(op);
    }
}

/* ---- life ---- */

static bool config_copy(struct config_ref *config, const char *namespace, const char *name)
{
    config->namespace = strdup(namespace == NULL ? "" : namespace);
    config->name = strdup(name == NULL ? "" : name);
    return config->namespace != NULL && config->name != NULL;
}

struct sl_kube_cutter *sl_kube_cutter_new(const struct sl_kube_cutter_options *options,
                                          struct sl_error *err)
{
    struct sl_kube_cutter *cutter = calloc(1, sizeof(*cutter));
    if (cutter == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    sl_changes_init(&cutter->changes, &options->change);
    sl_cut_kept_init(&cutter->kept, options->store);
    if (!config_copy(&cutter->config[SL_ACTUATOR_MIG_MANAGER], options->mig_namespace,
                     options->mig_config_map) ||
        !config_copy(&cutter->config[SL_ACTUATOR_NOS_MPS], options->mps_namespace,
                     options->mps_config_map)) {
        sl_kube_cutter_free(cutter);
        (void)sl_error_nomem(err);
        return NULL;
    }
    return cutter;
}

void sl_kube_cutter_free(struct sl_kube_cutter *cutter)
{
    if (cutter == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(cutter->config) / sizeof(cutter->config[0]); i++) {
        free(cutter->config[i].namespace);
        free(cutter->config[i].name);
    }
    sl_cut_kept_free(&cutter->kept);
    free(cutter);
}

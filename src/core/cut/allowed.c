/* Judges cuts against the node as it is now: whatever planned them, nothing in use is touched. */
#include <stdlib.h>

#include "core/cut/node/node.h"
#include "core/cut/node/slices.h"
#include "core/request/text.h"

struct judge {
    struct sl_cut_node node;
    struct sl_cut_device device[SL_NODE_DEVICES_MAX];
    struct sl_cut_table table;
    struct sl_text text;
};

static bool refuse(struct judge *judge, const struct sl_cut *cut, const char *why)
{
    sl_text_puts(&judge->text, "GPU ");
    sl_text_i64(&judge->text, cut->device);
    sl_text_puts(&judge->text, why);
    return false;
}

static struct sl_cut_device *device_of(struct judge *judge, const struct sl_cut *cut)
{
    for (unsigned d = 0; d < judge->node.n; d++) {
        if (judge->device[d].index == cut->device) {
            return &judge->device[d];
        }
    }
    return NULL;
}

/* Are the instances legal together, with all those that stay where they are? Sets counts to the
 * others. */
static bool instances_are_legal(const struct sl_cut_device *device, const struct sl_cut *cut,
                                uint8_t counts[SL_MIG_PROFILES_MAX])
{
    struct sl_mig_layout layout = {0};
    unsigned stay = 0;
    if (cut->n > SL_MIG_INSTANCES_MAX) {
        return false;
    }
    for (unsigned i = 0; i < cut->n; i++) {
        struct sl_mig_placement at = cut->instance[i];
        bool stays = false;
        if (!sl_mig_can_place(device->model, &layout, at)) {
            return false;
        }
        sl_mig_place(device->model, &layout, at);
        for (unsigned k = 0; k < device->n_stay; k++) {
            stays = stays ||
                    (device->stay[k].profile == at.profile && device->stay[k].start == at.start);
        }
        stay += stays;
        counts[at.profile] = (uint8_t)(counts[at.profile] + !stays);
    }
    return stay == device->n_stay;
}

static bool cut_is_allowed(struct judge *judge, const struct sl_cut *cut)
{
    const struct sl_cut_device *device = device_of(judge, cut);
    uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
    if (device == NULL) {
        return refuse(judge, cut, " is not known");
    }
    if (!device->may_change) {
        return refuse(judge, cut, " is in use or may not be cut");
    }
    if (device->sizes != NULL) {
        return sl_cut_slices_allowed(device, cut) ||
               refuse(judge, cut, " cannot have these slices beside those in use");
    }
    if (cut->n_sizes > 0) {
        return refuse(judge, cut, " is not cut into slices of memory");
    }
    if (cut->whole) {
        bool good = cut->n == 0 && device->n_stay == 0 && device->may_be_whole;
        return good || refuse(judge, cut, " may not become whole");
    }
    if (!instances_are_legal(device, cut, counts)) {
        return refuse(judge, cut, " cannot have these instances beside those in use");
    }
    if (!sl_cut_device_fits(device, counts)) {
        return refuse(judge, cut, " may lack room where the instances in use lie");
    }
    for (unsigned p = 0; judge->node.plain && p < device->model->n_profiles; p++) {
        if (counts[p] > 0 && device->model->profiles[p].attributes != 0) {
            return refuse(judge, cut, ": nos cannot make instances with attributes");
        }
    }
    return true;
}

/* Strategy single: every device holds the same, and instances of one profile only. */
static bool alike(const struct sl_cut *cut, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cut[i].whole != cut[0].whole || cut[i].n != cut[0].n) {
            return false;
        }
        for (unsigned k = 0; k < cut[i].n; k++) {
            if (cut[i].instance[k].profile != cut[0].instance[0].profile) {
                return false;
            }
        }
    }
    return true;
}

static bool judge_cuts(struct judge *judge, const struct sl_cut *cut, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && cut[i].device <= cut[i - 1].device) {
            return refuse(judge, &cut[i], " is named out of order");
        }
        if (!cut_is_allowed(judge, &cut[i])) {
            return false;
        }
    }
    if (n == 0 || ((judge->node.all || judge->node.single) && n != judge->node.n)) {
        sl_text_puts(&judge->text, "all GPUs of the node must be named");
        return false;
    }
    if (judge->node.single && !alike(cut, n)) {
        sl_text_puts(&judge->text, "strategy single needs all GPUs cut alike");
        return false;
    }
    return true;
}

bool sl_cut_allowed(const struct sl_view *view, const struct sl_cut *cut, size_t n,
                    struct sl_cut_limits limits, char *reason, size_t size)
{
    struct judge *judge = calloc(1, sizeof(*judge));
    struct sl_text none;
    sl_text_init(&none, reason, size);
    if (judge == NULL) {
        sl_text_puts(&none, "out of memory");
        return false;
    }
    judge->text = none;
    enum sl_cut_bar bar =
        sl_cut_node_read(&judge->node, judge->device, &judge->table, view, limits);
    if (bar != SL_CUT_BAR_NONE) {
        sl_text_puts(&judge->text, sl_cut_bar_text(bar));
    }
    bool allowed = bar == SL_CUT_BAR_NONE && judge_cuts(judge, cut, n);
    free(judge);
    return allowed;
}

enum sl_cut_bar sl_cut_bar_of(const struct sl_view *view, struct sl_cut_limits limits)
{
    struct judge *judge = calloc(1, sizeof(*judge));
    enum sl_cut_bar bar =
        judge == NULL ? SL_CUT_BAR_UNKNOWN
                      : sl_cut_node_read(&judge->node, judge->device, &judge->table, view, limits);
    free(judge);
    return bar;
}

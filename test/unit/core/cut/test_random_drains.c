/* Random nodes in use: until when which of them drains for a pod, against the plan that there would
 * be once the pods that end by then have ended. A drain is an estimate: of nos' GPUs the plan must
 * fit wherever instances lie, the drain where they seem to; and it counts on no free unit of a GPU
 * that stays in use, of which one of two units might be. There a few are others. */
#include "unit/core/cut/cut_brute.h"

enum { CASES = 3000 };

static bool ends_by(const struct sl_pod *pod, int64_t until_us)
{
    return pod->has_deadline && pod->started_us + pod->timeout_s * rig_second <= until_us;
}

/* Would that node alone, once they have ended, be cut for the pod? *fits: it would need no cut. */
static bool serves_at(struct cut_rig *rig, size_t node, int64_t until_us, bool *fits)
{
    struct rig_node *at = &rig->node[node];
    struct sl_node *was = at->node;
    const struct sl_view *now = rig->view[node];
    struct sl_pod *left[32];
    size_t n = 0;
    uint16_t in_use[64];
    assert_true(was->n_instances <= 64);
    for (unsigned k = 0; k < was->n_instances; k++) {
        in_use[k] = was->instance[k].in_use;
    }
    for (uint32_t r = 0; r < now->n_residents; r++) {
        const struct sl_resident *resident = &now->resident[r];
        for (unsigned p = 0; ends_by(resident->pod, until_us) && p < resident->n_parts; p++) {
            const struct sl_assignment_part *part = &now->part[resident->first_part + p];
            if (part->instance >= 0 && was->instance[part->instance].in_use > 0) {
                was->instance[part->instance].in_use--;
            }
        }
    }
    for (size_t k = 0; k < at->n_running; k++) {
        if (!ends_by(at->running[k], until_us)) {
            left[n] = at->running[k];
            n++;
        }
    }
    struct sl_view *then = sl_view_new(was, left, n);
    assert_non_null(then);
    rig->view[node] = then;
    struct sl_ask ask;
    sl_pod_ask(rig->waiting[0], &ask);
    *fits = sl_fit(then, &ask, NULL);
    for (size_t i = 0; i < rig->n_nodes; i++) {
        rig->site[i].out = i != node;
    }
    rig->input.drain = false;
    rig_plan(rig);
    bool serves = rig->output.n_plans > 0;
    for (size_t i = 0; i < rig->n_nodes; i++) {
        rig->site[i].out = false;
    }
    for (unsigned k = 0; k < was->n_instances; k++) {
        was->instance[k].in_use = in_use[k];
    }
    rig->view[node] = now;
    sl_view_free(then);
    return serves;
}

/* Lets more pods run on a node of the mig-manager: each on a unit. */
static void run_more(struct cut_rig *rig, size_t node)
{
    for (unsigned p = 0; p < rig->view[node]->n_pools; p++) {
        for (unsigned n = pick(3); n > 0 && rig->view[node]->room[p].free > 0; n--) {
            char asks[128];
            (void)snprintf(asks, sizeof(asks), "%s=1",
                           rig->node[node].node->pool[p].resource + strlen("nvidia.com/"));
            rig_run(rig, node, asks, 0);
        }
    }
}

/* A pod for one unit, or two, that waits; pods run to different times, or nobody knows to when. */
static void random_case(struct cut_rig *rig, bool *nos)
{
    static const int64_t timeouts_s[] = {0, 300, 600, 900, 1200, 1200};
    struct drawn_node drawn;
    char asks[128] = "gpu=1";
    rig_clear(rig);
    *nos = false;
    rig->input.limits.mig_mode = pick(3) == 0;
    for (unsigned n = 1 + pick(3), i = 0; i < n; i++) {
        size_t node = random_node(rig, &drawn, 1 + pick(GPUS_MAX));
        rig->site[node].seconds_us = (int64_t)(10 + pick(3) * 60) * rig_second;
        *nos = *nos || drawn.nos;
        if (!drawn.nos) {
            run_more(rig, node);
        }
        for (size_t k = 0; k < rig->node[node].n_running; k++) {
            struct sl_pod *pod = rig->node[node].running[k];
            pod->timeout_s = timeouts_s[pick(6)];
            pod->has_deadline = pod->timeout_s > 0;
            pod->started_us = rig_now - (int64_t)pick(100) * rig_second;
        }
    }
    if (pick(6) > 0) {
        const struct sl_mig_profile *profile =
            &drawn.model->profiles[pick(drawn.model->n_profiles)];
        ask_text(asks, sizeof(asks), profile, 1 + pick(4) / 3);
    }
    (void)rig_wait(rig, asks, NULL);
}

/* What the drain is for is on GPUs of the node, and the pod that ends last holds some of it. */
static void check_told(const struct cut_rig *rig)
{
    for (size_t k = 0; k < rig->output.n_drains; k++) {
        const struct sl_cut_drain *drain = &rig->output.drain[k];
        struct sl_cut_wait by;
        struct sl_cut_wait before;
        struct sl_cut_drain sooner = *drain;
        sooner.until_us--;
        sl_cut_wait_find(rig->view[drain->view], rig->waiting[0], drain, rig_now, &by);
        sl_cut_wait_find(rig->view[drain->view], rig->waiting[0], &sooner, rig_now, &before);
        bool nos = rig->view[drain->view]->node->partition.actuator == SL_ACTUATOR_NOS_MIG;
        assert_true(nos || by.n_own > before.n_own);
        assert_int_equal(by.n_others, 0);
        assert_in_range(drain->n_devices, 1, rig->view[drain->view]->node->n_devices);
        assert_in_range(drain->device, 0, rig->view[drain->view]->node->n_devices - 1);
    }
}

TEST_THAT_WITH(the_node_drains_that_can_be_cut_earliest, set_up, tear_down)
{
    struct cut_rig *rig = *state;
    unsigned drains = 0;
    unsigned others = 0;
    for (unsigned i = 0; i < CASES; i++) {
        bool nos = false;
        bool fits = false;
        size_t node = 0;
        int64_t until_us = INT64_MAX;
        seed = i + 1;
        random_case(rig, &nos);
        int64_t start_us = pick(3) > 0 ? 0 : rig_now + (int64_t)pick(1400) * rig_second;
        rig->input.drain = false;
        rig_plan(rig);
        fits = fits_now(rig, rig->waiting[0]) || rig->output.n_plans > 0;
        for (size_t k = 0; k < rig->n_nodes && !fits; k++) {
            for (size_t r = 0; r < rig->node[k].n_running && !fits; r++) {
                const struct sl_pod *pod = rig->node[k].running[r];
                int64_t end_us = pod->started_us + pod->timeout_s * rig_second;
                bool late = start_us > 0 && end_us >= start_us - 2 * rig->site[k].seconds_us;
                if (pod->has_deadline && !late && end_us < until_us &&
                    serves_at(rig, k, end_us, &fits)) {
                    until_us = end_us;
                    node = k;
                }
            }
        }
        if (fits) {
            continue;
        }
        rig->input.drain = true;
        rig->pod[0].start_us = start_us;
        rig_plan(rig);
        bool found = until_us < INT64_MAX;
        bool same = rig->output.n_drains == found &&
                    (!found || (rig->output.drain[0].until_us == until_us &&
                                rig->output.drain[0].view == node));
        assert_true(same || nos || rig->waiting[0]->items[0].count > 1);
        check_told(rig);
        drains += found;
        others += !same;
    }
    assert_true(drains > CASES / 10);
    assert_true(others < drains / 20);
}

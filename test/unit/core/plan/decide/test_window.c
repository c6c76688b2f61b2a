/* No run nominates more pods than it may, in any order. */
#include "unit/core/plan/plan_rig.h"

#include "unit/core/rig.h"

static unsigned nominations(const char *log)
{
    unsigned n = 0;
    for (const char *at = log; *at != '\0'; at = strchr(at, '\n') + 1) {
        n += strncmp(at, "nomination ", 11) == 0 || strncmp(at, "backfill ", 9) == 0;
    }
    return n;
}

static void play(struct plan_rig *rig, uint64_t seed)
{
    static const int64_t timeouts[] = {30, 60, 600, 3600, 86400};
    int64_t end_us[600] = {0};
    rig->config.order.kind = seed % 4 == 0 ? SL_ORDER_FIFO : SL_ORDER_BOUNDED;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 4);
    plan_rig_node(rig, "n2", 2);
    plan_rig_share(plan_rig_node(rig, "n3", 2), 16);
    for (unsigned step = 0; step < 400; step++) {
        rig->now_us += SECONDS(1 + rig_random(&seed, 60));
        for (unsigned n = rig_random(&seed, 3); n > 0 && rig->n_pods < 600; n--) {
            char name[PLAN_NAME];
            bool shares = rig_random(&seed, 4) == 0;
            (void)snprintf(name, sizeof(name), "p%u", rig->n_pods);
            struct plan_rig_pod *p =
                plan_rig_pod(rig, name, shares ? MEM : GPU, 1 + rig_random(&seed, shares ? 16 : 4),
                             timeouts[rig_random(&seed, 5)]);
            p->pod.priority = (int32_t)rig_random(&seed, 3) / 2;
            plan_rig_put(rig, p);
        }
        unsigned max = rig_random(&seed, 3);
        const char *log = plan_rig_run(rig, max);
        assert_true(nominations(log) <= max);
        for (unsigned i = 0; i < rig->n_pods; i++) {
            const char *name = rig->pod[i]->name;
            if (rig->pod[i]->bound == NULL && strncmp(plan_rig_state(rig, name), "Nom", 3) == 0) {
                plan_rig_bind(rig, name);
                end_us[i] = rig->now_us + rig->pod[i]->pod.timeout_s * 1000000;
            } else if (rig->pod[i]->bound != NULL && end_us[i] <= rig->now_us) {
                plan_rig_end(rig, name);
            }
        }
        plan_rig_cluster(rig);
    }
}

TEST_THAT(no_more_pods_go_than_may)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct plan_rig *rig = plan_rig_new();
        play(rig, seed);
        plan_rig_free(rig);
    }
}

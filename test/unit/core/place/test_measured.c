/* A replica more on a GPU whose memory is declared in full, by what its pods were measured to use:
 * against the rule in plain numbers, at random and at its bounds. */
#include "unit/core/rig.h"

TEST_FIXTURE(NULL, rig_free_all)

#define SHARED "nvidia.com/gpu.shared"

enum { ROUNDS = 20000, TOTAL = 40, WORKLOADS = 3 };

static struct rig *a_gpu_that_is_declared_in_full(void)
{
    struct rig *rig = rig_new();
    struct sl_ask ask = rig_ask(SHARED, 1);
    ask.item[0].memory_mib = TOTAL;
    rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 4)].replicas = 4;
    rig->device[rig_device(rig, 0)].memory_mib = TOTAL;
    rig_run(rig, ask, SHARED "=0");
    return rig;
}

static void measure(struct rig *rig, uint64_t *seed)
{
    struct sl_measured *measured = &rig->measured[0];
    rig->n_measured = 0;
    uint64_t pods = sl_view_pods_of(rig_view(rig), 0);
    *measured = sl_measured_none;
    measured->pods = rig_random(seed, 10) > 0 ? pods : pods + 1;
    measured->room_mib = (int32_t)rig_random(seed, TOTAL) - 1;
    measured->reserve_mib = (int32_t)rig_random(seed, 8);
    for (unsigned i = 0; i < WORKLOADS && rig_random(seed, 3) > 0; i++) {
        measured->known[i] =
            (struct sl_measured_peak){.workload = i + 1,
                                      .permille = (uint16_t)(100 * rig_random(seed, 10)),
                                      .lives = (uint16_t)(2 + rig_random(seed, 4))};
    }
    rig->n_measured = 1;
}

/* What it is expected to use has room beside what is kept for who uses more than ever before. */
static bool has_room(const struct rig *rig, const struct sl_ask_item *item)
{
    const struct sl_measured *measured = &rig->measured[0];
    int64_t uses = item->memory_mib;
    int64_t kept = 0; /* its ask is more than it will use */
    for (unsigned i = 0; i < WORKLOADS; i++) {
        const struct sl_measured_peak *known = &measured->known[i];
        if (item->workload != 0 && known->workload == item->workload) {
            uses = (int64_t)item->memory_mib * known->permille / 1000;
            int64_t beyond = (item->memory_mib - uses) / (known->lives + 1);
            kept = beyond > measured->reserve_mib ? beyond : measured->reserve_mib;
        }
    }
    return uses + kept <= measured->room_mib &&
           measured->pods == sl_view_pods_of(rig->view, 0); /* beside the same pods */
}

TEST_THAT(one_more_fits_while_what_is_expected_of_it_has_room)
{
    struct rig *rig = a_gpu_that_is_declared_in_full();
    uint64_t seed = 9;
    unsigned fitted = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct sl_ask ask = rig_ask(SHARED, 1 + (rig_random(&seed, 8) == 0));
        ask.item[0].memory_mib = 1 + (int32_t)rig_random(&seed, TOTAL);
        ask.item[0].workload = rig_random(&seed, WORKLOADS + 2);
        measure(rig, &seed);
        bool fits = rig_verdict(rig, ask).reason == SL_REASON_FITS;
        bool one = ask.item[0].count == 1; /* the next is measured first */
        assert_int_equal(fits, one && has_room(rig, &ask.item[0]));
        fitted += fits;
    }
    assert_in_range(fitted, 2000, 18000);
}

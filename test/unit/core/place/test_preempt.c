/* Which victims have to go: the rules, and small random nodes against every subset of victims. */
#include "unit/core/rig.h"

#include "core/place/uids.h"
#include "sliced/preempt.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU "nvidia.com/gpu"
#define MEM "aliyun.com/gpu-mem"
#define MIG "nvidia.com/mig-1g.6gb"

static struct sl_pod *run(struct rig *rig, const char *resource, int64_t count, const char *where,
                          int32_t priority)
{
    struct sl_ask ask = rig_ask(resource, count);
    struct sl_pod *pod = rig_run(rig, ask, where);
    pod->priority = priority;
    return pod;
}

TEST_THAT(victim_whose_devices_nobody_needs_is_spared)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, GPU, 1, GPU "=0", 0);
    run(rig, GPU, 1, GPU "=1", 0);
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_str victims[] = {SL_STR("u0"), SL_STR("u1")};
    bool keep[2];
    assert_int_equal(sl_preempt(rig_view(rig), &ask, victims, 2, keep, NULL), 1);
    assert_true(keep[0]);
    assert_false(keep[1]); /* started last */
}

TEST_THAT(victim_named_twice_goes_or_stays_as_one)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, GPU, 1, GPU "=0", 0);
    run(rig, GPU, 1, GPU "=1", 0);
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_str victims[] = {SL_STR("u1"), SL_STR("u0"), SL_STR("u1"), SL_STR("u0")};
    bool keep[4];
    assert_int_equal(sl_preempt(rig_view(rig), &ask, victims, 4, keep, NULL), 1);
    assert_false(keep[0] || keep[2]);
    assert_true(keep[1] && keep[3]);
}

TEST_THAT(victim_named_twice_makes_room_once)
{
    struct rig *rig = rig_new();
    rig->pool[rig_pool(rig, GPU, SL_KIND_WHOLE, 3)].on_devices = false;
    for (unsigned i = 0; i < 3; i++) {
        run(rig, GPU, 1, NULL, 0);
    }
    struct sl_ask two = rig_ask(GPU, 2);
    struct sl_str twice[] = {SL_STR("u2"), SL_STR("u2")};
    struct sl_str both[] = {SL_STR("u2"), SL_STR("u1")};
    bool keep[2];
    assert_int_equal(sl_preempt(rig_view(rig), &two, twice, 2, keep, NULL), 0);
    assert_int_equal(sl_preempt(rig->view, &two, both, 2, keep, NULL), 1);
}

TEST_THAT(highest_priority_is_spared_first)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, GPU, 1, GPU "=0", 9);
    run(rig, GPU, 1, GPU "=1", 5);
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_str victims[] = {SL_STR("u0"), SL_STR("u1")};
    bool keep[2];
    assert_int_equal(sl_preempt(rig_view(rig), &ask, victims, 2, keep, NULL), 1);
    assert_false(keep[0]);
    assert_true(keep[1]);
}

TEST_THAT(victims_whose_going_makes_no_room_on_one_device_are_no_answer)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, MEM, 8, MEM "=0*8", 0);
    run(rig, MEM, 8, MEM "=0*8", 0);
    run(rig, MEM, 8, MEM "=1*8", 0);
    run(rig, MEM, 8, MEM "=1*8", 0);
    struct sl_ask ask = rig_ask(MEM, 16);
    struct sl_str apart[] = {SL_STR("u0"), SL_STR("u2")};
    struct sl_str together[] = {SL_STR("u0"), SL_STR("u1"), SL_STR("u2")};
    struct sl_verdict verdict;
    bool keep[3] = {true, true, true};
    assert_int_equal(sl_preempt(rig_view(rig), &ask, apart, 2, keep, &verdict), 0);
    assert_int_equal(verdict.reason, SL_REASON_FRAGMENTED);
    assert_int_equal(verdict.largest, 8);
    assert_false(keep[0] || keep[1]);
    assert_int_equal(sl_preempt(rig->view, &ask, together, 3, keep, NULL), 1);
    assert_true(keep[0] && keep[1]);
    assert_false(keep[2]);
}

TEST_THAT(victims_that_hold_nothing_here_are_kept)
{
    struct rig *rig = rig_of_gpus(1, 16);
    run(rig, GPU, 1, GPU "=0", 0);
    run(rig, MIG, 1, NULL, 0); /* a resource that the node has not */
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_str victims[] = {SL_STR("stranger"), SL_STR("u0"), SL_STR("u1"), SL_STR("")};
    bool keep[4];
    assert_int_equal(sl_preempt(rig_view(rig), &ask, victims, 4, keep, NULL), 1);
    assert_true(keep[0] && keep[1] && keep[2] && keep[3]);
}

/* kube-scheduler then wants them gone for cpu or the like, and takes an empty list for an error. */
TEST_THAT(all_victims_go_when_the_ask_fits_beside_them)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, GPU, 1, GPU "=0", 0);
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_str victims[] = {SL_STR("u0"), SL_STR("stranger")};
    bool keep[2];
    assert_int_equal(sl_preempt(rig_view(rig), &ask, victims, 2, keep, NULL), 1);
    assert_true(keep[0] && keep[1]);
}

TEST_THAT(ask_for_nothing_spares_nobody)
{
    struct rig *rig = rig_of_gpus(1, 16);
    run(rig, GPU, 1, GPU "=0", 0);
    struct sl_ask ask = {0};
    struct sl_str victims[] = {SL_STR("u0")};
    bool keep[1];
    assert_int_equal(sl_preempt(rig_view(rig), &ask, victims, 1, keep, NULL), 1);
    assert_true(keep[0]);
    assert_int_equal(sl_preempt(rig->view, &ask, NULL, 0, NULL, NULL), 1);
}

TEST_THAT(what_never_fits_is_told)
{
    struct rig *rig = rig_of_gpus(1, 16);
    run(rig, GPU, 1, GPU "=0", 0);
    struct sl_ask ask = rig_ask(GPU, 2);
    struct sl_str victims[] = {SL_STR("u0")};
    struct sl_verdict verdict;
    bool keep[1];
    assert_int_equal(sl_preempt(rig_view(rig), &ask, victims, 1, keep, &verdict), 0);
    assert_int_equal(verdict.reason, SL_REASON_EXCEEDS_NODE);
    assert_false(keep[0]);
}

/* Victims times residents would be some 500,000 a round. */
TEST_THAT(finding_a_victim_among_many_takes_few_steps)
{
    enum { PODS = 1000, STEPS = 10 };
    static struct sl_pod pod[PODS];
    static struct sl_resident resident[PODS];
    static char uid[PODS][8];
    const struct sl_view view = {.resident = resident, .n_residents = PODS};
    struct sl_uids uids;
    for (unsigned i = 0; i < PODS; i++) {
        snprintf(uid[i], sizeof(uid[i]), "u%u", i * 7 % PODS);
        pod[i].uid = uid[i];
        resident[i].pod = &pod[i];
    }
    assert_true(sl_uids_init(&uids, &view));
    for (unsigned i = 0; i < PODS; i++) {
        assert_int_equal(sl_uids_find(&uids, sl_str_of(uid[i])), i);
    }
    assert_in_range(uids.compared, PODS, PODS * STEPS);
    uids.compared = 0;
    for (unsigned i = 0; i < PODS; i++) {
        assert_int_equal(sl_uids_find(&uids, (struct sl_str){uid[i], 1}), -1);
        assert_int_equal(sl_uids_find(&uids, SL_STR("u9999")), -1);
    }
    assert_in_range(uids.compared, PODS, 2 * PODS * STEPS);
    sl_uids_free(&uids);
}

TEST_THAT(a_resident_without_a_uid_is_nobody_s_victim)
{
    struct rig *rig = rig_of_gpus(1, 16);
    struct sl_pod *pod = run(rig, GPU, 1, GPU "=0", 0);
    pod->uid = "";
    struct sl_ask ask = rig_ask(GPU, 1);
    struct sl_str victims[] = {SL_STR("")};
    bool keep[1];
    assert_int_equal(sl_preempt(rig_view(rig), &ask, victims, 1, keep, NULL), 0);
}

/* ---- against every subset ---- */

static bool fits_without(struct rig *rig, const struct sl_ask *ask, unsigned gone)
{
    struct sl_scratch scratch;
    struct sl_assignment assignment;
    sl_scratch_init(&scratch, rig->view);
    for (unsigned i = 0; i < rig->view->n_residents; i++) {
        if ((gone >> i & 1) != 0) {
            sl_scratch_remove(&scratch, i);
        }
    }
    return sl_choose_on(&scratch, ask, &assignment, NULL);
}

static struct rig *random_node(uint64_t *seed)
{
    struct rig *rig = rig_of_gpus(1 + rig_random(seed, 3), 8);
    for (unsigned i = 0; i < 6; i++) {
        bool whole = rig_random(seed, 3) == 0;
        struct sl_pod *pod = run(rig, whole ? GPU : MEM, 1 + rig_random(seed, whole ? 2 : 6), NULL,
                                 (int32_t)rig_random(seed, 3));
        if (!sl_fit(rig_view(rig), &(struct sl_ask){.n = 1, .item = {pod->items[0]}}, NULL) &&
            rig_random(seed, 4) > 0) {
            pod->phase = SL_POD_FAILED; /* mostly no over-commitment */
        }
    }
    rig_view(rig);
    return rig;
}

/* Those kept are sufficient, and no fewer of them are; all, where none is needed. */
static void check_keep(struct rig *rig, const struct sl_ask *ask, unsigned victims)
{
    struct sl_str uid[6];
    bool keep[6];
    unsigned at[6];
    unsigned n = 0;
    for (unsigned i = 0; i < rig->view->n_residents; i++) {
        if ((victims >> i & 1) != 0) {
            uid[n] = sl_str_of(rig->view->resident[i].pod->uid);
            at[n] = i;
            n++;
        }
    }
    bool fits = sl_preempt(rig->view, ask, uid, n, keep, NULL) == 1;
    assert_int_equal(fits, fits_without(rig, ask, victims));
    unsigned gone = 0;
    for (unsigned i = 0; i < n; i++) {
        gone |= keep[i] ? 1u << at[i] : 0;
    }
    if (!fits) {
        assert_int_equal(gone, 0);
        return;
    }
    assert_true(fits_without(rig, ask, gone));
    if (fits_without(rig, ask, 0)) {
        assert_int_equal(gone, victims);
        return;
    }
    for (unsigned sub = (gone - 1) & gone; gone != 0; sub = (sub - 1) & gone) {
        assert_false(fits_without(rig, ask, sub));
        if (sub == 0) {
            break;
        }
    }
}

TEST_THAT(kept_victims_suffice_and_none_of_them_could_be_spared)
{
    uint64_t seed = 11;
    for (unsigned round = 0; round < 400; round++) {
        struct rig *rig = random_node(&seed);
        struct sl_ask asks[] = {
            rig_ask(GPU, 1 + rig_random(&seed, 3)),
            rig_ask(MEM, 1 + rig_random(&seed, 8)),
            rig_ask2(MEM, 1 + rig_random(&seed, 8), GPU, 1),
        };
        unsigned all = 1u << rig->view->n_residents;
        for (unsigned victims = 0; victims < all; victims++) {
            check_keep(rig, &asks[(round + victims) % 3], victims);
        }
        rig_free(rig);
    }
}

/* It finds room at once; for the other one of lower priority has to go, or would in vain. */
TEST_THAT(a_nominee_with_room_keeps_it_beside_one_that_has_none)
{
    struct rig *rig = rig_of_gpus(1, 4);
    struct sl_ask one = rig_ask(MEM, 1);
    struct sl_verdict verdict;
    run(rig, MEM, 3, MEM "=0*3", 0);
    const struct sl_view *view = rig_view(rig);
    struct sl_pod *nominees[] = {run(rig, MEM, 1, NULL, 10), run(rig, MEM, 1, NULL, 5)};
    struct sl_pod *too_large[] = {run(rig, MEM, 5, NULL, 20), nominees[0]};
    assert_true(sl_choose(view, &one, NULL, NULL));
    assert_false(sl_choose_beside(view, nominees, 1, &one, NULL, &verdict));
    assert_false(sl_choose_beside(view, nominees, 2, &one, NULL, &verdict));
    assert_int_equal(verdict.reason, SL_REASON_NOMINATED);
    assert_false(sl_choose_beside(view, too_large, 2, &one, NULL, NULL));
}

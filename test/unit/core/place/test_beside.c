/* The room that is kept for pods which are nominated to the node: as it will be when their victims
 * are gone. Two GPUs of 15 units each. */
#include "unit/core/rig.h"

#include "sliced/preempt.h"

TEST_FIXTURE(NULL, rig_free_all)

#define MEM "aliyun.com/gpu-mem"

enum { PODS_MAX = 4 };

struct pod {
    int64_t units; /* 0: no more pods */
    int32_t priority;
    const char *where; /* of residents */
    bool deleting;
};

struct row {
    struct pod resident[PODS_MAX];
    struct pod nominated[PODS_MAX];
    int64_t fits; /* the most units that another pod may ask for */
};

static void check(const struct row *row)
{
    struct rig *rig = rig_of_gpus(2, 15);
    struct sl_pod nominated[PODS_MAX];
    struct sl_ask_item item[PODS_MAX];
    struct sl_pod *list[PODS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < PODS_MAX && row->resident[i].units > 0; i++) {
        char where[64];
        struct sl_ask ask = rig_ask(MEM, row->resident[i].units);
        (void)snprintf(where, sizeof(where), MEM "=%s*%lld", row->resident[i].where,
                       (long long)row->resident[i].units);
        struct sl_pod *pod = rig_run(rig, ask, where);
        pod->priority = row->resident[i].priority;
        pod->deleting = row->resident[i].deleting;
    }
    for (; n < PODS_MAX && row->nominated[n].units > 0; n++) {
        item[n] = rig_item(MEM, row->nominated[n].units);
        nominated[n] = (struct sl_pod){
            .items = &item[n], .n_items = 1, .priority = row->nominated[n].priority};
        list[n] = &nominated[n];
    }
    for (int64_t units = 1; units <= 15; units++) {
        struct sl_ask ask = rig_ask(MEM, units);
        struct sl_verdict verdict;
        bool fits = sl_choose_beside(rig_view(rig), list, n, &ask, NULL, &verdict);
        bool alone = sl_choose(rig_view(rig), &ask, NULL, NULL);
        assert_int_equal(fits, units <= row->fits);
        assert_true(fits || (verdict.reason == SL_REASON_NOMINATED) == alone);
    }
}

#define RUNS(n, rank, on)                                                                          \
    {                                                                                              \
        .units = (n), .priority = (rank), .where = (on)                                            \
    }
#define GOING(n, rank, on)                                                                         \
    {                                                                                              \
        .units = (n), .priority = (rank), .where = (on), .deleting = true                          \
    }
#define COMES(n, rank)                                                                             \
    {                                                                                              \
        .units = (n), .priority = (rank)                                                           \
    }

TEST_THAT(room_is_kept_for_who_fits)
{
    static const struct row rows[] = {
        {.resident = {RUNS(10, 0, "1")}, .fits = 15},
        {.resident = {RUNS(10, 0, "1")}, .nominated = {COMES(12, 9)}, .fits = 5},
        {.resident = {RUNS(10, 0, "1")}, .nominated = {COMES(15, 9), COMES(5, 9)}, .fits = 0},
        {.resident = {RUNS(10, 9, "1")}, .nominated = {COMES(15, 9), COMES(6, 9)}, .fits = 5},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check(&rows[i]);
    }
}

TEST_THAT(room_is_kept_as_victims_leave_it)
{
    static const struct row rows[] = {
        /* they are seen going, or not yet */
        {.resident = {GOING(9, 0, "0"), RUNS(10, 9, "1")}, .nominated = {COMES(12, 9)}, .fits = 5},
        {.resident = {RUNS(9, 0, "0"), RUNS(10, 9, "1")}, .nominated = {COMES(12, 9)}, .fits = 5},
        /* who would not fit then either will not come */
        {.resident = {RUNS(9, 9, "0"), RUNS(10, 9, "1")}, .nominated = {COMES(12, 9)}, .fits = 6},
        {.resident = {GOING(9, 0, "0"), RUNS(9, 0, "1")},
         .nominated = {COMES(12, 9), COMES(12, 9)},
         .fits = 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check(&rows[i]);
    }
}

TEST_THAT(victims_of_several_leave_once)
{
    static const struct row row = {.resident = {RUNS(9, 0, "0"), RUNS(9, 0, "1")},
                                   .nominated = {COMES(12, 9), COMES(12, 9), COMES(14, 9)},
                                   .fits = 3};
    check(&row);
}

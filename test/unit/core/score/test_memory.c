/* Every allocation of a count of wants fails in turn: after each failure nothing has changed. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "sliced/demand.h"
#include "unit/lack.h"
#include "unit/test.h"

enum { PODS = 12 };

/* Pods of two items each; the sizes, not the resources, differ. */
static void make_pod(struct sl_pod *pod, struct sl_ask_item item[2], int64_t count)
{
    item[0] = (struct sl_ask_item){
        .resource = "nvidia.com/gpu", .key = 1, .count = count, .kind = SL_KIND_WHOLE};
    item[1] = (struct sl_ask_item){
        .resource = "nvidia.com/mig-1g.6gb", .key = 2, .count = count, .kind = SL_KIND_MIG};
    *pod = (struct sl_pod){.items = item, .n_items = 2};
}

TEST_THAT(pins_are_whole_or_none_when_memory_lacks)
{
    const int64_t live = lack.live;
    unsigned failures = 0;
    for (unsigned from = 1; from <= 40; from++) {
        static struct sl_wants wants;
        struct sl_pod pod[PODS];
        struct sl_ask_item item[PODS][2];
        wants = (struct sl_wants){.next = 0};
        lack_arm(from, false);
        for (int64_t i = 0; i < PODS; i++) {
            make_pod(&pod[i], item[i], 1 + i);
            const size_t wanted = wants.map.len;
            const size_t any = wants.heap[SL_WANT_ANY].n;
            const size_t sized = wants.heap[SL_WANT_SIZED].n;
            const int result = sl_wants_pin(&wants, &pod[i]);
            if (result < 0) {
                failures++;
                assert_true(lack_disarm());
                assert_int_equal(wants.map.len, wanted);
                assert_int_equal(wants.heap[SL_WANT_ANY].n, any);
                assert_int_equal(wants.heap[SL_WANT_SIZED].n, sized);
                assert_int_equal(sl_wants_pin(&wants, &pod[i]), 0);
            }
            assert_int_equal(wants.map.len, i == 0 ? 4 : wanted + 2);
        }
        (void)lack_disarm();
        for (unsigned i = 0; i < PODS; i++) {
            sl_wants_unpin(&wants, &pod[i]);
        }
        assert_int_equal(lack.live, live); /* also without sl_wants_free() */
    }
    assert_in_range(failures, 20, 40);
}

/* What comes before room, and in which order. */
#include "sliced/candidate.h"
#include "unit/test.h"

static const struct sl_ask gpu = {.n = 1, .item = {{.resource = "nvidia.com/gpu", .count = 1}}};
static const struct sl_ask nothing = {.n = 0};
static const struct sl_ask malformed = {.n = 0, .malformed = true};

static enum sl_candidacy judge(struct sl_candidate candidate, enum sl_reason *reason)
{
    *reason = SL_REASON_FITS;
    return sl_candidate_judge(&candidate, reason);
}

TEST_THAT(a_pod_that_stands_may_stay_and_go_nowhere_else)
{
    enum sl_reason reason;
    assert_int_equal(
        judge((struct sl_candidate){.ask = &gpu, .stands = true, .here = true}, &reason),
        SL_CANDIDATE_PASSES);
    assert_int_equal(judge((struct sl_candidate){.ask = &gpu, .stands = true}, &reason),
                     SL_CANDIDATE_REFUSED);
    assert_int_equal(reason, SL_REASON_RESERVED_ELSEWHERE);
    assert_int_equal(judge((struct sl_candidate){.ask = &nothing, .stands = true}, &reason),
                     SL_CANDIDATE_REFUSED);
}

TEST_THAT(a_pod_without_an_ask_goes_anywhere)
{
    enum sl_reason reason;
    assert_int_equal(judge((struct sl_candidate){.ask = &nothing}, &reason), SL_CANDIDATE_PASSES);
    assert_int_equal(judge((struct sl_candidate){.ask = &malformed}, &reason),
                     SL_CANDIDATE_REFUSED);
}

TEST_THAT(others_need_a_known_node_and_room)
{
    static const struct sl_view view = {.node = NULL};
    enum sl_reason reason;
    assert_int_equal(judge((struct sl_candidate){.ask = &gpu}, &reason), SL_CANDIDATE_REFUSED);
    assert_int_equal(reason, SL_REASON_UNKNOWN_NODE);
    assert_int_equal(judge((struct sl_candidate){.ask = &gpu, .view = &view}, &reason),
                     SL_CANDIDATE_IF_ROOM);
    assert_int_equal(reason, SL_REASON_FITS);
}

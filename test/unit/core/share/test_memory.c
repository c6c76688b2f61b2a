/* Every allocation of a share fails in turn, alone and with all that follow: that is told, trying
 * again succeeds, pods start as they would have, and nothing leaks. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "share_rig.h"

#include "unit/lack.h"

enum { TRIES_MAX = 500, PODS = 20 };

static void try_again(bool *hit)
{
    *hit = lack_disarm() || *hit;
    assert_true(*hit);
}

static void come(struct share_rig *rig, int i, bool *hit)
{
    char words[64];
    (void)snprintf(words, sizeof(words), "p%d %d %d 0 u%d", i, 1 + i % 5, 5 + i * 7 % 11, i % 3);
    if (!share_rig_come(rig, words)) {
        try_again(hit);
        assert_int_equal(sl_share_pods(rig->share), rig->n);
        assert_true(share_rig_come(rig, words));
    }
}

static void never(void *context, void *owner, int64_t start_us)
{
    (void)context;
    (void)owner;
    (void)start_us;
}

/* True when an allocation was failed. n: which one; 0: none. */
static bool play(size_t n, bool forever, char starts[SHARE_TEXT])
{
    struct share_rig rig;
    bool hit = false;
    lack_arm(n == 0 ? SIZE_MAX : n, forever);
    share_rig_begin(&rig, SL_ORDER_BOUNDED, true);
    if (rig.share == NULL) {
        try_again(&hit);
        share_rig_begin(&rig, SL_ORDER_BOUNDED, true);
    }
    (void)share_rig_story(&rig, "0 =6");
    for (int i = 0; i < PODS; i++) {
        come(&rig, i, &hit);
    }
    share_rig_play(&rig, 0);
    share_rig_play(&rig, 3);
    if (sl_share_foretell(rig.share, never, NULL) < 0) {
        try_again(&hit);
        assert_int_equal(sl_share_foretell(rig.share, never, NULL), 0);
    }
    hit = lack_disarm() || hit;
    for (unsigned i = 0; i < rig.n; i++) {
        sl_share_over(rig.share, rig.pod[i].pod, SL_SECOND_US, 3 * SL_SECOND_US);
    }
    share_rig_play(&rig, 1000);
    assert_int_equal(sl_share_pods(rig.share), 0);
    memcpy(starts, rig.starts, SHARE_TEXT);
    sl_share_free(rig.share);
    return hit;
}

static const struct {
    const char *name;
    bool forever;
} lacks[] = {{"once", false}, {"from then on", true}};

TEST_EACH(a_share_survives_each_lack_of_memory, lacks)
{
    char expected[SHARE_TEXT];
    char starts[SHARE_TEXT];
    const int64_t live = lack.live;
    (void)play(0, false, expected);
    assert_non_null(strstr(expected, "p0 0"));
    size_t n = 1;
    for (bool hit = true; hit; n++) {
        assert_true(n < TRIES_MAX);
        hit = play(n, row->forever, starts);
        assert_string_equal(starts, expected);
        assert_int_equal(lack.live, live);
    }
    assert_true(n > 50);
}

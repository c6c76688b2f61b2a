/* When pods start on a share, told in a few words (share_rig.h). */
#include "share_rig.h"

static const struct {
    const char *name;
    enum sl_order_kind kind;
    bool users;
    const char *events;
    const char *starts;
} stories[] = {
    /* the order */
    {"fifo goes by submission", SL_ORDER_FIFO, false,
     "0 =1, 0 +a 1 9, 1 +b 1 5, 2 +c 1 1, 9 -a 9, 14 -b 5", "a 0, b 9, c 14"},
    {"fifo goes by priority first", SL_ORDER_FIFO, false,
     "0 =1, 0 +a 1 9, 1 +b 1 5, 2 +c 1 1 7, 9 -a 9, 10 -c 1", "a 0, c 9, b 10"},
    {"sjf goes by timeout", SL_ORDER_SJF, false,
     "0 =1, 0 +a 1 9, 1 +b 1 5, 2 +c 1 1, 9 -a 9, 10 -c 1", "a 0, c 9, b 10"},
    {"sjf takes those that come together by timeout", SL_ORDER_SJF, false,
     "0 =1, 0 +a 1 9, 0 +b 1 5, 5 -b 5", "b 0, a 5"},
    {"p weighs priority, timeout and submission", SL_ORDER_P, false,
     "0 =1, 0 +x 1 1, 0 +a 1 9, 5 +b 1 5, 5 +c 1 3, 5 +d 1 9 7, 6 -x 1, 7 -d 1, 8 -c 1, 9 -a 1",
     "x 0, d 6, c 7, a 8, b 9"},
    {"equal ones go by number", SL_ORDER_SJF, false,
     "0 =1, 0 +a 1 2, 0 +b 1 2, 0 +c 1 2, 2 -a 2, 4 -b 2", "a 0, b 2, c 4"},
    {"bounded lets none wait for longer than the longest under fifo", SL_ORDER_BOUNDED, false,
     /* under fifo l waits for 4 s, and a has not waited so long yet */
     "0 =1, 0 +x 1 4, 0 +l 1 5, 4 +a 1 1, 4 +b 1 1, 4 -x 4, 5 -a 1, 10 -l 5, 11 -b 1",
     "x 0, a 4, l 5, b 10"},
    /* room */
    {"two units run two pods", SL_ORDER_FIFO, false, "0 =2, 0 +a 1 9, 0 +b 1 9, 0 +c 1 9, 3 -b 3",
     "a 0, b 0, c 3"},
    {"a part of a unit beside whole ones runs nothing", SL_ORDER_FIFO, false,
     "0 =2.9, 0 +a 1 9, 0 +b 1 9, 0 +c 1 9, 3 -b 3", "a 0, b 0, c 3"},
    {"without units none starts", SL_ORDER_SJF, false, "0 =0, 0 +a 1 9, 50 ?", ""},
    {"a larger share starts more", SL_ORDER_FIFO, false, "0 =1, 0 +a 1 9, 0 +b 1 9, 4 =2, 5 ?",
     "a 0, b 4"},
    {"pods that run keep what they have of a smaller share", SL_ORDER_FIFO, false,
     "0 =2, 0 +a 1 9, 0 +b 1 9, 1 =1, 1 +c 1 9, 2 -a 2, 3 -b 3", "a 0, b 0, c 3"},
    /* wide pods */
    {"a wide pod drains the share, and holds it for longer", SL_ORDER_FIFO, false,
     "0 =2, 0 +a 1 5, 1 +w 4 10, 2 +b 1 9, 5 -a 5, 15 -w 10, 26 ?", "a 0, w 5, b 25"},
    {"a pod on half a unit runs twice as long", SL_ORDER_FIFO, false,
     "0 =0.5, 0 +a 1 5, 0 +b 1 5, 5 -a 5, 11 ?", "a 0, b 10"},
    {"backfill does not delay the first", SL_ORDER_SJF, false,
     /* w can start at 5: s ends by then, l does not */
     "0 =3, 0 +a 2 5, 1 +w 3 9 7, 1 +l 1 5, 1 +s 1 4, 5 -a 5, 5 -s 4, 14 -w 9",
     "a 0, s 1, w 5, l 14"},
    {"backfill takes what the first leaves", SL_ORDER_FIFO, false,
     "0 =4, 0 +a 3 5, 0 +w 3 9, 0 +l 1 60, 5 -a 5", "a 0, l 0, w 5"},
    {"backfill believes timeouts alone", SL_ORDER_FIFO, false,
     /* a ends sooner than it said: w could go at 2, but s is there */
     "0 =3, 0 +a 2 5, 0 +w 3 9, 0 +s 1 4, 2 -a 2, 4 -s 4", "a 0, s 0, w 4"},
    /* what happens in reality */
    {"so it does on a smaller share", SL_ORDER_FIFO, false,
     "0 =0.5, 0 +a 1 5, 0 +b 1 5, 12 ?, 13 -a 5", "a 0, b 13"},
    {"a pod that started late keeps its units until it ends", SL_ORDER_FIFO, false,
     "0 =1, 0 +a 1 5, 0 +b 1 5, 8 ?, 9 -a 3", "a 0, b 9"},
    {"a pod that started first runs as long as it did", SL_ORDER_FIFO, false,
     "0 =1, 0 +a 1 9, 0 +b 1 9, 3 -b 3, 7 -a 7, 7 +c 1 9, 50 ?", "a 0, c 10"},
    {"ended pods that wait still count, in their order", SL_ORDER_SJF, false,
     "0 =1, 0 +a 1 9, 0 +b 1 8, 0 +c 1 7, 3 -a 3, 3 -b 3, 7 -c 7, 7 +d 1 8.5, 50 ?", "c 0, d 10"},
    {"a pod that never ran leaves no trace", SL_ORDER_FIFO, false,
     "0 =1, 0 +a 1 9, 0 +b 1 9, 0 +c 1 9, 3 !b, 9 -a 9, 10 !c", "a 0, c 9"},
    {"one withdrawn makes room", SL_ORDER_FIFO, false, "0 =1, 0 +a 1 9, 0 +b 1 9, 3 !a",
     "a 0, b 3"},
    {"a run of no time", SL_ORDER_FIFO, false,
     "0 =1, 0 +a 1 9, 0 +b 1 9, 0 +c 1 9, 1 -b 0, 4 -a 4, 5 ?", "a 0, c 4"},
    /* users */
    {"users have even parts", SL_ORDER_FIFO, true,
     "0 =2, 0 +a 1 9 0 u, 0 +b 1 9 0 u, 0 +c 1 9 0 u, 0 +x 1 9 0 v, 9 -a 9, 18 -b 9",
     "a 0, x 0, b 9, c 18"},
    {"a user alone has all", SL_ORDER_FIFO, true,
     "0 =2, 0 +a 1 9 0 u, 0 +b 1 9 0 u, 3 +x 1 9 0 v, 9 -a 9", "a 0, b 0, x 9"},
    {"a user who comes goes before those who have more than their part", SL_ORDER_FIFO, true,
     "0 =2, 0 +a 1 9 0 u, 0 +b 1 9 0 u, 1 +c 1 9 0 u, 3 +x 1 9 0 v, 9 -a 9, 9 -b 9",
     "a 0, b 0, x 9, c 9"},
    {"a user without pods has no part", SL_ORDER_FIFO, true,
     "0 =2, 0 +x 1 1 0 v, 0 +a 1 9 0 u, 0 +b 1 9 0 u, 1 -x 1, 2 ?", "x 0, a 0, b 1"},
    {"what users do not use is for the others", SL_ORDER_FIFO, true,
     "0 =4, 0 +a 1 9 0 u, 0 +b 1 9 0 u, 0 +c 1 9 0 u, 0 +x 1 9 0 v", "a 0, b 0, x 0, c 0"},
};

static void copy_facts(void *context, const struct sl_share_facts *facts, const char *user)
{
    struct share_rig *copy = context;
    assert_non_null(
        sl_share_arrive(copy->share, facts, sl_str_of(user), copy->now_s * SL_SECOND_US));
}

/* v's pod has left its user's part, and still waits on the share for w, which came late there. */
TEST_THAT(a_user_stays_while_one_of_its_pods_does)
{
    struct share_rig rig;
    struct share_rig copy;
    share_rig_begin(&rig, SL_ORDER_FIFO, true);
    share_rig_begin(&copy, SL_ORDER_FIFO, true);
    (void)share_rig_story(&rig, "0 =2, 0 +w 2 9 0 u, 3 +x 1 1 0 v, 4 -x 1, 5 ?, 6 ?");
    assert_string_equal(rig.starts, "w 0");
    sl_share_visit(rig.share, copy_facts, &copy);
    assert_int_equal(sl_share_pods(copy.share), 2);
    sl_share_free(rig.share);
    sl_share_free(copy.share);
}

TEST_EACH(pods_start_as_on_a_cluster_of_their_own, stories)
{
    struct share_rig rig;
    share_rig_begin(&rig, row->kind, row->users);
    assert_non_null(rig.share);
    assert_string_equal(share_rig_story(&rig, row->events), row->starts);
    sl_share_free(rig.share);
}

/* A pod of the name comes, and ends at once after it has run for a second elsewhere. */
static void come_and_end(struct share_rig *rig, const char *words)
{
    assert_true(share_rig_come(rig, words));
    rig->n--;
    sl_share_over(rig->share, rig->pod[rig->n].pod, SL_SECOND_US, rig->now_s * SL_SECOND_US);
}

static const struct {
    const char *name;
    const char *pod[2]; /* come in turn */
    bool users;
    const char *starts;
} merges[] = {
    {"of one user", {"b 1 9", "c 1 9"}, false, "z 5011"},
    {"of different widths", {"b 2 9", "c 1 9"}, false, "z 7511"},
    {"of two users", {"b 1 9 0 u", "c 1 9 0 v"}, true, "z 5011"},
};

TEST_EACH(what_has_ended_counts_though_little_of_it_is_kept, merges)
{
    enum { ENDED = 5000 };
    struct share_rig rig;
    share_rig_begin(&rig, SL_ORDER_FIFO, row->users);
    (void)share_rig_story(&rig, "0 =1, 0 +a 1 9, 1 ?");
    for (int i = 0; i < ENDED; i++) {
        come_and_end(&rig, row->pod[i % 2]);
    }
    assert_in_range(sl_share_pods(rig.share), 1, SL_SHARE_ENDED_MAX + 3);
    assert_string_equal(share_rig_story(&rig, "2 +z 1 9 0 u, 11 -a 10, 20000 ?"), row->starts);
    assert_int_equal(sl_share_pods(rig.share), 1);
    sl_share_free(rig.share);
}

/* Under bounded pods wait for longer than any under FIFO: for all that W is not learnt anew. */
TEST_THAT(a_share_made_anew_knows_the_same_longest_wait)
{
    struct share_rig rig;
    struct share_rig copy;
    share_rig_begin(&rig, SL_ORDER_BOUNDED, false);
    share_rig_begin(&copy, SL_ORDER_BOUNDED, false);
    (void)share_rig_story(&rig, "0 =1, 0 +x 1 4, 0 +l 1 5, 4 -x 4, 4 +a 1 2, 5 -a 2");
    assert_string_equal(rig.starts, "x 0, a 4"); /* under fifo x 0, l 4 */
    assert_int_equal(sl_share_longest(rig.share), 4 * SL_SECOND_US);
    copy.now_s = rig.now_s;
    sl_share_set_longest(copy.share, sl_share_longest(rig.share));
    sl_share_resize(copy.share, sl_share_size(rig.share));
    sl_share_visit(rig.share, copy_facts, &copy);
    share_rig_play(&copy, 7);
    assert_string_equal(copy.starts, "l 6");
    assert_int_equal(sl_share_longest(copy.share), 4 * SL_SECOND_US);
    sl_share_free(rig.share);
    sl_share_free(copy.share);
}

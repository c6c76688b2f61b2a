/* Who has something read when: a namespace that names nonsense, or much, does not make others wait.
 */
#include "stage_rig.h"

#include "core/stage/internal.h"

enum { MANY = 2000, ROOM = 4 * MANY };

static void wait_in(struct stage_rig *rig, const char *namespace, const char *name,
                    const char *after)
{
    char uid[64];
    (void)snprintf(uid, sizeof(uid), "%s-%s", namespace, name);
    struct sl_pair annotation = {SL_STR("sliced.dev/after"), sl_str_of(after), NULL};
    const struct sl_pod_facts facts = {.namespace = sl_str_of(namespace),
                                       .name = sl_str_of(name),
                                       .uid = sl_str_of(uid),
                                       .phase = SL_STR("Pending"),
                                       .annotations = &annotation};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    assert_int_equal(sl_stages_put(rig->stages, pod, NULL), 0);
    sl_pod_unref(pod);
}

static void wait_for_many(struct stage_rig *rig, const char *namespace)
{
    for (int i = 0; i < MANY; i++) {
        char name[32];
        char after[32];
        (void)snprintf(name, sizeof(name), "w%d", i);
        (void)snprintf(after, sizeof(after), "job/j%d", i);
        wait_in(rig, namespace, name, after);
    }
}

static bool next(struct stage_rig *rig, struct sl_stage_read *read)
{
    return sl_stages_next_read(rig->stages, rig->now_us, read);
}

static void end_read(struct stage_rig *rig, uint64_t id, bool ok)
{
    sl_stages_read_end(rig->stages, id, ok, rig->now_us);
}

static int set_up(void **state)
{
    *state = stage_rig_new(ROOM);
    return 0;
}

TEST_FIXTURE(set_up, stage_rig_tear_down)

TEST_ON(struct stage_rig *rig, what_cannot_be_read_rests_by_itself)
{
    struct sl_stage_read read;
    wait_in(rig, "bad", "w", "nonsense");
    assert_true(next(rig, &read));
    end_read(rig, read.id, false);
    wait_in(rig, "good", "w", "job/one");
    assert_true(next(rig, &read)); /* at once */
    assert_true(sl_str_eq(read.namespace, SL_STR("good")));
    end_read(rig, read.id, true);
    assert_false(next(rig, &read));
    assert_int_equal(sl_stages_wake(rig->stages), rig->now_us + 1000000);
}

TEST_ON(struct stage_rig *rig, its_rest_doubles_up_to_a_minute_or_so_and_ends_with_success)
{
    struct sl_stage_read read;
    int64_t rest_us = 1000000;
    wait_in(rig, "bad", "w", "nonsense");
    for (int i = 0; i < 10; i++) {
        assert_true(next(rig, &read));
        end_read(rig, read.id, false);
        assert_int_equal(sl_stages_wake(rig->stages), rig->now_us + rest_us);
        rig->now_us += rest_us - 1;
        assert_false(next(rig, &read));
        rig->now_us += 1;
        rest_us = rest_us < 64000000 ? rest_us * 2 : rest_us;
    }
    assert_true(next(rig, &read));
    end_read(rig, read.id, true);
    assert_true(sl_stages_wake(rig->stages) == INT64_MAX);
    sl_stages_reread(rig->stages, false);
    assert_true(next(rig, &read));
    end_read(rig, read.id, false);
    assert_int_equal(sl_stages_wake(rig->stages), rig->now_us + 1000000);
}

TEST_ON(struct stage_rig *rig, a_namespace_has_half_of_the_readings_at_most)
{
    struct sl_stage_read read;
    uint64_t id[SL_STAGE_READS_MAX];
    int n = 0;
    wait_for_many(rig, "much");
    while (next(rig, &read)) {
        id[n++] = read.id;
    }
    assert_int_equal(n, SL_STAGE_READS_MAX / 2);
    wait_in(rig, "little", "w", "job/one");
    assert_true(next(rig, &read));
    assert_true(sl_str_eq(read.namespace, SL_STR("little")));
    end_read(rig, id[0], true);
    assert_true(next(rig, &read));
    assert_true(sl_str_eq(read.namespace, SL_STR("much")));
}

TEST_ON(struct stage_rig *rig, namespaces_take_turns)
{
    struct sl_stage_read read;
    wait_for_many(rig, "a");
    wait_for_many(rig, "b");
    wait_in(rig, "c", "w", "job/one");
    char order[8] = "";
    for (int i = 0; i < 7; i++) {
        assert_true(next(rig, &read));
        order[i] = read.namespace.s[0];
        end_read(rig, read.id, true);
    }
    assert_string_equal(order, "abcabab");
}

/* Of thousands that cannot be read none comes between others, and they are tried at a rate that is
 * bounded when there is nothing else. */
TEST_ON(struct stage_rig *rig, failures_alone_make_a_pause_for_all)
{
    struct sl_stage_read read;
    int n = 0;
    wait_for_many(rig, "bad");
    while (next(rig, &read)) {
        end_read(rig, read.id, false);
        n++;
    }
    assert_in_range(n, 2, 64);
    assert_true(sl_stages_wake(rig->stages) <= rig->now_us + 1000000);
    wait_in(rig, "good", "w", "job/one");
    rig->now_us += 1000000;
    assert_true(next(rig, &read));
    bool good = sl_str_eq(read.namespace, SL_STR("good"));
    end_read(rig, read.id, good);
    if (!good) {
        rig->now_us += 1000000;
        assert_true(next(rig, &read));
        assert_true(sl_str_eq(read.namespace, SL_STR("good")));
        end_read(rig, read.id, true);
    }
}

TEST_ON(struct stage_rig *rig, one_success_among_failures_spares_the_pause)
{
    struct sl_stage_read read;
    int n = 0;
    wait_for_many(rig, "bad");
    for (; next(rig, &read); n++) {
        end_read(rig, read.id, false);
    }
    rig->now_us += 1000000;
    assert_true(next(rig, &read));
    end_read(rig, read.id, true);
    for (int i = 0; i < n; i++) { /* as many as made a pause before */
        assert_true(next(rig, &read));
        end_read(rig, read.id, false);
    }
    assert_false(next(rig, &read));
    assert_int_equal(n, SL_STAGE_FAILURES);
}

TEST_ON(struct stage_rig *rig, who_waits_no_more_leaves_no_turn_behind)
{
    struct sl_stage_read read;
    wait_in(rig, "a", "w", "job/one,job/two,three");
    wait_in(rig, "b", "w", "job/one");
    assert_true(next(rig, &read));
    end_read(rig, read.id, false);
    assert_true(next(rig, &read));
    sl_stages_clear(rig->stages);
    end_read(rig, read.id, false);
    assert_false(next(rig, &read));
    assert_true(sl_stages_wake(rig->stages) == INT64_MAX);
    wait_in(rig, "a", "w", "job/one");
    assert_true(next(rig, &read));
}

static void nothing(void *context, struct sl_str uid, enum sl_hold_reason stage, const char *why)
{
    unsigned *cyclic = context;
    (void)uid;
    (void)why;
    *cyclic += stage == SL_HOLD_STAGE_CYCLE;
}

/* Namespaces full of cycles that take a long search: others' cycles are found all the same. */
TEST_ON(struct stage_rig *rig, cycles_are_looked_for_in_all_namespaces_in_turn)
{
    enum { SPACES = 8, PODS = 400 };
    unsigned cyclic = 0;
    int rounds = 0;
    for (int s = 0; s < SPACES; s++) {
        char space[16];
        (void)snprintf(space, sizeof(space), "ns%d", s);
        for (int i = 0; i < PODS; i++) {
            char name[16];
            char after[64];
            (void)snprintf(name, sizeof(name), "w%d", i);
            (void)snprintf(after, sizeof(after), "w%d,w%d", (i + 1) % PODS, (i + 7) % PODS);
            wait_in(rig, space, name, after);
        }
    }
    while (sl_stages_collect(rig->stages, nothing, &cyclic)) {
        rounds++;
        assert_in_range(rounds, 1, 8 * SPACES);
    }
    assert_true(cyclic >= SPACES);
    assert_false(sl_stages_changed(rig->stages));
}

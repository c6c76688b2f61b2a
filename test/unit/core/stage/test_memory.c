/* Every allocation of the stages fails in turn, alone and with all that follow. After each failure
 * a pod that could not be put was reported, nothing has started that should wait, and once there is
 * memory again all is told as it would have been. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "stage_rig.h"

#include "unit/lack.h"

enum { TRIES_MAX = 5000, PODS = 4 };

struct world {
    struct stage_rig *rig;
    struct sl_pod *waits[PODS];
    struct sl_pod *there[2];
    enum sl_hold_reason stage[PODS];
};

static void build(struct world *w)
{
    static const struct {
        const char *name;
        const char *labels;
        const char *after;
    } pods[PODS] = {{"w0", NULL, "pod/a, job/j, app=z"},
                    {"w1", NULL, "app=x, w0"},
                    {"w2", "app=x", "w1"},
                    {"w3", NULL, "a,,b"}};
    w->rig = stage_rig_new(100);
    for (int i = 0; i < PODS; i++) {
        w->waits[i] = stage_rig_make(w->rig, pods[i].name, pods[i].name, pods[i].labels,
                                     pods[i].after, "Pending");
        w->stage[i] = SL_HOLD_STAGE;
    }
    w->there[0] = stage_rig_make(w->rig, "a", "a", NULL, NULL, "Succeeded");
    w->there[1] = stage_rig_make(w->rig, "z", "z", "app=z", NULL, "Succeeded");
}

static void destroy(struct world *w)
{
    for (int i = 0; i < PODS; i++) {
        sl_pod_unref(w->waits[i]);
    }
    sl_pod_unref(w->there[0]);
    sl_pod_unref(w->there[1]);
    stage_rig_free(w->rig);
}

static void put(struct world *w, bool *hit)
{
    for (int i = 0; i < PODS; i++) {
        struct sl_error err = {.code = SL_ERR_NONE};
        if (sl_stages_put(w->rig->stages, w->waits[i], &err) < 0) {
            assert_int_equal(err.code, SL_ERR_NOMEM);
            *hit = lack_disarm() || *hit;
            assert_true(*hit);
            assert_int_equal(sl_stages_put(w->rig->stages, w->waits[i], &err), 0);
        }
    }
}

static void read_all(struct world *w)
{
    struct sl_stages *stages = w->rig->stages;
    struct sl_stage_read read;
    for (int i = 0; i < 100 && sl_stages_next_read(stages, 0, &read); i++) {
        uint64_t id = read.id;
        for (int p = 0; p < PODS; p++) {
            sl_stages_read_pod(stages, id, w->waits[p]);
        }
        sl_stages_read_pod(stages, id, w->there[0]);
        sl_stages_read_pod(stages, id, w->there[1]);
        sl_stages_read_job(stages, id, SL_STR("j"), SL_STR("u"), SL_POD_SUCCEEDED);
        sl_stages_read_end(stages, id, true, 0);
    }
}

static void note(void *context, struct sl_str uid, enum sl_hold_reason stage, const char *why)
{
    struct world *w = context;
    (void)why;
    w->stage[uid.s[1] - '0'] = stage;
}

/* True when an allocation was failed. */
static bool play(size_t n, bool forever)
{
    struct world w;
    bool hit = false;
    build(&w);
    if (n > 0) {
        lack_arm(n, forever);
    }
    put(&w, &hit);
    (void)sl_stages_collect(w.rig->stages, note, &w);
    read_all(&w);
    sl_stages_pod(w.rig->stages, w.there[0]);
    (void)sl_stages_collect(w.rig->stages, note, &w);
    assert_int_not_equal(w.stage[1], SL_HOLD_NONE);
    assert_int_not_equal(w.stage[2], SL_HOLD_NONE);
    assert_int_not_equal(w.stage[3], SL_HOLD_NONE);
    hit = lack_disarm() || hit;
    read_all(&w);
    (void)sl_stages_collect(w.rig->stages, note, &w);
    assert_int_equal(w.stage[0], SL_HOLD_NONE);
    assert_int_equal(w.stage[1], SL_HOLD_STAGE_CYCLE);
    assert_int_equal(w.stage[2], SL_HOLD_STAGE_CYCLE);
    assert_int_equal(w.stage[3], SL_HOLD_STAGE_FAILED);
    destroy(&w);
    return hit;
}

TEST_THAT(stages_survive_each_lack_of_memory)
{
    const int64_t live = lack.live;
    for (int forever = 0; forever < 2; forever++) {
        size_t n = 1;
        while (play(n, forever == 1)) {
            assert_int_equal(lack.live, live);
            n++;
            assert_true(n < TRIES_MAX);
        }
        assert_true(n > 30);
    }
}

TEST_THAT(without_memory_there_are_no_stages)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    lack_arm(1, false);
    assert_null(sl_stages_new(1, &err));
    assert_true(lack_disarm());
    assert_int_equal(err.code, SL_ERR_NOMEM);
}

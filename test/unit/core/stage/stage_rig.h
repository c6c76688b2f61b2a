/* Pods and what is said of them, for the tests of stages. */
#ifndef SLICED_TEST_STAGE_RIG_H
#define SLICED_TEST_STAGE_RIG_H

#include "sliced/stage.h"
#include "unit/core/request/facts_rig.h"

struct stage_rig {
    struct facts_rig facts;
    struct sl_stages *stages;
    int64_t now_us;
    const char *space; /* of pods that are made; NULL: ns */
    char log[1 << 16]; /* of collect */
    size_t len;
};

static inline struct stage_rig *stage_rig_new(size_t max)
{
    struct stage_rig *rig = calloc(1, sizeof(*rig));
    struct sl_error err = {.code = SL_ERR_NONE};
    assert_non_null(rig);
    facts_init(&rig->facts);
    rig->stages = sl_stages_new(max, &err);
    assert_non_null(rig->stages);
    return rig;
}

/* The next reading, when need be after a pause; false: there is none. */
static inline bool stage_rig_next(struct stage_rig *rig, struct sl_stage_read *read)
{
    int64_t wake_us = sl_stages_wake(rig->stages);
    bool pause = wake_us > rig->now_us && wake_us < INT64_MAX;
    if (sl_stages_next_read(rig->stages, rig->now_us, read)) {
        return true;
    }
    rig->now_us = pause ? wake_us : rig->now_us;
    return pause && sl_stages_next_read(rig->stages, rig->now_us, read);
}

static inline void stage_rig_free(struct stage_rig *rig)
{
    sl_stages_free(rig->stages);
    facts_free(&rig->facts);
    free(rig);
}

static inline int stage_rig_set_up(void **state)
{
    *state = stage_rig_new(1000);
    return 0;
}

static inline int stage_rig_tear_down(void **state)
{
    stage_rig_free(*state);
    return 0;
}

/* In the namespace ns, with the name for a UID; labels as "a=1 b=2", after may be NULL. */
static inline struct sl_pod *stage_rig_make(struct stage_rig *rig, const char *name,
                                            const char *uid, const char *labels, const char *after,
                                            const char *phase)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_pod_facts facts = {
        .namespace = sl_str_of(rig->space == NULL ? "ns" : rig->space),
        .name = sl_str_of(name),
        .uid = sl_str_of(uid),
        .phase = sl_str_of(phase),
        .labels = facts_pairs(&rig->facts, labels),
    };
    if (after != NULL) {
        facts_pair(&rig->facts, &facts.annotations, "sliced.dev/after", after);
    }
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    assert_non_null(pod);
    return pod;
}

/* A watch tells of a pod. */
static inline void stage_rig_pod(struct stage_rig *rig, const char *name, const char *uid,
                                 const char *labels, const char *phase)
{
    struct sl_pod *pod = stage_rig_make(rig, name, uid, labels, NULL, phase);
    sl_stages_pod(rig->stages, pod);
    sl_pod_unref(pod);
}

/* A pod waits; the watch has told of it, too. */
static inline void stage_rig_wait(struct stage_rig *rig, const char *name, const char *labels,
                                  const char *after)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_pod *pod = stage_rig_make(rig, name, name, labels, after, "Pending");
    sl_stages_pod(rig->stages, pod);
    assert_int_equal(sl_stages_put(rig->stages, pod, &err), 0);
    sl_pod_unref(pod);
}

/* Reads all that is to be read, and finds nothing. */
static inline void stage_rig_read_nothing(struct stage_rig *rig)
{
    struct sl_stage_read read;
    while (sl_stages_next_read(rig->stages, rig->now_us, &read)) {
        sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    }
}

static inline void stage_rig_visit(void *context, struct sl_str uid, enum sl_hold_reason stage,
                                   const char *why)
{
    struct stage_rig *rig = context;
    int n = snprintf(rig->log + rig->len, sizeof(rig->log) - rig->len, "%.*s %s%s%s\n",
                     (int)uid.len, uid.s, sl_hold_reason_name(stage), why == NULL ? "" : ": ",
                     why == NULL ? "" : why);
    assert_true(n > 0 && (size_t)n < sizeof(rig->log) - rig->len);
    rig->len += (size_t)n;
}

/* What is told since the last time: "w Stage: it waits for ...\n", the latest change first. */
static inline const char *stage_rig_collect(struct stage_rig *rig)
{
    rig->len = 0;
    rig->log[0] = '\0';
    (void)sl_stages_collect(rig->stages, stage_rig_visit, rig);
    assert_false(sl_stages_changed(rig->stages));
    return rig->log;
}

static inline void stage_rig_gone(struct stage_rig *rig, const char *name)
{
    sl_stages_pod_gone(rig->stages, SL_STR("ns"), sl_str_of(name));
}

static inline void stage_rig_job(struct stage_rig *rig, const char *name, const char *uid,
                                 enum sl_pod_phase phase)
{
    sl_stages_job(rig->stages, SL_STR("ns"), sl_str_of(name), sl_str_of(uid), phase);
}

#endif

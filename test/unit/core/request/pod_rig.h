/* A pod made of facts that a test puts together. */
#ifndef SLICED_TEST_POD_RIG_H
#define SLICED_TEST_POD_RIG_H

#include "facts_rig.h"

#include "sliced/pod.h"

struct pod_rig {
    struct facts_rig facts;
    struct sl_pod_facts pod;
    struct sl_pod *made;
};

static inline int set_up(void **state)
{
    struct pod_rig *rig = calloc(1, sizeof(*rig));
    assert_non_null(rig);
    facts_init(&rig->facts);
    rig->pod.name = SL_STR("train-0");
    rig->pod.namespace = SL_STR("team");
    rig->pod.uid = SL_STR("5e0b9b0c-7a53-4a0b-a58f-0d9a9f5f3b11");
    *state = rig;
    return 0;
}

static inline int tear_down(void **state)
{
    struct pod_rig *rig = *state;
    sl_pod_unref(rig->made);
    facts_free(&rig->facts);
    free(rig);
    return 0;
}

static inline const struct sl_pod *make(struct pod_rig *rig)
{
    struct sl_error err = {0};
    sl_pod_unref(rig->made);
    rig->made = sl_pod_new(&rig->pod, &err);
    if (rig->made == NULL) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(err.code, SL_ERR_NONE);
    return rig->made;
}

static inline void asks(struct pod_rig *rig, const char *limits)
{
    rig->pod.containers = NULL;
    facts_container(&rig->facts, &rig->pod.containers, "main", NULL, limits);
}

static inline void annotate(struct pod_rig *rig, const char *key, const char *value)
{
    facts_pair(&rig->facts, &rig->pod.annotations, key, value);
}

#endif

/* A small store for the server's tests. */
#ifndef SLICED_TEST_SERVER_RIG_H
#define SLICED_TEST_SERVER_RIG_H

#include <stdio.h>

#include "cluster/store.h"
#include "codec/object.h"
#include "unit/test.h"
#include "util/buf.h"

static const struct sl_store_limits rig_limits = {
    .max_nodes = 100, .max_pods = 100, .max_reservations = 10, .reservation_us = 1000000};

static int rig_take(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct sl_store *store = context;
    if (object->node != NULL) {
        return sl_store_put_node(store, sl_node_new(object->node, err), err);
    }
    return sl_store_put_pod(store, sl_pod_new(object->pod, err), err);
}

/* Puts what the YAML text holds. */
static inline void rig_load(struct sl_store *store, const char *yaml)
{
    static const struct sl_text_limits limits = {
        .max_bytes = 1 << 20, .max_string = 1 << 16, .max_depth = 64};
    struct sl_error err = {.code = SL_ERR_NONE};
    if (sl_manifest_decode(yaml, strlen(yaml), &limits, rig_take, store, &err) < 0) {
        fail_msg("%s: %s", err.field, err.message);
    }
}

static inline struct sl_store *rig_store(const char *yaml)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_store *store = sl_store_new(&rig_limits, &err);
    assert_non_null(store);
    rig_load(store, yaml);
    return store;
}

/* A buffer's text, NUL-terminated, until the next call. */
static inline const char *rig_text(const struct sl_buf *buf)
{
    static char text[1 << 16];
    assert_int_equal(buf->failed, SL_BUF_OK);
    assert_true(buf->len < sizeof(text));
    memcpy(text, buf->data == NULL ? "" : buf->data, buf->len);
    text[buf->len] = '\0';
    return text;
}

#define RIG_NODE(name, resource, units)                                                            \
    "---\napiVersion: v1\nkind: Node\nmetadata: {name: " name                                      \
    "}\nstatus: {allocatable: {" resource ": \"" units "\"}}\n"
#define RIG_POD(name, uid, resource, units)                                                        \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " name ", uid: " uid "}\n"                   \
    "spec: {containers: [{name: c, resources: {limits: {" resource ": \"" units "\"}}}]}\n"

#endif

/* Reads a list once: one call, no pages, each object as it streams in. */
#ifndef SLICED_KUBE_LIST_READ_H
#define SLICED_KUBE_LIST_READ_H

#include "codec/watch.h"
#include "kube/client/client.h"

struct sl_list_read {
    struct sl_client *client;
    enum sl_object_kind kind;
    const char *path;   /* with its query; copied */
    int64_t timeout_us; /* from the call on, its time in the queue included */
    /* Both on the client's thread. Objects that cannot be read are passed over. */
    void (*object)(void *context, const struct sl_object *object);
    void (*done)(void *context, bool ok, const struct sl_error *err); /* exactly once */
    void *context;
};

/* -1 with *err, and no call of done, when it cannot begin. */
int sl_list_read(const struct sl_list_read *options, struct sl_error *err);

#endif

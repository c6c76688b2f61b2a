/* Edits a node or a ConfigMap on the API server: reads it, has the edit made from how it stands,
 * and sends a merge patch that holds for that state alone (metadata.resourceVersion): when somebody
 * has changed the object meanwhile, it is read again. Private to this room. */
#ifndef SLICED_KUBE_CUT_EDIT_H
#define SLICED_KUBE_CUT_EDIT_H

#include "codec/write.h"
#include "kube/write/change.h"

#define SL_MIG_FILE_KEY "config.yaml"

/* The object as it stands. */
struct sl_edit_now {
    const struct sl_node_facts *node; /* NULL: it is a ConfigMap */
    const struct sl_pair *data;       /* of a ConfigMap: keys that are ours, or may be */
};

struct sl_edit {
    enum sl_object_kind kind;
    struct sl_str namespace; /* empty for a node */
    struct sl_str name;
    struct sl_str uid; /* empty: whichever there is */
    uint64_t leadership;
    /* Writes members: of a node's metadata, or of a ConfigMap's data, which is made when there is
     * none. Returns 1, 0 when all is as it should be, -1 with *err when it must not be done. It may
     * be called again. On the client's thread. */
    int (*edit)(void *context, const struct sl_edit_now *now, struct sl_writer *w,
                struct sl_error *err);
    /* Exactly once, on the client's thread or the caller's. wrote: something was to be changed. */
    void (*ended)(void *context, enum sl_change_turn end, bool wrote, const struct sl_error *err);
    void *context;
};

/* Text is copied. */
void sl_edit_begin(struct sl_changes *changes, const struct sl_edit *edit);

#endif

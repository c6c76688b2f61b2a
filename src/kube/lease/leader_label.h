/* Marks the pod of the replica that leads by a label, by which a Service finds it. The leader alone
 * writes: it marks its own pod and takes the mark off all others of its namespace, again and again,
 * so that a mark that a former leader left, or that somebody removed, does not last. */
#ifndef SLICED_KUBE_LEADER_LABEL_H
#define SLICED_KUBE_LEADER_LABEL_H

#include "kube/client/client.h"

#define SL_LEADER_LABEL "sliced.dev/leader"

struct sl_leader_label_options {
    struct sl_client *client;
    const char *namespace;
    const char *pod;              /* the own one; both must outlive the label */
    bool (*leads)(void *context); /* on the client's thread */
    void *context;
    int64_t period_us; /* between two looks */
};

struct sl_leader_label;

/* Looks every period while the client runs. NULL: out of memory. */
struct sl_leader_label *sl_leader_label_start(const struct sl_leader_label_options *options,
                                              struct sl_error *err);
/* Looks at once: this replica has come to lead. On the client's thread. NULL is allowed. */
void sl_leader_label_look(struct sl_leader_label *label);
/* After the client was freed. NULL is allowed. */
void sl_leader_label_free(struct sl_leader_label *label);

#endif

/* Which tenant the label of each Namespace names (tenants.namespaceLabel), for one reader. Watches
 * all Namespaces, or is given those of an embedded cluster. */
#ifndef SLICED_KUBE_NAMESPACES_H
#define SLICED_KUBE_NAMESPACES_H

#include "kube/watch/reflector.h"

struct sl_namespaces;

struct sl_namespaces_options {
    struct sl_client *client; /* NULL: an embedded cluster */
    struct sl_reflector_times times;
    /* Says that there is something to tell, on the client's thread or that of follow. Must not call
     * namespaces. */
    void (*wake)(void *context);
    void *context;
};

struct sl_namespaces *sl_namespaces_new(const struct sl_namespaces_options *options,
                                        struct sl_error *err);
/* As sl_reflector_stop. NULL is allowed. */
void sl_namespaces_free(struct sl_namespaces *all);

/* A Namespace of an embedded cluster, where each has its own name: what follow looks at. -1: out of
 * memory, or there are too many. */
int sl_namespaces_put(struct sl_namespaces *all, struct sl_str name, const struct sl_pair *labels,
                      struct sl_error *err);

/* Reads this label from now on, "" none: begins the watch, or begins it anew. What another label
 * said holds until the list has come. -1: the watch could not begin, and the next call tries again.
 * For one thread, which may wait. */
int sl_namespaces_follow(struct sl_namespaces *all, const char *label, struct sl_error *err);

/* Why nobody may plan yet: the first label's list has not come. NULL: it has, or there is no such
 * label. A label that is set later holds nobody up. Any thread. */
const char *sl_namespaces_missing(struct sl_namespaces *all);

/* Tells what has changed since it was told, in the order in which Namespaces came; all of it where
 * the reader knows nothing (anew). "": no tenant any more. False: told returned other than 0, and
 * what was not told is told next time. Any thread. */
bool sl_namespaces_tell(struct sl_namespaces *all, bool anew,
                        int (*told)(void *context, struct sl_str name, struct sl_str tenant),
                        void *context);

#endif

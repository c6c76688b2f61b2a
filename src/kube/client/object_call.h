/* Shared by calls about one object: its path, copies of its names, and the limits of what is read
 * of an answer. */
#ifndef SLICED_KUBE_OBJECT_CALL_H
#define SLICED_KUBE_OBJECT_CALL_H

#include "codec/object.h"
#include "kube/client/client.h"

/* Limits that no user's object reaches. The time of a call bounds its whole text, of which only the
 * facts of one object are kept. */
extern const struct sl_text_limits sl_kube_text_limits;

/* Allocates zeroed memory of that size with NUL-terminated copies of the texts behind it, and
 * points each text to its copy. NULL: out of memory. */
void *sl_alloc_with_texts(size_t size, struct sl_str *const text[], size_t n);

/* An object of the API group v1. */
struct sl_object_ref {
    enum sl_object_kind kind; /* a pod, a node or a ConfigMap */
    struct sl_str namespace;  /* empty: the kind has none, or those of all are meant */
    struct sl_str name;       /* empty: all of its kind */
};

/* Starts a call of "/api/v1/namespaces/NS/pods/NAME" and end; the caller has set the rest of *call,
 * whose context may be gone when this returns 0. Frees the body (NULL: none). -1 with *err. */
int sl_object_call(struct sl_client *client, const struct sl_object_ref *object, const char *end,
                   struct sl_buf *body, struct sl_call_options *call, struct sl_error *err);

#endif

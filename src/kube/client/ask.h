/* Calls of the API server, one at a time: the caller waits for the answer. */
#ifndef SLICED_KUBE_ASK_H
#define SLICED_KUBE_ASK_H

#include "kube/client/client.h"

/* Whom to ask, and how long. */
struct sl_asker {
    struct sl_client *client;
    struct sl_arena *arena; /* for bodies */
    unsigned tries;         /* of each call */
    int64_t call_us;        /* of one try; 0: as long as it takes */
    bool repeatable;        /* may a call that may have been carried out be made again? */
};

struct sl_question {
    const char *method;
    const char *path;
    const char *content_type; /* NULL: application/json */
    struct sl_str body;       /* empty: none */
    enum sl_call_form form;
    int64_t silence_us; /* with data: how long the server may say nothing; 0: for ever */
    /* Both on the client's thread, NULL: not called. data gets the pieces of a stream, and ends it
     * with -1; take gets the reply while its body stands. */
    int (*data)(void *context, const char *data, size_t len, struct sl_error *err);
    void (*take)(void *context, const struct sl_reply *reply);
    void *context;
};

/* The status of the answer, and its body in the arena (body NULL: not wanted); *err says why it is
 * not 2xx. 0: there was no answer. Not on the client's thread. */
int sl_ask(const struct sl_asker *asker, const struct sl_question *question, struct sl_str *body,
           struct sl_error *err);

#endif

/* What is shown of a pod that waits, and of one that would. */
#ifndef SLICED_SERVER_MODEL_QUEUE_H
#define SLICED_SERVER_MODEL_QUEUE_H

#include "server/app/queue_reader.h"
#include "server/model/field.h"

struct sl_explain;

/* A row of the queue, ready to be shown. */
struct sl_model_queued {
    const struct sl_queue_row *row;
    const struct sl_pod *pod;
    const struct sl_queue_list *list; /* of the row alone, with what was tried; else NULL */
    const struct sl_explain *explain; /* what the nodes have against it; NULL: not asked for */
    int64_t now_us;
    int64_t position; /* in the whole queue, from 1 */
    int64_t waited_us;
    int64_t left_us;  /* until the estimated start; -1: not known */
    int64_t due_us;   /* that start; 0: unknown, or it is due */
    int64_t usual_us; /* -1: not known */
    const char *state;
    const char *reason;
    const char *held; /* the reason; NULL: nothing is against it */
    const char *remedy;
    const char *sure;
    bool nominated;
    bool tenanted; /* it has a tenant, */
    bool due;      /* on whose own share it would have started by now, and it waits */
};
extern const struct sl_field sl_model_queued[];
/* Further columns of the debug API's table, where there are tenants. */
extern const struct sl_field sl_model_queued_tenant[];
void sl_model_queued_of(const struct sl_queue_row *row, int64_t now_us, size_t position,
                        struct sl_model_queued *out);

/* The answer to a question about a pod that is not there. */
struct sl_model_estimate {
    struct sl_model_queued queued;
    int64_t start_us; /* 0: not known */
    int64_t delayed;
};
extern const struct sl_field sl_model_estimate[];
void sl_model_estimate_of(const struct sl_queue_what_if *what_if, struct sl_model_estimate *out);
/* Writes its sentence, as it is shown. record: a struct sl_model_estimate. */
const char *sl_model_estimate_text(const void *record, char out[SL_FIELD_TEXT_MAX]);

#endif

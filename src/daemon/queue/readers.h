/* The readers' side of the queue, for struct sl_queue_reader; context is the worker. */
#ifndef SLICED_DAEMON_QUEUE_READERS_H
#define SLICED_DAEMON_QUEUE_READERS_H

#include "server/app/queue_reader.h"

struct sl_queue_worker;

void sl_queue_status_of(void *context, struct sl_str uid, struct sl_queue_status *out);
int sl_queue_rows(void *context, size_t max, struct sl_queue_list *out, struct sl_error *err);
int sl_queue_row_of(void *context, struct sl_str uid, struct sl_queue_list *out,
                    struct sl_error *err);
void sl_queue_tenants_of(void *context, struct sl_queue_space *space, size_t n);
int64_t sl_queue_reclaim(void *context, struct sl_str uid, const char *node,
                         void (*visit)(void *to, const struct sl_pod *run), void *to);
int sl_queue_what_if(void *context, struct sl_pod *pod, struct sl_queue_what_if *out,
                     struct sl_error *err);
/* As sl_queue_rows, but does not wait for the first plan. */
int sl_queue_rows_now(struct sl_queue_worker *worker, size_t max, struct sl_queue_list *out,
                      struct sl_error *err);

#endif

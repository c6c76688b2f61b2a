/* The extender's verbs, as routes have them. */
#ifndef SLICED_SERVER_VERBS_HANDLERS_H
#define SLICED_SERVER_VERBS_HANDLERS_H

struct sl_request;

int sl_filter_begin(struct sl_request *request);
void sl_filter_finish(struct sl_request *request);
int sl_prioritize_begin(struct sl_request *request);
void sl_prioritize_finish(struct sl_request *request);
int sl_bind_begin(struct sl_request *request);
void sl_bind_finish(struct sl_request *request);
int sl_preempt_begin(struct sl_request *request);
void sl_preempt_finish(struct sl_request *request);

#endif

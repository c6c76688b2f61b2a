/* Carries out the engine's commands. With plan held. */
#ifndef SLICED_DAEMON_QUEUE_ACT_H
#define SLICED_DAEMON_QUEUE_ACT_H

#include "daemon/queue/entry.h"
#include "sliced/engine.h"

/* For sl_engine_plan; context is the worker. */
bool sl_queue_act(void *context, const struct sl_engine_command *command);
/* The API server refused to release the pod, and says why: its nomination is over. */
void sl_queue_deny(struct sl_queue_worker *worker, struct sl_queue_entry *entry, const char *why);

#endif

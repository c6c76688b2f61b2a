/* The addresses that the daemon listens on, and whose routes are served at each. */
#ifndef SLICED_SERVER_LISTENERS_H
#define SLICED_SERVER_LISTENERS_H

#include "server/http/http.h"

/* Initializes http->listener; the rest of *http is filled in before they start. */
void sl_listeners_init(struct sl_http *http);
void sl_listeners_free(struct sl_http *http);

/* Checks what can be checked of the addresses without listening. */
int sl_listeners_check(const struct sl_config *config, struct sl_error *err);

/* Starts those that the configuration wants. -1 with *err set: some may run. */
int sl_listeners_start(struct sl_http *http, const struct sl_config *config, struct sl_error *err);
/* Ends connections that have used up their time. */
void sl_listeners_end_slow(struct sl_http *http, int64_t now_ns);
/* Refuses new connections, but for probes where these have an address of their own. */
void sl_listeners_quiesce(struct sl_http *http);
void sl_listeners_stop(struct sl_http *http);

#endif

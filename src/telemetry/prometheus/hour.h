/* How the daemon's own numbers went over the last hour, as Prometheus has scraped them. It is asked
 * one question that never changes, once a minute at most, and only while somebody looks. */
#ifndef SLICED_TELEMETRY_PROMETHEUS_HOUR_H
#define SLICED_TELEMETRY_PROMETHEUS_HOUR_H

#include "config/config.h"
#include "kube/client/client.h"
#include "server/app/usage_reader.h"

struct sl_hour;

/* Asks through the client, which is borrowed and must end before sl_hour_free(). Config is read and
 * not kept. NULL when out of memory. */
struct sl_hour *sl_hour_new(struct sl_client *client, const struct sl_config *config);
void sl_hour_free(struct sl_hour *hour); /* NULL is allowed */

/* Copies what is known by now; the reader counts as somebody who looks. Any thread. */
void sl_hour_read(struct sl_hour *hour, struct sl_history *out);

#endif

/* Asks what tenants had over the last days, as Prometheus has scraped the daemon's own figures. It
 * is asked one question that never changes, each quarter of an hour at most, and only while
 * somebody looks. */
#ifndef SLICED_TELEMETRY_PROMETHEUS_SPENT_H
#define SLICED_TELEMETRY_PROMETHEUS_SPENT_H

#include "config/config.h"
#include "kube/client/client.h"
#include "server/app/usage_reader.h"

struct sl_spents;

/* As sl_hour_new(). */
struct sl_spents *sl_spents_new(struct sl_client *client, const struct sl_config *config);
void sl_spents_free(struct sl_spents *spents); /* NULL is allowed */

/* As spent of struct sl_usage_reader. */
int sl_spents_read(struct sl_spents *spents, struct sl_spent **out, size_t *n,
                   struct sl_error *err);

#endif

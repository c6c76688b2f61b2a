/* Watches: streams of what changes. Private to this room. */
#ifndef SLICED_SERVER_VISIBILITY_WATCH_H
#define SLICED_SERVER_VISIBILITY_WATCH_H

#include "server/visibility/reply.h"

/* Makes the request's reply a stream. query is copied. With the lock held, after a look. -1 after
 * sl_request_fail. */
int sl_vis_watch_begin(struct sl_request *request, struct sl_vis_cache *cache,
                       const struct sl_vis_query *query);

/* Looks anew where somebody watches, and wakes the watches. */
void sl_vis_watch_tick(struct sl_vis_cache *cache);
/* Ends all watches, and those to come. */
void sl_vis_watch_close(struct sl_vis_cache *cache);

#endif

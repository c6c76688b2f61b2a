/* Objects and tables in the form of Kubernetes' API. Private to this room. */
#ifndef SLICED_SERVER_VISIBILITY_REPLY_H
#define SLICED_SERVER_VISIBILITY_REPLY_H

#include "server/visibility/cache.h"
#include "server/visibility/query.h"

/* Writes one object in the form that the query wants: whole, its metadata, or a table of one row,
 * with its columns when head is set. */
void sl_vis_write_as(struct sl_writer *w, const struct sl_vis_cache *cache,
                     const struct sl_vis_query *query, const struct sl_vis_row *row, bool head);
/* The same of an object that is not there any more: its names alone. */
void sl_vis_write_gone(struct sl_writer *w, const struct sl_vis_cache *cache,
                       const struct sl_vis_query *query, const struct sl_vis_object *object,
                       bool head);
/* Writes a bookmark's object: that revision, nothing else. ends_initial: all that was there at the
 * beginning has been told. */
void sl_vis_write_bookmark(struct sl_writer *w, const struct sl_vis_cache *cache,
                           const struct sl_vis_query *query, int64_t revision, bool ends_initial);

/* Writes the list that the query wants, as far as it fits into a page. */
void sl_vis_write_list(struct sl_writer *w, const struct sl_vis_cache *cache,
                       const struct sl_vis_query *query);

#endif

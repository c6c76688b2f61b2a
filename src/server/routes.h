/* The table of routes: what there is, by which method, and one line of help for each. */
#ifndef SLICED_SERVER_ROUTES_H
#define SLICED_SERVER_ROUTES_H

#include "server/request.h"

/* Sets request->route, class and param for method and request->path. -1 after sl_request_fail (404,
 * or 405 with request->allow). */
int sl_routes_match(struct sl_request *request, const char *method);

/* True when path matches the pattern, in which "{name}" stands for one non-empty segment. */
bool sl_routes_pattern(const char *pattern, struct sl_str path,
                       struct sl_str param[SL_ROUTE_PARAMS_MAX]);

/* An aligned list of all routes that this process serves. */
void sl_routes_index(const struct sl_request *request, struct sl_buf *out);

#endif

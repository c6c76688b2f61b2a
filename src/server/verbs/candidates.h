/* The candidate nodes of a request. */
#ifndef SLICED_SERVER_CANDIDATES_H
#define SLICED_SERVER_CANDIDATES_H

#include "server/app/workspace.h"

enum { SL_NODE_NAME_BYTES = 254 }; /* a DNS subdomain and its NUL */

/* Adds a candidate. -1 with *err set; its place in the body is the decoder's to say. */
int sl_candidates_add(struct sl_request *request, struct sl_str name, struct sl_error *err);
/* Adds many at once, which stand in the body as sl_body_sink says of nodes: those up to the first
 * that is unknown, was named before or finds no room. Returns how many. */
size_t sl_candidates_add_run(struct sl_request *request, const struct sl_str *name, size_t n);

/* The candidate's name, quoted. */
static inline struct sl_str sl_candidates_quoted(const struct sl_candidates *candidates, size_t i)
{
    uint32_t from = i == 0 ? 0 : candidates->end[i - 1];
    return (struct sl_str){candidates->text.data + from, candidates->end[i] - from - 1};
}

/* Is the candidate the node of that name? */
static inline bool sl_candidates_is(const struct sl_candidates *candidates, size_t i,
                                    const char *node)
{
    struct sl_str quoted = sl_candidates_quoted(candidates, i);
    size_t len = strlen(node);
    return quoted.len == len + 2 && memcmp(quoted.s + 1, node, len) == 0;
}

#endif

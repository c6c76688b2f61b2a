/* The memory that a connection keeps between requests. */
#ifndef SLICED_SERVER_WORKSPACE_H
#define SLICED_SERVER_WORKSPACE_H

#include "server/request.h"

enum { SL_NODE_NAME_BYTES = 254 }; /* a DNS subdomain and its NUL */

void sl_workspace_init(struct sl_workspace *workspace);
void sl_workspace_free(struct sl_workspace *workspace);
/* Bytes that it holds. */
size_t sl_workspace_bytes(const struct sl_workspace *workspace);
/* Forgets the last request; gives large pieces back. */
void sl_workspace_reset(struct sl_workspace *workspace);

/* Starts decoding a verb's body. -1 with request->err set when out of memory. */
int sl_workspace_begin(struct sl_request *request, enum sl_body_kind kind,
                       const struct sl_body_sink *sink);

/* One more candidate node. An error's place in the body is the decoder's to say. */
int sl_candidates_add(struct sl_request *request, struct sl_str name, struct sl_error *err);
/* Many at once, which stand in the body as sl_body_sink says of nodes: takes those up to the first
 * that is unknown, or was given before, or finds no room, and returns how many. */
size_t sl_candidates_add_run(struct sl_request *request, const struct sl_str *name, size_t n);
/* Its name, quoted. */
static inline struct sl_str sl_candidates_quoted(const struct sl_candidates *candidates, size_t i)
{
    uint32_t from = i == 0 ? 0 : candidates->end[i - 1];
    return (struct sl_str){candidates->text.data + from, candidates->end[i] - from - 1};
}
/* Is it the node of that name? */
static inline bool sl_candidates_is(const struct sl_candidates *candidates, size_t i,
                                    const char *node)
{
    struct sl_str quoted = sl_candidates_quoted(candidates, i);
    size_t len = strlen(node);
    return quoted.len == len + 2 && memcmp(quoted.s + 1, node, len) == 0;
}

#endif

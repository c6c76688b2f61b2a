/* What is given to whom, counted from the API server's objects alone: none of sliced's own code is
 * asked. Where a number cannot be read it counts as nothing, so that sums are lower bounds. */
#ifndef SLICED_ADVERSARY_ACCOUNT_H
#define SLICED_ADVERSARY_ACCOUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole number of at most 2^63-1; -1 when it is none. */
int64_t account_quantity(const json_t *value);
/* Units of that resource which the pod asks for; saturates. */
int64_t account_ask(const json_t *pod, const char *resource);
/* Asks for a resource that sliced schedules. */
bool account_wants(const json_t *pod);
bool account_is_ours(const char *resource);
/* Has a node and has not ended. NULL: no. node NULL: any. */
bool account_stands(const json_t *pod, const char *node);
/* Waits behind sliced's gate, alone or beside others. */
bool account_waits(const json_t *pod);
bool account_is_gated(const json_t *pod);
int64_t account_allocatable(const json_t *node, const char *resource); /* -1: not a number */

/* Of what the daemon was told: the units which standing pods ask for, and what it has bound there
 * itself. With the world's lock. */
int64_t account_in_use(const char *node, const char *resource);
/* All that it asks for is in whole numbers that nobody reads in two ways. */
bool account_is_plain(const json_t *pod);
/* It has a UID of its own: without one nothing is planned for it, nor bound. */
bool account_is_known_by_uid(const json_t *pod);

/* judge: whether bindings are; with threads the daemon may know more than it is known to know. */
void account_begin(bool judge);
/* The daemon is asked to bind that pod there: what it knows of the node now may count, though the
 * binding is posted later. */
void account_asked(const char *uid, const char *node);
/* The daemon has the pod stand there: it was told so, or asks for it and was not told otherwise. */
bool account_holds(const char *uid, const char *node);
/* The pod at that place of the world was nominated there after the last plan. */
bool account_nominates(size_t pod, const char *node);
/* A call of the daemon begins, or has ended: bindings are judged. */
void account_call(const char *method, const char *path, const char *body, size_t len);
void account_answered(const char *method, const char *path, const char *body, size_t len);
/* All nominations, after a plan: none may be made for what is not there. nominated says the node,
 * or "".
 */
void account_nominations(const char *(*nominated)(void *context, const char *uid), void *context);
void account_end(void);
/* The daemon was started anew: it knows what the API server has. With the world's lock. */
void account_forget(void);

struct account_counts {
    _Atomic uint64_t bindings, nominations, checked_places;
};
extern struct account_counts account_counts;

#endif

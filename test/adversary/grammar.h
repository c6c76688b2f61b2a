/* Values that somebody who wants to cheat, or to break something, writes into a pod or a node. */
#ifndef SLICED_ADVERSARY_GRAMMAR_H
#define SLICED_ADVERSARY_GRAMMAR_H

#include <jansson.h>

#include "adversary/random.h"

json_t *grammar_text(struct rng *rng);       /* any text */
json_t *grammar_quantity(struct rng *rng);   /* text, seldom a number */
json_t *grammar_number(struct rng *rng);     /* an integer at an edge */
json_t *grammar_time(struct rng *rng);       /* a timestamp, or nearly one */
json_t *grammar_anything(struct rng *rng);   /* of any type */
json_t *grammar_assignment(struct rng *rng); /* what stands in sliced.dev/assignment */
json_t *grammar_after(struct rng *rng);      /* what stands in sliced.dev/after */
json_t *grammar_deep(struct rng *rng);       /* nested up to some hundred deep */

/* A resource, real or nearly so; NUL-terminated, in out. */
enum { GRAMMAR_NAME = 400 };
const char *grammar_resource(struct rng *rng, char out[GRAMMAR_NAME]);
const char *grammar_real_resource(struct rng *rng);
/* An annotation that sliced reads. */
const char *grammar_annotation(struct rng *rng);
json_t *grammar_annotation_value(struct rng *rng, const char *key);

/* A whole pod that nobody could complain about: number makes its name. */
json_t *grammar_pod(struct rng *rng, unsigned number);
/* The UID of several pods, as no API server gives it. */
#define GRAMMAR_TWIN "twin"

/* One thing of it goes wrong. born: it is being created, so that its spec may be anything. */
void grammar_spoil_pod(struct rng *rng, json_t *pod, bool born);
/* What a controller, a kubelet or a user does to a pod that lives. */
void grammar_touch_pod(struct rng *rng, json_t *pod);

json_t *grammar_node(struct rng *rng, unsigned number);
void grammar_touch_node(struct rng *rng, json_t *node);

#endif

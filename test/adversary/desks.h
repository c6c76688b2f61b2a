/* Nodes of two GPUs, whole or shared, on each of which some pods work and some only sit. Their
 * exporter says whose a GPU is, and copies the labels of that pod, which its author has written so
 * that they pass for the exporter's word. Some exporters tell of GPUs that the node has not, or of
 * another node's. All with the world's lock. */
#ifndef SLICED_ADVERSARY_DESKS_H
#define SLICED_ADVERSARY_DESKS_H

#include <jansson.h>

#include "adversary/random.h"
#include "adversary/world.h"

void desks_begin(void);
void desk_add(struct rng *rng);
void desk_lose(struct rng *rng); /* with its pods */
/* A pod is put on one, or one that is there gets other labels. */
void desk_sit(struct rng *rng);
void desk_relabel(struct rng *rng);

/* Adds the series of all of them to an answer of Prometheus. */
void desks_answer(json_t *result, int64_t range_us);
/* The answer that was made last has been told, to its end or not. */
void desks_told(bool whole);
void desks_forget(void); /* the daemon knows nothing any more */
/* Fails if the daemon lists more devices of a desk than it has, or misses one of its own. */
void desks_check(const json_t *items);

/* An exporter's page; NULL: the path is of none. The caller frees it. */
char *desks_page(const char *path);

/* Has the pod worked ever since it came? Then nobody may say that it idles. */
bool desk_works(const char *uid);
bool desk_works_by_name(const char *name);

#endif

/* Private to the world: what is done to single objects. */
#ifndef SLICED_ADVERSARY_WORLD_INTERNAL_H
#define SLICED_ADVERSARY_WORLD_INTERNAL_H

#include "adversary/world.h"

/* A text of "metadata", "spec" or "status"; "" when there is none. */
const char *world_text(const json_t *object, const char *part, const char *key);

/* With the lock held. */
void world_answer_object(const struct world_request *request, struct world_reply *reply);
json_t **world_lease(void);
void world_stamp_lease(void);
void world_stamp(json_t *object); /* a new version */

#endif

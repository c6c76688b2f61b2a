/* Moves of kube-scheduler, of those who play it, and of readers. */
#ifndef SLICED_ADVERSARY_VERBS_H
#define SLICED_ADVERSARY_VERBS_H

#include "adversary/rig.h"
#include "adversary/world.h"

/* An object that is there, or NULL. With the world's lock. */
struct thing *moves_pick(struct rig *rig, enum world_kind kind);

/* Puts a well-formed pod of team-a, gated or bound to a node (NULL: to none), unless there are
 * many, or one of its name. Steals it. With the lock. */
void moves_put_few(json_t *pod, bool gated, const char *node);

/* The names of nodes that filter passes for the pod; of a moment at rest. */
json_t *verbs_passed(struct rig *rig, json_t *pod);
/* Asks to bind it there. */
void verbs_bind(struct rig *rig, json_t *pod, const char *node);

void verbs_schedule(struct rig *rig); /* filter, prioritize, bind to one that passed */
void verbs_filter(struct rig *rig);   /* of any pod */
void verbs_attack(struct rig *rig);   /* a bind of any pod to any node */
void verbs_preempt(struct rig *rig);
void verbs_review(struct rig *rig);
void verbs_read(struct rig *rig);
void verbs_explain(struct rig *rig); /* a pod that is there */

#endif

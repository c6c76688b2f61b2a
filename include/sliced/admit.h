/* Whether a node admits a pod for reasons other than GPUs. */
#ifndef SLICED_ADMIT_H
#define SLICED_ADMIT_H

#include "sliced/constraint.h"
#include "sliced/view.h"

enum sl_constraint {
    SL_CONSTRAINT_NONE, /* the node is admitted */
    SL_CONSTRAINT_UNSCHEDULABLE,
    SL_CONSTRAINT_SELECTOR,
    SL_CONSTRAINT_AFFINITY,
    SL_CONSTRAINT_TAINT,
    SL_CONSTRAINT_CPU, /* from here on: full now, may admit later */
    SL_CONSTRAINT_MEMORY,
    SL_CONSTRAINT_PODS,
    SL_CONSTRAINT_COUNT,
};

/* Returns the first constraint that keeps the pod off the node whatever runs there, else
 * SL_CONSTRAINT_NONE. NULL constraints: the pod only has to tolerate the node's taints. */
enum sl_constraint sl_constraints_admit(const struct sl_constraints *constraints,
                                        const struct sl_node *node);

/* Returns the only value that the label of that key may have on a node of the pod, by its node
 * selector or by each term of its required node affinity; NULL: there may be others, or none. */
const char *sl_constraints_only(const struct sl_constraints *constraints, const char *key);

/* Returns what the view counts of CPU, memory and pods. */
struct sl_host_use sl_host_use_of(const struct sl_view *view);

/* Adds the pod, with the CPU and memory that it requests, to what a node's pods use, or takes it
 * off. A saturated sum stays as it is: its true value is lost. */
void sl_host_use_add(struct sl_host_use *use, const struct sl_pod *pod);
void sl_host_use_remove(struct sl_host_use *use, const struct sl_pod *pod);

/* Has a node with these limits the CPU, memory and place for one more pod with these constraints
 * (may be NULL), beside that use? Returns SL_CONSTRAINT_NONE, or what it lacks. A pod that requests
 * none of something always has room. */
enum sl_constraint sl_host_admits(const struct sl_host *host, const struct sl_host_use *use,
                                  const struct sl_constraints *constraints);

/* As sl_constraints_admit(), but also counts the CPU, memory and pods in use on the node now. */
enum sl_constraint sl_constraints_admit_now(const struct sl_constraints *constraints,
                                            const struct sl_view *view);
/* The same beside more use than the view counts; NULL: none. */
enum sl_constraint sl_constraints_admit_beside(const struct sl_constraints *constraints,
                                               const struct sl_view *view,
                                               const struct sl_host_use *more);

#endif

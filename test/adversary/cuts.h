/* The play of GPUs that are cut: its moves, and the rules that orders must keep, asked of the
 * machines alone (machines.h). */
#ifndef SLICED_ADVERSARY_CUTS_H
#define SLICED_ADVERSARY_CUTS_H

#include <jansson.h>

#include "adversary/rig.h"

void cuts_begin(void);
void cuts_end(void);

/* ---- moves ---- */

void cuts_add_machine(struct rig *rig);
void cuts_lose_machine(struct rig *rig);
void cuts_add_pod(struct rig *rig);
void cuts_add_foreign(struct rig *rig); /* one that another scheduler places */
void cuts_mishap(struct rig *rig);
void cuts_heal(struct rig *rig);
/* What kubelets and agents do by now. */
void cuts_go_on(struct rig *rig);
/* Nothing goes wrong any more, and time passes: every cut must come to its end. */
void cuts_come_to_rest(struct rig *rig);
/* What the daemon says of its cuts. */
void cuts_check(struct rig *rig);

/* ---- what the daemon does ---- */

/* A call of the daemon begins: an order to cut is judged by what it was told by now. */
void cuts_called(const char *method, const char *path, const char *body, size_t len);
/* With the world's lock, as all that follows. The patch of a node is carried out. */
void cuts_written(const char *node, const json_t *patch, const char *body, size_t len);
/* It is asked to bind a pod there, and does. */
void cuts_asked(const char *uid, const char *node);
void cuts_binds(const char *uid, const char *node);

struct cuts_counts {
    _Atomic uint64_t orders, ends;
};
extern struct cuts_counts cuts_counts;

#endif

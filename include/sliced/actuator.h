/* The rule by which the configuration says which nodes' GPUs sliced may have cut, and by which
 * agents. */
#ifndef SLICED_ACTUATOR_H
#define SLICED_ACTUATOR_H

#include "sliced/facts.h"

enum sl_actuator_choice {
    SL_CHOOSE_AUTO,        /* nos on nodes with its label, else NVIDIA's mig-manager */
    SL_CHOOSE_MIG_MANAGER, /* always NVIDIA's */
    SL_CHOOSE_NOS,         /* always nos */
};

struct sl_label;

/* Zeroed: no node is cut. */
struct sl_actuator_rule {
    bool enabled;
    enum sl_actuator_choice choice;
    const struct sl_label *selector; /* labels that a node must have, all of them; borrowed */
    size_t n_selector;               /* 0: every node */
    bool mig_mode; /* the mig-manager may switch MIG mode off, so that a GPU becomes whole */
};

/* The actuator of the node by that rule; for sl_node_facts.actuator. */
enum sl_actuator sl_actuator_of(const struct sl_actuator_rule *rule,
                                const struct sl_node_facts *facts);
const char *sl_actuator_name(enum sl_actuator actuator); /* "none", "mig-manager", "nos-mig", ... */

#endif

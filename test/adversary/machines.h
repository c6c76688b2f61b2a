/* Nodes whose GPUs can be cut: the hardware with its own rules, the kubelet, which chooses the
 * instance and stamps whole seconds of its own clock, the device plugin, and NVIDIA's mig-manager,
 * whose file arrives late and which goes wrong. Asks none of sliced's code. All with the world's
 * lock. */
#ifndef SLICED_ADVERSARY_MACHINES_H
#define SLICED_ADVERSARY_MACHINES_H

#include <jansson.h>

#include "adversary/random.h"

enum { MACHINES = 3, MACHINE_GPUS = 3, GPU_INSTANCES = 7, PROFILES = 5, MACHINE_UID = 64 };

/* How many instances of each profile, by their order in profile_names. */
struct layout {
    unsigned n[PROFILES];
};
extern const char *const profile_names[PROFILES]; /* "1g.5gb", ... */

struct instance {
    unsigned profile;
    unsigned start;
    char pod[MACHINE_UID]; /* UID; "": it is free */
};

struct gpu {
    struct instance instance[GPU_INSTANCES];
    unsigned n;
};

enum mishap {
    MISHAP_NONE,
    MISHAP_SILENT, /* it does nothing */
    MISHAP_FAILS,  /* before it has touched a GPU */
    MISHAP_HALF,   /* the instances are destroyed and none are made */
    MISHAP_LIES,   /* it tells success and has done nothing */
    MISHAP_LATE,   /* the device plugin does not come back */
    MISHAP_WEDGED, /* pending for ever, the device plugin away */
    MISHAPS
};

/* What an entry of the mig-manager's file orders. */
struct order {
    bool named[MACHINE_GPUS];
    struct layout layout[MACHINE_GPUS];
};

struct machine {
    char name[16]; /* "": there is none */
    struct gpu gpu[MACHINE_GPUS];
    unsigned n_gpus;
    int64_t ahead_us; /* of the daemon's clock */
    int64_t lag_us;   /* until its file shows what was written to the ConfigMap */
    int64_t cut_us, back_us;
    char label[128]; /* that the mig-manager has looked at */
    bool lied;       /* of that it has told success, and has done nothing */
    enum { AGENT_RESTS, AGENT_CUTS, AGENT_ENDS, AGENT_HANGS } at;
    int64_t due_us; /* monotonic */
    enum mishap mishap;
    struct order order; /* that it carries out */
    bool plugin;        /* it runs */
};

extern struct machine machines[MACHINES];

struct machines_counts {
    uint64_t early;    /* labels whose entry had not arrived */
    uint64_t rejected; /* pods for which there was no instance */
};
extern struct machines_counts machines_counts;

void machines_begin(void);
void machines_end(void);
struct machine *machine_find(const char *name); /* NULL: there is none */
/* Makes one, with its node. */
void machine_add(struct rng *rng, struct machine *machine);
struct layout gpu_layout(const struct gpu *gpu);
bool layout_same(const struct layout *a, const struct layout *b);
/* Is there a way to lay these out on a GPU? */
bool layout_fits(const struct layout *layout);
/* All that happens by now: pods are let in and end, agents act. */
void machines_act(struct rng *rng);
/* All agents and plugins are well from now on. */
void machines_heal(void);

/* The ConfigMap that mig-managers read; NULL: there is none. It is replaced by put, which steals.
 */
const json_t *machines_file(void);
void machines_put_file(json_t *config_map);
/* The entry of that name in the text of the ConfigMap; false: there is none. */
bool machines_entry(const json_t *config_map, const char *name, struct order *out);

#endif

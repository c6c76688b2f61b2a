/* MIG: models, profiles, placements, and the layouts a device can take.
 * Sources per model stand in the table (src/core/mig_table.c): NVIDIA MIG User Guide, captured
 * "nvidia-smi mig -lgipp" output, mig-parted's default configuration. */
#ifndef SLICED_MIG_H
#define SLICED_MIG_H

#include "util/str.h"

enum {
    SL_MIG_SLICES_MAX = 12,   /* memory slices of the largest model */
    SL_MIG_PROFILES_MAX = 12, /* profiles of the model that has most */
    SL_MIG_INSTANCES_MAX = 8, /* instances on one device at most (7 compute slices) */
};

/* What distinguishes profiles of one shape ("1g.10gb+me"); a set of bits. */
enum sl_mig_attribute {
    SL_MIG_ME = 1,     /* +me: one media engine set; at most one per device */
    SL_MIG_ME_ALL = 2, /* +me.all: all media engines */
    SL_MIG_NO_ME = 4,  /* -me: no media engine */
    SL_MIG_GFX = 8,    /* +gfx: graphics */
};

struct sl_mig_profile {
    const char *name;     /* as NVIDIA spells it: "1g.6gb+me" */
    const char *resource; /* the device plugin's resource: "nvidia.com/mig-1g.6gb.me" */
    uint8_t compute;      /* compute slices */
    uint8_t memory;       /* memory slices = size of a placement */
    uint8_t max_count;    /* instances of it on an empty device */
    uint8_t attributes;   /* enum sl_mig_attribute bits */
    uint16_t starts;      /* bit s set: it may start at memory slice s */
    bool media_exclusive; /* holds a media engine that exists once per device */
    uint16_t memory_gb;   /* the GB in its name */
};

struct sl_mig_model {
    const char *name;            /* "A30-24GB" */
    const char *const *products; /* gpu.product label values (GFD spelling), NULL-terminated */
    const char *const *pci_ids;  /* "0x20B710DE", NULL-terminated */
    const struct sl_mig_profile *profiles; /* smallest first, as nvidia-smi lists them */
    uint16_t memory_gib;
    uint8_t compute_slices;
    uint8_t memory_slices;
    uint8_t n_profiles;
    bool placements_verified; /* false: inferred from a sister model, see the table */
};

/* A profile name taken apart, for models and profiles that the table lacks too. */
struct sl_mig_shape {
    uint8_t compute;
    uint16_t memory_gb;
    uint8_t attributes;
};

size_t sl_mig_model_count(void);
const struct sl_mig_model *sl_mig_model_at(size_t i);

/* The model of a nvidia.com/gpu.product value, with or without "NVIDIA-". "-SHARED" and
 * "-MIG-<profile>" endings are ignored. memory_mib (the label nvidia.com/gpu.memory of a full GPU;
 * 0 when unknown; not looked at beside "-MIG-", where it is the instance's) tells boards with one
 * chip apart and finds a known board under a new name: NVIDIA-A100-SXM-80GB. NULL when unknown,
 * and when the chip is known but neither the memory nor a size in the name is that of its boards.
 */
const struct sl_mig_model *sl_mig_model_find(struct sl_str product, int64_t memory_mib);

/* "1g.5gb", "1g.5gb+me", "1g.5gb.me" (resource spelling), "1g.24gb-me", "1g.24gb+me.all".
 * "1c.3g.20gb" is not a GPU instance profile and is refused. False when it is no profile name; *out
 * is then untouched. */
bool sl_mig_shape_parse(struct sl_str name, struct sl_mig_shape *out);

/* The profile of that model; resource spelling and a GB that a driver rounds otherwise (3g.39gb on
 * an 80 GB A100) are accepted: the one of equal compute slices and attributes whose GB is nearest,
 * unless it is off by more than 0.5 + 6 %. NULL when none. */
const struct sl_mig_profile *sl_mig_profile_find(const struct sl_mig_model *model,
                                                 struct sl_str name);
const struct sl_mig_profile *sl_mig_profile_of(const struct sl_mig_model *model,
                                               struct sl_mig_shape shape);

/* What is on one device: memory slices taken and how many of each profile (index in the model). A
 * zeroed one is an empty device. */
struct sl_mig_layout {
    uint16_t memory; /* bit s: memory slice s is taken */
    uint8_t count[SL_MIG_PROFILES_MAX];
};

struct sl_mig_placement {
    uint8_t profile; /* index in model->profiles */
    uint8_t start;   /* memory slice */
};

/* May the profile be created at that start now? Checks starts, overlap, max_count, media rules and
 * the compute cap. */
bool sl_mig_can_place(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                      struct sl_mig_placement placement);
/* Takes a placement that sl_mig_can_place allows, gives back one that is there. */
void sl_mig_place(const struct sl_mig_model *model, struct sl_mig_layout *layout,
                  struct sl_mig_placement placement);
void sl_mig_remove(const struct sl_mig_model *model, struct sl_mig_layout *layout,
                   struct sl_mig_placement placement);

/* How many more instances of that profile the device can still take, exactly. Some ten
 * nanoseconds. */
unsigned sl_mig_room(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                     unsigned profile);

/* What placing it costs the others: the memory slices' worth of instances that could be made before
 * and no longer after, sum over profiles i of weight[i] * slices of i * (room before - room after).
 * Weights are 0..2^31; an instance of the profile itself that is taken counts like the others. */
int64_t sl_mig_cost(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                    struct sl_mig_placement placement, const int64_t weight[SL_MIG_PROFILES_MAX]);

/* The placement of least cost on one device; of equal cost the highest start, where a device of
 * several sizes keeps what is aligned. False when there is none. */
bool sl_mig_best_start(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                       unsigned profile, const int64_t weight[SL_MIG_PROFILES_MAX],
                       struct sl_mig_placement *out, int64_t *cost);

/* Device and start, among n devices of a model, that leave most to others: of least cost; then on
 * the device that has most slices in use; then the first. -1 when none has room. */
int sl_mig_best_device(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                       size_t n, unsigned profile, const int64_t weight[SL_MIG_PROFILES_MAX],
                       struct sl_mig_placement *out);

/* Is there a way to place counts[i] more instances of profile i, all at once, on the layout? The
 * placements found go to out, biggest first (as many as the counts add up to, at most
 * SL_MIG_SLICES_MAX; out may be NULL, and is untouched on false). Exact, by a search of at most
 * some hundred steps. */
bool sl_mig_pack(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                 const uint8_t counts[SL_MIG_PROFILES_MAX], struct sl_mig_placement *out);

#endif

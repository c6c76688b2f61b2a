/* MIG: models, profiles, placements, and the layouts a device can take.
 * Sources per model stand in the table (src/core/mig/table.c): NVIDIA MIG User Guide, captured
 * "nvidia-smi mig -lgipp" output, mig-parted's default configuration. */
#ifndef SLICED_MIG_H
#define SLICED_MIG_H

#include "util/str.h"

enum {
    SL_NODE_DEVICES_MAX = 64, /* GPUs of one node */
    SL_MIG_SLICES_MAX = 12,   /* memory slices of the largest model */
    SL_MIG_PROFILES_MAX = 12, /* profiles of one model at most */
    SL_MIG_INSTANCES_MAX = 8, /* instances on one device at most (7 compute slices) */
};

/* Attributes distinguish profiles of equal slices ("1g.10gb+me"); a set of bits. */
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
    int32_t memory_mib;   /* that drivers tell, at least; 0: nobody has seen it */
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

/* A parsed profile name; the profile need not be in the table. */
struct sl_mig_shape {
    uint8_t compute;
    uint16_t memory_gb;
    uint8_t attributes;
};

size_t sl_mig_model_count(void);
const struct sl_mig_model *sl_mig_model_at(size_t i);

/* The model of a nvidia.com/gpu.product value, with or without "NVIDIA-". "-SHARED" and
 * "-MIG-<profile>" endings are ignored. memory_mib (the label nvidia.com/gpu.memory of a full GPU;
 * 0: unknown) tells boards with one chip apart and finds a known board under a new name, such as
 * NVIDIA-A100-SXM-80GB. Beside "-MIG-<profile>" it is an instance's: see sl_mig_model_single().
 * NULL for an unknown chip, and for a known one when neither the memory nor a size in the name is
 * that of its boards. */
const struct sl_mig_model *sl_mig_model_find(struct sl_str product, int64_t memory_mib);

/* The same for a node that states no GPU, but the profile of its instances and the memory of one
 * (0: unknown), as under the strategy single: the board of that chip which has the profile. Where
 * several have it, name and memory decide; NULL if they do not and it differs on them. */
const struct sl_mig_model *sl_mig_model_single(struct sl_str product, struct sl_str profile,
                                               int64_t instance_mib);

/* "1g.5gb", "1g.5gb+me", "1g.5gb.me" (resource spelling), "1g.24gb-me", "1g.24gb+me.all".
 * "1c.3g.20gb" is not a GPU instance profile and is refused. False for any other text, with *out
 * untouched. */
bool sl_mig_shape_parse(struct sl_str name, struct sl_mig_shape *out);

/* Finds the model's profile of that name, in resource spelling too. As drivers round GB differently
 * (3g.39gb on an 80 GB A100), the profile of equal compute slices and attributes with the nearest
 * GB counts, at most 0.5 GB + 6 % off. NULL when there is none. */
const struct sl_mig_profile *sl_mig_profile_find(const struct sl_mig_model *model,
                                                 struct sl_str name);
const struct sl_mig_profile *sl_mig_profile_of(const struct sl_mig_model *model,
                                               struct sl_mig_shape shape);

/* Returns the GPU memory, in MiB, on which pods can count in an instance that no label describes:
 * names round up, and drivers keep some. */
int64_t sl_mig_profile_mib(const struct sl_mig_profile *profile);

/* The instances on one device: the memory slices taken, and how many of each profile (index in the
 * model). Zeroed: an empty device. */
struct sl_mig_layout {
    uint16_t memory; /* bit s: memory slice s is taken */
    uint8_t count[SL_MIG_PROFILES_MAX];
};

struct sl_mig_placement {
    uint8_t profile; /* index in model->profiles */
    uint8_t start;   /* memory slice */
};

/* True when the instance can be created now. Checks starts, overlap, max_count, media rules and the
 * compute cap. */
bool sl_mig_can_place(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                      struct sl_mig_placement placement);
/* sl_mig_place adds a placement that sl_mig_can_place allows; sl_mig_remove removes an existing
 * one. */
void sl_mig_place(const struct sl_mig_model *model, struct sl_mig_layout *layout,
                  struct sl_mig_placement placement);
void sl_mig_remove(const struct sl_mig_model *model, struct sl_mig_layout *layout,
                   struct sl_mig_placement placement);

/* Returns exactly how many more instances of the profile the device can take. About ten
 * nanoseconds. */
unsigned sl_mig_room(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                     unsigned profile);

/* Returns the cost of a placement: the memory slices of instances that it makes impossible, as the
 * sum over profiles i of weight[i] * slices of i * (room before - room after). It includes the
 * placed profile itself. Weights are 0..2^31. */
int64_t sl_mig_cost(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                    struct sl_mig_placement placement, const int64_t weight[SL_MIG_PROFILES_MAX]);

/* Finds the placement of least cost on one device; among equals the highest start, which keeps
 * aligned room for larger profiles. False when there is none. */
bool sl_mig_best_start(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                       unsigned profile, const int64_t weight[SL_MIG_PROFILES_MAX],
                       struct sl_mig_placement *out, int64_t *cost);

/* Finds the placement of least cost on n devices of one model; among equals on the device with most
 * slices in use, then the first. Returns the device's index, -1 when none has room. */
int sl_mig_best_device(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                       size_t n, unsigned profile, const int64_t weight[SL_MIG_PROFILES_MAX],
                       struct sl_mig_placement *out);

/* True when counts[i] more instances of every profile i fit on the layout together. Writes one
 * placement for each instance to out, biggest first, at most SL_MIG_SLICES_MAX; out may be NULL,
 * and is untouched on false. Exact, by a search of at most some hundred steps. */
bool sl_mig_pack(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                 const uint8_t counts[SL_MIG_PROFILES_MAX], struct sl_mig_placement *out);

#endif

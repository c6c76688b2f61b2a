/* Telemetry of one GPU whose replicas share its memory, as placement reads it. */
#ifndef SLICED_MEASURED_H
#define SLICED_MEASURED_H

#include <stdint.h>

#include "sliced/series.h"

/* Which asks fit beside the pods on such a GPU (telemetry.sharing). */
enum sl_sharing {
    SL_SHARING_ASKS,   /* those that fit into the memory which all asks leave (Res-Ag) */
    SL_SHARING_CBP,    /* also those within the room that CBP gives: see sliced/harvest.h */
    SL_SHARING_CBP_PP, /* also those within the room that CBP or PP gives */
    SL_SHARING_PEAKS,  /* also those within the room that is left when each pod uses as much of its
                          ask as earlier pods of its workload did at most: see sliced/peaks.h */
};
/* "asks", "cbp", "cbp-pp", "peaks". */
const char *sl_sharing_name(enum sl_sharing sharing);

enum {
    SL_MEASURED_KNOWN = 8,
    SL_MEASURED_SEEN = 16,
    SL_MEASURED_SUFFER = 8,
    /* A GPU's use counts as beyond its pods' asks only when it exceeds them by more than this: no
     * ask includes the contexts of CUDA and of the driver. */
    SL_USAGE_OVER_MIN_MIB = 512,
};

/* The most that pods of a workload use of their asks, in thousandths. */
struct sl_measured_peak {
    uint32_t workload; /* 0: none */
    uint16_t permille;
    uint16_t lives; /* that show it */
};

/* A workload that suffers from neighbours where GPUs are shared by time: see sliced/suffer.h. */
struct sl_measured_suffer {
    uint32_t workload; /* 0: none */
    int16_t alone;     /* permille of the time in which a pod of it keeps a GPU busy alone */
    int16_t cost;      /* permille of its time that a neighbour adds to it: at 1000 two pods run at
                          half their speed */
};

/* Figures that are not known are -1. */
struct sl_measured {
    uint64_t pods;       /* sl_view_pods_of() of the pods for which room_mib holds */
    int32_t room_mib;    /* how much a new pod may use, by the rule; -1: the rule gives no room
                            beyond what the asks leave */
    int32_t reserve_mib; /* PEAKS: part of the room that must stay free beside what the new pod is
                            expected to use */
    struct sl_measured_peak known[SL_MEASURED_KNOWN]; /* PEAKS: of workloads that had pods there of
                                                         late; others may use all of their asks */
    int32_t over_mib; /* taken beyond the sum of all asks, under any rule */
    int32_t held_mib; /* taken at least by the pods that were measured, whatever they ask for: what
                         they have used, and the asks of those among them that came last */
    uint32_t seen[SL_MEASURED_SEEN]; /* the first of them, by sl_measured_pod(); 0: no more */
    int32_t used_mib;                /* in the last sample */
    int16_t busy;                    /* permille, mean over the window */
    int16_t bandwidth;               /* of its memory, likewise */
    int16_t load; /* permille of the time in which its pods keep it, or its memory, busy: measured
                     since the last of them came or went; 1000 before that is known */
    struct sl_measured_suffer suffer[SL_MEASURED_SUFFER]; /* of the cluster */
    uint16_t n_pods;                                      /* on it; in a view only */
    bool settled;                                         /* load was measured */
    bool apart;         /* shares of memory keep off it while its load is above SL_LOAD_HIGH */
    bool by_use;        /* pods may declare more than the device has */
    uint16_t samples;   /* SHORT: so many of SL_HARVEST_SAMPLES_MIN */
    enum sl_sharing by; /* the rule that gave the room, or none; ASKS: it is not asked */
    enum sl_series_state state; /* anything but GOOD: no room */
};

/* Stands for a device on which nothing was measured. */
extern const struct sl_measured sl_measured_none;

enum { SL_LOAD_HIGH = 500 };

/* Returns the permille of the GPU's time that one pod more gets if it always has work, 0 to 1000;
 * -1 when the load is not known. Pods take turns on a GPU, so the pod gets what the others leave,
 * and at least an equal part. */
int32_t sl_measured_left(const struct sl_measured *measured);
/* The entry of the workload, NULL: it is not known to suffer. */
const struct sl_measured_suffer *sl_measured_suffers(const struct sl_measured *measured,
                                                     uint32_t workload);
/* Returns the permille of its own speed, alone on the GPU, at which a pod more of such a workload
 * would run; -1 when the load is not known. takes_turns: the GPU is shared by time. */
int32_t sl_measured_speed(const struct sl_measured *measured,
                          const struct sl_measured_suffer *suffer, bool takes_turns);
/* Returns the largest ask, in MiB, for which the room could do, whatever its workload; -1: none. */
int32_t sl_measured_most(const struct sl_measured *measured);
/* Tells a pod's UID apart from others on the GPU: never 0. */
uint32_t sl_measured_pod(const char *uid);
/* Was the pod among the first SL_MEASURED_SEEN of those that were measured? */
bool sl_measured_saw(const struct sl_measured *measured, const char *uid);
/* How much more is taken than these asks: 0 while the contexts of CUDA could be all of it. */
int32_t sl_measured_over(int64_t taken_mib, int64_t asks_mib);
/* Do shares of memory keep off the GPU? */
bool sl_measured_repels(const struct sl_measured *measured);

#endif

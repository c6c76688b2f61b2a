/* The agents that cut GPUs, as a table: where each reads its orders, and in which form. Private to
 * this room. */
#ifndef SLICED_KUBE_CUT_ACTUATOR_H
#define SLICED_KUBE_CUT_ACTUATOR_H

#include "codec/write.h"
#include "kube/cut/layout.h"
#include "sliced/cut_run.h"

#define SL_CUT_ANNOTATION      "sliced.dev/cut"
#define SL_CUT_DEVICES_PLANNED "sliced.dev/cut-devices"
#define SL_CUT_BEFORE          "sliced.dev/cut-before"
#define SL_CUT_UNSURE          "sliced.dev/cut-unsure"
#define SL_CUT_TEXT            "sliced.dev/cut-text"
#define SL_DEVICES_ANNOTATION  "sliced.dev/devices"

/* An order to cut the GPUs of a node. */
struct sl_cut_order {
    const struct sl_node *node; /* as the cut was decided; to cancel it: as it is now */
    const char *name;           /* "sliced-<hash>-<attempt>" */
    struct sl_str stem;         /* the name without the attempt */
    struct sl_cut_device device[SL_NODE_DEVICES_MAX];
    size_t n_devices;
    bool done;  /* it was carried out: there is nothing to cancel */
    bool taken; /* pods have come since, and the GPUs changed: they may have what it made */
    /* Does the entry stay in a file that all nodes share? */
    bool (*keeps)(void *context, struct sl_str name);
    void *context;
};

/* One that needs no order, since it makes an instance when a pod starts, has an empty row. */
struct sl_cut_actuator {
    bool orders;
    bool nudges;        /* its pod is told to look at the ConfigMap now */
    bool tells_nothing; /* nobody says which GPU has which instances: sliced does, at the end */
    bool notes; /* the node keeps what is ordered until the end, since nobody says when that is */
    /* Refuses, with *err, an order that the agent could not read. Nothing has been written. */
    int (*check)(const struct sl_cut_order *order, struct sl_error *err);
    /* Writes members of the data of the ConfigMap that must have the order before the node names
     * it, as sl_edit.edit. NULL: there is none. */
    int (*edit)(const struct sl_cut_order *order, const struct sl_pair *data, struct sl_writer *w,
                struct sl_error *err);
    /* Refuses, with *err, to order it from the node as it is now. May be NULL. */
    int (*look)(const struct sl_cut_order *order, const struct sl_node_facts *now,
                struct sl_error *err);
    /* Write members of the node's labels and annotations. May be NULL. */
    void (*labels)(const struct sl_cut_order *order, struct sl_writer *w);
    void (*annotations)(const struct sl_cut_order *order, const struct sl_node_facts *now,
                        struct sl_writer *w);
    /* Writes the node's labels by which an order that is given up is not begun later, if any are
     * needed. May be NULL. */
    void (*cancel)(const struct sl_cut_order *order, const struct sl_node_facts *now,
                   struct sl_writer *w);
    /* Writes members of the node's annotations to the same end. May be NULL. */
    void (*take_back)(const struct sl_cut_order *order, const struct sl_node_facts *now,
                      struct sl_writer *w);
};

extern const struct sl_cut_actuator sl_cut_mig_manager; /* mig_manager.c */
extern const struct sl_cut_actuator sl_cut_nos_mig;     /* nos_mig.c */
extern const struct sl_cut_actuator sl_cut_nos_mps;     /* nos_mps.c */

/* Refuses to take away what nos' agents report in use by now. */
int sl_cut_nos_look(const struct sl_cut_order *order, const struct sl_node_facts *now,
                    struct sl_error *err);

#endif

/* Has GPUs cut for the pods that wait (partitioning.enabled): carries out the engine's commands.
 * The queue's thread calls it after each plan, with the snapshot of that plan; it waits only for
 * locks.
 */
#ifndef SLICED_DAEMON_CUT_PARTITIONER_H
#define SLICED_DAEMON_CUT_PARTITIONER_H

#include "cluster/store.h"
#include "kube/cut/cutter.h"
#include "kube/write/events.h"
#include "server/app/partition_reader.h"
#include "server/metrics/metric.h"

struct sl_partitioner;

struct sl_partitioner_options {
    struct sl_store *store;
    /* As sl_kube_cut. */
    void (*write)(void *cutter, const struct sl_cut_write *write, sl_cut_done done, void *call);
    void *cutter;
    /* Tells of a node by an Event; must not wait. NULL: nobody is told. */
    bool (*tell)(void *context, const struct sl_event_note *note);
    /* Wakes the queue's thread: a write has ended. Any thread; must not call the partitioner. */
    void (*wake)(void *context);
    void *context;
};

struct sl_partitioner *sl_partitioner_new(const struct sl_partitioner_options *options,
                                          struct sl_error *err);
/* All writes have ended, as the client was freed before. NULL is allowed. */
void sl_partitioner_free(struct sl_partitioner *partitioner);

/* ---- for the queue, on its thread ---- */

/* Begins a leadership, whose engine it borrows. Cuts of earlier ones are found on the nodes. */
void sl_partitioner_begin(struct sl_partitioner *partitioner, struct sl_engine *engine,
                          uint64_t leadership);
/* Ends it, before the engine is freed: what is under way is left to the next leader. */
void sl_partitioner_end(struct sl_partitioner *partitioner);
/* Follows the cuts under way and begins new ones. */
void sl_partitioner_round(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                          int64_t now_us);
/* Keeps readers out while the engine changes otherwise. NULL is allowed. */
void sl_partitioner_lock(struct sl_partitioner *partitioner);
void sl_partitioner_unlock(struct sl_partitioner *partitioner);

/* ---- any thread ---- */

struct sl_partition_reader sl_partitioner_reader(struct sl_partitioner *partitioner);
/* The last one has no rows. */
extern const struct sl_metric_table sl_partitioner_metrics[];
void sl_partitioner_write_metrics(struct sl_partitioner *partitioner, struct sl_buf *out);

#endif

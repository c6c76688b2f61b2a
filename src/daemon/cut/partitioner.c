/* The partitioner's life, and its round. */
#include <stdlib.h>

#include "daemon/cut/internal.h"
#include "util/time.h"

static const struct sl_histogram_scale seconds_scale = {
    .unit = SL_SECOND_US,
    .decimals = 6,
    .n = 10,
    .bound = {SL_SECOND_US, 2 * SL_SECOND_US, 5 * SL_SECOND_US, 10 * SL_SECOND_US,
              20 * SL_SECOND_US, 40 * SL_SECOND_US, 90 * SL_SECOND_US, 3 * SL_MINUTE_US,
              6 * SL_MINUTE_US, 15 * SL_MINUTE_US}};

struct sl_partitioner *sl_partitioner_new(const struct sl_partitioner_options *options,
                                          struct sl_error *err)
{
    struct sl_partitioner *partitioner = calloc(1, sizeof(*partitioner));
    struct sl_cutter *cutter = partitioner == NULL ? NULL : sl_cutter_new(err);
    if (cutter == NULL) {
        free(partitioner);
        (void)sl_error_nomem(err);
        return NULL;
    }
    partitioner->options = *options;
    partitioner->config = *options->config;
    partitioner->options.config = NULL;
    partitioner->cutter = cutter;
    partitioner->seconds.scale = &seconds_scale;
    (void)pthread_mutex_init(&partitioner->status, NULL);
    (void)pthread_mutex_init(&partitioner->mail, NULL);
    return partitioner;
}

static void free_calls(struct sl_cut_call *call)
{
    while (call != NULL) {
        struct sl_cut_call *next = call->next;
        free(call);
        call = next;
    }
}

void sl_partitioner_free(struct sl_partitioner *partitioner)
{
    if (partitioner == NULL) {
        return;
    }
    sl_cut_places_free(partitioner);
    free_calls(partitioner->ended);
    free(partitioner->seen);
    sl_cutter_free(partitioner->cutter);
    (void)pthread_mutex_destroy(&partitioner->status);
    (void)pthread_mutex_destroy(&partitioner->mail);
    free(partitioner);
}

void sl_partitioner_configure(struct sl_partitioner *partitioner, const struct sl_config *config)
{
    (void)pthread_mutex_lock(&partitioner->status);
    partitioner->config = *config;
    (void)pthread_mutex_unlock(&partitioner->status);
}

void sl_partitioner_begin(struct sl_partitioner *partitioner, uint64_t leadership)
{
    sl_partitioner_end(partitioner);
    (void)pthread_mutex_lock(&partitioner->status);
    partitioner->leadership = leadership;
    (void)pthread_mutex_unlock(&partitioner->status);
}

void sl_partitioner_end(struct sl_partitioner *partitioner)
{
    sl_cut_places_free(partitioner);
    sl_store_cut_end_all(partitioner->options.store);
    (void)pthread_mutex_lock(&partitioner->status);
    partitioner->leadership = 0;
    (void)pthread_mutex_unlock(&partitioner->status);
    partitioner->batch = (struct sl_cut_batch){0};
    partitioner->next_ask_us = 0;
}

static void time_move(int64_t *at_us, int64_t by_us)
{
    *at_us += *at_us != 0 ? by_us : 0; /* 0: not set */
}

void sl_partitioner_rebase(struct sl_partitioner *partitioner, int64_t by_us)
{
    size_t at = 0;
    time_move(&partitioner->batch.since_us, by_us);
    time_move(&partitioner->batch.grown_us, by_us);
    time_move(&partitioner->next_ask_us, by_us);
    (void)pthread_mutex_lock(&partitioner->status);
    for (size_t i = 0; i < partitioner->n_seen; i++) {
        time_move(&partitioner->seen[i].since_us, by_us);
    }
    for (struct sl_cut_place *place = sl_map_next(&partitioner->places, &at); place != NULL;
         place = sl_map_next(&partitioner->places, &at)) {
        time_move(&place->begun_us, by_us);
        time_move(&place->expected_us, by_us);
        time_move(&place->drained_us, by_us);
        time_move(&place->refused_us, by_us);
        time_move(&place->record.out_until_us, by_us);
        time_move(&place->record.failed_until_us, by_us);
        if (place->run != NULL) {
            sl_cut_run_rebase(place->run, by_us);
        }
    }
    (void)pthread_mutex_unlock(&partitioner->status);
}

int64_t sl_partitioner_round(struct sl_partitioner *partitioner, struct sl_planner *planner,
                             const struct sl_snapshot *snapshot, int64_t now_us)
{
    partitioner->round++;
    partitioner->planner = planner;
    int64_t wake_us = sl_cut_follow(partitioner, snapshot, now_us);
    int64_t again_us = sl_cut_want(partitioner, snapshot, now_us);
    sl_cut_places_sweep(partitioner, now_us);
    sl_cut_count_gpus(partitioner, snapshot, now_us);
    return wake_us < again_us ? wake_us : again_us;
}

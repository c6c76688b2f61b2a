/* The partitioner's memory of nodes, by name. */
#include <stdlib.h>

#include "daemon/cut/internal.h"
#include "util/time.h"

static const int64_t forget_us = SL_DAY_US; /* after a node's last failure */

struct sl_cut_place *sl_cut_place_find(const struct sl_partitioner *partitioner, const char *node)
{
    return sl_map_get(&partitioner->places, node, strlen(node));
}

struct sl_cut_place *sl_cut_place_of(struct sl_partitioner *partitioner, const char *node)
{
    struct sl_cut_place *place = sl_cut_place_find(partitioner, node);
    size_t len = strlen(node);
    if (place != NULL) {
        return place;
    }
    place = calloc(1, sizeof(*place) + len + 1);
    if (place == NULL) {
        return NULL;
    }
    memcpy(place->name, node, len);
    (void)pthread_mutex_lock(&partitioner->status);
    int result = sl_map_put(&partitioner->places, place->name, len, place, NULL);
    (void)pthread_mutex_unlock(&partitioner->status);
    if (result < 0) {
        free(place);
        return NULL;
    }
    return place;
}

void sl_cut_place_forget_pods(struct sl_cut_place *place)
{
    size_t at = 0;
    for (void *uid = sl_map_next(&place->uids, &at); uid != NULL;
         uid = sl_map_next(&place->uids, &at)) {
        free(uid);
    }
    sl_map_free(&place->uids);
    place->uids = (struct sl_map){.len = 0};
}

void sl_cut_drop(struct sl_partitioner *partitioner, struct sl_cut_place *place)
{
    if (place->run == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&partitioner->status);
    struct sl_cut_run *run = place->run;
    place->run = NULL;
    partitioner->under_way -= run->resumed ? 0 : 1;
    (void)pthread_mutex_unlock(&partitioner->status);
    free(run);
}

static void free_place(struct sl_partitioner *partitioner, struct sl_cut_place *place)
{
    (void)pthread_mutex_lock(&partitioner->status);
    (void)sl_map_remove(&partitioner->places, place->name, strlen(place->name));
    (void)pthread_mutex_unlock(&partitioner->status);
    sl_cut_drop(partitioner, place);
    sl_cut_place_forget_pods(place);
    free(place);
}

/* Times and failures of a node's cuts are worth keeping while the node is there. */
static bool is_worth_keeping(const struct sl_partitioner *partitioner,
                             const struct sl_cut_place *place, int64_t now_us)
{
    bool there = place->round == partitioner->round;
    return place->run != NULL || place->planned || there ||
           now_us - place->record.out_until_us < forget_us;
}

void sl_cut_places_sweep(struct sl_partitioner *partitioner, int64_t now_us)
{
    size_t at = 0;
    for (struct sl_cut_place *place = sl_map_next(&partitioner->places, &at); place != NULL;
         place = sl_map_next(&partitioner->places, &at)) {
        if (!is_worth_keeping(partitioner, place, now_us)) {
            free_place(partitioner, place);
        }
    }
}

void sl_cut_places_free(struct sl_partitioner *partitioner)
{
    size_t at = 0;
    for (struct sl_cut_place *place = sl_map_next(&partitioner->places, &at); place != NULL;
         place = sl_map_next(&partitioner->places, &at)) {
        free_place(partitioner, place);
    }
    (void)pthread_mutex_lock(&partitioner->status);
    sl_map_free(&partitioner->places);
    partitioner->places = (struct sl_map){.len = 0};
    (void)pthread_mutex_unlock(&partitioner->status);
}

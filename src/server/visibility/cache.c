/* Looks, and what differs from one to the next. */
#include "server/visibility/cache.h"

#include <stdlib.h>

#include "util/clock.h"
#include "util/data/hash.h"
#include "util/time.h"

enum { OBJECT_BYTES_MAX = 1 << 20, COST_FACTOR = 10 };

static const int64_t look_every_ns = 200 * SL_MS_NS;
static const int64_t rest_after_ns = 5 * SL_SECOND_NS;

void sl_vis_cache_init(struct sl_vis_cache *cache, struct sl_app *app,
                       const struct sl_vis_kind *kind)
{
    (void)pthread_mutex_init(&cache->lock, NULL);
    cache->kind = kind;
    cache->app = app;
    sl_vis_look_init(&cache->look, app);
}

/* Forgets all objects; watches miss the changes from here on. */
static void cache_forget(struct sl_vis_cache *cache)
{
    size_t at = 0;
    for (struct sl_vis_object *object = sl_map_next(&cache->objects, &at); object != NULL;
         object = sl_map_next(&cache->objects, &at)) {
        free(object);
    }
    for (size_t i = 0; i < cache->n_gone; i++) {
        free(cache->gone[i]);
    }
    sl_map_free(&cache->objects);
    cache->objects = (struct sl_map){.len = 0};
    cache->n_gone = 0;
    memset(cache->space, 0, sizeof(cache->space));
    cache->begun = cache->revision;
    cache->floor = cache->begun;
    cache->looked_ns = 0;
    cache->lost = cache->slots;
    sl_vis_look_free(&cache->look);
}

void sl_vis_cache_free(struct sl_vis_cache *cache)
{
    cache_forget(cache);
    (void)pthread_mutex_destroy(&cache->lock);
}

void sl_vis_cache_rest(struct sl_vis_cache *cache)
{
    if (cache->looked_ns != 0 && cache->slots == 0 &&
        sl_clock_monotonic_ns() - cache->used_ns > rest_after_ns) {
        cache_forget(cache);
    }
}

/* The object of a row, as it was remembered or new; NULL: out of memory. */
static struct sl_vis_object *object_of(struct sl_vis_cache *cache, const struct sl_vis_row *row,
                                       int64_t revision)
{
    struct sl_buf key;
    sl_buf_init(&key, SIZE_MAX);
    sl_buf_append(&key, row->namespace.s, row->namespace.len);
    sl_buf_putc(&key, '/');
    sl_buf_append(&key, row->name.s, row->name.len);
    sl_buf_putc(&key, '/');
    sl_buf_append(&key, row->uid.s, row->uid.len);
    struct sl_vis_object *object =
        key.failed != SL_BUF_OK ? NULL : sl_map_get(&cache->objects, key.data, key.len);
    if (object == NULL && key.failed == SL_BUF_OK) {
        object = SL_MAP_ADD(&cache->objects, struct sl_vis_object, key,
                            ((struct sl_str){key.data, key.len}));
        if (object != NULL) {
            object->key_len = key.len;
            object->namespace_len = row->namespace.len;
            object->name_len = row->name.len;
            object->born = revision;
        }
    }
    sl_buf_free(&key);
    return object;
}

/* Finds the objects of all rows, and which of them changed. -1: out of memory. */
static int compare_rows(struct sl_vis_cache *cache, struct sl_vis_look *look, int64_t revision,
                        bool *changed)
{
    struct sl_buf text;
    sl_buf_init(&text, OBJECT_BYTES_MAX);
    for (size_t i = 0; i < look->n; i++) {
        struct sl_vis_row *row = &look->row[i];
        struct sl_writer w = {.buf = &text};
        text.len = 0;
        text.failed = SL_BUF_OK;
        sl_vis_write_members(&w, cache->kind, look, row);
        row->object = object_of(cache, row, revision);
        if (row->object == NULL || text.failed == SL_BUF_NOMEM) {
            sl_buf_free(&text);
            return -1;
        }
        uint64_t digest = sl_hash(text.data, text.len);
        row->object->seen = cache->looks;
        if (row->object->digest != digest || row->object->revision == 0) {
            row->object->digest = digest;
            row->object->revision = revision;
            row->object->due = cache->slots;
            *changed = true;
        }
    }
    sl_buf_free(&text);
    return 0;
}

/* ---- what went ---- */

static size_t space_of(struct sl_str namespace)
{
    return namespace.len == 0 ? 0 : sl_hash(namespace.s, namespace.len) % SL_VIS_SPACES;
}

int64_t sl_vis_cache_floor(const struct sl_vis_cache *cache, struct sl_str namespace)
{
    int64_t own = cache->space[space_of(namespace)].floor;
    return namespace.len == 0 ? cache->floor : own > cache->begun ? own : cache->begun;
}

/* Forgets what went first of the namespace that has most of it, and returns its place: however much
 * goes in one, watches of the others miss nothing. */
static size_t forget_gone(struct sl_vis_cache *cache)
{
    struct sl_vis_space *most = &cache->space[0];
    for (size_t i = 1; i < SL_VIS_SPACES; i++) {
        most = cache->space[i].n > most->n ? &cache->space[i] : most;
    }
    struct sl_vis_object *object = SL_CONTAINER(most->gone.first, struct sl_vis_object, gone);
    size_t place = object->place;
    sl_list_remove(&most->gone, &object->gone);
    most->n--;
    most->floor = object->revision;
    cache->floor = object->revision > cache->floor ? object->revision : cache->floor;
    cache->lost |= object->due & object->told;
    free(object);
    return place;
}

/* Remembers that the object went. */
static void put_gone(struct sl_vis_cache *cache, struct sl_vis_object *object)
{
    struct sl_vis_space *space =
        &cache->space[space_of((struct sl_str){object->key, object->namespace_len})];
    object->place = cache->n_gone == SL_VIS_GONE_MAX ? forget_gone(cache) : cache->n_gone++;
    cache->gone[object->place] = object;
    sl_list_add_last(&space->gone, &object->gone);
    space->n++;
}

static void drop_unseen(struct sl_vis_cache *cache, int64_t revision, bool *changed)
{
    size_t at = 0;
    for (struct sl_vis_object *object = sl_map_next(&cache->objects, &at); object != NULL;
         object = sl_map_next(&cache->objects, &at)) {
        if (object->seen != cache->looks) {
            (void)sl_map_remove(&cache->objects, object->key, object->key_len);
            object->revision = revision;
            object->due = object->told;
            put_gone(cache, object);
            *changed = true;
        }
    }
}

static int look_anew(struct sl_vis_cache *cache, struct sl_error *err)
{
    struct sl_vis_look fresh;
    int64_t now_us = sl_clock_real_us();
    int64_t revision = now_us > cache->revision ? now_us : cache->revision + 1;
    bool changed = cache->looked_ns == 0;
    sl_vis_look_init(&fresh, cache->app);
    fresh.now_us = now_us;
    fresh.snapshot = sl_store_acquire(cache->app->store);
    cache->looks++;
    if (cache->kind->collect(&fresh, err) < 0 ||
        sl_vis_look_trim(&fresh, SL_VIS_ROWS_MAX, err) < 0) {
        sl_vis_look_free(&fresh);
        return -1;
    }
    if (compare_rows(cache, &fresh, revision, &changed) < 0) {
        sl_vis_look_free(&fresh);
        return sl_error_nomem(err);
    }
    drop_unseen(cache, revision, &changed);
    if (cache->looked_ns == 0) {
        cache->begun = revision - 1;
        cache->floor = cache->begun;
    }
    /* what is complete up to here is one more than what has just changed: a watch that ended in the
     * middle of telling it, and goes on from there, is told the rest */
    cache->revision = changed ? revision + 1 : cache->revision;
    sl_vis_look_free(&cache->look);
    cache->look = fresh;
    return 0;
}

int sl_vis_cache_look(struct sl_vis_cache *cache, struct sl_error *err)
{
    int64_t now_ns = sl_clock_monotonic_ns();
    int64_t patience_ns =
        COST_FACTOR * cache->cost_ns > look_every_ns ? COST_FACTOR * cache->cost_ns : look_every_ns;
    const char *missing = sl_app_missing(cache->app);
    cache->used_ns = now_ns;
    if (missing != NULL) {
        cache_forget(cache);
        return sl_error_set(err, SL_ERR_CONFLICT, "%s", missing);
    }
    if (cache->looked_ns != 0 && now_ns - cache->looked_ns < patience_ns) {
        return 0;
    }
    if (look_anew(cache, err) < 0) {
        cache_forget(cache);
        return -1;
    }
    cache->looked_ns = sl_clock_monotonic_ns();
    cache->cost_ns = cache->looked_ns - now_ns;
    return 0;
}

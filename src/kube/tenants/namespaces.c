/* One entry for each Namespace whose label names a tenant. What changed is told once, so nobody's
 * mail fills up however often labels change. */
#include "kube/tenants/namespaces.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kube/client/object_call.h"
#include "sliced/tenant.h"
#include "util/data/map.h"

enum { SPACES_MAX = 100000, LABELS_BYTES_MAX = 1 << 30 /* of an embedded cluster */ };

/* A Namespace with a tenant, or whose loss of it is to be told; each of an embedded cluster. */
struct space {
    struct space *next;
    struct sl_pair *labels; /* of an embedded cluster's; NULL: none */
    uint64_t list;          /* that named it last */
    bool told;
    char name[SL_TENANT_NAME_MAX];
    char tenant[SL_TENANT_NAME_MAX]; /* "": none */
};

struct sl_namespaces {
    struct sl_namespaces_options options;
    struct sl_reflector *reflector; /* NULL: none; of the thread that follows */
    struct sl_arena arena;          /* of labels */
    pthread_mutex_t lock;           /* guards what follows */
    char label[sizeof(((struct sl_tenants *)NULL)->label)];
    bool followed; /* that label is read */
    bool known;    /* see sl_namespaces_missing */
    bool changed;  /* something is to be told */
    uint64_t list; /* the one being read, or the last */
    struct sl_map by_name;
    struct space *first; /* in the order in which they came */
    struct space **end;
};

/* ---- entries ---- */

static struct space *space_add(struct sl_namespaces *all, struct sl_str name, struct sl_error *err)
{
    if (all->by_name.len >= SPACES_MAX) {
        (void)sl_error_set(err, SL_ERR_LIMIT, "more than %d Namespaces have a tenant", SPACES_MAX);
        return NULL;
    }
    struct space *space = calloc(1, sizeof(*space));
    if (space != NULL) {
        memcpy(space->name, name.s, name.len);
        space->told = true;
    }
    if (space == NULL || sl_map_put(&all->by_name, space->name, name.len, space, NULL) < 0) {
        free(space);
        (void)sl_error_nomem(err);
        return NULL;
    }
    *all->end = space;
    all->end = &space->next;
    return space;
}

static void space_change(struct sl_namespaces *all, struct space *space, struct sl_str tenant)
{
    tenant = tenant.len < SL_TENANT_NAME_MAX ? tenant : SL_STR("");
    if (!sl_str_eq(sl_str_of(space->tenant), tenant)) {
        memset(space->tenant, 0, sizeof(space->tenant));
        memcpy(space->tenant, tenant.s, tenant.len);
        space->told = false;
        all->changed = true;
    }
}

static struct sl_str tenant_of(const struct sl_namespaces *all, const struct sl_pair *labels)
{
    const struct sl_pair *pair = sl_pair_find(labels, sl_str_of(all->label));
    return pair == NULL ? SL_STR("") : pair->value;
}

/* With the lock held. Kubernetes has no longer names, nor values of labels. */
static int space_set(struct sl_namespaces *all, struct sl_str name, struct sl_str tenant,
                     struct sl_error *err)
{
    struct space *space = sl_map_get(&all->by_name, name.s, name.len);
    if (space == NULL && tenant.len > 0 && name.len < SL_TENANT_NAME_MAX) {
        space = space_add(all, name, err);
        if (space == NULL) {
            return -1;
        }
    }
    if (space != NULL) {
        space_change(all, space, tenant);
        space->list = all->list;
    }
    return 0;
}

/* With the lock held. The list is whole: those that it did not name have no tenant, but by labels
 * that are kept. */
static void list_end(struct sl_namespaces *all)
{
    for (struct space *space = all->first; space != NULL; space = space->next) {
        if (space->list != all->list) {
            space_change(all, space, tenant_of(all, space->labels));
        }
    }
    all->known = true;
}

/* ---- the watch ---- */

static void lock(struct sl_namespaces *all)
{
    (void)pthread_mutex_lock(&all->lock);
}

static void unlock(struct sl_namespaces *all)
{
    bool wake = all->changed;
    (void)pthread_mutex_unlock(&all->lock);
    if (wake) {
        all->options.wake(all->options.context);
    }
}

static void on_list_begin(void *context)
{
    struct sl_namespaces *all = context;
    lock(all);
    all->list++;
    unlock(all);
}

static int on_object(void *context, const struct sl_watch_item *item, int64_t received_us,
                     struct sl_error *err)
{
    struct sl_namespaces *all = context;
    (void)received_us;
    lock(all);
    int result = space_set(
        all, item->name,
        item->event == SL_WATCH_DELETED ? SL_STR("") : tenant_of(all, item->object->labels), err);
    unlock(all);
    return result;
}

/* It keeps its tenant until it can be read again. */
static void on_skipped(void *context, const struct sl_watch_item *item, const struct sl_error *why)
{
    struct sl_namespaces *all = context;
    (void)why;
    lock(all);
    struct space *space =
        item->name.len == 0 ? NULL : sl_map_get(&all->by_name, item->name.s, item->name.len);
    if (space != NULL) {
        space->list = all->list;
    }
    unlock(all);
}

static void on_listed(void *context, bool ok)
{
    struct sl_namespaces *all = context;
    lock(all);
    if (ok) {
        list_end(all);
    }
    unlock(all);
}

static int watch_begin(struct sl_namespaces *all, struct sl_error *err)
{
    const struct sl_reflector_options reflector = {
        .client = all->options.client,
        .kind = SL_OBJECT_NAMESPACE,
        .name = "namespaces",
        .path = "/api/v1/namespaces",
        .times = all->options.times,
        .limits = sl_kube_text_limits,
        .calls = {.context = all,
                  .list_begin = on_list_begin,
                  .object = on_object,
                  .skipped = on_skipped,
                  .listed = on_listed},
    };
    all->reflector = sl_reflector_start(&reflector, err);
    return all->reflector == NULL ? -1 : 0;
}

int sl_namespaces_follow(struct sl_namespaces *all, const char *label, struct sl_error *err)
{
    bool watched = label[0] != '\0' && all->options.client != NULL;
    if (all->followed && strcmp(label, all->label) == 0) {
        return 0;
    }
    sl_reflector_stop(all->reflector);
    all->reflector = NULL;
    lock(all);
    (void)snprintf(all->label, sizeof(all->label), "%s", label);
    all->list++;
    if (!watched) {
        list_end(all);
    }
    unlock(all);
    all->followed = !watched || watch_begin(all, err) == 0;
    return all->followed ? 0 : -1;
}

const char *sl_namespaces_missing(struct sl_namespaces *all)
{
    (void)pthread_mutex_lock(&all->lock);
    bool known = all->known;
    (void)pthread_mutex_unlock(&all->lock);
    return known ? NULL : "waiting for the list of Namespaces, whose label names the tenants";
}

/* ---- the reader ---- */

bool sl_namespaces_tell(struct sl_namespaces *all, bool anew,
                        int (*told)(void *context, struct sl_str name, struct sl_str tenant),
                        void *context)
{
    bool ok = true;
    (void)pthread_mutex_lock(&all->lock);
    for (struct space *space = all->first; anew && space != NULL; space = space->next) {
        space->told = false;
    }
    struct space **at = &all->first;
    while ((anew || all->changed) && ok && *at != NULL) {
        struct space *space = *at;
        ok = space->told || told(context, sl_str_of(space->name), sl_str_of(space->tenant)) == 0;
        space->told = ok;
        if (ok && space->tenant[0] == '\0' && space->labels == NULL) {
            *at = space->next;
            all->end = *at == NULL ? at : all->end;
            (void)sl_map_remove(&all->by_name, space->name, strlen(space->name));
            free(space);
        } else {
            at = &space->next;
        }
    }
    all->changed = !ok;
    (void)pthread_mutex_unlock(&all->lock);
    return ok;
}

/* ---- an embedded cluster ---- */

int sl_namespaces_put(struct sl_namespaces *all, struct sl_str name, const struct sl_pair *labels,
                      struct sl_error *err)
{
    struct space *space = name.len < SL_TENANT_NAME_MAX ? space_add(all, name, err) : NULL;
    for (; labels != NULL && space != NULL; labels = labels->next) {
        struct sl_pair *pair = sl_arena_alloc(&all->arena, sizeof(*pair));
        const char *key = sl_arena_strdup(&all->arena, labels->key.s, labels->key.len);
        const char *value = sl_arena_strdup(&all->arena, labels->value.s, labels->value.len);
        if (pair == NULL || key == NULL || value == NULL) {
            return sl_error_nomem(err);
        }
        *pair = (struct sl_pair){{key, labels->key.len}, {value, labels->value.len}, space->labels};
        space->labels = pair;
    }
    return space == NULL && name.len < SL_TENANT_NAME_MAX ? -1 : 0;
}

/* ---- life ---- */

struct sl_namespaces *sl_namespaces_new(const struct sl_namespaces_options *options,
                                        struct sl_error *err)
{
    struct sl_namespaces *all = calloc(1, sizeof(*all));
    if (all == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    all->options = *options;
    all->end = &all->first;
    sl_arena_init(&all->arena, LABELS_BYTES_MAX);
    (void)pthread_mutex_init(&all->lock, NULL);
    return all;
}

void sl_namespaces_free(struct sl_namespaces *all)
{
    if (all == NULL) {
        return;
    }
    sl_reflector_stop(all->reflector);
    for (struct space *space = all->first; space != NULL;) {
        struct space *next = space->next;
        free(space);
        space = next;
    }
    sl_map_free(&all->by_name);
    sl_arena_free(&all->arena);
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

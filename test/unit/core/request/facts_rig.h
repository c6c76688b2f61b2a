/* Facts of nodes and pods written down as lines, for the tests of what judges them. */
#ifndef SLICED_TEST_FACTS_RIG_H
#define SLICED_TEST_FACTS_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "sliced/facts.h"
#include "unit/test.h"
#include "util/data/arena.h"

struct facts_rig {
    struct sl_arena arena;
};

static inline void facts_init(struct facts_rig *rig)
{
    sl_arena_init(&rig->arena, (size_t)1 << 24);
}

static inline void facts_free(struct facts_rig *rig)
{
    sl_arena_free(&rig->arena);
}

static inline struct sl_str facts_text(struct facts_rig *rig, const char *text, size_t len)
{
    char *copy = sl_arena_strdup(&rig->arena, text, len);
    assert_non_null(copy);
    return (struct sl_str){copy, len};
}

static inline void facts_pair(struct facts_rig *rig, struct sl_pair **list, const char *key,
                              const char *value)
{
    struct sl_pair *pair = sl_arena_alloc(&rig->arena, sizeof(*pair));
    assert_non_null(pair);
    pair->key = facts_text(rig, key, strlen(key));
    pair->value = facts_text(rig, value, strlen(value));
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = pair;
}

/* "a=1 b=2": pairs parted by spaces, at the first '=' of each. NULL: none. */
static inline struct sl_pair *facts_pairs(struct facts_rig *rig, const char *text)
{
    struct sl_pair *list = NULL;
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, " ");
        size_t key_len = strcspn(text, "=");
        assert_true(key_len < len);
        struct sl_str key = facts_text(rig, text, key_len);
        struct sl_str value = facts_text(rig, text + key_len + 1, len - key_len - 1);
        facts_pair(rig, &list, key.s, value.s);
        text += len;
        text += strspn(text, " ");
    }
    return list;
}

static inline struct sl_container_facts *facts_container(struct facts_rig *rig,
                                                         struct sl_container_facts **list,
                                                         const char *name, const char *requests,
                                                         const char *limits)
{
    struct sl_container_facts *container = sl_arena_alloc(&rig->arena, sizeof(*container));
    assert_non_null(container);
    container->name = facts_text(rig, name, strlen(name));
    container->requests = facts_pairs(rig, requests);
    container->limits = facts_pairs(rig, limits);
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = container;
    return container;
}

/* Appends a device of sliced.dev/devices; instances as "1g.6gb@0 2g.12gb" (start left out: -1),
 * NULL when MIG is off. */
static inline struct sl_device_facts *
facts_device(struct facts_rig *rig, struct sl_node_facts *node, int index, const char *instances)
{
    struct sl_device_facts *device = sl_arena_alloc(&rig->arena, sizeof(*device));
    assert_non_null(device);
    device->index = index;
    device->mig = instances != NULL;
    struct sl_instance_facts **end = &device->instances;
    while (instances != NULL && *instances != '\0') {
        size_t len = strcspn(instances, " ");
        size_t name_len = strcspn(instances, " @");
        struct sl_instance_facts *instance = sl_arena_alloc(&rig->arena, sizeof(*instance));
        assert_non_null(instance);
        instance->profile = facts_text(rig, instances, name_len);
        instance->start = name_len < len ? (int)strtol(instances + name_len + 1, NULL, 10) : -1;
        *end = instance;
        end = &instance->next;
        instances += len;
        instances += strspn(instances, " ");
    }
    struct sl_device_facts **last = &node->devices;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = device;
    return device;
}

#endif

/* A node and pods from lines of text, so that a fuzzer finds its way and a corpus can be read. The
 * first letter says what the line is:
 *   l a r  label, annotation, allocatable of the node: "r nvidia.com/gpu=4"
 *   k      who cuts its GPUs (enum sl_actuator): "k 1"
 *   d      a device of sliced.dev/devices: "d 0 1g.5gb@0 2g.10gb" (unhealthy: "d 0!")
 *   p w    a pod that stands on the node, or waits; the lines behind are its own
 *   c i s  a container, an init container, a sidecar
 *   q m o  request, limit (of that container), overhead (of the pod)
 *   b x    label, annotation of the pod
 *   t      its creation in seconds */
#ifndef SLICED_TEST_SCENE_H
#define SLICED_TEST_SCENE_H

#include <stdlib.h>

#include "sliced/fit.h"
#include "util/data/arena.h"

enum { SCENE_PODS = 24, SCENE_ARENA = 1 << 20 };

struct scene {
    struct sl_arena arena;
    struct sl_node_facts facts;
    struct sl_pod_facts pod_facts[SCENE_PODS];
    unsigned n_pods;
    struct sl_container_facts *container;
    struct sl_node *node;
    struct sl_pod *pod[SCENE_PODS];
};

static inline void scene_check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static inline struct sl_str scene_text(struct scene *scene, struct sl_str text)
{
    char *copy = sl_arena_strdup(&scene->arena, text.len == 0 ? "" : text.s, text.len);
    return copy == NULL ? SL_STR("") : (struct sl_str){copy, text.len};
}

static inline void scene_pair(struct scene *scene, struct sl_pair **list, struct sl_str text)
{
    struct sl_pair *pair = sl_arena_alloc(&scene->arena, sizeof(*pair));
    if (pair != NULL) {
        struct sl_str key = sl_str_cut(&text, '=');
        pair->key = scene_text(scene, key);
        pair->value = scene_text(scene, text);
        pair->next = *list;
        *list = pair;
    }
}

static inline int scene_number(struct sl_str text, int otherwise)
{
    int64_t n = 0;
    return sl_str_to_i64(text, &n) && n >= -1 && n <= 1 << 20 ? (int)n : otherwise;
}

static inline void scene_device(struct scene *scene, struct sl_str text)
{
    struct sl_device_facts *device = sl_arena_alloc(&scene->arena, sizeof(*device));
    if (device == NULL) {
        return;
    }
    struct sl_str index = sl_str_cut(&text, ' ');
    *device = (struct sl_device_facts){.mig = text.s != NULL, .next = scene->facts.devices};
    if (sl_str_ends(index, SL_STR("!"))) {
        device->unhealthy = true;
        index.len--;
    }
    device->index = scene_number(index, 0);
    while (text.s != NULL) {
        struct sl_instance_facts *instance = sl_arena_alloc(&scene->arena, sizeof(*instance));
        struct sl_str start = sl_str_cut(&text, ' ');
        if (instance == NULL) {
            return;
        }
        struct sl_str profile = sl_str_cut(&start, '@');
        instance->profile = scene_text(scene, profile);
        instance->start = scene_number(start, -1);
        instance->next = device->instances;
        device->instances = instance;
    }
    scene->facts.devices = device;
}

static inline struct sl_pod_facts *scene_pod(struct scene *scene)
{
    return scene->n_pods == 0 ? NULL : &scene->pod_facts[scene->n_pods - 1];
}

static inline void scene_begin_pod(struct scene *scene, bool stands)
{
    static const char *const uids[SCENE_PODS] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                                 "i", "j", "k", "l", "m", "n", "o", "p",
                                                 "q", "r", "s", "t", "u", "v", "w", "x"};
    scene->container = NULL;
    if (scene->n_pods < SCENE_PODS) {
        scene->pod_facts[scene->n_pods] = (struct sl_pod_facts){
            .name = sl_str_of(uids[scene->n_pods]),
            .uid = sl_str_of(uids[scene->n_pods]),
            .node_name = stands ? SL_STR("node-1") : (struct sl_str){0},
        };
        scene->n_pods++;
    }
}

static inline void scene_container(struct scene *scene, struct sl_container_facts **list, bool side)
{
    struct sl_container_facts *container = sl_arena_alloc(&scene->arena, sizeof(*container));
    if (container != NULL) {
        *container = (struct sl_container_facts){.name = SL_STR("c"), .restart_always = side};
        while (*list != NULL) {
            list = &(*list)->next;
        }
        *list = container;
        scene->container = container;
    }
}

static inline void scene_pod_line(struct scene *scene, struct sl_pod_facts *pod, char what,
                                  struct sl_str text)
{
    switch (what) {
    case 'c':
        scene_container(scene, &pod->containers, false);
        break;
    case 'i':
    case 's':
        scene_container(scene, &pod->init_containers, what == 's');
        break;
    case 'o':
        scene_pair(scene, &pod->overhead, text);
        break;
    case 'b':
        scene_pair(scene, &pod->labels, text);
        break;
    case 'x':
        scene_pair(scene, &pod->annotations, text);
        break;
    case 't':
        pod->created_us = (int64_t)scene_number(text, 0) * 1000000;
        break;
    case 'q':
    case 'm':
        if (scene->container != NULL) {
            scene_pair(scene, what == 'q' ? &scene->container->requests : &scene->container->limits,
                       text);
        }
        break;
    default:
        break;
    }
}

static inline void scene_line(struct scene *scene, struct sl_str line)
{
    if (line.len == 0) {
        return;
    }
    struct sl_str text = {line.s + 1, line.len - 1};
    if (text.len > 0 && text.s[0] == ' ') {
        text = (struct sl_str){text.s + 1, text.len - 1};
    }
    switch (line.s[0]) {
    case 'l':
        scene_pair(scene, &scene->facts.labels, text);
        break;
    case 'a':
        scene_pair(scene, &scene->facts.annotations, text);
        break;
    case 'r':
        scene_pair(scene, &scene->facts.allocatable, text);
        break;
    case 'k':
        scene->facts.actuator =
            (enum sl_actuator)((unsigned)scene_number(text, 0) % (SL_ACTUATOR_NOS_MIG + 1));
        break;
    case 'd':
        scene_device(scene, text);
        break;
    case 'p':
    case 'w':
        scene_begin_pod(scene, line.s[0] == 'p');
        break;
    default:
        if (scene_pod(scene) != NULL) {
            scene_pod_line(scene, scene_pod(scene), line.s[0], text);
        }
        break;
    }
}

static inline void scene_free(struct scene *scene)
{
    for (unsigned i = 0; i < scene->n_pods; i++) {
        sl_pod_unref(scene->pod[i]);
    }
    sl_node_unref(scene->node);
    sl_arena_free(&scene->arena);
    free(scene);
}

/* NULL when the text makes no node. */
static inline struct scene *scene_new(const uint8_t *data, size_t size)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct sl_str text = {(const char *)data, size};
    scene_check(scene != NULL);
    sl_arena_init(&scene->arena, SCENE_ARENA);
    scene->facts.name = SL_STR("node-1");
    for (text.s = size == 0 ? NULL : text.s; text.s != NULL;) {
        scene_line(scene, sl_str_cut(&text, '\n'));
    }
    scene->node = sl_node_new(&scene->facts, NULL);
    unsigned n = 0;
    for (unsigned i = 0; i < scene->n_pods; i++) {
        struct sl_pod *pod = sl_pod_new(&scene->pod_facts[i], NULL);
        scene->pod[n] = pod;
        n += pod != NULL;
    }
    scene->n_pods = n;
    if (scene->node == NULL) {
        scene_free(scene);
        return NULL;
    }
    return scene;
}

/* Is every part a place of the node that no other part of its item has? */
static inline void scene_check_parts(const struct sl_node *node, const struct sl_ask_item *item,
                                     unsigned n_items, const struct sl_assignment_part *part,
                                     unsigned n)
{
    scene_check(n <= SL_ASSIGNMENT_MAX);
    for (unsigned i = 0; i < n; i++) {
        scene_check(part[i].item < n_items && part[i].amount > 0);
        int pool = sl_node_pool(node, item[part[i].item].key);
        scene_check(pool >= 0);
        scene_check(part[i].device >= -1 && part[i].device < (int)node->n_devices);
        scene_check(part[i].instance >= -1 && part[i].instance < (int)node->n_instances);
        scene_check((part[i].device >= 0) == node->pool[pool].on_devices);
        scene_check(part[i].instance < 0 ||
                    (node->instance[part[i].instance].device == part[i].device &&
                     node->instance[part[i].instance].pool == pool));
        for (unsigned k = 0; k < i; k++) {
            scene_check(part[k].item != part[i].item || part[k].device != part[i].device ||
                        part[k].instance != part[i].instance);
        }
    }
}

#endif

/* Devices that the node shows, and those that only a cut names: a node whose GPUs are not told
 * apart is cut as a whole. */
#include "kube/cut/layout.h"

#include <limits.h>
#include <stdio.h>

/* ---- devices ---- */

static const struct sl_mig_model *model_of(const struct sl_node *node,
                                           const struct sl_device *known)
{
    return known != NULL && known->model != NULL ? known->model : node->model;
}

static int cut_check(const struct sl_cut *cut, const struct sl_mig_model *model,
                     struct sl_error *err)
{
    if (cut->n_sizes > 0 && cut->n_sizes <= SL_MIG_INSTANCES_MAX && cut->n == 0 && !cut->whole) {
        return 0;
    }
    bool good = model != NULL && cut->n <= SL_MIG_INSTANCES_MAX && cut->n_sizes == 0 &&
                !(cut->whole && cut->n > 0);
    for (unsigned i = 0; good && i < cut->n; i++) {
        good = cut->instance[i].profile < model->n_profiles;
    }
    return good ? 0
                : sl_error_set(err, SL_ERR_FIELD, "GPU %u cannot be cut as planned: %s",
                               (unsigned)cut->device,
                               model == NULL ? "its model is not known" : "no such profiles");
}

/* Instances that stay must be named, or an agent would take them away. */
static int staying_check(const struct sl_node *node, const struct sl_cut_device *device,
                         struct sl_error *err)
{
    for (unsigned i = 0; i < node->n_pools; i++) {
        bool made = sl_kinds[node->pool[i].kind].instance || node->pool[i].slices;
        if (made && !node->pool[i].on_devices) {
            return sl_error_set(err, SL_ERR_FIELD, "it is not known which GPU has its %s",
                                node->pool[i].resource);
        }
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (&node->device[instance->device] == device->known && instance->profile == NULL &&
            instance->slices == 0) {
            return sl_error_set(err, SL_ERR_FIELD, "GPU %d has an instance of an unknown profile",
                                device->index);
        }
    }
    return 0;
}

/* A device marked unhealthy by others is no other device: devices are read from the node as it was
 * judged. */
static const struct sl_node *judged(const struct sl_node *node)
{
    return node->judged != NULL ? node->judged : node;
}

int sl_cut_devices(const struct sl_node *node, const struct sl_cut *cut, size_t n,
                   struct sl_cut_device out[SL_NODE_DEVICES_MAX], struct sl_error *err)
{
    const struct sl_node *own = judged(node);
    size_t d = 0;
    size_t c = 0;
    int count = 0;
    while (d < own->n_devices || c < n) {
        int known_index = d < own->n_devices ? own->device[d].index : INT_MAX;
        int cut_index = c < n ? cut[c].device : INT_MAX;
        int index = known_index < cut_index ? known_index : cut_index;
        const struct sl_device *known = known_index == index ? &own->device[d] : NULL;
        const struct sl_cut *next = cut_index == index ? &cut[c] : NULL;
        if (count == SL_NODE_DEVICES_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "more than %d GPUs", (int)SL_NODE_DEVICES_MAX);
        }
        struct sl_cut_device *device = &out[count++];
        *device = (struct sl_cut_device){
            .index = index,
            .mig = next != NULL ? !next->whole : known != NULL && known->mig,
            .model = model_of(own, known),
            .known = known,
            .cut = next,
        };
        if ((next != NULL ? cut_check(next, device->model, err) : staying_check(own, device, err)) <
            0) {
            return -1;
        }
        d += known != NULL;
        c += next != NULL;
    }
    return count;
}

/* ---- instances ---- */

/* An instance of a device after the cut. */
struct instance {
    const struct sl_mig_profile *profile;
    int start; /* -1: unknown, as of those that an agent makes */
};

/* Returns how many instances the device has after the cut. */
static size_t list_instances(const struct sl_node *node, const struct sl_cut_device *device,
                             struct instance out[SL_MIG_INSTANCES_MAX])
{
    const struct sl_node *own = judged(node);
    size_t n = 0;
    if (device->cut != NULL) {
        for (; n < device->cut->n; n++) {
            out[n] =
                (struct instance){&device->model->profiles[device->cut->instance[n].profile], -1};
        }
        return n;
    }
    for (unsigned i = 0; i < own->n_instances && n < SL_MIG_INSTANCES_MAX; i++) {
        const struct sl_instance *instance = &own->instance[i];
        if (&own->device[instance->device] == device->known) {
            out[n++] =
                (struct instance){instance->profile, instance->guessed ? -1 : instance->start};
        }
    }
    return n;
}

/* The device plugin puts a dot in a resource's name where the driver puts a plus. */
static bool name_of_resource(const char *resource, char out[SL_CUT_PROFILE_MAX])
{
    static const char prefix[] = "nvidia.com/mig-";
    size_t skip = sizeof(prefix) - 1;
    if (strncmp(resource, prefix, skip) != 0 || strlen(resource + skip) >= SL_CUT_PROFILE_MAX) {
        return false;
    }
    (void)snprintf(out, SL_CUT_PROFILE_MAX, "%s", resource + skip);
    char *gigabytes = strstr(out, "gb");
    if (gigabytes != NULL && gigabytes[2] == '.') {
        gigabytes[2] = '+';
    }
    return true;
}

static void name_profile(const struct sl_node *node, const struct sl_mig_profile *profile,
                         char out[SL_CUT_PROFILE_MAX])
{
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        if (sl_kinds[pool->kind].instance && pool->profile == profile &&
            name_of_resource(pool->resource, out)) {
            return;
        }
    }
    (void)snprintf(out, SL_CUT_PROFILE_MAX, "%s", profile->name);
}

static void group_slices(struct sl_cut_group *out, int64_t gb, unsigned n)
{
    (void)snprintf(out->profile, sizeof(out->profile), "%lldgb", (long long)gb);
    out->n = n;
}

/* Returns how many sizes of slices the device has after the cut. */
static size_t groups_of_slices(const struct sl_node *node, const struct sl_cut_device *device,
                               struct sl_cut_group out[SL_MIG_INSTANCES_MAX])
{
    const struct sl_node *own = judged(node);
    size_t n = 0;
    for (; device->cut != NULL && n < device->cut->n_sizes; n++) {
        group_slices(&out[n], device->cut->slices[n].gb, device->cut->slices[n].n);
    }
    for (unsigned i = 0; device->cut == NULL && i < own->n_instances; i++) {
        const struct sl_instance *instance = &own->instance[i];
        if (&own->device[instance->device] == device->known && instance->slices > 0 &&
            n < SL_MIG_INSTANCES_MAX) {
            group_slices(&out[n++], own->pool[instance->pool].memory_mib / 1024, instance->slices);
        }
    }
    return n;
}

size_t sl_cut_groups(const struct sl_node *node, const struct sl_cut_device *device,
                     struct sl_cut_group out[SL_MIG_INSTANCES_MAX])
{
    struct instance instance[SL_MIG_INSTANCES_MAX];
    size_t groups = groups_of_slices(node, device, out);
    size_t n = groups > 0 ? 0 : list_instances(node, device, instance);
    for (size_t i = 0; i < n; i++) {
        char name[SL_CUT_PROFILE_MAX];
        size_t at = 0;
        name_profile(node, instance[i].profile, name);
        while (at < groups && strcmp(out[at].profile, name) != 0) {
            at++;
        }
        if (at == groups) {
            out[groups++] = (struct sl_cut_group){.n = 0};
            memcpy(out[at].profile, name, sizeof(name));
        }
        out[at].n++;
    }
    return groups;
}

/* ---- the annotation ---- */

static void write_slices(const struct sl_cut_group *group, struct sl_writer *w)
{
    for (unsigned i = 0; i < group->n; i++) {
        sl_write_object(w);
        sl_write_member_text(w, "profile", group->profile);
        sl_write_object_end(w);
    }
}

static void write_instances(const struct sl_node *node, const struct sl_cut_device *device,
                            struct sl_writer *w)
{
    struct instance instance[SL_MIG_INSTANCES_MAX];
    struct sl_cut_group group[SL_MIG_INSTANCES_MAX];
    size_t sizes = groups_of_slices(node, device, group);
    size_t n = sizes > 0 ? 0 : list_instances(node, device, instance);
    sl_write_member_array(w, "instances");
    for (size_t i = 0; i < sizes; i++) {
        write_slices(&group[i], w);
    }
    for (size_t i = 0; i < n; i++) {
        char name[SL_CUT_PROFILE_MAX];
        name_profile(node, instance[i].profile, name);
        sl_write_object(w);
        sl_write_member_text(w, "profile", name);
        if (instance[i].start >= 0) {
            sl_write_member_i64(w, "start", instance[i].start);
        }
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

static void write_device(const struct sl_node *node, const struct sl_cut_device *device,
                         bool unsure, struct sl_writer *w)
{
    const struct sl_device *known = device->known;
    const char *product = known == NULL || known->product == NULL ? node->product : known->product;
    sl_write_object(w);
    sl_write_member_i64(w, "index", device->index);
    if (known != NULL && known->uuid != NULL) {
        sl_write_member_text(w, "uuid", known->uuid);
    }
    if (product != NULL) {
        sl_write_member_text(w, "product", product);
    }
    if (known != NULL && known->memory_mib > 0) {
        sl_write_member_i64(w, "memory", known->memory_mib);
    }
    if (known != NULL && !known->healthy) {
        sl_write_member_bool(w, "healthy", false);
    }
    sl_write_member_bool(w, "mig", device->mig);
    if (device->cut != NULL ? unsure : known != NULL && known->unsure) {
        sl_write_member_bool(w, "unsure", true);
    } else if (device->mig) {
        write_instances(node, device, w);
    }
    sl_write_object_end(w);
}

void sl_cut_write_devices(const struct sl_node *node, const struct sl_cut_device *device, size_t n,
                          bool unsure, struct sl_writer *w)
{
    sl_write_array(w);
    for (size_t i = 0; i < n; i++) {
        write_device(judged(node), &device[i], unsure, w);
    }
    sl_write_array_end(w);
}

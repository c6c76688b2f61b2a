/* The names of the extended resources that sliced schedules. */
#include "sliced/ask.h"

/* Kubernetes refuses longer names after the '/', so nobody can have one. */
enum { RESOURCE_NAME_MAX = 63 };

const char *sl_kind_name(enum sl_kind kind)
{
    static const char *const names[] = {
        [SL_KIND_WHOLE] = "whole",
        [SL_KIND_MIG] = "mig",
        [SL_KIND_REPLICA] = "replica",
        [SL_KIND_MEMORY] = "memory",
    };
    size_t i = (size_t)kind;
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : "unknown";
}

static const struct fixed_name {
    const char *name;
    size_t len;
    enum sl_kind kind;
    bool shared;
    bool inventory;
} fixed_names[] = {
#define FIXED(text) .name = (text), .len = sizeof(text) - 1
    {FIXED("nvidia.com/gpu"), .kind = SL_KIND_WHOLE},
    {FIXED("nvidia.com/gpu.shared"), .kind = SL_KIND_REPLICA, .shared = true},
    {FIXED("aliyun.com/gpu-mem"), .kind = SL_KIND_MEMORY},
    {FIXED("aliyun.com/gpu-count"), .kind = SL_KIND_MEMORY, .inventory = true},
#undef FIXED
};

/* Only what Kubernetes allows in a name; keeps NUL and ';', '=' out of assignments. */
static bool is_name(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_' || c == '.';
        if (!good) {
            return false;
        }
    }
    return true;
}

static bool mig_parse(struct sl_str name, struct sl_resource *out)
{
    const struct sl_str prefix = SL_STR("nvidia.com/mig-");
    const struct sl_str suffix = SL_STR(".shared");
    const size_t domain = sizeof("nvidia.com/") - 1;
    if (!sl_str_starts(name, prefix) || name.len > domain + RESOURCE_NAME_MAX) {
        return false;
    }
    struct sl_str profile = {name.s + prefix.len, name.len - prefix.len};
    bool shared = sl_str_ends(profile, suffix);
    if (shared) {
        profile.len -= suffix.len;
    }
    if (profile.len == 0 || !is_name(profile)) {
        return false;
    }
    *out = (struct sl_resource){
        .key = sl_hash(name.s, name.len),
        .kind = shared ? SL_KIND_REPLICA : SL_KIND_MIG,
        .shared = shared,
        .profile = profile,
    };
    struct sl_mig_shape shape;
    if (sl_mig_shape_parse(profile, &shape)) {
        out->shape = shape;
    }
    return true;
}

bool sl_resource_parse(struct sl_str name, struct sl_resource *out)
{
    for (size_t i = 0; i < sizeof(fixed_names) / sizeof(fixed_names[0]); i++) {
        const struct fixed_name *fixed = &fixed_names[i];
        if (name.len == fixed->len && memcmp(name.s, fixed->name, fixed->len) == 0) {
            *out = (struct sl_resource){
                .key = sl_hash(name.s, name.len),
                .kind = fixed->kind,
                .shared = fixed->shared,
                .inventory = fixed->inventory,
            };
            return true;
        }
    }
    return mig_parse(name, out);
}

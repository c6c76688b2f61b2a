/* The names of the extended resources that sliced schedules. */
#include "sliced/ask.h"

/* Kubernetes refuses longer names after the '/'. */
enum { RESOURCE_NAME_MAX = 63 };

const struct sl_kind_row sl_kinds[SL_KIND_COUNT] = {
#define KIND(kind, word, units, own, ...) {.name = #word, __VA_ARGS__},
    SL_KINDS(KIND)
#undef KIND
};

const char *sl_kind_name(enum sl_kind kind)
{
    return (size_t)kind < SL_KIND_COUNT ? sl_kinds[kind].name : "unknown";
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

/* True for the characters that Kubernetes allows in a name, which keep NUL, ';' and '=' out of
 * assignments. */
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

int32_t sl_slice_parse(struct sl_str text)
{
    const struct sl_str unit = SL_STR("gb");
    struct sl_str digits = {text.s, text.len - unit.len};
    int64_t gb = 0;
    bool good = sl_str_ends(text, unit) && digits.len > 0 && digits.len <= SL_SLICE_DIGITS_MAX &&
                digits.s[0] >= '1' && digits.s[0] <= '9' && sl_str_to_i64(digits, &gb);
    return good ? (int32_t)gb : 0;
}

int64_t sl_slice_room_gb(int64_t memory_mib)
{
    return memory_mib > 0 ? (memory_mib - 1) / 1000 + 1 : 0;
}

void sl_item_words(const struct sl_ask_item *item, uint64_t out[SL_ITEM_WORDS])
{
    out[0] = item->key;
    out[1] = (uint64_t)item->count | (uint64_t)item->each << 32 | (uint64_t)item->gpus << 40;
    out[2] = (uint64_t)(uint32_t)item->least_mib << 32 | (uint32_t)item->memory_mib;
}

int32_t sl_item_slice_gb(const struct sl_ask_item *item)
{
    const struct sl_str prefix = SL_STR("nvidia.com/gpu-");
    struct sl_str name = sl_str_of(item->resource);
    return sl_str_starts(name, prefix)
               ? sl_slice_parse((struct sl_str){name.s + prefix.len, name.len - prefix.len})
               : 0;
}

static bool slice_parse(struct sl_str name, struct sl_resource *out)
{
    const struct sl_str prefix = SL_STR("nvidia.com/gpu-");
    if (!sl_str_starts(name, prefix)) {
        return false;
    }
    struct sl_str slice = {name.s + prefix.len, name.len - prefix.len};
    *out = (struct sl_resource){
        .key = sl_hash(name.s, name.len),
        .kind = SL_KIND_REPLICA,
        .slice_gb = sl_slice_parse(slice),
        .profile = slice,
    };
    return out->slice_gb > 0;
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
    return slice_parse(name, out) || mig_parse(name, out);
}

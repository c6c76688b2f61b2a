/* Cuts for people, and whether a node shows them. */
#include "core/place/choose.h"
#include "core/request/text.h"
#include "sliced/cut.h"

/* ---- text ---- */

static const struct sl_mig_model *model_of(const struct sl_node *node, unsigned index)
{
    for (unsigned d = 0; d < node->n_devices; d++) {
        if (node->device[d].index == (int)index) {
            return node->device[d].model;
        }
    }
    return node->model;
}

static void count_cut(const struct sl_cut *cut, uint8_t counts[SL_MIG_PROFILES_MAX])
{
    memset(counts, 0, SL_MIG_PROFILES_MAX);
    for (unsigned i = 0; i < cut->n; i++) {
        counts[cut->instance[i].profile]++;
    }
}

static void say_slices(struct sl_text *text, const struct sl_cut *cut)
{
    for (unsigned i = 0; i < cut->n_sizes; i++) {
        sl_text_puts(text, i == 0 ? " into " : " + ");
        sl_text_i64(text, cut->slices[i].n);
        sl_text_puts(text, "x ");
        sl_text_i64(text, cut->slices[i].gb);
        sl_text_puts(text, "gb");
    }
}

static void say_cut(struct sl_text *text, const struct sl_node *node, const struct sl_cut *cut)
{
    const struct sl_mig_model *model = model_of(node, cut->device);
    uint8_t counts[SL_MIG_PROFILES_MAX];
    const char *between = " into ";
    count_cut(cut, counts);
    sl_text_puts(text, "GPU ");
    sl_text_i64(text, cut->device);
    for (unsigned p = 0; model != NULL && p < model->n_profiles; p++) {
        if (counts[p] > 0) {
            sl_text_puts(text, between);
            sl_text_i64(text, counts[p]);
            sl_text_puts(text, "x ");
            sl_text_puts(text, model->profiles[p].name);
            between = " + ";
        }
    }
    say_slices(text, cut);
    if (cut->n == 0 && cut->n_sizes == 0) {
        sl_text_puts(text, cut->whole ? " into a whole GPU" : " into nothing");
    }
}

size_t sl_cut_text(const struct sl_node *node, const struct sl_cut *cut, size_t n, char *out,
                   size_t size)
{
    struct sl_text text;
    sl_text_init(&text, out, size);
    for (size_t i = 0; i < n; i++) {
        sl_text_puts(&text, i > 0 ? "; " : "");
        say_cut(&text, node, &cut[i]);
    }
    return text.len;
}

/* ---- and back ---- */

/* "2x" and "3g.20gb", or "10gb" */
static bool read_units(const struct sl_mig_model *model, struct sl_str count, struct sl_str name,
                       struct sl_cut *out)
{
    const struct sl_mig_profile *profile = model == NULL ? NULL : sl_mig_profile_find(model, name);
    int64_t n = 0;
    if (!sl_str_ends(count, SL_STR("x")) ||
        !sl_str_to_i64((struct sl_str){count.s, count.len - 1}, &n) || n <= 0) {
        return false;
    }
    if (profile == NULL) {
        int32_t gb = sl_slice_parse(name);
        if (gb <= 0 || gb > UINT16_MAX || n > UINT16_MAX || out->n_sizes == SL_MIG_INSTANCES_MAX) {
            return false;
        }
        out->slices[out->n_sizes++] = (struct sl_cut_slices){(uint16_t)gb, (uint16_t)n};
        return true;
    }
    for (; n > 0 && out->n < SL_MIG_INSTANCES_MAX; n--) {
        out->instance[out->n++].profile = (uint8_t)(profile - model->profiles);
    }
    return n == 0;
}

static bool read_cut(const struct sl_node *node, struct sl_str text, struct sl_cut *out)
{
    struct sl_str gpu = sl_str_cut(&text, ' ');
    struct sl_str index = sl_str_cut(&text, ' ');
    struct sl_str into = sl_str_cut(&text, ' ');
    int64_t device = 0;
    if (!sl_str_eq(gpu, SL_STR("GPU")) || !sl_str_eq(into, SL_STR("into")) ||
        !sl_str_to_i64(index, &device) || device < 0 || device > UINT16_MAX) {
        return false;
    }
    *out = (struct sl_cut){.device = (uint16_t)device,
                           .whole = sl_str_eq(text, SL_STR("a whole GPU"))};
    bool good = text.len > 0;
    while (good && text.len > 0 && !out->whole && !sl_str_eq(text, SL_STR("nothing"))) {
        struct sl_str count = sl_str_cut(&text, ' ');
        struct sl_str name = sl_str_cut(&text, ' ');
        good = read_units(model_of(node, out->device), count, name, out) &&
               (text.len == 0 || sl_str_eq(sl_str_cut(&text, ' '), SL_STR("+")));
    }
    return good;
}

size_t sl_cut_text_read(const struct sl_node *node, const char *text, struct sl_cut *cut,
                        size_t max)
{
    struct sl_str rest = sl_str_of(text);
    size_t n = 0;
    while (rest.len > 0) {
        struct sl_str one = sl_str_cut(&rest, ';');
        if (n == max || !read_cut(node, one, &cut[n])) {
            return 0;
        }
        n++;
        (void)sl_str_cut(&rest, ' ');
    }
    return n;
}

/* ---- digest ---- */

uint64_t sl_cut_digest(const struct sl_node *node, const struct sl_cut *cut, size_t n)
{
    uint64_t digest = sl_rank_hash(node->name, strlen(node->name));
    for (size_t i = 0; i < n; i++) {
        char bytes[sizeof(digest) + 3 + SL_MIG_PROFILES_MAX];
        uint8_t counts[SL_MIG_PROFILES_MAX];
        count_cut(&cut[i], counts);
        memcpy(bytes, &digest, sizeof(digest));
        bytes[sizeof(digest)] = (char)(cut[i].device & 0xff);
        bytes[sizeof(digest) + 1] = (char)(cut[i].device >> 8);
        bytes[sizeof(digest) + 2] = cut[i].whole ? 1 : 0;
        memcpy(bytes + sizeof(digest) + 3, counts, sizeof(counts));
        digest = sl_rank_hash(bytes, sizeof(bytes));
        for (unsigned k = 0; k < cut[i].n_sizes; k++) {
            const uint64_t words[3] = {digest, cut[i].slices[k].gb, cut[i].slices[k].n};
            char text[sizeof(words)];
            memcpy(text, words, sizeof(words));
            digest = sl_rank_hash(text, sizeof(text));
        }
    }
    return digest == 0 ? 1 : digest;
}

/* ---- shown ---- */

static bool device_shows(const struct sl_node *node, const struct sl_cut *cut)
{
    uint8_t counts[SL_MIG_PROFILES_MAX];
    count_cut(cut, counts);
    for (unsigned d = 0; d < node->n_devices; d++) {
        const struct sl_device *device = &node->device[d];
        if (device->index != (int)cut->device) {
            continue;
        }
        for (unsigned i = 0; device->model != NULL && i < node->n_instances; i++) {
            const struct sl_instance *instance = &node->instance[i];
            int p = instance->device == d ? sl_model_index(device->model, instance->profile) : 0;
            if (p < 0 || (instance->device == d && counts[p] == 0)) {
                return false;
            }
            counts[p] = (uint8_t)(counts[p] - (instance->device == d));
        }
        static const uint8_t none[SL_MIG_PROFILES_MAX] = {0};
        return device->model != NULL && device->mig == !cut->whole &&
               memcmp(counts, none, sizeof(none)) == 0;
    }
    return false;
}

/* Does the device have these slices, and no others? Their sum is compared by their number: no size
 * is named twice, and each that is named is there. */
static bool device_shows_slices(const struct sl_node *node, const struct sl_cut *cut)
{
    unsigned same = 0;
    unsigned others = 0;
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        const struct sl_pool *pool = &node->pool[instance->pool];
        bool found = false;
        if (node->device[instance->device].index != (int)cut->device) {
            continue;
        }
        for (unsigned k = 0; k < cut->n_sizes; k++) {
            found = found || (instance->slices == cut->slices[k].n && pool->slices &&
                              pool->memory_mib == (int64_t)cut->slices[k].gb * 1024);
        }
        same += found;
        others += !found;
    }
    return same == cut->n_sizes && others == 0;
}

/* Returns how many units of the profile (SL_MIG_PROFILES_MAX: of whole GPUs) are allocatable. */
static int64_t allocatable(const struct sl_node *node, const struct sl_mig_model *model, unsigned p)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        bool same = p == SL_MIG_PROFILES_MAX
                        ? sl_kinds[pool->kind].whole
                        : sl_kinds[pool->kind].instance && pool->profile == &model->profiles[p];
        sum += same ? pool->capacity : 0;
    }
    return sum;
}

/* Can the node have these cuts, by what is allocatable alone? */
static bool counts_show(const struct sl_node *node, const struct sl_cut *cut, size_t n)
{
    int64_t want[SL_MIG_PROFILES_MAX + 1] = {0};
    size_t n_gpus = node->partition.n_gpus > 0 ? node->partition.n_gpus : node->n_devices;
    const struct sl_mig_model *model = node->model;
    for (size_t i = 0; i < n; i++) {
        uint8_t counts[SL_MIG_PROFILES_MAX];
        count_cut(&cut[i], counts);
        for (unsigned p = 0; p < SL_MIG_PROFILES_MAX; p++) {
            want[p] += counts[p];
        }
        want[SL_MIG_PROFILES_MAX] += cut[i].whole;
    }
    for (unsigned p = 0; model != NULL && p <= SL_MIG_PROFILES_MAX; p++) {
        bool known = p < model->n_profiles || p == SL_MIG_PROFILES_MAX;
        int64_t have = known ? allocatable(node, model, p) : 0;
        if (have < want[p] || (n >= n_gpus && have != want[p])) {
            return false;
        }
    }
    return model != NULL;
}

bool sl_cut_shown(const struct sl_node *node, const struct sl_cut *cut, size_t n)
{
    bool tied = node->n_devices > 0;
    bool all = true;
    for (unsigned p = 0; p < node->n_pools; p++) {
        tied = tied && node->pool[p].on_devices;
    }
    bool slices = n > 0 && cut[0].n_sizes > 0;
    for (size_t i = 0; i < n; i++) {
        all = all && (slices ? device_shows_slices(node, &cut[i]) : device_shows(node, &cut[i]));
    }
    if (slices) {
        return tied && all;
    }
    unsigned unsure = 0;
    for (unsigned d = 0; d < node->n_devices; d++) {
        unsure += node->device[d].unsure;
    }
    bool annotated = tied && node->layout == SL_LAYOUT_ANNOTATED && unsure < 2;
    return annotated ? all : (tied && all) || counts_show(node, cut, n);
}

/* Names of MIG profiles and of boards, in the spellings that drivers, the device plugin and GPU
 * feature discovery use. */
#include "core/mig/table.h"

#include <limits.h>

size_t sl_mig_model_count(void)
{
    return SL_MIG_MODELS;
}

const struct sl_mig_model *sl_mig_model_at(size_t i)
{
    return i < SL_MIG_MODELS ? &sl_mig_models[i] : NULL;
}

static struct sl_str after(struct sl_str text, size_t n)
{
    return (struct sl_str){text.s + n, text.len - n};
}

/* --- Profiles ----------------------------------------------------------------------------------
 */

/* Takes a number without leading zero, up to max, off the text; 0 when there is none. */
static unsigned take_number(struct sl_str *text, unsigned max)
{
    unsigned value = 0;
    size_t i = 0;
    for (; i < text->len && text->s[i] >= '0' && text->s[i] <= '9'; i++) {
        value = value * 10 + (unsigned)(text->s[i] - '0');
        if (value == 0 || value > max) {
            return 0;
        }
    }
    if (i > 0) { /* no text may have no place */
        *text = after(*text, i);
    }
    return value;
}

static bool take(struct sl_str *text, struct sl_str prefix)
{
    if (!sl_str_starts(*text, prefix)) {
        return false;
    }
    *text = after(*text, prefix.len);
    return true;
}

static const struct attribute {
    struct sl_str text;
    uint8_t bit;
    uint8_t excludes; /* bits that cannot be set beside it */
} ATTRIBUTES[] = {
    {{"+me.all", 7}, SL_MIG_ME_ALL, SL_MIG_ME | SL_MIG_ME_ALL | SL_MIG_NO_ME},
    {{".me.all", 7}, SL_MIG_ME_ALL, SL_MIG_ME | SL_MIG_ME_ALL | SL_MIG_NO_ME},
    {{"+me", 3}, SL_MIG_ME, SL_MIG_ME | SL_MIG_ME_ALL | SL_MIG_NO_ME},
    {{".me", 3}, SL_MIG_ME, SL_MIG_ME | SL_MIG_ME_ALL | SL_MIG_NO_ME},
    {{"-me", 3}, SL_MIG_NO_ME, SL_MIG_ME | SL_MIG_ME_ALL | SL_MIG_NO_ME},
    {{"+gfx", 4}, SL_MIG_GFX, SL_MIG_GFX},
    {{".gfx", 4}, SL_MIG_GFX, SL_MIG_GFX},
};

enum { N_ATTRIBUTES = sizeof(ATTRIBUTES) / sizeof(ATTRIBUTES[0]) };

static bool take_attributes(struct sl_str *text, uint8_t *out)
{
    uint8_t bits = 0;
    while (text->len > 0) {
        size_t i = 0;
        while (i < N_ATTRIBUTES && !take(text, ATTRIBUTES[i].text)) {
            i++;
        }
        if (i == N_ATTRIBUTES || (bits & ATTRIBUTES[i].excludes) != 0) {
            return false;
        }
        bits |= ATTRIBUTES[i].bit;
    }
    *out = bits;
    return true;
}

bool sl_mig_shape_parse(struct sl_str name, struct sl_mig_shape *out)
{
    unsigned compute = take_number(&name, UINT8_MAX);
    if (compute == 0 || !take(&name, SL_STR("g."))) {
        return false;
    }
    unsigned gb = take_number(&name, UINT16_MAX);
    uint8_t attributes = 0;
    bool none = gb == 0 && take(&name, SL_STR("0")); /* it has no memory of its own */
    if ((gb == 0 && !none) || !take(&name, SL_STR("gb")) || !take_attributes(&name, &attributes)) {
        return false;
    }
    *out = (struct sl_mig_shape){(uint8_t)compute, (uint16_t)gb, attributes};
    return true;
}

static unsigned distance(unsigned a, unsigned b)
{
    return a > b ? a - b : b - a;
}

const struct sl_mig_profile *sl_mig_profile_find(const struct sl_mig_model *model,
                                                 struct sl_str name)
{
    struct sl_mig_shape shape;
    return sl_mig_shape_parse(name, &shape) ? sl_mig_profile_of(model, shape) : NULL;
}

const struct sl_mig_profile *sl_mig_profile_of(const struct sl_mig_model *model,
                                               struct sl_mig_shape shape)
{
    const struct sl_mig_profile *best = NULL;
    for (unsigned i = 0; i < model->n_profiles; i++) {
        const struct sl_mig_profile *p = &model->profiles[i];
        if (p->compute == shape.compute && p->attributes == shape.attributes &&
            (best == NULL || distance(p->memory_gb, shape.memory_gb) <
                                 distance(best->memory_gb, shape.memory_gb))) {
            best = p;
        }
    }
    /* Seen: 39 for 40, 79 for 80, 24 for 23, 95 for 93, 189 for 186. Not to be taken for each
     * other: 5 and 6, 10 and 12, 80 and 94. */
    if (best == NULL ||
        100 * distance(best->memory_gb, shape.memory_gb) > 50 + 6u * best->memory_gb) {
        return NULL;
    }
    return best;
}

/* --- Boards ------------------------------------------------------------------------------------
 */

static char fold(char c)
{
    if (c == ' ') {
        return '-'; /* as feature discovery writes the driver's names */
    }
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (fold(a[i]) != fold(b[i])) {
            return false;
        }
    }
    return true;
}

static struct sl_str without_vendor(struct sl_str name)
{
    struct sl_str vendor = SL_STR("NVIDIA-");
    bool has = name.len > vendor.len && same(name.s, vendor.s, vendor.len);
    return has ? after(name, vendor.len) : name;
}

static void cut_shared(struct sl_str *name)
{
    struct sl_str ending = SL_STR("-SHARED");
    if (name->len > ending.len && sl_str_ends(*name, ending)) {
        name->len -= ending.len;
    }
}

/* Cuts an ending such as "-MIG-1g.5gb" or "-MIG-INVALID", and gives what it says; false when there
 * is none. */
static bool cut_mig(struct sl_str *name, struct sl_str *profile)
{
    struct sl_str mark = SL_STR("-MIG-");
    for (size_t i = 1; i + mark.len <= name->len; i++) {
        if (memcmp(name->s + i, mark.s, mark.len) == 0) {
            *profile = after(*name, i + mark.len);
            name->len = i;
            return true;
        }
    }
    return false;
}

static const struct sl_mig_model *by_product(struct sl_str name)
{
    for (size_t i = 0; i < SL_MIG_MODELS; i++) {
        for (const char *const *p = sl_mig_models[i].products; *p != NULL; p++) {
            struct sl_str product = without_vendor(sl_str_of(*p));
            if (product.len == name.len && same(product.s, name.s, name.len)) {
                return &sl_mig_models[i];
            }
        }
    }
    return NULL;
}

static bool has_word(struct sl_str name, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= name.len; i++) {
        bool begins = i == 0 || fold(name.s[i - 1]) == '-';
        bool ends = i + len == name.len || fold(name.s[i + len]) == '-';
        if (begins && ends && same(name.s + i, word, len)) {
            return true;
        }
    }
    return false;
}

static uint32_t models_of_chip(struct sl_str name)
{
    for (size_t i = 0; i < SL_MIG_FAMILIES; i++) {
        if (has_word(name, sl_mig_families[i].word)) {
            return sl_mig_families[i].models;
        }
    }
    return 0;
}

/* Finds the model of nearest memory, within 5 %: drivers report up to 2 % off the round number
 * (81559 MiB for an H100 with 80 GB, 95830 for one with 94 GB). */
static const struct sl_mig_model *by_memory(uint32_t models, int64_t mib)
{
    const struct sl_mig_model *best = NULL;
    int64_t best_off = 0;
    for (size_t i = 0; i < SL_MIG_MODELS; i++) {
        int64_t want = (int64_t)sl_mig_models[i].memory_gib * 1024;
        int64_t off = mib > want ? mib - want : want - mib;
        if ((models >> i & 1) != 0 && off <= want / 20 && (best == NULL || off < best_off)) {
            best = &sl_mig_models[i];
            best_off = off;
        }
    }
    return best;
}

/* Returns the "80GB" or "80G" in a name, in MiB; 0 when there is none. */
static int64_t size_in_name(struct sl_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (i > 0 && fold(name.s[i - 1]) != '-') {
            continue;
        }
        struct sl_str rest = after(name, i);
        unsigned gb = take_number(&rest, UINT16_MAX);
        if (gb == 0 || rest.len == 0 || fold(rest.s[0]) != 'g') {
            continue;
        }
        rest = after(rest, rest.len > 1 && fold(rest.s[1]) == 'b' ? 2 : 1);
        if (rest.len == 0 || fold(rest.s[0]) == '-') {
            return (int64_t)gb * 1024;
        }
    }
    return 0;
}

/* ---- boards by an instance ---- */

/* The models which have the profile, those whose name of it is the nearest. */
static uint32_t with_profile(uint32_t models, struct sl_mig_shape shape)
{
    uint32_t found = 0;
    unsigned least = UINT_MAX;
    for (size_t i = 0; i < SL_MIG_MODELS; i++) {
        const struct sl_mig_profile *profile =
            (models >> i & 1) == 0 ? NULL : sl_mig_profile_of(&sl_mig_models[i], shape);
        unsigned off = profile == NULL ? UINT_MAX : distance(profile->memory_gb, shape.memory_gb);
        if (off < least) {
            found = 0;
            least = off;
        }
        found |= profile != NULL && off == least ? 1u << i : 0;
    }
    return found;
}

/* Finds the model with the profile whose instance has that memory, or any where all
 * have it alike. */
static const struct sl_mig_model *by_instance(uint32_t models, struct sl_mig_shape shape,
                                              int64_t mib)
{
    const struct sl_mig_model *first = NULL;
    bool alike = true;
    for (size_t i = 0; i < SL_MIG_MODELS; i++) {
        const struct sl_mig_model *model = &sl_mig_models[i];
        const struct sl_mig_profile *profile =
            (models >> i & 1) == 0 ? NULL : sl_mig_profile_of(model, shape);
        if (profile != NULL && profile->memory_mib > 0 && profile->memory_mib == mib) {
            return model;
        }
        if (profile != NULL && first == NULL) {
            first = model;
        } else if (profile != NULL) {
            alike = alike && profile->starts == sl_mig_profile_of(first, shape)->starts;
        }
    }
    return alike ? first : NULL;
}

/* The name of a board is doubtful (NVIDIA-GH200-120GB has 96 GB, NVIDIA-A100-PG509-200 tells no
 * size); the profile of its instances is not. */
static const struct sl_mig_model *by_profile(uint32_t models, struct sl_str name,
                                             struct sl_mig_shape shape, int64_t mib)
{
    const struct sl_mig_model *named = by_product(name);
    if (named != NULL && (models >> (named - sl_mig_models) & 1) != 0) {
        return named;
    }
    const struct sl_mig_model *sized = by_memory(models, size_in_name(name));
    return sized != NULL ? sized : by_instance(models, shape, mib);
}

const struct sl_mig_model *sl_mig_model_single(struct sl_str product, struct sl_str profile,
                                               int64_t instance_mib)
{
    struct sl_mig_shape shape;
    cut_shared(&product);
    cut_shared(&profile);
    bool known = sl_mig_shape_parse(profile, &shape);
    struct sl_str name = without_vendor(product);
    uint32_t models = known ? with_profile(models_of_chip(name), shape) : 0;
    return models != 0 ? by_profile(models, name, shape, instance_mib)
                       : sl_mig_model_find(product, 0);
}

const struct sl_mig_model *sl_mig_model_find(struct sl_str product, int64_t memory_mib)
{
    struct sl_str name = product;
    struct sl_str profile = {0};
    if (cut_mig(&name, &profile)) {
        return sl_mig_model_single(name, profile, memory_mib);
    }
    cut_shared(&name);
    name = without_vendor(name);

    uint32_t models = models_of_chip(name);
    const struct sl_mig_model *found = by_memory(models, memory_mib); /* of 0 or less: none */
    if (found == NULL) {
        found = by_product(name);
    }
    if (found != NULL || models == 0) {
        return found;
    }
    int64_t size = size_in_name(name);
    if (size > 0) {
        return by_memory(models, size);
    }
    bool only = (models & (models - 1)) == 0;
    return only && memory_mib <= 0 ? &sl_mig_models[__builtin_ctz(models)] : NULL;
}

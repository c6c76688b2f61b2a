/* Any bytes as a profile's name, a board's name, and a series of operations on a device. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sliced/mig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static const char *attribute_text(unsigned bits)
{
    static const char *const texts[16] = {
        [0] = "",
        [SL_MIG_ME] = "+me",
        [SL_MIG_ME_ALL] = "+me.all",
        [SL_MIG_NO_ME] = "-me",
        [SL_MIG_GFX] = "+gfx",
        [SL_MIG_GFX | SL_MIG_ME] = "+gfx+me",
        [SL_MIG_GFX | SL_MIG_ME_ALL] = "+gfx+me.all",
        [SL_MIG_GFX | SL_MIG_NO_ME] = "+gfx-me",
    };
    check(bits < 16 && texts[bits] != NULL);
    return texts[bits];
}

static void check_name(struct sl_str name)
{
    struct sl_mig_shape shape = {0, 0, 0};
    bool good = sl_mig_shape_parse(name, &shape);
    if (good) {
        char text[64];
        struct sl_mig_shape again;
        (void)snprintf(text, sizeof(text), "%ug.%ugb%s", (unsigned)shape.compute,
                       (unsigned)shape.memory_gb, attribute_text(shape.attributes));
        check(shape.compute > 0);
        check(sl_mig_shape_parse(sl_str_of(text), &again));
        check(again.compute == shape.compute && again.memory_gb == shape.memory_gb &&
              again.attributes == shape.attributes);
    }
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        const struct sl_mig_profile *p = sl_mig_profile_find(sl_mig_model_at(m), name);
        check(p == NULL ||
              (good && p->compute == shape.compute && p->attributes == shape.attributes));
    }
}

static const struct sl_mig_model *with_ending(struct sl_str name, const char *ending, int64_t mib)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "%.*s%s", (int)name.len, name.s, ending);
    return sl_mig_model_find((struct sl_str){text, (size_t)n}, mib);
}

static bool has_mig(struct sl_str name)
{
    bool found = false;
    for (size_t i = 0; i + 5 <= name.len; i++) {
        found = found || memcmp(name.s + i, "-MIG-", 5) == 0;
    }
    return found;
}

/* Endings of labels never change the board that is found by name alone, but that the board has the
 * profile which the ending tells, where one of its chip has it. */
static void check_board(struct sl_str name)
{
    const struct sl_mig_model *model = sl_mig_model_find(name, 0);
    for (int64_t mib = 20000; mib < 300000; mib += 20000) {
        (void)sl_mig_model_find(name, mib);
    }
    if (name.len == 0 || name.len > 64 || memchr(name.s, '\0', name.len) != NULL ||
        sl_str_ends(name, SL_STR("-SHARED")) || has_mig(name)) {
        return;
    }
    const struct sl_mig_model *single = with_ending(name, "-MIG-1g.5gb-SHARED", 4864);
    check(with_ending(name, "-MIG-INVALID", 4864) == model);
    check(single == model ||
          (single != NULL && sl_mig_profile_find(single, SL_STR("1g.5gb")) != NULL));
}

/* Room must be the largest number that packs, on any device that can come about. */
static void check_room(const struct sl_mig_model *model, const struct sl_mig_layout *layout)
{
    for (unsigned i = 0; i < model->n_profiles; i++) {
        uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
        unsigned room = sl_mig_room(model, layout, i);
        bool any = false;
        counts[i] = (uint8_t)room;
        check(sl_mig_pack(model, layout, counts, NULL));
        counts[i]++;
        check(!sl_mig_pack(model, layout, counts, NULL));
        for (unsigned s = 0; s < model->memory_slices; s++) {
            any = any || sl_mig_can_place(model, layout,
                                          (struct sl_mig_placement){(uint8_t)i, (uint8_t)s});
        }
        check(any == (room > 0));
    }
}

static void check_device(const uint8_t *data, size_t size)
{
    const struct sl_mig_model *model = sl_mig_model_at(data[0] % sl_mig_model_count());
    struct sl_mig_layout layout = {0};
    struct sl_mig_placement placed[SL_MIG_SLICES_MAX];
    unsigned n = 0;
    for (size_t i = 1; i + 1 < size && i < 64; i += 2) {
        struct sl_mig_placement p = {data[i] & 0x7f, data[i + 1]};
        if (n > 0 && data[i] >= 0x80) {
            unsigned k = data[i + 1] % n;
            sl_mig_remove(model, &layout, placed[k]);
            placed[k] = placed[--n];
        } else if (sl_mig_can_place(model, &layout, p)) {
            check(n < SL_MIG_SLICES_MAX);
            sl_mig_place(model, &layout, p);
            placed[n++] = p;
        }
    }
    check_room(model, &layout);
    struct sl_mig_layout empty = {0};
    check(sl_mig_pack(model, &empty, layout.count, placed));
    while (n > 0) { /* the same counts, placed anew, on an empty device */
        check(sl_mig_can_place(model, &empty, placed[n - 1]));
        sl_mig_place(model, &empty, placed[--n]);
    }
    check(memcmp(empty.count, layout.count, sizeof(empty.count)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_str text = {(const char *)data, size};
    check_name(text);
    check_board(text);
    if (size > 0) {
        check_device(data, size);
    }
    return 0;
}

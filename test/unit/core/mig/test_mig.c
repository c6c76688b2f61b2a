/* MIG: the table against NVIDIA's figures, and names in all spellings. */
#include <stdlib.h>

#include "unit/test.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "sliced/mig.h"

static const struct sl_mig_model *model_of(const char *product, int64_t mib)
{
    return sl_mig_model_find(sl_str_of(product), mib);
}

static const char *model_name(const char *product, int64_t mib)
{
    const struct sl_mig_model *model = model_of(product, mib);
    return model == NULL ? "(none)" : model->name;
}

static const char *profile_name(const struct sl_mig_model *model, const char *name)
{
    const struct sl_mig_profile *profile = sl_mig_profile_find(model, sl_str_of(name));
    return profile == NULL ? "(none)" : profile->name;
}

/* --- The table ---------------------------------------------------------------------------------
 */

TEST_THAT(the_table_has_16_models_and_113_profiles_that_are_consistent)
{
    unsigned profiles = 0;
    assert_int_equal(sl_mig_model_count(), 16);
    assert_null(sl_mig_model_at(16));
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        const struct sl_mig_model *model = sl_mig_model_at(m);
        assert_in_range(model->n_profiles, 1, SL_MIG_PROFILES_MAX);
        assert_in_range(model->memory_slices, 1, SL_MIG_SLICES_MAX);
        profiles += model->n_profiles;
        for (unsigned i = 0; i < model->n_profiles; i++) {
            const struct sl_mig_profile *p = &model->profiles[i];
            struct sl_mig_layout empty = {0};
            assert_in_range(p->max_count, 1, SL_MIG_INSTANCES_MAX);
            assert_int_equal(p->starts >> (model->memory_slices - p->memory + 1), 0);
            assert_int_equal(sl_mig_room(model, &empty, i), p->max_count);
            assert_ptr_equal(sl_mig_profile_find(model, sl_str_of(p->name)), p);
            assert_ptr_equal(
                sl_mig_profile_find(model, sl_str_of(p->resource + strlen("nvidia.com/mig-"))), p);
        }
    }
    assert_int_equal(profiles, 113);
}

static json_t *get(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (value == NULL) {
        fail_msg("the data lacks \"%s\"", key);
    }
    return value;
}

static void check_number(json_t *object, const char *key, unsigned got, const char *where)
{
    if (json_integer_value(get(object, key)) != (json_int_t)got) {
        fail_msg("%s: %s is %u in the table", where, key, got);
    }
}

static void check_texts(json_t *array, const char *const *texts)
{
    size_t n = 0;
    for (; texts[n] != NULL; n++) {
        assert_string_equal(json_string_value(json_array_get(array, n)), texts[n]);
    }
    assert_int_equal(json_array_size(array), n);
}

static void check_profile(json_t *want, const struct sl_mig_profile *p)
{
    assert_string_equal(json_string_value(get(want, "name")), p->name);
    assert_string_equal(json_string_value(get(want, "resource")), p->resource);
    check_number(want, "compute", p->compute, p->name);
    check_number(want, "memory_slices", p->memory, p->name);
    check_number(want, "max_count", p->max_count, p->name);
    assert_int_equal(json_is_true(json_object_get(want, "media_exclusive")), p->media_exclusive);
    assert_int_equal(json_is_true(json_object_get(want, "media_all")),
                     (p->attributes & SL_MIG_ME_ALL) != 0);
    assert_int_equal(json_is_true(json_object_get(want, "no_media")),
                     (p->attributes & SL_MIG_NO_ME) != 0);
    unsigned starts = 0;
    size_t i = 0;
    json_t *start = NULL;
    json_array_foreach(get(get(want, "placements"), "starts"), i, start)
    {
        starts |= 1u << json_integer_value(start);
    }
    assert_int_equal(starts, p->starts);
    struct sl_mig_shape shape;
    assert_true(sl_mig_shape_parse(sl_str_of(p->name), &shape));
    assert_int_equal(shape.compute, p->compute);
    assert_int_equal(shape.memory_gb, p->memory_gb);
    assert_int_equal(shape.attributes, p->attributes);
}

TEST_THAT(the_table_agrees_with_the_collected_data)
{
    const char *folder = getenv("SLICED_DATA");
    char path[1024];
    json_error_t error;
    (void)snprintf(path, sizeof(path), "%s/mig-profiles.json", folder == NULL ? "" : folder);
    json_t *models = folder == NULL ? NULL : json_load_file(path, 0, &error);
    if (models == NULL) {
        print_message("skipped: SLICED_DATA is %s%s\n", folder == NULL ? "not set" : "set, but no ",
                      folder == NULL ? " (a folder with mig-profiles.json)" : path);
        skip();
    }
    assert_in_range(json_array_size(models), 13, sl_mig_model_count()); /* the first of the table */
    for (size_t m = 0; m < json_array_size(models); m++) {
        const struct sl_mig_model *model = sl_mig_model_at(m);
        json_t *want = json_array_get(models, m);
        assert_string_equal(json_string_value(get(want, "model")), model->name);
        check_texts(get(want, "product_label_examples"), model->products);
        check_texts(get(want, "pci_device_ids"), model->pci_ids);
        check_number(want, "memory_gib", model->memory_gib, model->name);
        check_number(get(want, "slices"), "compute", model->compute_slices, model->name);
        check_number(get(want, "slices"), "memory", model->memory_slices, model->name);
        json_t *profiles = get(want, "profiles");
        assert_int_equal(json_array_size(profiles), model->n_profiles);
        for (unsigned i = 0; i < model->n_profiles; i++) {
            check_profile(json_array_get(profiles, i), &model->profiles[i]);
        }
        const char *placements = json_string_value(get(get(want, "verification"), "placements"));
        bool since = strcmp(model->name, "H200-141GB / H200-NVL") == 0; /* measured later */
        assert_int_equal(strncmp(placements, "verified", 8) == 0 || since,
                         model->placements_verified);
    }
    json_decref(models);
}

static int64_t mib_of(const char *model, const char *profile)
{
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        if (strcmp(sl_mig_model_at(m)->name, model) == 0) {
            const struct sl_mig_profile *p =
                sl_mig_profile_find(sl_mig_model_at(m), sl_str_of(profile));
            assert_non_null(p);
            return sl_mig_profile_mib(p);
        }
    }
    fail_msg("%s is no model", model);
    return 0;
}

TEST_THAT(an_instance_has_the_memory_that_was_measured)
{
    static const char h100[] = "H100-80GB / H800-80GB";
    static const char h200[] = "H200-141GB / H200-NVL";
    static const char hopper_96[] = "H100-96GB / GH200-96GB / H20-96GB / PG506-96GB";
    assert_int_equal(mib_of("A100-40GB / A800-40GB", "1g.5gb"), 4864);
    assert_int_equal(mib_of(h100, "1g.10gb"), 9984);
    assert_int_equal(mib_of(h100, "1g.10gb+me"), 9984);
    assert_int_equal(mib_of(h100, "1g.20gb"), 20096);
    assert_int_equal(mib_of(h100, "2g.20gb"), 20096);
    assert_int_equal(mib_of(h100, "3g.40gb"), 40448);
    assert_int_equal(mib_of(h100, "7g.80gb"), 81152);
    assert_int_equal(mib_of(h200, "1g.18gb"), 16384);
    assert_int_equal(mib_of(h200, "1g.35gb"), 33280);
    assert_int_equal(mib_of(h200, "4g.71gb"), 71424);
    assert_int_equal(mib_of(h200, "7g.141gb"), 143360);
    assert_int_equal(mib_of(hopper_96, "1g.12gb"), 10752); /* nobody saw: an eighth less, */
    assert_int_equal(mib_of(hopper_96, "7g.96gb"), 94208); /* 4 GiB at most */
}

/* The drivers' word, where there is one, would bear the rule out, but for one board. */
TEST_THAT(no_name_is_taken_at_its_word)
{
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        const struct sl_mig_model *model = sl_mig_model_at(m);
        for (unsigned i = 0; i < model->n_profiles; i++) {
            struct sl_mig_profile p = model->profiles[i];
            int64_t known = sl_mig_profile_mib(&p);
            p.memory_mib = 0;
            assert_true(known < (int64_t)p.memory_gb * 1024 || (known == 0 && p.memory_gb == 0));
            assert_true(sl_mig_profile_mib(&p) <= known || strcmp(model->name, "GB200-186GB") == 0);
        }
    }
}

/* --- Names -------------------------------------------------------------------------------------
 */

TEST_THAT(boards_are_found_by_label_ending_memory_and_chip)
{
    static const char a100_40[] = "A100-40GB / A800-40GB";
    static const char a100_80[] = "A100-80GB / A800-80GB";
    static const char h100_80[] = "H100-80GB / H800-80GB";
    static const char h100_94[] = "H100-NVL-94GB / H800-NVL / H100-SXM5-94GB";
    static const char h96[] = "H100-96GB / GH200-96GB / H20-96GB / PG506-96GB";
    static const char rtx[] = "RTX-PRO-6000-Blackwell-96GB";
    static const char none[] = "(none)";
    const struct {
        const char *product;
        int64_t mib;
        const char *model;
    } cases[] = {
        {"NVIDIA-A30", 0, "A30-24GB"},
        {"NVIDIA-A30", 24576, "A30-24GB"},
        {"NVIDIA-A30", 24258, "A30-24GB"},
        {"A30", 0, "A30-24GB"},
        {"NVIDIA A30", 0, "A30-24GB"},
        {"NVIDIA-A30-SHARED", 24576, "A30-24GB"},
        {"NVIDIA-A30-MIG-1g.6gb", 5952, "A30-24GB"},
        {"NVIDIA-A30-MIG-1g.6gb-SHARED", 5952, "A30-24GB"},
        {"NVIDIA-A30-SHARED-MIG-1g.6gb.me", 0, "A30-24GB"},
        {"NVIDIA-A30-MIG-INVALID", 0, "A30-24GB"},
        {"NVIDIA-A100-SXM4-40GB", 40960, a100_40},
        {"NVIDIA-A100-SXM4-40GB", 40536, a100_40},
        {"NVIDIA-A100-SXM4-40GB", 0, a100_40},
        {"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 4864, a100_40},
        {"NVIDIA-A100-SXM4-80GB", 81920, a100_80},
        {"NVIDIA-A100-SXM-80GB", 0, a100_80},
        {"A100-SXM-80GB", 81251, a100_80},
        {"A100-PCIE-40G", 0, a100_40},
        {"NVIDIA-A100-G-80GB", 0, a100_80}, /* a G that stands behind no number */
        {"NVIDIA-A100-80", 0, none},
        {"NVIDIA-A100-80GB-PCIE", 0, a100_80},
        {"NVIDIA-A100", 40960, a100_40},
        {"NVIDIA-A100", 81920, a100_80},
        {"NVIDIA-A100-XYZ-MIG-3g.40gb", 40192, a100_80},
        {"NVIDIA-A100-PG509-200-MIG-1g.5gb", 4864, a100_40}, /* by the profile of its instances */
        {"NVIDIA-A100-PG509-200-MIG-3g.20gb-SHARED", 0, a100_40},
        {"NVIDIA-A100-PG509-200-MIG-1g.20gb", 0, a100_80},
        {"NVIDIA-A100-PG509-200-MIG-7g.79gb", 0, a100_80},
        {"NVIDIA-A100-PG509-200-MIG-1g.10gb", 9856, a100_40}, /* both have it, and not alike */
        {"NVIDIA-A100-PG509-200-MIG-1g.10gb", 9728, a100_80},
        {"NVIDIA-A100-PG509-200-MIG-1g.10gb", 0, none},
        {"NVIDIA-A100-SXM-80GB-MIG-1g.10gb", 0, a100_80},
        {"NVIDIA-A100-PG509-200-MIG-INVALID", 0, none},
        {"NVIDIA-GH200-120GB-MIG-1g.12gb", 11008, h96},
        {"NVIDIA-GH200-120GB-MIG-7g.96gb", 0, h96},
        {"NVIDIA-GH200-120GB-MIG-1g.18gb", 0, "GH200-144GB-HBM3e"},
        {"NVIDIA-GH200-480GB-MIG-3g.72gb", 0, "GH200-144GB-HBM3e"}, /* 480 GB are the CPU's */
        {"NVIDIA-GH200-120GB", 0, none},
        {"NVIDIA-H100-XYZ-MIG-3g.47gb", 0, h100_94},
        {"NVIDIA-H100-XYZ-MIG-3g.48gb", 0, h96},
        {"NVIDIA-H100-XYZ-MIG-1g.12gb", 0, h100_94}, /* one is as good as the other */
        {"NVIDIA-H100-XYZ-MIG-1g.10gb.me", 0, h100_80},
        {"NVIDIA-H20-3e-MIG-1g.18gb", 16384, "H200-141GB / H200-NVL"},
        {"NVIDIA-A100-SXM-80GB-MIG-3g.40gb", 40192, a100_80},
        {"NVIDIA-A100", 0, none},
        {"NVIDIA-A100-SXM-64GB", 65536, none},
        {"NVIDIA-A100-SXM-64GB", 0, none},
        {"NVIDIA-A800-SXM4-80GB", 0, a100_80},
        {"NVIDIA-PG506-230", 40960, a100_40},
        {"NVIDIA-H100-80GB-HBM3", 81559, h100_80},
        {"NVIDIA-H100-PCIe", 81559, h100_80},
        {"NVIDIA-H100-NVL", 95830, h100_94},
        {"NVIDIA-H100-SXM5-94GB", 0, h100_94},
        {"NVIDIA-H100-SXM5", 95830, h100_94},
        {"NVIDIA-H100-96GB-HBM3", 97871, h96},
        {"NVIDIA-GH200-480GB", 97871, h96},
        {"NVIDIA-GH200-480GB", 0, h96},
        {"NVIDIA-GH200-120GB", 97871, h96},
        {"NVIDIA-GH200-144G-HBM3e", 147456, "GH200-144GB-HBM3e"},
        {"NVIDIA-H20", 97871, h96},
        {"NVIDIA-H20-3e", 143771, "H200-141GB / H200-NVL"},
        {"NVIDIA-H200", 143771, "H200-141GB / H200-NVL"},
        {"NVIDIA-H200-NVL", 143771, "H200-141GB / H200-NVL"},
        {"NVIDIA-H200-SXM5", 0, "H200-141GB / H200-NVL"},
        {"NVIDIA-B200", 183359, "B200-180GB"},
        {"NVIDIA-GB200", 189471, "GB200-186GB"},
        {"NVIDIA-B300-SXM6-AC", 275040, "B300-288GB"},
        {"NVIDIA-GB300", 284208, "GB300-288GB"},
        {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 97887, rtx},
        {"NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition", 97887, rtx},
        {"NVIDIA-RTX-PRO-5000-Blackwell", 48935, "RTX-PRO-5000-Blackwell-48GB"},
        {"NVIDIA-RTX-PRO-5000-Blackwell-MIG-1g.24gb.gfx", 24000, "RTX-PRO-5000-Blackwell-48GB"},
        {"NVIDIA-RTX-PRO-5000-72GB-Blackwell", 73415, none}, /* nobody has published its profiles */
        {"NVIDIA-RTX-PRO-4500-Blackwell", 32623, "RTX-PRO-4500-Blackwell-32GB"},
        {"NVIDIA-RTX-PRO-4500-Blackwell-Server-Edition", 32623, "RTX-PRO-4500-Blackwell-32GB"},
        {"NVIDIA-Thor", 0, "Thor"},
        {"NVIDIA-Thor", 125772, "Thor"}, /* the machine's memory */
        {"NVIDIA-Thor-MIG-2g.0gb.gfx", 0, "Thor"},
        {"Tesla-T4", 15360, none},
        {"NVIDIA-L4", 24576, none},
        {"NVIDIA-A10", 24576, none},
        {"NVIDIA-GeForce-RTX-3090", 24576, none},
        {"NVIDIA-XA100-SXM4-40GB", 40960, none},
        {"", 81920, none},
        {"-SHARED", 0, none},
        {"-MIG-1g.5gb", 0, none},
        {"NVIDIA-", 24576, none},
        {"NVIDIA-H100", INT64_MAX, none},
        {"NVIDIA-H100", -5, none},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *got = model_name(cases[i].product, cases[i].mib);
        if (strcmp(got, cases[i].model) != 0) {
            fail_msg("%s with %lld MiB: %s, not %s", cases[i].product, (long long)cases[i].mib, got,
                     cases[i].model);
        }
    }
}

TEST_THAT(a_product_ends_where_its_text_does)
{
    const struct sl_str name = SL_STR("NVIDIA-A100-80GB");
    assert_non_null(sl_mig_model_find(name, 0));
    for (size_t cut = 2; cut < 6; cut++) { /* "80" has no unit */
        assert_null(sl_mig_model_find((struct sl_str){name.s, name.len - cut}, 0));
    }
}

TEST_THAT(size_is_a_word_of_the_product)
{
    static const char *const sized[] = {"A100-80GB",       "80GB-A100",      "A100-80G",
                                        "A100-New-80GB-2", "a100-80gb-pcie", "A100-x-80g-y"};
    static const char *const others[] = {"A100-80GBx", "A100-x80GB", "A100-80", "A100-80x",
                                         "A100-8",     "A100-80-GB", "A100-",   "A100-GB"};
    for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]); i++) {
        assert_string_equal(model_name(sized[i], 0), "A100-80GB / A800-80GB");
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_string_equal(model_name(others[i], 0), "(none)");
        size_t len = strlen(others[i]);
        char *copy = malloc(len); /* of that size exactly, so that sanitizers see more */
        assert_non_null(copy);
        memcpy(copy, others[i], len);
        assert_null(sl_mig_model_find((struct sl_str){copy, len}, 0));
        free(copy);
    }
}

TEST_THAT(every_listed_product_finds_its_model)
{
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        const struct sl_mig_model *model = sl_mig_model_at(m);
        for (const char *const *p = model->products; *p != NULL; p++) {
            char label[128];
            assert_string_equal(model_name(*p, 0), model->name);
            bool vendor = strncmp(*p, "NVIDIA-", 7) == 0;
            (void)snprintf(label, sizeof(label), "%s%s", vendor ? "" : "NVIDIA-",
                           *p + (vendor ? 7 : 0));
            assert_string_equal(model_name(label, 0), model->name);
            assert_string_equal(model_name(*p, (int64_t)model->memory_gib * 1024), model->name);
            (void)snprintf(label, sizeof(label), "%s-SHARED", *p);
            assert_string_equal(model_name(label, 0), model->name);
            (void)snprintf(label, sizeof(label), "%s-MIG-%s-SHARED", *p, model->profiles[0].name);
            assert_string_equal(model_name(label, 1000), model->name);
        }
    }
}

TEST_THAT(shapes_are_read_in_both_spellings)
{
    const struct {
        const char *name;
        struct sl_mig_shape shape;
    } cases[] = {
        {"1g.5gb", {1, 5, 0}},
        {"7g.141gb", {7, 141, 0}},
        {"1g.5gb+me", {1, 5, SL_MIG_ME}},
        {"1g.5gb.me", {1, 5, SL_MIG_ME}},
        {"1g.24gb-me", {1, 24, SL_MIG_NO_ME}},
        {"1g.24gb+me.all", {1, 24, SL_MIG_ME_ALL}},
        {"1g.24gb.me.all", {1, 24, SL_MIG_ME_ALL}},
        {"2g.48gb+gfx", {2, 48, SL_MIG_GFX}},
        {"2g.48gb.gfx", {2, 48, SL_MIG_GFX}},
        {"2g.48gb+gfx-me", {2, 48, SL_MIG_GFX | SL_MIG_NO_ME}},
        {"255g.65535gb", {255, 65535, 0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_mig_shape shape = {0, 0, 0};
        assert_true(sl_mig_shape_parse(sl_str_of(cases[i].name), &shape));
        assert_int_equal(shape.compute, cases[i].shape.compute);
        assert_int_equal(shape.memory_gb, cases[i].shape.memory_gb);
        assert_int_equal(shape.attributes, cases[i].shape.attributes);
    }
}

TEST_THAT(what_is_no_profile_name_is_refused)
{
    const char *cases[] = {"",
                           "1g",
                           "1g.",
                           "1g.5",
                           "1g.5g",
                           "g.5gb",
                           "1g.gb",
                           "0g.5gb",
                           "1g.00gb",
                           "1g.0",
                           "01g.5gb",
                           "1g.05gb",
                           "1c.3g.20gb",
                           "1g.5gb+",
                           "1g.5gb+foo",
                           "1g.5gb+me+me",
                           "1g.5gb+me-me",
                           "1g.5gb.me.",
                           "1g.5gb.shared",
                           "1g.5gb ",
                           " 1g.5gb",
                           "1G.5GB",
                           "-1g.5gb",
                           "1g.5gb-gfx",
                           "1g.5gbme",
                           "256g.5gb",
                           "1g.65536gb",
                           "1g.5gb+me.all.me",
                           "99999999999999999999g.5gb",
                           "nvidia.com/mig-1g.5gb"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_mig_shape shape = {9, 9, 9};
        if (sl_mig_shape_parse(sl_str_of(cases[i]), &shape)) {
            fail_msg("\"%s\" is taken for a profile", cases[i]);
        }
        assert_true(shape.compute == 9 && shape.memory_gb == 9 && shape.attributes == 9);
    }
}

TEST_THAT(profiles_are_found_under_the_names_that_drivers_give)
{
    const struct {
        const char *product, *name, *profile;
    } cases[] = {
        {"NVIDIA-A100-SXM4-40GB", "1g.5gb", "1g.5gb"},
        {"NVIDIA-A100-SXM4-40GB", "1g.5gb.me", "1g.5gb+me"},
        {"NVIDIA-A100-SXM4-40GB", "1g.10gb", "1g.10gb"}, /* double memory */
        {"NVIDIA-A100-SXM4-40GB", "1g.20gb", "(none)"},
        {"NVIDIA-A100-SXM4-40GB", "1g.6gb", "(none)"},
        {"NVIDIA-A100-SXM4-40GB", "3g.19gb", "3g.20gb"},
        {"NVIDIA-A100-SXM4-40GB", "3g.40gb", "(none)"},
        {"NVIDIA-A100-SXM4-40GB", "5g.20gb", "(none)"},
        {"NVIDIA-A100-SXM4-40GB", "2g.10gb+me", "(none)"},
        {"NVIDIA-A100-SXM4-80GB", "1g.10gb", "1g.10gb"}, /* single memory */
        {"NVIDIA-A100-SXM4-80GB", "1g.9gb", "1g.10gb"},
        {"NVIDIA-A100-SXM4-80GB", "1g.20gb", "1g.20gb"},
        {"NVIDIA-A100-SXM4-80GB", "1g.19gb", "1g.20gb"},
        {"NVIDIA-A100-SXM4-80GB", "1g.15gb", "(none)"},
        {"NVIDIA-A100-SXM4-80GB", "1g.5gb", "(none)"},
        {"NVIDIA-A100-SXM4-80GB", "3g.39gb", "3g.40gb"},
        {"NVIDIA-A100-SXM4-80GB", "7g.79gb", "7g.80gb"},
        {"NVIDIA-H100-NVL", "1g.12gb.me", "1g.12gb+me"},
        {"NVIDIA-H100-NVL", "1g.10gb", "(none)"},
        {"NVIDIA-H100-NVL", "7g.80gb", "(none)"},
        {"NVIDIA-GB200", "1g.24gb", "1g.23gb"},
        {"NVIDIA-GB200", "3g.95gb", "3g.93gb"},
        {"NVIDIA-GB200", "7g.189gb", "7g.186gb"},
        {"NVIDIA-GB200", "7g.197gb", "7g.186gb"}, /* 6 % and half a GB */
        {"NVIDIA-GB200", "7g.198gb", "(none)"},
        {"NVIDIA-H200", "7g.149gb", "7g.141gb"},
        {"NVIDIA-H200", "7g.150gb", "(none)"},
        {"NVIDIA-A30", "1g.5gb", "(none)"},
        {"NVIDIA-A30", "2g.12gb.me", "2g.12gb+me"},
        {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "1g.24gb.me.all", "1g.24gb+me.all"},
        {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "2g.48gb-me", "2g.48gb-me"},
        {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "4g.96gb.gfx", "4g.96gb+gfx"},
        {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "4g.96gb-me", "(none)"},
        {"NVIDIA-A30", "rubbish", "(none)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *got = profile_name(model_of(cases[i].product, 0), cases[i].name);
        if (strcmp(got, cases[i].profile) != 0) {
            fail_msg("%s on %s is %s, not %s", cases[i].name, cases[i].product, got,
                     cases[i].profile);
        }
    }
}

TEST_THAT(memory_tells_the_model_of_a_product_that_no_table_has)
{
    assert_string_equal(model_name("NVIDIA-A30-custom", 24258), "A30-24GB");
    assert_string_equal(model_name("NVIDIA-A30-custom", 24576 * 95 / 100), "(none)");
    assert_string_equal(model_name("NVIDIA-A30-custom", 24576 - 24576 / 20), "A30-24GB");
    assert_string_equal(model_name("NVIDIA-A30-custom", 24576 + 24576 / 20), "A30-24GB");
    assert_string_equal(model_name("NVIDIA-A30-custom", 24576 + 24576 / 20 + 1), "(none)");
    assert_string_equal(model_name("NVIDIA-A30-custom", 1), "(none)");
    assert_string_equal(model_name("custom-A30", 24258), "A30-24GB"); /* a word of its own */
    assert_string_equal(model_name("customA30", 24258), "(none)");
    assert_string_equal(model_name("custom-A300", 24258), "(none)");
    assert_string_equal(model_name("NVIDIA-A30-custom", 0), "A30-24GB"); /* there is only one */
}

TEST_THAT(products_of_the_table_are_known_whatever_memory_is_said)
{
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        const struct sl_mig_model *model = sl_mig_model_at(m);
        for (const char *const *product = model->products; *product != NULL; product++) {
            assert_ptr_equal(model_of(*product, 1), model);
        }
    }
}

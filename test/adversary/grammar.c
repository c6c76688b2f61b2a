/* Single values. */
#include "adversary/grammar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_TEXT = 300000, PARTS_TEXT = 8192 };

static json_t *repeated(const char *text, unsigned n)
{
    size_t len = strlen(text);
    char *all = malloc(len * n);
    if (all == NULL) {
        abort();
    }
    for (unsigned i = 0; i < n; i++) {
        memcpy(all + i * len, text, len); // NOLINT(bugprone-not-null-terminated-result)
    }
    json_t *out = json_stringn(all, len * n);
    free(all);
    return out;
}

json_t *grammar_text(struct rng *rng)
{
    static const char *const texts[] = {
        "",
        "a",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "2",
        "64",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "1e30",
        "0.5",
        "\033[31mred\033[0m\007",
        "\r\n\tline\nline",
        "\302\23331mC1",
        "\342\200\256desrever",
        "%s%n%d%1000000d",
        "\"'\\`$(id);{}[]",
        "../../../etc/passwd",
        "http://x/?a=b&c=d#e",
        "\xf0\x9f\x98\x80",
        "a=b,c=d",
        "default-scheduler",
        "\x7f",
        " ",
        "[[[[[[[[",
        "{\"a\":",
    };
    static const char with_nul[] = "front\0back";
    switch (rng_below(rng, 12)) {
    case 0:
        return json_stringn(with_nul, sizeof(with_nul) - 1);
    case 1:
        return repeated("x", 1 + rng_below(rng, 5000));
    case 2:
        return repeated("\xc3\xbc,", 1 + rng_below(rng, 400));
    case 3:
        return rng_chance(rng, 3) ? repeated("y", 1 + rng_below(rng, LONG_TEXT))
                                  : repeated("z/", 1 + rng_below(rng, 200));
    default:
        return json_string(rng_pick(rng, texts));
    }
}

json_t *grammar_number(struct rng *rng)
{
    static const json_int_t numbers[] = {0,
                                         1,
                                         -1,
                                         2,
                                         127,
                                         128,
                                         255,
                                         256,
                                         INT32_MAX,
                                         INT32_MIN,
                                         (json_int_t)INT32_MAX + 1,
                                         1000000000,
                                         INT64_MAX,
                                         INT64_MIN,
                                         INT64_MAX - (INT64_C(1) << 40),
                                         INT64_C(1) << 53};
    return json_integer(rng_pick(rng, numbers));
}

json_t *grammar_quantity(struct rng *rng)
{
    static const char *const quantities[] = {"0",
                                             "1",
                                             "2",
                                             "3",
                                             "4",
                                             "7",
                                             "8",
                                             "16",
                                             "17",
                                             "100",
                                             "1k",
                                             "1Ki",
                                             "1M",
                                             "1Ei",
                                             "1E",
                                             "8Ei",
                                             "1e3",
                                             "1e30",
                                             "1E-3",
                                             "9223372036854775807",
                                             "9223372036854775806",
                                             "9223370937343148032",
                                             "4611686018427387904",
                                             "9223372036854775808",
                                             "99999999999999999999999999",
                                             "-1",
                                             "-9223372036854775808",
                                             "+2",
                                             "0.5",
                                             "2.0",
                                             "1m",
                                             "1000m",
                                             "1n",
                                             "",
                                             " 1",
                                             "1 ",
                                             "one",
                                             "0x10",
                                             "1kk",
                                             ".",
                                             "1.",
                                             ".5",
                                             "1e",
                                             "\033[2J",
                                             "007"};
    if (rng_chance(rng, 3)) {
        return grammar_number(rng);
    }
    return rng_chance(rng, 4) ? grammar_text(rng) : json_string(rng_pick(rng, quantities));
}

json_t *grammar_time(struct rng *rng)
{
    static const char *const times[] = {"2026-09-21T14:13:20Z",
                                        "1970-01-01T00:00:00Z",
                                        "0001-01-01T00:00:00Z",
                                        "9999-12-31T23:59:59Z",
                                        "2026-09-21T14:13:20.999999999+23:59",
                                        "2099-01-01T00:00:00Z",
                                        "2026-02-30T25:61:61Z",
                                        "yesterday",
                                        ""};
    return json_string(rng_pick(rng, times));
}

json_t *grammar_deep(struct rng *rng)
{
    unsigned depth = 1 + rng_below(rng, 600);
    json_t *inner = json_object();
    for (unsigned i = 0; i < depth; i++) {
        json_t *outer = rng_chance(rng, 80) ? json_object() : json_array();
        if (json_is_object(outer)) {
            (void)json_object_set_new(outer, "f:a", inner);
        } else {
            (void)json_array_append_new(outer, inner);
        }
        inner = outer;
    }
    return inner;
}

json_t *grammar_anything(struct rng *rng)
{
    switch (rng_below(rng, 8)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(rng_chance(rng, 50));
    case 2:
        return grammar_number(rng);
    case 3:
        return json_real(1.5e300);
    case 4:
        return json_array();
    case 5:
        return json_object();
    case 6:
        return grammar_deep(rng);
    default:
        return grammar_text(rng);
    }
}

/* ---- resources ---- */

const char *grammar_real_resource(struct rng *rng)
{
    static const char *const real[] = {"nvidia.com/gpu",         "nvidia.com/gpu",
                                       "nvidia.com/gpu.shared",  "nvidia.com/mig-1g.5gb",
                                       "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb",
                                       "nvidia.com/mig-1g.10gb", "aliyun.com/gpu-mem",
                                       "aliyun.com/gpu-mem",     "nvidia.com/mig-1g.5gb.shared",
                                       "nvidia.com/gpu-10gb"};
    return rng_pick(rng, real);
}

const char *grammar_resource(struct rng *rng, char out[GRAMMAR_NAME])
{
    static const char *const near[] = {"nvidia.com/mig-",
                                       "nvidia.com/mig-9g.999gb",
                                       "nvidia.com/mig-1g.5gb.me",
                                       "nvidia.com/mig-1g.5gb+me",
                                       "nvidia.com/GPU",
                                       "nvidia.com/gpux",
                                       "nvidia.com/gpu.",
                                       "nvidia.com/gpu-gb",
                                       "nvidia.com/gpu-0gb",
                                       "nvidia.com/gpu-010gb",
                                       "nvidia.com/gpu-10gb.shared",
                                       "nvidia.com/gpu-99999999999999999999gb",
                                       "nvidia.com/",
                                       "nvidia.com",
                                       "aliyun.com/gpu-count",
                                       "aliyun.com/gpu-memory",
                                       "aliyun.com/",
                                       "cpu",
                                       "memory",
                                       "ephemeral-storage",
                                       "amd.com/gpu",
                                       "nvidia.com/gpu.shared.shared",
                                       "nvidia.com/mig-\033[31m"};
    switch (rng_below(rng, 10)) {
    case 0:
    case 1:
    case 2:
    case 3:
        (void)snprintf(out, GRAMMAR_NAME, "%s", grammar_real_resource(rng));
        break;
    case 4:
    case 5:
        (void)snprintf(out, GRAMMAR_NAME, "%s", rng_pick(rng, near));
        break;
    case 6:
        (void)snprintf(out, GRAMMAR_NAME, "nvidia.com/mig-%0*d", 1 + (int)rng_below(rng, 300), 7);
        break;
    default:
        (void)snprintf(out, GRAMMAR_NAME, "nvidia.com/mig-invented-%u", rng_below(rng, 100000));
        break;
    }
    return out;
}

/* ---- annotations ---- */

json_t *grammar_assignment(struct rng *rng)
{
    static const char *const places[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "4",
                                         "5",
                                         "6",
                                         "7",
                                         "0/0",
                                         "0/1",
                                         "1/0",
                                         "1/#0",
                                         "?",
                                         "?*2",
                                         "0*1",
                                         "0*10",
                                         "1*3",
                                         "0*9223372036854775807",
                                         "64",
                                         "-1",
                                         "0/-1",
                                         "",
                                         "99999999999999999999",
                                         "1*0"};
    char text[PARTS_TEXT];
    char resource[GRAMMAR_NAME];
    size_t len = 0;
    unsigned items = 1 + (rng_chance(rng, 20) ? rng_below(rng, 12) : 0);
    for (unsigned i = 0; i < items && len < sizeof(text) / 2; i++) {
        unsigned parts = rng_chance(rng, 20) ? 1 + rng_below(rng, 200) : 1 + rng_below(rng, 9);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=", i > 0 ? ";" : "",
                                rng_chance(rng, 80) ? grammar_real_resource(rng)
                                                    : grammar_resource(rng, resource));
        for (unsigned p = 0; p < parts && len < sizeof(text) - 64; p++) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", p > 0 ? "," : "",
                                    rng_pick(rng, places));
        }
    }
    return rng_chance(rng, 10) ? grammar_text(rng) : json_string(text);
}

json_t *grammar_after(struct rng *rng)
{
    static const char *const items[] = {
        "p1",    "p2",   "p3", "job/j1", "(stage=a)",  "(tier in (a,b))", "(!x)",
        "(((((", "job/", "",   "p1,p1",  "(a=b,c!=d)", "(x notin (y))",   "P\033"};
    char text[PARTS_TEXT];
    size_t len = 0;
    unsigned n = rng_chance(rng, 10) ? 1 + rng_below(rng, 300) : 1 + rng_below(rng, 3);
    if (rng_chance(rng, 10)) {
        return grammar_text(rng);
    }
    for (unsigned i = 0; i < n && len < sizeof(text) - 64; i++) {
        len += rng_chance(rng, 70) ? (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                                      i > 0 ? "," : "", rng_pick(rng, items))
                                   : (size_t)snprintf(text + len, sizeof(text) - len, "%sp%u",
                                                      i > 0 ? "," : "", rng_below(rng, 40));
    }
    return json_string(text);
}

const char *grammar_annotation(struct rng *rng)
{
    static const char *const keys[] = {"sliced.dev/assignment",
                                       "sliced.dev/after",
                                       "sliced.dev/timeout",
                                       "sliced.dev/gpu-memory",
                                       "sliced.dev/min-gpu-memory",
                                       "sliced.dev/released",
                                       "sliced.dev/invented",
                                       "ALIYUN_COM_GPU_MEM_IDX",
                                       "ALIYUN_COM_GPU_MEM_DEV",
                                       "ALIYUN_COM_GPU_MEM_POD",
                                       "ALIYUN_COM_GPU_MEM_ASSIGNED",
                                       "ALIYUN_COM_GPU_MEM_ASSUME_TIME",
                                       "nvidia.com/x",
                                       "aliyun.com/x",
                                       "scheduling.k8s.io/group",
                                       "nos.nebuly.com/status-gpu-0-1g.5gb-free",
                                       "example.com/other"};
    return rng_pick(rng, keys);
}

json_t *grammar_annotation_value(struct rng *rng, const char *key)
{
    static const char *const timeouts[] = {
        "1s",  "90m",  "24h",  "100000000h",           "-5m",   "0s",
        "P1D", "1h30", "1.5h", "9223372036854775807s", "8760h", "60"};
    static const char *const memories[] = {"5Gi", "4864", "1", "0", "-1", "16Gi", "1Ei", "80000"};
    if (strcmp(key, "sliced.dev/assignment") == 0) {
        return grammar_assignment(rng);
    }
    if (strcmp(key, "sliced.dev/after") == 0) {
        return grammar_after(rng);
    }
    if (strcmp(key, "sliced.dev/timeout") == 0 && rng_chance(rng, 80)) {
        return json_string(rng_pick(rng, timeouts));
    }
    if (strstr(key, "gpu-memory") != NULL && rng_chance(rng, 80)) {
        return json_string(rng_pick(rng, memories));
    }
    return rng_chance(rng, 50) ? grammar_quantity(rng) : grammar_text(rng);
}

/* Asks and sums. */
#include "adversary/account.h"

#include <stdlib.h>
#include <string.h>

#include "adversary/grammar.h"

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- numbers ---- */

static const struct {
    const char *text;
    int64_t times;
} suffixes[] = {{"", 1},
                {"k", 1000},
                {"M", 1000000},
                {"G", 1000000000},
                {"T", INT64_C(1000000000000)},
                {"P", INT64_C(1000000000000000)},
                {"E", INT64_C(1000000000000000000)},
                {"Ki", 1 << 10},
                {"Mi", 1 << 20},
                {"Gi", 1 << 30},
                {"Ti", INT64_C(1) << 40},
                {"Pi", INT64_C(1) << 50},
                {"Ei", INT64_C(1) << 60}};

int64_t account_quantity(const json_t *value)
{
    const char *text = json_string_value(value);
    int64_t number = 0;
    if (json_is_integer(value)) {
        return json_integer_value(value) < 0 ? -1 : json_integer_value(value);
    }
    if (text == NULL || strlen(text) != json_string_length(value)) {
        return -1;
    }
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number)) {
            return -1;
        }
    }
    for (size_t i = 0; at > text && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strcmp(at, suffixes[i].text) == 0) {
            return __builtin_mul_overflow(number, suffixes[i].times, &number) ? -1 : number;
        }
    }
    return -1;
}

/* ---- asks ---- */

static int64_t read_units(const json_t *list, const char *resource)
{
    return larger(0, account_quantity(json_object_get(list, resource)));
}

/* The smaller of limit and request where both are there. */
static int64_t units_of(const json_t *container, const char *resource)
{
    const json_t *resources = json_object_get(container, "resources");
    const json_t *limits = json_object_get(resources, "limits");
    const json_t *requests = json_object_get(resources, "requests");
    int64_t limit = read_units(limits, resource);
    int64_t request = read_units(requests, resource);
    if (json_object_get(limits, resource) == NULL) {
        return request;
    }
    if (json_object_get(requests, resource) == NULL) {
        return limit;
    }
    return limit < request ? limit : request;
}

int64_t account_ask(const json_t *pod, const char *resource)
{
    const json_t *spec = json_object_get(pod, "spec");
    int64_t together = 0;
    int64_t sidecars = 0;
    int64_t step = 0;
    size_t i = 0;
    const json_t *container = NULL;
    json_array_foreach(json_object_get(spec, "initContainers"), i, container)
    {
        const char *policy = json_string_value(json_object_get(container, "restartPolicy"));
        int64_t units = units_of(container, resource);
        if (policy != NULL && strcmp(policy, "Always") == 0) {
            sidecars = add(sidecars, units);
            step = larger(step, sidecars);
        } else {
            step = larger(step, add(sidecars, units));
        }
    }
    together = sidecars;
    json_array_foreach(json_object_get(spec, "containers"), i, container)
    {
        together = add(together, units_of(container, resource));
    }
    return add(larger(together, step), read_units(json_object_get(spec, "overhead"), resource));
}

/* "<N>gb", N of up to four digits, the first of them no 0. */
static bool is_slice(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits >= 1 && digits <= 4 && name[0] != '0' && strcmp(name + digits, "gb") == 0;
}

bool account_is_ours(const char *resource)
{
    static const char slice[] = "nvidia.com/gpu-";
    static const char mig[] = "nvidia.com/mig-";
    if (strncmp(resource, mig, strlen(mig)) == 0) {
        const char *name = resource + strlen(mig);
        size_t len = strlen(name);
        return len > 0 && len + 4 <= 63 && name[0] >= '0' && name[0] <= '9' &&
               strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz.") == len && name[len - 1] != '.';
    }
    if (strncmp(resource, slice, strlen(slice)) == 0) {
        return is_slice(resource + strlen(slice));
    }
    return strcmp(resource, "nvidia.com/gpu") == 0 ||
           strcmp(resource, "nvidia.com/gpu.shared") == 0 ||
           strcmp(resource, "aliyun.com/gpu-mem") == 0;
}

static bool list_wants(const json_t *pod, const json_t *list)
{
    const char *key = NULL;
    const json_t *value = NULL;
    json_object_foreach((json_t *)list, key, value)
    {
        if (account_is_ours(key) && account_ask(pod, key) > 0) {
            return true;
        }
    }
    return false;
}

bool account_wants(const json_t *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const json_t *spec = json_object_get(pod, "spec");
    for (size_t l = 0; l < 2; l++) {
        size_t i = 0;
        const json_t *container = NULL;
        json_array_foreach(json_object_get(spec, lists[l]), i, container)
        {
            const json_t *resources = json_object_get(container, "resources");
            if (list_wants(pod, json_object_get(resources, "limits")) ||
                list_wants(pod, json_object_get(resources, "requests"))) {
                return true;
            }
        }
    }
    return list_wants(pod, json_object_get(spec, "overhead"));
}

static bool list_is_plain(const json_t *list)
{
    enum { PLAIN_MAX = 1000000 };
    const char *key = NULL;
    const json_t *value = NULL;
    json_object_foreach((json_t *)list, key, value)
    {
        int64_t units = account_quantity(value);
        bool other = strstr(key, "nvidia.com/") == NULL && strstr(key, "aliyun.com/") == NULL;
        if (!other && (units < 0 || units > PLAIN_MAX || !account_is_ours(key))) {
            return false;
        }
    }
    return list == NULL || json_is_object(list);
}

bool account_is_plain(const json_t *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const json_t *spec = json_object_get(pod, "spec");
    bool plain = list_is_plain(json_object_get(spec, "overhead"));
    for (size_t l = 0; l < 2; l++) {
        size_t i = 0;
        const json_t *container = NULL;
        json_array_foreach(json_object_get(spec, lists[l]), i, container)
        {
            const json_t *resources = json_object_get(container, "resources");
            plain = plain && list_is_plain(json_object_get(resources, "limits")) &&
                    list_is_plain(json_object_get(resources, "requests"));
        }
    }
    return plain;
}

/* ---- pods ---- */

static const char *text_of(const json_t *object, const char *part, const char *key)
{
    return json_string_value(json_object_get(json_object_get(object, part), key));
}

static bool has_ended(const json_t *pod)
{
    const char *phase = text_of(pod, "status", "phase");
    return phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

bool account_stands(const json_t *pod, const char *node)
{
    const char *on = text_of(pod, "spec", "nodeName");
    return on != NULL && on[0] != '\0' && !has_ended(pod) &&
           (node == NULL || strcmp(on, node) == 0);
}

bool account_is_gated(const json_t *pod)
{
    size_t i = 0;
    const json_t *gate = NULL;
    json_array_foreach(json_object_get(json_object_get(pod, "spec"), "schedulingGates"), i, gate)
    {
        const char *name = json_string_value(json_object_get(gate, "name"));
        if (name != NULL && strcmp(name, "sliced.dev/queue") == 0) {
            return true;
        }
    }
    return false;
}

bool account_waits(const json_t *pod)
{
    const char *node = text_of(pod, "spec", "nodeName");
    return pod != NULL && (node == NULL || node[0] == '\0') && !has_ended(pod) &&
           json_object_get(json_object_get(pod, "metadata"), "deletionTimestamp") == NULL &&
           account_is_gated(pod) && account_wants(pod);
}

bool account_is_known_by_uid(const json_t *pod)
{
    const char *uid = text_of(pod, "metadata", "uid");
    return uid != NULL && uid[0] != '\0' && strcmp(uid, GRAMMAR_TWIN) != 0;
}

int64_t account_allocatable(const json_t *node, const char *resource)
{
    const json_t *value =
        json_object_get(json_object_get(json_object_get(node, "status"), "allocatable"), resource);
    return value == NULL ? 0 : account_quantity(value);
}

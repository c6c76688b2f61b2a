/* Reads the fields of a pod beside its ask and its constraints; see pod_read.h. */
#include "core/request/pod_read.h"

#include "sliced/quantity.h"
#include "sliced/timeout.h"

#include <stdlib.h>

/* Begins the next sentence: "annotation NAME: ". */
static void begin(struct sl_text *problem, const struct sl_pair *pair)
{
    sl_text_next(problem, "annotation ");
    sl_text_add(problem, pair->key);
    sl_text_puts(problem, ": ");
}

static void refuse(struct sl_text *problem, const struct sl_pair *pair, const char *complaint)
{
    begin(problem, pair);
    sl_text_quoted(problem, pair->value);
    sl_text_puts(problem, complaint);
}

const char *sl_pod_phase_name(enum sl_pod_phase phase)
{
    static const char *const names[] = {
        [SL_POD_PENDING] = "Pending",     [SL_POD_RUNNING] = "Running",
        [SL_POD_SUCCEEDED] = "Succeeded", [SL_POD_FAILED] = "Failed",
        [SL_POD_UNKNOWN] = "Unknown",
    };
    size_t i = (size_t)phase;
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : "Unknown";
}

enum sl_pod_phase sl_pod_read_phase(struct sl_str phase)
{
    if (phase.len == 0) {
        return SL_POD_PENDING;
    }
    for (enum sl_pod_phase p = SL_POD_PENDING; p < SL_POD_UNKNOWN; p++) {
        if (sl_str_eq(phase, sl_str_of(sl_pod_phase_name(p)))) {
            return p;
        }
    }
    return SL_POD_UNKNOWN;
}

int64_t sl_pod_read_timeout(const struct sl_pod_facts *facts, struct sl_text *problem)
{
    if (facts->deadline_s > 0) {
        return facts->deadline_s < SL_TIMEOUT_MAX_S ? facts->deadline_s : SL_TIMEOUT_MAX_S;
    }
    const struct sl_pair *pair = sl_pair_find(facts->annotations, SL_STR("sliced.dev/timeout"));
    int64_t seconds = 0;
    if (pair == NULL || sl_timeout_parse(pair->value, &seconds)) {
        return seconds;
    }
    refuse(problem, pair,
           " cannot be read, expected such as 90m, 2h30m, 1d, of less than 24856 days: "
           "the default timeout counts");
    return 0;
}

/* Writes the device that gpushare's extender chose, as an assignment, into
 * text[0..SL_ASSIGNMENT_TEXT_MAX]. Its annotation holds one index for the whole pod, so it only
 * applies to asks of one item. */
static struct sl_str gpushare_assignment(const struct sl_pod_facts *facts, const struct sl_ask *ask,
                                         char *text)
{
    static const char *const resource = "aliyun.com/gpu-mem";
    struct sl_text out;
    sl_text_init(&out, text, SL_ASSIGNMENT_TEXT_MAX + 1);
    const struct sl_pair *pair = sl_pair_find(facts->annotations, SL_STR("ALIYUN_COM_GPU_MEM_IDX"));
    int64_t index = 0; /* -1: gpushare has not assigned it */
    if (pair != NULL && ask->n == 1 && strcmp(ask->item[0].resource, resource) == 0 &&
        sl_str_to_i64(pair->value, &index) && index >= 0) {
        sl_text_puts(&out, resource);
        sl_text_puts(&out, "=");
        sl_text_i64(&out, index);
        sl_text_puts(&out, "*");
        sl_text_i64(&out, ask->item[0].count);
    }
    return (struct sl_str){text, out.len};
}

struct sl_str sl_pod_read_assignment(const struct sl_pod_facts *facts, const struct sl_ask *ask,
                                     char *text, struct sl_text *problem)
{
    const struct sl_pair *pair = sl_pair_find(facts->annotations, SL_STR("sliced.dev/assignment"));
    if (pair == NULL) {
        return gpushare_assignment(facts, ask, text);
    }
    if (pair->value.len <= SL_ASSIGNMENT_TEXT_MAX &&
        (pair->value.len == 0 || memchr(pair->value.s, '\0', pair->value.len) == NULL)) {
        return pair->value;
    }
    begin(problem, pair);
    sl_text_puts(problem, "not written by sliced: ignored");
    return (struct sl_str){0};
}

enum sl_gate sl_pod_read_gate(const struct sl_pair *gates)
{
    bool ours = false;
    for (; gates != NULL; gates = gates->next) {
        if (!sl_str_eq(gates->key, SL_STR("sliced.dev/queue"))) {
            return SL_GATE_OTHERS;
        }
        ours = true;
    }
    return ours ? SL_GATE_OURS : SL_GATE_NONE;
}

/* A text that is too long or has a NUL must not read as absent, nor be cut: the pod would start too
 * early. The text returned instead is malformed. */
struct sl_str sl_pod_read_after(const struct sl_pod_facts *facts, struct sl_text *problem)
{
    const struct sl_pair *pair = sl_pair_find(facts->annotations, SL_STR("sliced.dev/after"));
    if (pair == NULL || pair->value.len == 0) {
        return (struct sl_str){0};
    }
    if (memchr(pair->value.s, '\0', pair->value.len) != NULL) {
        begin(problem, pair);
        sl_text_puts(problem, "has a NUL");
        return SL_STR("?");
    }
    if (pair->value.len <= SL_POD_AFTER_MAX) {
        return pair->value;
    }
    begin(problem, pair);
    sl_text_puts(problem, "longer than ");
    sl_text_i64(problem, SL_POD_AFTER_MAX);
    sl_text_puts(problem, " bytes");
    return (struct sl_str){pair->value.s, SL_POD_AFTER_MAX + 1};
}

/* ---- memory of a GPU ---- */

static bool all_digits(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] < '0' || text.s[i] > '9') {
            return false;
        }
    }
    return text.len > 0;
}

/* A plain number means MiB, as in nvidia-smi and in the label nvidia.com/gpu.memory. */
static bool read_mib(struct sl_str text, int64_t *out)
{
    struct sl_quantity q = {0};
    int64_t bytes = 0;
    if (all_digits(text)) {
        return sl_str_to_i64(text, out);
    }
    if (sl_quantity_parse(text.s, text.len, &q) != SL_QUANTITY_OK ||
        sl_quantity_ceil(q, &bytes) != SL_QUANTITY_OK || bytes < 0) {
        return false;
    }
    *out = (bytes >> 20) + ((bytes & ((1 << 20) - 1)) != 0);
    return true;
}

int64_t sl_pod_read_gpu_memory(const struct sl_pod_facts *facts, struct sl_str annotation,
                               struct sl_text *problem)
{
    const struct sl_pair *pair = sl_pair_find(facts->annotations, annotation);
    int64_t mib = 0;
    if (pair == NULL) {
        return 0;
    }
    if (read_mib(pair->value, &mib) && mib > 0 && mib <= INT32_MAX) {
        return mib;
    }
    refuse(problem, pair, " is not an amount of memory such as \"5Gi\" or \"5120\" (MiB): ignored");
    return 0;
}

uint8_t sl_pod_read_gpus(const struct sl_pod_facts *facts, int64_t units, struct sl_text *problem)
{
    const struct sl_pair *pair = sl_pair_find(facts->labels, SL_STR("aliyun.com/gpu-count"));
    int64_t gpus = 0;
    if (pair == NULL) {
        return 1;
    }
    if (sl_str_to_i64(pair->value, &gpus) && gpus > 0 && gpus <= SL_NODE_DEVICES_MAX &&
        units % gpus == 0) {
        return (uint8_t)gpus;
    }
    sl_text_next(problem, "label aliyun.com/gpu-count: ");
    sl_text_quoted(problem, pair->value);
    sl_text_puts(problem, " is no number of GPUs by which aliyun.com/gpu-mem can be divided: "
                          "ignored");
    return 1;
}

/* ---- labels ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Does the key begin so, as an exporter writes it? */
static bool begins_as(struct sl_str key, struct sl_str word)
{
    bool same = key.len >= word.len;
    for (size_t i = 0; same && i < word.len; i++) {
        bool other = key.s[i] == '-' || key.s[i] == '.' || key.s[i] == '/';
        same = word.s[i] == (other ? '_' : key.s[i]);
    }
    return same;
}

bool sl_pod_read_poses(const struct sl_pod_facts *facts)
{
    static const struct sl_str prefix = {"exported_", 9};
    static const struct sl_str words[] = {
        {"pod", 3}, {"pod_name", 8}, {"namespace", 9}, {"pod_namespace", 13}};
    bool poses = false;
    for (const struct sl_pair *pair = facts->labels; pair != NULL && !poses; pair = pair->next) {
        struct sl_str key = pair->key;
        while (begins_as(key, prefix)) {
            key = (struct sl_str){key.s + prefix.len, key.len - prefix.len};
        }
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            poses = poses || (key.len == words[i].len && begins_as(key, words[i]));
        }
    }
    return poses;
}

uint32_t sl_pod_read_labels(const struct sl_pod_facts *facts, uint64_t out[2 * SL_POD_LABELS_MAX],
                            struct sl_text *problem)
{
    char both[512]; /* Kubernetes allows 317 bytes and 63 */
    uint32_t n = 0;
    for (const struct sl_pair *pair = facts->labels; pair != NULL; pair = pair->next) {
        size_t len = pair->key.len + 1 + pair->value.len;
        if (n == 2 * SL_POD_LABELS_MAX || len > sizeof(both)) {
            sl_text_next(problem, "metadata.labels: more or longer than what is kept of them: the "
                                  "rest is ignored");
            break;
        }
        memcpy(both, pair->key.s, pair->key.len);
        both[pair->key.len] = '=';
        if (pair->value.len > 0) {
            memcpy(both + pair->key.len + 1, pair->value.s, pair->value.len);
        }
        out[n] = sl_hash(both, pair->key.len);
        out[n + 1] = sl_hash(both, len);
        n += 2;
    }
    if (n > 0) {
        qsort(out, n, sizeof(out[0]), by_value);
    }
    return n;
}

/* Manifests, JSON and YAML. JSON is read once as a whole text and once in pieces, whose size is the
 * first byte: the objects and the error must be the same. */
#include "../unit/codec/describe.h"

#include "codec/estimate.h"
#include "sliced/pod.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_MAX = 1 << 24, ARENA_MAX = 1 << 20 };

static const struct sl_text_limits limits = {
    .max_bytes = 1 << 18, .max_string = 1 << 10, .max_depth = 20};

static void decode_pieces(struct sl_buf *out, const char *text, size_t len, size_t chunk)
{
    struct sl_error err = {0};
    struct sl_manifest *manifest = sl_manifest_new(&limits, describe_object, out);
    if (manifest == NULL) {
        return;
    }
    int result = 0;
    for (size_t at = 0; at < len && result == 0; at += chunk) {
        size_t n = len - at < chunk ? len - at : chunk;
        char *piece = malloc(n); /* of its own, so that a read beyond its end is seen */
        if (piece == NULL) {
            abort();
        }
        memcpy(piece, text + at, n);
        result = sl_manifest_feed(manifest, piece, n, &err);
        free(piece);
    }
    if (result == 0) {
        result = sl_manifest_finish(manifest, &err);
    }
    if (result != 0) {
        describe_error(out, &err);
    }
    sl_manifest_free(manifest);
}

/* The same text as a question for a start: pods without a name, and without admission. */
static void decode_estimate(const char *text, size_t len)
{
    struct sl_pod_facts facts;
    struct sl_error err = {0};
    struct sl_arena arena;
    sl_arena_init(&arena, ARENA_MAX);
    if (sl_estimate_decode((struct sl_str){text, len}, &limits, &arena, &facts, &err) == 0) {
        facts.name = SL_STR("p");
        sl_pod_unref(sl_pod_new(&facts, &err));
    } else if (err.code == SL_ERR_NONE) {
        abort();
    }
    sl_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *text = (const char *)data + 1;
    size_t len = size - 1;
    struct sl_error err = {0};
    struct sl_buf whole;
    struct sl_buf pieces;
    sl_buf_init(&whole, OUT_MAX);
    sl_buf_init(&pieces, OUT_MAX);
    if (sl_manifest_decode(text, len, &limits, describe_object, &whole, &err) != 0) {
        describe_error(&whole, &err);
    }
    decode_estimate(text, len);
    size_t blank = 0;
    while (blank < len && strchr(" \t\r\n", text[blank]) != NULL && text[blank] != '\0') {
        blank++;
    }
    if (blank < len && text[blank] == '{') {
        decode_pieces(&pieces, text, len, (size_t)data[0] + 1);
        if (whole.len != pieces.len ||
            (whole.len > 0 && memcmp(whole.data, pieces.data, whole.len) != 0)) {
            abort();
        }
    }
    sl_buf_free(&whole);
    sl_buf_free(&pieces);
    return 0;
}

/* Bodies of requests. The first byte says which kind and the size of the pieces; in pieces or at
 * once, the sink must be told the same and the result must be the same. */
#include "../unit/codec/describe.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KINDS = 4, ARENA_MAX = 1 << 14, OUT_MAX = 1 << 24 };

static void decode(struct sl_buf *out, enum sl_body_kind kind, const char *text, size_t len,
                   size_t chunk)
{
    static const struct sl_text_limits limits = {
        .max_bytes = 1 << 18, .max_string = 256, .max_depth = 20};
    struct sl_arena arena;
    sl_arena_init(&arena, ARENA_MAX);
    sl_buf_init(out, OUT_MAX);
    struct sl_body *body = sl_body_new(&limits, &arena);
    if (body == NULL) {
        return;
    }
    (void)describe_body(out, body, kind, text, len, chunk);
    if (arena.used > ARENA_MAX) {
        abort();
    }
    sl_body_free(body);
    sl_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    enum sl_body_kind kind = (enum sl_body_kind)(data[0] % KINDS);
    size_t chunk = (size_t)data[0] / KINDS + 1;
    const char *text = (const char *)data + 1;
    struct sl_buf whole;
    struct sl_buf pieces;
    decode(&whole, kind, text, size - 1, 0);
    decode(&pieces, kind, text, size - 1, chunk);
    if (whole.failed == SL_BUF_OK && pieces.failed == SL_BUF_OK &&
        (whole.len != pieces.len ||
         (whole.len > 0 && memcmp(whole.data, pieces.data, whole.len) != 0))) {
        abort();
    }
    sl_buf_free(&whole);
    sl_buf_free(&pieces);
    return 0;
}

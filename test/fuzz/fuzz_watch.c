/* List pages and watch streams: the first byte is the size of the pieces, the second says which of
 * the two and of what kind. In one piece and in many, the same must be told; and whatever a line of
 * a watch holds, the event on the next one is found. */
#include "../unit/codec/describe.h"
#include "codec/watch.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_MAX = 1 << 24 };

static const struct sl_text_limits limits = {
    .max_bytes = 1 << 18, .max_string = 1 << 10, .max_depth = 20};

static int tell(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    struct sl_buf *out = context;
    sl_buf_printf(out, "%d", (int)item->event);
    describe_text(out, "rv", item->resource_version);
    if (item->problem != NULL) {
        describe_text(out, "name", item->name);
        describe_error(out, item->problem);
    } else if (item->status != NULL) {
        describe_number(out, "code", item->status->code);
        describe_text(out, "reason", item->status->reason);
        describe_text(out, "message", item->status->message);
    } else if (item->object != NULL) {
        return describe_object(out, item->object, err);
    }
    sl_buf_putc(out, '\n');
    return 0;
}

static void read_pieces(struct sl_buf *out, uint8_t shape, const char *text, size_t len,
                        size_t chunk)
{
    struct sl_error err = {0};
    struct sl_list_meta meta;
    bool list = (shape & 1) != 0;
    static const enum sl_object_kind kinds[] = {SL_OBJECT_POD, SL_OBJECT_NODE, SL_OBJECT_JOB,
                                                SL_OBJECT_NAMESPACE};
    struct sl_watch *watch = sl_watch_new(list ? SL_WATCH_LIST : SL_WATCH_STREAM,
                                          kinds[(shape >> 1) % 4], &limits, tell, out);
    if (watch == NULL) {
        abort();
    }
    int result = 0;
    for (size_t at = 0; at < len && result == 0; at += chunk) {
        size_t n = len - at < chunk ? len - at : chunk;
        char *piece = malloc(n); /* of its own, so that a read beyond its end is seen */
        if (piece == NULL) {
            abort();
        }
        memcpy(piece, text + at, n);
        result = sl_watch_feed(watch, piece, n, &err);
        free(piece);
    }
    if (result == 0) {
        result = sl_watch_finish(watch, &meta, &err);
    }
    if (result != 0) {
        describe_error(out, &err);
    } else if (list) {
        describe_text(out, "end", meta.resource_version);
        describe_text(out, "next", meta.next);
        describe_number(out, "remaining", meta.remaining);
    }
    sl_watch_free(watch);
}

static void check_found_again(uint8_t shape, const char *text, size_t len)
{
    static const char last[] =
        "\n{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"last\"}}}\n";
    struct sl_buf all;
    struct sl_buf out;
    sl_buf_init(&all, OUT_MAX);
    sl_buf_init(&out, OUT_MAX);
    sl_buf_append(&all, text, len);
    sl_buf_append(&all, last, sizeof(last) - 1);
    read_pieces(&out, (uint8_t)(shape & ~1U), all.data, all.len, all.len);
    static const char told[] = " name=last\n"; /* the very end */
    const size_t n = sizeof(told) - 1;
    if (out.len < n || memcmp(out.data + out.len - n, told, n) != 0) {
        abort();
    }
    sl_buf_free(&all);
    sl_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const char *text = (const char *)data + 2;
    size_t len = size - 2;
    struct sl_buf whole;
    struct sl_buf pieces;
    sl_buf_init(&whole, OUT_MAX);
    sl_buf_init(&pieces, OUT_MAX);
    read_pieces(&whole, data[1], text, len, len + 1);
    read_pieces(&pieces, data[1], text, len, (size_t)data[0] + 1);
    if (whole.len != pieces.len ||
        (whole.len > 0 && memcmp(whole.data, pieces.data, whole.len) != 0)) {
        abort();
    }
    check_found_again(data[1], text, len);
    sl_buf_free(&whole);
    sl_buf_free(&pieces);
    return 0;
}

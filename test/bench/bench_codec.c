/* Reading a body: what a bare walk over its bytes, the tokenizer, the decoder of the daemon and
 * jansson take for the same text, in turn, in one thread. */
#include "codec/extender.h"
#include "codec/stream/json.h"

#include "bench.h"
#include "bodies.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS_MAX = 31, CHUNK = 16 * 1024, READERS = 5 };

static const struct sl_text_limits limits = {
    .max_bytes = (size_t)1 << 30, .max_string = (size_t)1 << 20, .max_depth = 64};

/* Each reads the whole text; the result keeps the compiler from leaving work out. */
typedef size_t (*reader_fn)(struct sl_str text);

/* ---- the readers ---- */

static size_t read_bytes(struct sl_str text)
{
    return memchr(text.s, '\x01', text.len) == NULL ? text.len : 0;
}

static size_t tokens;

static int count(void *context, const struct sl_event *event, struct sl_error *err)
{
    (void)context;
    (void)event;
    (void)err;
    tokens++;
    return SL_EVENT_GO;
}

static int skip(void *context, const struct sl_event *event, struct sl_error *err)
{
    (void)context;
    (void)err;
    tokens++;
    return event->type == SL_EVENT_OBJECT ? SL_EVENT_SKIP : SL_EVENT_GO;
}

static struct sl_json *json;
static struct sl_arena arena;
static struct sl_body *body;

static size_t read_tokens(struct sl_str text, sl_event_fn receive)
{
    struct sl_error err;
    tokens = 0;
    sl_json_reset(json, receive, NULL);
    for (size_t at = 0; at < text.len; at += CHUNK) {
        size_t len = text.len - at < CHUNK ? text.len - at : CHUNK;
        if (sl_json_feed(json, text.s + at, len, &err) != 0) {
            bench_die("%u:%u: %s", err.line, err.column, err.message);
        }
    }
    if (sl_json_finish(json, &err) != 0) {
        bench_die("%s", err.message);
    }
    return tokens;
}

static size_t read_every_token(struct sl_str text)
{
    return read_tokens(text, count);
}

static size_t read_and_skip(struct sl_str text)
{
    return read_tokens(text, skip);
}

static int count_node(void *context, struct sl_str name, struct sl_error *err)
{
    (void)err;
    *(size_t *)context += name.len > 0;
    return 0;
}

static size_t count_nodes(void *context, const struct sl_str *name, size_t n)
{
    (void)name;
    *(size_t *)context += n;
    return n;
}

static size_t read_body(struct sl_str text)
{
    struct sl_error err;
    size_t nodes = 0;
    const struct sl_body_sink sink = {.context = &nodes, .node = count_node, .nodes = count_nodes};
    sl_arena_reset(&arena);
    sl_body_begin(body, SL_BODY_ARGS, &sink);
    for (size_t at = 0; at < text.len; at += CHUNK) {
        size_t len = text.len - at < CHUNK ? text.len - at : CHUNK;
        if (sl_body_feed(body, text.s + at, len, &err) != 0) {
            bench_die("%s: %s", err.field, err.message);
        }
    }
    if (sl_body_finish(body, &err) != 0) {
        bench_die("%s: %s", err.field, err.message);
    }
    return nodes;
}

static size_t read_jansson(struct sl_str text)
{
    json_error_t error;
    json_t *root = json_loadb(text.s, text.len, 0, &error);
    if (root == NULL) {
        bench_die("jansson: %s", error.text);
    }
    size_t size = json_object_size(root);
    json_decref(root);
    return size;
}

/* ---- measuring ---- */

static const struct {
    const char *name;
    reader_fn read;
} readers[READERS] = {
    {"walk over bytes", read_bytes},           {"tokenizer, all reported", read_every_token},
    {"tokenizer, all skipped", read_and_skip}, {"decoder of the daemon", read_body},
    {"jansson, a tree", read_jansson},
};

/* Milliseconds for one reading, over at least so many of them. */
static double measure(reader_fn read, struct sl_str text, unsigned repeats)
{
    uint64_t begin = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        if (read(text) == 0) {
            bench_die("nothing was read");
        }
    }
    return (double)(bench_now_ns() - begin) / 1e6 / repeats;
}

static void compare_readers(const char *title, const struct sl_buf *buf, unsigned rounds,
                            unsigned repeats)
{
    static double ms[READERS][ROUNDS_MAX];
    double median[READERS];
    struct sl_str text = {buf->data, buf->len};
    if (buf->failed != SL_BUF_OK) {
        bench_die("no memory for the body");
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < READERS; i++) {
            unsigned n = readers[i].read == read_jansson ? 1 + repeats / 20 : repeats;
            ms[i][round] = measure(readers[i].read, text, n);
        }
    }
    for (size_t i = 0; i < READERS; i++) {
        median[i] = bench_median(ms[i], rounds);
    }
    (void)printf("\n%s: %zu bytes, %u rounds, pieces of %d bytes\n", title, text.len, rounds,
                 CHUNK);
    (void)printf("%-26s %10s %10s %12s\n", "", "median ms", "MB/s", "of jansson");
    for (size_t i = 0; i < READERS; i++) {
        (void)printf("%-26s %10.3f %10.0f %12.4f\n", readers[i].name, median[i],
                     (double)text.len / 1e3 / median[i], median[i] / median[READERS - 1]);
    }
}

int main(int argc, char **argv)
{
    bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 && !quick) {
        (void)fprintf(stderr, "usage: bench_codec [--quick]\n");
        return 2;
    }
    unsigned rounds = quick ? 3 : 21;
    struct sl_buf names;
    struct sl_buf nodes;
    sl_buf_init(&names, (size_t)1 << 30);
    sl_buf_init(&nodes, (size_t)1 << 30);
    sl_arena_init(&arena, (size_t)1 << 20);
    json = sl_json_new(&limits, count, NULL);
    body = sl_body_new(&limits, &arena);
    if (json == NULL || body == NULL) {
        bench_die("out of memory");
    }
    bench_body_names(&names, 5000);
    bench_body_nodes(&nodes, quick ? 50 : 500);

    bench_print_environment();
    compare_readers("ExtenderArgs, 5,000 names", &names, rounds, quick ? 5 : 100);
    compare_readers(quick ? "ExtenderArgs, 50 full nodes" : "ExtenderArgs, 500 full nodes", &nodes,
                    rounds, quick ? 1 : 3);

    sl_body_free(body);
    sl_json_free(json);
    sl_arena_free(&arena);
    sl_buf_free(&names);
    sl_buf_free(&nodes);
    return 0;
}

/* A push tokenizer for JSON (RFC 8259), which takes chunks as they come from the network and
 * holds no more than the one token that a chunk's end has cut. It checks UTF-8 and escapes, of
 * skipped values too unless the limits are forgiving. Duplicate keys are the receiver's
 * business. */
#ifndef SLICED_CODEC_JSON_H
#define SLICED_CODEC_JSON_H

#include "codec/stream/event.h"
#include "util/buf.h"

struct sl_json;

/* NULL when out of memory. Limits are copied. */
struct sl_json *sl_json_new(const struct sl_text_limits *limits, sl_event_fn receive,
                            void *context);
void sl_json_free(struct sl_json *json); /* NULL is allowed */
/* Bytes that it holds. */
size_t sl_json_bytes(const struct sl_json *json);

/* Back to the beginning, keeping memory, for the next text. */
void sl_json_reset(struct sl_json *json, sl_event_fn receive, void *context);

/* The same, for a stream of any number of texts, with or without white space between them. Each has
 * its own lines, columns and limit of bytes, and its DOCUMENT_END: reported when the next one
 * begins, or at the stream's end. */
void sl_json_reset_stream(struct sl_json *json, sl_event_fn receive, void *context);

/* Is the reader between two texts of a stream: before the first, or behind a whole one? */
bool sl_json_between(const struct sl_json *json);

/* Called by the receiver of an OBJECT, and of its OBJECT_END: what stands between, with both
 * braces, is appended to out as it is read. One at a time; out is borrowed until the end, or a
 * reset. */
void sl_json_keep(struct sl_json *json, struct sl_buf *out);
void sl_json_keep_end(struct sl_json *json);

/* Feeds a piece of any size. 0, or -1 with *err (place and reason) set; after that every further
 * call fails the same way. */
int sl_json_feed(struct sl_json *json, const char *data, size_t len, struct sl_error *err);

/* Ends the text: -1 when it is not complete. */
int sl_json_finish(struct sl_json *json, struct sl_error *err);

/* All of that with one whole text. */
int sl_json_parse(struct sl_str text, const struct sl_text_limits *limits, sl_event_fn receive,
                  void *context, struct sl_error *err);

#endif

/* Writing JSON straight into a bounded buffer. Commas are put by the writer; failures stay in the
 * buffer (buf->failed) and are read once at the end. */
#ifndef SLICED_CODEC_WRITE_H
#define SLICED_CODEC_WRITE_H

#include "util/buf.h"

struct sl_writer {
    struct sl_buf *buf; /* borrowed */
    bool comma;         /* a value stands before the next one */
};

void sl_write_object(struct sl_writer *w);
void sl_write_object_end(struct sl_writer *w);
void sl_write_array(struct sl_writer *w);
void sl_write_array_end(struct sl_writer *w);
void sl_write_key(struct sl_writer *w, const char *key);       /* a constant that needs no escape */
void sl_write_key_str(struct sl_writer *w, struct sl_str key); /* any text, escaped */
void sl_write_str(struct sl_writer *w, struct sl_str value);   /* escaped; bad UTF-8 -> U+FFFD */
void sl_write_text(struct sl_writer *w, const char *value);    /* NULL writes null */
void sl_write_i64(struct sl_writer *w, int64_t value);
/* The shortest form that reads back equal; null for what is not finite. */
void sl_write_double(struct sl_writer *w, double value);
void sl_write_bool(struct sl_writer *w, bool value);
void sl_write_null(struct sl_writer *w);

#endif

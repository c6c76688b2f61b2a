/* Writes JSON straight into a bounded buffer and puts the commas. Failures stay in the buffer:
 * the caller reads buf->failed once at the end. */
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
void sl_write_known(struct sl_writer *w, int64_t value); /* below 0: not known, writes null */
/* The shortest form that reads back equal; null for NaN and infinity. */
void sl_write_double(struct sl_writer *w, double value);
void sl_write_bool(struct sl_writer *w, bool value);
void sl_write_null(struct sl_writer *w);

/* ---- members of an open object: the key and its value ---- */

static inline void sl_write_member_object(struct sl_writer *w, const char *key)
{
    sl_write_key(w, key);
    sl_write_object(w);
}

static inline void sl_write_member_array(struct sl_writer *w, const char *key)
{
    sl_write_key(w, key);
    sl_write_array(w);
}

static inline void sl_write_member_str(struct sl_writer *w, const char *key, struct sl_str value)
{
    sl_write_key(w, key);
    sl_write_str(w, value);
}

static inline void sl_write_member_text(struct sl_writer *w, const char *key, const char *value)
{
    sl_write_key(w, key);
    sl_write_text(w, value);
}

static inline void sl_write_member_i64(struct sl_writer *w, const char *key, int64_t value)
{
    sl_write_key(w, key);
    sl_write_i64(w, value);
}

static inline void sl_write_member_known(struct sl_writer *w, const char *key, int64_t value)
{
    sl_write_key(w, key);
    sl_write_known(w, value);
}

static inline void sl_write_member_bool(struct sl_writer *w, const char *key, bool value)
{
    sl_write_key(w, key);
    sl_write_bool(w, value);
}

#endif

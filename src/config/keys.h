/* The table of configuration keys, which reading, printing and the reference page are made from. */
#ifndef SLICED_CONFIG_KEYS_H
#define SLICED_CONFIG_KEYS_H

#include "config/config.h"

#define SL_CONFIG_API_VERSION "sliced.dev/v1alpha1"
#define SL_CONFIG_KIND        "SlicedConfiguration"

enum sl_key_type {
    SL_KEY_INTEGER,
    SL_KEY_SIZE,     /* bytes: a number or a quantity ("64Mi") */
    SL_KEY_DURATION, /* kept in microseconds: "1m30s" */
    SL_KEY_DECIMAL,  /* kept in millionths: "1.15" */
    SL_KEY_ENUM,     /* kept as the word's place in words */
    SL_KEY_BOOLEAN,  /* true or false */
    SL_KEY_ADDRESS,  /* "127.0.0.1:8888", "[::1]:0", "localhost:80" */
    SL_KEY_PREFIX,   /* "/scheduler" */
    SL_KEY_VERB,     /* one part of a path: "filter" */
    SL_KEY_PATH,     /* a file's name, or empty; the file need not be there yet */
    SL_KEY_WORD,     /* any text without quotes, backslashes and control characters, or empty */
    SL_KEY_OBJECT,   /* the name of a Kubernetes object; empty where the built-in value is */
    SL_KEY_URL,      /* "https://prometheus:9090", or empty */
    SL_KEY_SELECTOR, /* "LABEL=VALUE,..."; may be empty */
    SL_KEY_LABEL,    /* the key of a label, or a resource's name; as OBJECT */
    SL_KEY_VALUE,    /* the value of a label; as OBJECT */
    SL_KEY_PATTERN,  /* a namespace, or how names begin and then "*" */
    SL_KEY_TYPES,
};

struct sl_key {
    const char *path; /* "server.threads" */
    enum sl_key_type type;
    bool restart;  /* a running daemon cannot take a change over */
    bool text;     /* a char array; else a number of size bytes */
    bool required; /* of a list's entry: it must be there */
    bool unique;   /* of a list's entry: no two have the same in all that is unique */
    uint16_t size;
    uint32_t offset;          /* in struct sl_config, or in an entry */
    int64_t min;              /* of numbers */
    int64_t max;              /* of numbers */
    int64_t number;           /* built-in value of numbers and enums */
    const char *string;       /* built-in value of texts */
    const char *const *words; /* of enums, NULL-terminated */
    const char *help;         /* one sentence */
};

/* A map of the file: "server", "score.weights". The root is the first, its path empty. */
struct sl_key_section {
    const char *path;
    const char *help;
};

/* A list of maps: "queue.limits". Its entries stand in an array of struct sl_config. */
struct sl_key_list {
    const char *path;
    const char *help;
    const struct sl_key *field; /* "queue.limits.resource", ...: offsets are within an entry */
    uint16_t n_fields;
    uint16_t stride; /* bytes of an entry */
    uint32_t offset; /* of the array in struct sl_config */
    uint32_t count;  /* offset of how many there are, an uint8_t */
    uint8_t max;     /* entries */
};

enum {
    SL_KEYS_MAX = 256,
    SL_KEY_SECTIONS = 22 + SL_KIND_COUNT,
    SL_KEY_LISTS = 11,
    SL_KEY_FIELDS_MAX = 6,
};

/* Keys of one section stand together; a section's keys follow those of its parent. */
extern const struct sl_key sl_keys[];
extern const size_t sl_n_keys; /* at most SL_KEYS_MAX */
extern const struct sl_key_section sl_key_sections[SL_KEY_SECTIONS];
extern const struct sl_key_list sl_key_lists[SL_KEY_LISTS];

/* --- key.c: one value in its place --- */

/* The section that holds a key or a section ("score.weights" -> "score" -> ""), as the length of
 * its path. */
size_t sl_key_parent_len(const char *path);

/* base: the struct sl_config, or the entry of a list that the key is a field of. */
int64_t sl_key_number(const struct sl_key *key, const void *base);
void sl_key_set_number(const struct sl_key *key, void *base, int64_t value);
const char *sl_key_text(const struct sl_key *key, const void *base);
/* False when it does not fit. */
bool sl_key_set_text(const struct sl_key *key, void *base, struct sl_str value);
bool sl_key_equal(const struct sl_key *key, const void *a, const void *b);
/* The built-in value. */
void sl_key_set_default(const struct sl_key *key, void *base);

size_t sl_list_count(const struct sl_key_list *list, const struct sl_config *config);
void sl_list_set_count(const struct sl_key_list *list, struct sl_config *config, size_t n);
/* The entry at that place, below max. */
void *sl_list_entry(const struct sl_key_list *list, struct sl_config *config, size_t i);
const void *sl_list_entry_of(const struct sl_key_list *list, const struct sl_config *config,
                             size_t i);

/* --- check.c: rules between several keys --- */

/* A contradiction between two keys. */
struct sl_key_clash {
    const char *key;   /* to blame */
    const char *other; /* blamed instead when key stands nowhere in the file */
    size_t entry;      /* of the list key, from 1; 0: none of them alone is to blame */
};

/* "tenants.caps[1]" */
void sl_keys_clash_path(const struct sl_key_clash *clash, char *out, size_t size);

/* -1 with *clash and *err (without a place) set. */
int sl_keys_check(const struct sl_config *config, struct sl_key_clash *clash, struct sl_error *err);

/* The i-th key, or list, that matters in one order alone; NULL: there are fewer. */
const char *sl_keys_of_order(size_t i, enum sl_order_kind *order);

enum { SL_CONFIG_FILE_MAX = 1024 * 1024 };

/* --- value.c: one value as text --- */

enum sl_value_result {
    SL_VALUE_OK = 0,
    SL_VALUE_TYPE = -1,  /* not of the key's type */
    SL_VALUE_RANGE = -2, /* of the type, but not allowed */
};

/* Reads a number-like value (integer, size, duration, enum). quoted: it was a string in the file,
 * not a number. */
enum sl_value_result sl_value_number(const struct sl_key *key, struct sl_str text, bool quoted,
                                     int64_t *out);
/* Is it an address, a prefix, a verb, ... as the key wants it? */
bool sl_value_text(const struct sl_key *key, struct sl_str text);

/* Is "" one? */
bool sl_value_may_be_empty(const struct sl_key *key);

/* A regular expression (ECMA 262 and RE2) that takes every text of the key's type, anchored at
 * neither end, which is not empty; NULL: the type is no text. It may take more than
 * sl_value_text and sl_value_number do. */
const char *sl_value_pattern(const struct sl_key *key);

/* "1m30s", "64Mi", "17", "info": sl_value_number reads it back. */
void sl_value_print(const struct sl_key *key, int64_t value, struct sl_buf *out);

/* Writes the values that the key takes: "an integer from 0 to 64". */
void sl_value_expected(const struct sl_key *key, struct sl_buf *out);

/* The same as short as a table needs it: "integer", "0 to 64". */
const char *sl_value_type_name(const struct sl_key *key);
void sl_value_range(const struct sl_key *key, struct sl_buf *out);

#endif

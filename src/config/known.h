/* Every path that a file may have, numbered, and what a mistyped one may have meant. */
#ifndef SLICED_CONFIG_KNOWN_H
#define SLICED_CONFIG_KNOWN_H

#include "config/keys.h"

enum sl_known_kind {
    SL_KNOWN_HEADER,  /* apiVersion, kind */
    SL_KNOWN_SECTION, /* a map of keys */
    SL_KNOWN_KEY,
    SL_KNOWN_LIST,  /* a list of maps */
    SL_KNOWN_FIELD, /* a key of a list's entries */
};

struct sl_known {
    enum sl_known_kind kind;
    const char *path;               /* "" where there is none of that number */
    const char *value;              /* HEADER: what must stand there */
    const struct sl_key *key;       /* KEY, FIELD */
    const struct sl_key_list *list; /* LIST, FIELD */
};

enum { SL_KNOWN_HEADERS = 2 };
enum {
    SL_KNOWN =
        SL_KNOWN_HEADERS + SL_KEY_SECTIONS + SL_KEYS_MAX + SL_KEY_LISTS * (1 + SL_KEY_FIELDS_MAX)
};

/* The path of that number, below SL_KNOWN. The headers come first. */
struct sl_known sl_known_at(size_t i);
/* Its number; SL_KNOWN: there is no such path. */
size_t sl_known_find(const char *path);

/* The known path nearest to one that is none: one that is spelt exactly so in any section (letters'
 * case aside), or almost so in the same. NULL when none is near. */
const char *sl_known_near(const char *path);

/* The names that may stand where the path stands: "a, b, c". */
void sl_known_siblings(const char *path, char *out, size_t size);

#endif

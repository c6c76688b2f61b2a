/* The paths are those of the tables in keys.c and lists.c; the nearest is so by edit distance. */
#include "config/known.h"

enum { NAME_MAX_LEN = 64 };

struct sl_known sl_known_at(size_t i)
{
    static const struct sl_known headers[SL_KNOWN_HEADERS] = {
        {SL_KNOWN_HEADER, "apiVersion", .value = SL_CONFIG_API_VERSION},
        {SL_KNOWN_HEADER, "kind", .value = SL_CONFIG_KIND},
    };
    if (i < SL_KNOWN_HEADERS) {
        return headers[i];
    }
    i -= SL_KNOWN_HEADERS;
    if (i < SL_KEY_SECTIONS) {
        return (struct sl_known){SL_KNOWN_SECTION, .path = sl_key_sections[i].path};
    }
    i -= SL_KEY_SECTIONS;
    if (i < SL_KEYS_MAX) {
        return i < sl_n_keys ? (struct sl_known){SL_KNOWN_KEY, sl_keys[i].path, .key = &sl_keys[i]}
                             : (struct sl_known){SL_KNOWN_KEY, .path = ""};
    }
    i -= SL_KEYS_MAX;
    if (i < SL_KEY_LISTS) {
        return (struct sl_known){SL_KNOWN_LIST, sl_key_lists[i].path, .list = &sl_key_lists[i]};
    }
    i -= SL_KEY_LISTS;
    const struct sl_key_list *list = &sl_key_lists[i / SL_KEY_FIELDS_MAX];
    const struct sl_key *field = &list->field[i % SL_KEY_FIELDS_MAX];
    return i % SL_KEY_FIELDS_MAX < list->n_fields
               ? (struct sl_known){SL_KNOWN_FIELD, field->path, .key = field, .list = list}
               : (struct sl_known){SL_KNOWN_FIELD, .path = ""};
}

size_t sl_known_find(const char *path)
{
    size_t i = 0;
    while (i < SL_KNOWN && (path[0] == '\0' || strcmp(sl_known_at(i).path, path) != 0)) {
        i++;
    }
    return i;
}

static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot == NULL ? path : dot + 1;
}

static char lower_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Levenshtein's distance, letters' case aside; neither is longer than NAME_MAX_LEN. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[NAME_MAX_LEN + 1];
    size_t n = strlen(b);
    for (unsigned k = 0; k <= n; k++) {
        row[k] = k;
    }
    for (unsigned i = 1; *a != '\0'; a++, i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            unsigned best = diagonal + (lower_case(*a) != lower_case(b[k - 1]) ? 1 : 0);
            best = row[k] + 1 < best ? row[k] + 1 : best;
            best = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
            diagonal = row[k];
            row[k] = best;
        }
    }
    return row[n];
}

static bool are_siblings(const char *a, const char *b)
{
    size_t len = sl_key_parent_len(a);
    return len == sl_key_parent_len(b) && memcmp(a, b, len) == 0;
}

const char *sl_known_near(const char *path)
{
    const char *name = last_name(path);
    const char *best = NULL;
    size_t len = strlen(name);
    unsigned best_distance = (unsigned)len / 3 + 1; /* one less is near enough */
    if (len > NAME_MAX_LEN) {
        return NULL;
    }
    for (size_t i = 0; i < SL_KNOWN; i++) {
        const char *known = sl_known_at(i).path;
        unsigned d = edit_distance(name, last_name(known));
        if (known[0] != '\0' && d < best_distance && (d == 0 || are_siblings(path, known))) {
            best = known;
            best_distance = d;
        }
    }
    return best;
}

void sl_known_siblings(const char *path, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < SL_KNOWN; i++) {
        const char *known = sl_known_at(i).path;
        const char *name = last_name(known);
        if (name[0] != '\0' && are_siblings(path, known) && used + strlen(name) + 3 < size) {
            const char *comma = used > 0 ? ", " : "";
            memcpy(out + used, comma, strlen(comma));
            used += strlen(comma);
            memcpy(out + used, name, strlen(name) + 1);
            used += strlen(name);
        }
    }
}

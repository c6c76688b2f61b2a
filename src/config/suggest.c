/* Nearest known key by edit distance. */
#include "config/suggest.h"

#include "config/keys.h"

enum { NAME_MAX_LEN = 64, HEADERS = 2, FIELDS = SL_KEY_LISTS * SL_KEY_FIELDS_MAX };
enum { CANDIDATES = HEADERS + SL_KEY_SECTIONS - 1 + SL_KEYS + SL_KEY_LISTS + FIELDS };

/* "" where a list has fewer fields. */
static const char *candidate(size_t i)
{
    static const char *const headers[HEADERS] = {"apiVersion", "kind"};
    if (i < HEADERS) {
        return headers[i];
    }
    i -= HEADERS;
    if (i < SL_KEY_SECTIONS - 1) {
        return sl_key_sections[i + 1].path;
    }
    i -= SL_KEY_SECTIONS - 1;
    if (i < SL_KEYS) {
        return sl_keys[i].path;
    }
    i -= SL_KEYS;
    if (i < SL_KEY_LISTS) {
        return sl_key_lists[i].path;
    }
    i -= SL_KEY_LISTS;
    const struct sl_key_list *list = &sl_key_lists[i / SL_KEY_FIELDS_MAX];
    i %= SL_KEY_FIELDS_MAX;
    return i < list->n_fields ? list->field[i].path : "";
}

static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot == NULL ? path : dot + 1;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Levenshtein's distance, letters' case aside; neither is longer than NAME_MAX_LEN. */
static unsigned distance(const char *a, const char *b)
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
            unsigned best = diagonal + (lower(*a) != lower(b[k - 1]) ? 1 : 0);
            best = row[k] + 1 < best ? row[k] + 1 : best;
            best = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
            diagonal = row[k];
            row[k] = best;
        }
    }
    return row[n];
}

static bool siblings(const char *a, const char *b)
{
    size_t len = sl_key_parent_len(a);
    return len == sl_key_parent_len(b) && memcmp(a, b, len) == 0;
}

const char *sl_suggest_key(const char *path)
{
    const char *name = last_name(path);
    const char *best = NULL;
    size_t len = strlen(name);
    unsigned best_distance = (unsigned)len / 3 + 1; /* one less is near enough */
    if (len > NAME_MAX_LEN) {
        return NULL;
    }
    for (size_t i = 0; i < CANDIDATES; i++) {
        unsigned d = distance(name, last_name(candidate(i)));
        if (candidate(i)[0] == '\0') {
            continue;
        }
        if (d < best_distance && (d == 0 || siblings(path, candidate(i)))) {
            best = candidate(i);
            best_distance = d;
        }
    }
    return best;
}

void sl_suggest_list(const char *path, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < CANDIDATES; i++) {
        const char *name = last_name(candidate(i));
        if (name[0] != '\0' && siblings(path, candidate(i)) && used + strlen(name) + 3 < size) {
            const char *comma = used > 0 ? ", " : "";
            memcpy(out + used, comma, strlen(comma));
            used += strlen(comma);
            memcpy(out + used, name, strlen(name) + 1);
            used += strlen(name);
        }
    }
}

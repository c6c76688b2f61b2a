/* A key's value in struct sl_config, or in an entry of a list. */
#include "config/keys.h"

#include <stdio.h>

size_t sl_key_parent_len(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot == NULL ? 0 : (size_t)(dot - path);
}

/* Numbers are int64_t, int32_t and unsigned enums of four bytes, and bool. */
int64_t sl_key_number(const struct sl_key *key, const void *base)
{
    const char *at = (const char *)base + key->offset;
    int64_t wide = 0;
    int32_t narrow = 0;
    bool boolean = false;
    if (key->size == sizeof(wide)) {
        memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    if (key->size == sizeof(narrow)) {
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    }
    memcpy(&boolean, at, sizeof(boolean));
    return boolean ? 1 : 0;
}

void sl_key_set_number(const struct sl_key *key, void *base, int64_t value)
{
    char *at = (char *)base + key->offset;
    int32_t narrow = (int32_t)value;
    bool boolean = value != 0;
    if (key->size == sizeof(value)) {
        memcpy(at, &value, sizeof(value));
    } else if (key->size == sizeof(narrow)) {
        memcpy(at, &narrow, sizeof(narrow));
    } else {
        memcpy(at, &boolean, sizeof(boolean));
    }
}

const char *sl_key_text(const struct sl_key *key, const void *base)
{
    return (const char *)base + key->offset;
}

bool sl_key_set_text(const struct sl_key *key, void *base, struct sl_str value)
{
    char *at = (char *)base + key->offset;
    if (value.len >= key->size) {
        return false;
    }
    memset(at, 0, key->size);
    memcpy(at, value.s, value.len);
    return true;
}

bool sl_key_equal(const struct sl_key *key, const void *a, const void *b)
{
    if (key->text) {
        return strcmp(sl_key_text(key, a), sl_key_text(key, b)) == 0;
    }
    return sl_key_number(key, a) == sl_key_number(key, b);
}

void sl_key_set_default(const struct sl_key *key, void *base)
{
    if (key->text) {
        (void)sl_key_set_text(key, base, sl_str_of(key->string));
    } else {
        sl_key_set_number(key, base, key->number);
    }
}

void sl_config_defaults(struct sl_config *config)
{
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < sl_n_keys; i++) {
        sl_key_set_default(&sl_keys[i], config);
    }
}

size_t sl_config_keep(const struct sl_config *running, struct sl_config *fresh, char *paths,
                      size_t size)
{
    size_t kept = 0;
    size_t len = 0;
    for (size_t i = 0; i < sl_n_keys; i++) {
        const struct sl_key *key = &sl_keys[i];
        if (!key->restart || sl_key_equal(key, running, fresh)) {
            continue;
        }
        memcpy((char *)fresh + key->offset, (const char *)running + key->offset, key->size);
        if (len < size) {
            int n = snprintf(paths + len, size - len, "%s%s", kept > 0 ? ", " : "", key->path);
            len += n > 0 ? (size_t)n : 0;
        }
        kept++;
    }
    return kept;
}

#include "util/str.h"

uint64_t sl_hash(const char *s, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u ^ len;
    while (len >= 8) {
        uint64_t word;
        memcpy(&word, s, 8);
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 32;
        s += 8;
        len -= 8;
    }
    for (; len > 0; len--) {
        h = (h ^ (unsigned char)*s++) * 0x100000001b3u;
    }
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 32);
}

bool sl_str_to_i64(struct sl_str text, int64_t *out)
{
    size_t i = 0;
    bool negative = text.len > 0 && text.s[0] == '-';
    if (negative) {
        i = 1;
    }
    if (i == text.len) {
        return false;
    }
    int64_t value = 0;
    for (; i < text.len; i++) {
        if (text.s[i] < '0' || text.s[i] > '9') {
            return false;
        }
        int digit = text.s[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            (negative ? __builtin_sub_overflow(value, digit, &value)
                      : __builtin_add_overflow(value, digit, &value))) {
            return false;
        }
    }
    *out = value;
    return true;
}

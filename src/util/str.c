#include "util/str.h"

struct sl_str sl_str_cut(struct sl_str *rest, char separator)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->s, separator, rest->len);
    struct sl_str head = *rest;
    *rest = (struct sl_str){0};
    if (end != NULL) {
        *rest = (struct sl_str){end + 1, head.len - (size_t)(end - head.s) - 1};
        head.len = (size_t)(end - head.s);
    }
    return head;
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

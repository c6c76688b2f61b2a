/* Base64. */
#include "util/base64.h"

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int sl_base64_decode(struct sl_str text, struct sl_arena *arena, struct sl_str *out,
                     struct sl_error *err)
{
    char *data = sl_arena_alloc(arena, text.len / 4 * 3 + 4);
    size_t len = 0;
    uint32_t bits = 0;
    unsigned digits = 0;
    unsigned padding = 0;
    if (data == NULL) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            continue;
        }
        int digit = c == '=' ? 0 : digit_of(c);
        padding += c == '=';
        if (digit < 0 || (c != '=' && padding > 0) || padding > 2) {
            return sl_error_set(err, SL_ERR_SYNTAX, "not base64 at byte %zu", i);
        }
        bits = bits << 6 | (uint32_t)digit;
        digits++;
        if (digits % 4 == 0) {
            data[len++] = (char)(bits >> 16 & 0xff);
            data[len++] = (char)(bits >> 8 & 0xff);
            data[len++] = (char)(bits & 0xff);
        }
    }
    if (digits % 4 != 0) {
        return sl_error_set(err, SL_ERR_SYNTAX, "base64 text is cut short");
    }
    *out = (struct sl_str){data, len - padding};
    data[out->len] = '\0';
    return 0;
}

void sl_base64_encode(struct sl_str data, struct sl_buf *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < data.len; i += 3) {
        size_t n = data.len - i < 3 ? data.len - i : 3;
        uint32_t bits = 0;
        char group[4];
        for (size_t k = 0; k < 3; k++) {
            bits = bits << 8 | (k < n ? (unsigned char)data.s[i + k] : 0U);
        }
        for (size_t k = 0; k < 4; k++) {
            group[k] = k <= n ? digit[bits >> (18 - 6 * k) & 63] : '=';
        }
        sl_buf_append(out, group, sizeof(group));
    }
}

/* Percent-encoding (RFC 3986, 2.1). */
#include "kube/client/url.h"

void sl_url_put(struct sl_buf *out, struct sl_str text)
{
    static const char plain[] = "-._~";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter || memchr(plain, c, sizeof(plain) - 1) != NULL) {
            sl_buf_putc(out, c);
        } else {
            sl_buf_printf(out, "%%%02X", (unsigned)(unsigned char)c);
        }
    }
}

/* A tree as JSON, with the indentation of kubectl. */
#include "codec/tree/value.h"

#include <stdlib.h>

#include "codec/write.h"
#include "util/show.h"

enum { INDENT = 4, NUMBER_MAX = 64 };

static void put_line(struct sl_buf *out, unsigned depth)
{
    sl_buf_printf(out, "\n%*s", (int)(depth * INDENT), "");
}

/* As struct sl_writer has it, and DEL escaped as well: a terminal may read this. */
static void put_str(struct sl_buf *out, struct sl_str text)
{
    static const char special[] = "\"\\\n\t";
    static const char letters[] = "\"\\nt";
    sl_buf_putc(out, '"');
    while (text.len > 0) {
        const char *at = text.s[0] == '\0' ? NULL : strchr(special, text.s[0]);
        char shown[SL_SHOWN_MAX] = {'\\', at == NULL ? '\0' : letters[at - special]};
        size_t len = at == NULL ? sl_show_next(&text, shown) : 2;
        if (at != NULL) {
            text = (struct sl_str){text.s + 1, text.len - 1};
        }
        sl_buf_append(out, shown, len);
    }
    sl_buf_putc(out, '"');
}

/* Does JSON write numbers so? Its grammar is YAML's without a sign '+', hexadecimal and octal
 * numbers, infinities, and points that no digit stands beside. */
static bool is_of_json(struct sl_str text)
{
    size_t at = text.len > 0 && text.s[0] == '-' ? 1 : 0;
    const char *point = memchr(text.s, '.', text.len);
    bool digit = at < text.len && text.s[at] >= '0' && text.s[at] <= '9';
    bool zeros = digit && text.s[at] == '0' && at + 1 < text.len && text.s[at + 1] >= '0' &&
                 text.s[at + 1] <= '9';
    bool based = digit && text.s[at] == '0' && at + 1 < text.len &&
                 (text.s[at + 1] == 'x' || text.s[at + 1] == 'o');
    bool bare =
        point != NULL && (point + 1 == text.s + text.len || point[1] < '0' || point[1] > '9');
    return digit && !zeros && !based && !bare;
}

static void put_number(struct sl_buf *out, struct sl_str text)
{
    struct sl_writer w = {.buf = out};
    char copy[NUMBER_MAX];
    if (is_of_json(text)) {
        sl_buf_append(out, text.s, text.len);
        return;
    }
    size_t len = text.len < sizeof(copy) - 1 ? text.len : sizeof(copy) - 1;
    memcpy(copy, text.s, len);
    copy[len] = '\0';
    if (strpbrk(copy, "nN") != NULL) { /* .inf, .nan */
        sl_write_null(&w);
    } else if (copy[0] == '0' && copy[1] == 'o') {
        sl_write_i64(&w, strtoll(copy + 2, NULL, 8));
    } else {
        sl_write_double(&w, strtod(copy, NULL)); /* reads hexadecimal too */
    }
}

static void put_value(const struct sl_value *value, unsigned depth, struct sl_buf *out);

static void put_members(const struct sl_value *value, unsigned depth, struct sl_buf *out)
{
    bool object = value->kind == SL_VALUE_OBJECT;
    sl_buf_putc(out, object ? '{' : '[');
    for (const struct sl_value *each = value->first; each != NULL; each = each->next) {
        put_line(out, depth + 1);
        if (object) {
            put_str(out, each->key);
            sl_buf_puts(out, ": ");
        }
        put_value(each, depth + 1, out);
        if (each->next != NULL) {
            sl_buf_putc(out, ',');
        }
    }
    if (value->first != NULL) {
        put_line(out, depth);
    }
    sl_buf_putc(out, object ? '}' : ']');
}

static void put_value(const struct sl_value *value, unsigned depth, struct sl_buf *out)
{
    switch (value->kind) {
    case SL_VALUE_NULL:
        sl_buf_puts(out, "null");
        break;
    case SL_VALUE_BOOL:
        sl_buf_puts(out, value->boolean ? "true" : "false");
        break;
    case SL_VALUE_NUMBER:
        put_number(out, value->text);
        break;
    case SL_VALUE_STRING:
        put_str(out, value->text);
        break;
    case SL_VALUE_ARRAY:
    case SL_VALUE_OBJECT:
        put_members(value, depth, out);
        break;
    }
}

void sl_value_to_json(const struct sl_value *value, struct sl_buf *out)
{
    put_value(value, 0, out);
    sl_buf_putc(out, '\n');
}

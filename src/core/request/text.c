/* Builds sentences by appends; see text.h. */
#include "core/request/text.h"

#include "util/show.h"
#include "util/time.h"

void sl_text_init(struct sl_text *text, char *out, size_t size)
{
    *text = (struct sl_text){.out = out, .size = size, .cut = size == 0};
    if (size > 0) {
        out[0] = '\0';
    }
}

/* Returns the length of the longest start of s[0..len), at most max bytes, that splits no UTF-8
 * character. */
static size_t whole_characters(const char *s, size_t len, size_t max)
{
    if (len <= max) {
        return len;
    }
    while (max > 0 && ((unsigned char)s[max] & 0xc0) == 0x80) {
        max--;
    }
    return max;
}

void sl_text_add(struct sl_text *text, struct sl_str piece)
{
    if (text->cut || piece.len == 0) {
        return;
    }
    size_t room = text->size - 1 - text->len;
    size_t len = whole_characters(piece.s, piece.len, room);
    memcpy(text->out + text->len, piece.s, len);
    text->len += len;
    text->out[text->len] = '\0';
    text->cut = len < piece.len;
}

void sl_text_puts(struct sl_text *text, const char *piece)
{
    sl_text_add(text, sl_str_of(piece));
}

void sl_text_i64(struct sl_text *text, int64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        digits[--at] = '-';
    }
    sl_text_add(text, (struct sl_str){digits + at, sizeof(digits) - at});
}

/* Rounds up to what two units show: from an hour on to minutes, from a day on to hours. */
static int64_t round_up(int64_t us)
{
    int64_t seconds = us <= 0 ? 0 : (us - 1) / SL_SECOND_US + 1;
    int64_t unit = seconds > SL_DAY_S ? SL_HOUR_S : seconds > SL_HOUR_S ? SL_MINUTE_S : 1;
    return (seconds - 1 + unit) / unit * unit;
}

void sl_text_duration(struct sl_text *text, int64_t us)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{SL_DAY_S, "d"}, {SL_HOUR_S, "h"}, {SL_MINUTE_S, "m"}, {1, "s"}};
    int64_t left = round_up(us);
    if (left == 0) {
        sl_text_puts(text, "0s");
    }
    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (left >= units[i].seconds) {
            sl_text_i64(text, left / units[i].seconds);
            sl_text_puts(text, units[i].name);
            left %= units[i].seconds;
        }
    }
}

void sl_text_next(struct sl_text *text, const char *start)
{
    if (text->len > 0) {
        sl_text_puts(text, "; ");
    }
    sl_text_puts(text, start);
}

void sl_text_shown(struct sl_text *text, struct sl_str piece)
{
    char shown[SL_SHOWN_MAX];
    while (piece.len > 0 && !text->cut) {
        size_t n = sl_show_next(&piece, shown);
        text->cut = n > text->size - 1 - text->len;
        if (!text->cut) {
            sl_text_add(text, (struct sl_str){shown, n});
        }
    }
}

void sl_text_quoted(struct sl_text *text, struct sl_str piece)
{
    size_t len = whole_characters(piece.s, piece.len, SL_TEXT_QUOTED_MAX);
    sl_text_add(text, SL_STR("\""));
    sl_text_shown(text, (struct sl_str){piece.s, len});
    sl_text_puts(text, len < piece.len ? "...\"" : "\"");
}

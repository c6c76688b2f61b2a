/* Error object: fixed size, never allocates. */
#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/show.h"

/* The length of the text without a last character that its end cuts. */
static size_t whole_len(const char *text, size_t len)
{
    size_t at = len;
    while (at > 0 && len - at < 4 && ((unsigned char)text[at - 1] & 0xc0) == 0x80) {
        at--;
    }
    return at > 0 && (unsigned char)text[at - 1] >= 0xc0 ? at - 1 : len;
}

int sl_error_set(struct sl_error *err, enum sl_error_code code, const char *format, ...)
{
    if (err == NULL) {
        return -1;
    }
    va_list args;
    err->code = code;
    err->line = 0;
    err->column = 0;
    err->field[0] = '\0';
    va_start(args, format);
    char text[sizeof(err->message)];
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t len = n < 0                      ? 0
                 : (size_t)n < sizeof(text) ? (size_t)n
                                            : whole_len(text, sizeof(text) - 1);
    (void)sl_show((struct sl_str){text, len}, err->message, sizeof(err->message));
    return -1;
}

int sl_error_nomem(struct sl_error *err)
{
    return sl_error_set(err, SL_ERR_NOMEM, "out of memory");
}

int sl_error_wrap(struct sl_error *err, const char *format, ...)
{
    if (err == NULL) {
        return -1;
    }
    char text[sizeof(err->message)];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n;
    const char *parts[] = {": ", err->message};
    for (size_t i = 0; i < 2 && used < sizeof(text) - 1; i++) {
        size_t room = sizeof(text) - 1 - used;
        size_t len = strnlen(parts[i], room);
        memcpy(text + used, parts[i], len);
        used += len;
    }
    text[used < sizeof(text) ? used : sizeof(text) - 1] = '\0';
    memcpy(err->message, text, sizeof(text));
    return -1;
}

int sl_error_locate(struct sl_error *err, const char *name)
{
    char place[32] = "";
    char field[sizeof(err->field)];
    if (err == NULL) {
        return -1;
    }
    memcpy(field, err->field, sizeof(field));
    if (err->line > 0) {
        (void)snprintf(place, sizeof(place), ":%u:%u", err->line, err->column);
    }
    return sl_error_wrap(err, "%s%s%s%s", strcmp(name, "-") == 0 ? "<stdin>" : name, place,
                         field[0] == '\0' ? "" : ": ", field);
}

const char *sl_error_code_name(enum sl_error_code code)
{
    static const char *const names[] = {
        [SL_ERR_NONE] = "None",         [SL_ERR_NOMEM] = "NoMemory",
        [SL_ERR_SYNTAX] = "Syntax",     [SL_ERR_TYPE] = "WrongType",
        [SL_ERR_FIELD] = "BadField",    [SL_ERR_LIMIT] = "LimitExceeded",
        [SL_ERR_NOTFOUND] = "NotFound", [SL_ERR_CONFLICT] = "Conflict",
        [SL_ERR_SYSTEM] = "System",     [SL_ERR_INTERNAL] = "Internal",
    };
    size_t i = (size_t)code;
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : "Unknown";
}

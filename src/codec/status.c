/* {"kind":"Status","status":"Failure",...}. */
#include "codec/status.h"

#include <stdio.h>

unsigned sl_status_code(enum sl_error_code code)
{
    switch (code) {
    case SL_ERR_SYNTAX:
    case SL_ERR_TYPE:
    case SL_ERR_FIELD:
        return 400;
    case SL_ERR_NOTFOUND:
        return 404;
    case SL_ERR_CONFLICT:
        return 409;
    case SL_ERR_LIMIT:
        return 413;
    case SL_ERR_NOMEM:
        return 503;
    case SL_ERR_NONE:
    case SL_ERR_SYSTEM:
    case SL_ERR_INTERNAL:
        break;
    }
    return 500;
}

const char *sl_status_reason(unsigned code)
{
    static const struct {
        unsigned code;
        const char *reason;
    } rows[] = {
        {400, "BadRequest"},           {403, "Forbidden"},     {404, "NotFound"},
        {405, "MethodNotAllowed"},     {409, "AlreadyExists"}, {413, "RequestEntityTooLarge"},
        {415, "UnsupportedMediaType"}, {500, "InternalError"}, {503, "ServiceUnavailable"},
        {406, "NotAcceptable"},        {410, "Expired"},       {429, "TooManyRequests"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].code == code) {
            return rows[i].reason;
        }
    }
    return "Unknown";
}

/* Writes the error as a person reads it: "field: message (line 1, column 7)". */
static void error_text(const struct sl_error *err, char *out, size_t size)
{
    char place[64] = "";
    if (err->line > 0) {
        (void)snprintf(place, sizeof(place), " (line %u, column %u)", err->line, err->column);
    }
    (void)snprintf(out, size, "%s%s%s%s", err->field, err->field[0] == '\0' ? "" : ": ",
                   err->message, place);
}

void sl_status_write(struct sl_buf *out, unsigned code, const struct sl_error *err, bool verb)
{
    struct sl_writer w = {.buf = out};
    char text[sizeof(err->field) + sizeof(err->message) + 64];
    error_text(err, text, sizeof(text));
    sl_write_object(&w);
    sl_write_member_text(&w, "kind", "Status");
    sl_write_member_text(&w, "apiVersion", "v1");
    sl_write_member_text(&w, "status", "Failure");
    sl_write_member_text(&w, "reason", sl_status_reason(code));
    sl_write_member_i64(&w, "code", code);
    sl_write_member_text(&w, "message", text);
    sl_write_member_object(&w, "details");
    sl_write_member_array(&w, "causes");
    sl_write_object(&w);
    sl_write_member_text(&w, "reason", sl_error_code_name(err->code));
    sl_write_member_text(&w, "field", err->field);
    if (err->line > 0) {
        sl_write_member_i64(&w, "line", err->line);
        sl_write_member_i64(&w, "column", err->column);
    }
    sl_write_member_text(&w, "message", err->message);
    sl_write_object_end(&w);
    sl_write_array_end(&w);
    sl_write_object_end(&w);
    if (verb) {
        sl_write_member_text(&w, "Error", text);
    }
    sl_write_object_end(&w);
    sl_buf_putc(out, '\n');
}

/* Structured log lines: time, level, message, key=value pairs. */
#include "util/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/show.h"

static _Atomic int threshold = SL_LOG_INFO;
static _Atomic bool as_json;

enum { LINE_MAX_BYTES = 8192, VALUE_MAX_BYTES = 1024 };

struct line {
    char text[LINE_MAX_BYTES];
    size_t len;
};

static void line_put(struct line *line, const char *text, size_t len)
{
    size_t room = sizeof(line->text) - 2 - line->len; /* leaves room for '}' and '\n' */
    if (len > room) {
        len = room;
    }
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

static void puts_to(struct line *line, const char *text)
{
    line_put(line, text, strlen(text));
}

/* Writes a quoted string, escaped so that it is valid in JSON and in logfmt. Cuts a long one, so
 * that one value cannot push the others out of the line. */
static void put_quoted(struct line *line, const char *text)
{
    size_t end = line->len + VALUE_MAX_BYTES;
    if (line->len + 2 > sizeof(line->text) - VALUE_MAX_BYTES - 16) {
        text = ""; /* the line is full: keep it whole */
    }
    puts_to(line, "\"");
    struct sl_str rest = sl_str_of(text);
    while (rest.len > 0 && line->len < end) {
        char shown[SL_SHOWN_MAX];
        if (rest.s[0] == '"' || rest.s[0] == '\\') {
            line_put(line, "\\", 1);
        }
        line_put(line, shown, sl_show_next(&rest, shown));
    }
    puts_to(line, "\"");
}

void sl_log_configure(enum sl_log_level level, bool json)
{
    atomic_store(&threshold, (int)level);
    atomic_store(&as_json, json);
}

void sl_log(enum sl_log_level level, const char *message, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    if ((int)level > atomic_load(&threshold)) {
        return;
    }
    struct line line = {.len = 0};
    struct timespec now;
    struct tm utc;
    char stamp[40];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(stamp + n, sizeof(stamp) - n, ".%03ldZ", now.tv_nsec / 1000000);

    bool json = atomic_load(&as_json);
    puts_to(&line, json ? "{\"time\":\"" : "");
    puts_to(&line, stamp);
    puts_to(&line, json ? "\",\"level\":\"" : " ");
    puts_to(&line, names[level]);
    puts_to(&line, json ? "\",\"message\":" : " ");
    put_quoted(&line, message);
    va_list args;
    va_start(args, message);
    for (const char *key = va_arg(args, const char *); key != NULL;
         key = va_arg(args, const char *)) {
        const char *value = va_arg(args, const char *);
        puts_to(&line, json ? "," : " ");
        if (json) {
            put_quoted(&line, key);
            puts_to(&line, ":");
        } else {
            puts_to(&line, key);
            puts_to(&line, "=");
        }
        put_quoted(&line, value == NULL ? "" : value);
    }
    va_end(args);
    if (json) {
        line.text[line.len++] = '}';
    }
    line.text[line.len++] = '\n';
    (void)!write(STDERR_FILENO, line.text, line.len);
}

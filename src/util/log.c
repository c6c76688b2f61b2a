/* Structured log lines: time, level, message, key=value pairs. */
#include "util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/show.h"
#include "util/time.h"

static _Atomic int threshold = SL_LOG_INFO;
static _Atomic bool as_json;

/* The pod whose lines are all written. */
static pthread_mutex_t traced_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool traces;
static char traced[SL_LOG_POD_BYTES];

/* A namespace's part of the lines that its users can bring about. */
struct share {
    uint64_t namespace; /* sl_hash */
    int64_t from_us;    /* monotonic: when its minute began; 0: never */
    unsigned written;
    uint64_t left_out; /* since its last line */
};
enum { SHARES = 64 };
static pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER;
static struct share shares[SHARES + 1]; /* the last is for all that find no other */
static _Atomic uint64_t left_out;

enum { LINE_MAX_BYTES = 8192, VALUE_MAX_BYTES = 1024, PATIENCE_MS = 1000 };

/* Standard error may be a pipe whose reader has stopped, or is slow. */
static const int64_t hurry_us = 60 * SL_SECOND_US;
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;
/* guarded by sending */
static int64_t hurried_until_us; /* monotonic: before that nobody waits for room */
static bool torn;                /* the last line that was begun has no end */
static _Atomic uint64_t lost;

/* text begins with a line feed, which is written only after a line that was torn. */
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

static void put_key(struct line *line, bool json, const char *key)
{
    puts_to(line, json ? "," : " ");
    if (json) {
        put_quoted(line, key);
        puts_to(line, ":");
    } else {
        puts_to(line, key);
        puts_to(line, "=");
    }
}

static void put_number(struct line *line, int64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    puts_to(line, text);
}

static void put_text(struct line *line, const char *text)
{
    put_quoted(line, text == NULL ? "" : text);
}

static void put_stamp(struct line *line)
{
    struct timespec now;
    struct tm utc;
    char stamp[40];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(stamp + n, sizeof(stamp) - n, ".%03ldZ", now.tv_nsec / 1000000);
    puts_to(line, stamp);
}

/* Is there room for PIPE_BUF bytes? Who waits for it holds up everybody who has a line, so after a
 * wait in vain nobody waits until there was room for a minute: a reader that has stopped, or reads
 * too little, costs its lines, and nobody the time for a decision. */
static bool room_wait(void)
{
    struct pollfd end = {.fd = STDERR_FILENO, .events = POLLOUT};
    bool hurried = sl_clock_monotonic_us() < hurried_until_us;
    int ready = -1;
    do {
        ready = poll(&end, 1, hurried ? 0 : PATIENCE_MS);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        hurried_until_us = sl_clock_monotonic_us() + hurry_us;
    }
    return ready != 0;
}

static void line_send(const struct line *line)
{
    (void)pthread_mutex_lock(&sending);
    size_t first = torn ? 0 : 1;
    size_t sent = first;
    ssize_t n = 1;
    while (n > 0 && sent < line->len && room_wait()) {
        size_t left = line->len - sent;
        n = write(STDERR_FILENO, line->text + sent, left < PIPE_BUF ? left : PIPE_BUF);
        sent += n > 0 ? (size_t)n : 0;
    }
    bool whole = sent == line->len;
    torn = sent > first ? !whole : torn;
    (void)pthread_mutex_unlock(&sending);
    if (!whole) {
        (void)atomic_fetch_add(&lost, 1);
    }
}

uint64_t sl_log_lost(void)
{
    return atomic_load(&lost);
}

uint64_t sl_log_left_out(void)
{
    return atomic_load(&left_out);
}

static bool is_over(const struct share *share, int64_t now_us)
{
    return share->from_us == 0 || now_us - share->from_us >= SL_MINUTE_US;
}

static struct share *share_of(uint64_t namespace, int64_t now_us)
{
    struct share *free = &shares[SHARES];
    for (size_t i = 0; i < SHARES; i++) {
        if (shares[i].from_us != 0 && shares[i].namespace == namespace) {
            return &shares[i];
        }
        free = free == &shares[SHARES] && is_over(&shares[i], now_us) ? &shares[i] : free;
    }
    if (free != &shares[SHARES]) {
        *free = (struct share){.namespace = namespace};
    }
    return free;
}

/* False: the line is left out. Sets *before to the number of those left out before it. */
static bool share_take(struct sl_str namespace, uint64_t *before)
{
    int64_t now_us = sl_clock_monotonic_us();
    (void)pthread_mutex_lock(&sharing);
    struct share *share = share_of(sl_hash(namespace.s, namespace.len), now_us);
    if (is_over(share, now_us)) {
        share->from_us = now_us > 0 ? now_us : 1;
        share->written = 0;
    }
    bool may = share->written < SL_LOG_SHARE;
    *before = share->left_out;
    share->left_out = may ? 0 : share->left_out + 1;
    share->written += may ? 1 : 0;
    (void)pthread_mutex_unlock(&sharing);
    if (!may) {
        (void)atomic_fetch_add(&left_out, 1);
    }
    return may;
}

/* pod: NULL where the line is about none. before: lines left out before it. */
static void line_write(enum sl_log_level level, const char *pod, uint64_t before,
                       const char *message, va_list args)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    struct line line = {.text = "\n", .len = 1};
    bool json = atomic_load(&as_json);
    puts_to(&line, json ? "{\"time\":\"" : "");
    put_stamp(&line);
    puts_to(&line, json ? "\",\"level\":\"" : " ");
    puts_to(&line, names[level]);
    puts_to(&line, json ? "\",\"message\":" : " ");
    put_quoted(&line, message);
    if (pod != NULL) {
        put_key(&line, json, "pod");
        put_text(&line, pod);
    }
    for (const char *key = va_arg(args, const char *); key != NULL;
         key = va_arg(args, const char *)) {
        bool number = key[0] == '#';
        put_key(&line, json, number ? key + 1 : key);
        if (number) {
            put_number(&line, va_arg(args, int64_t));
        } else {
            put_text(&line, va_arg(args, const char *));
        }
    }
    if (before > 0) {
        put_key(&line, json, "leftOut");
        put_number(&line, (int64_t)before);
    }
    if (json) {
        line.text[line.len++] = '}';
    }
    line.text[line.len++] = '\n';
    line_send(&line);
}

static bool is_traced(struct sl_str namespace, struct sl_str name)
{
    if (!atomic_load(&traces)) {
        return false;
    }
    (void)pthread_mutex_lock(&traced_lock);
    size_t len = strlen(traced);
    bool same = len == namespace.len + 1 + name.len && traced[namespace.len] == '/' &&
                memcmp(traced, namespace.s, namespace.len) == 0 &&
                memcmp(traced + namespace.len + 1, name.s, name.len) == 0;
    (void)pthread_mutex_unlock(&traced_lock);
    return same;
}

void sl_log_configure(enum sl_log_level level, bool json)
{
    atomic_store(&threshold, (int)level);
    atomic_store(&as_json, json);
}

void sl_log_trace(const char *pod)
{
    (void)pthread_mutex_lock(&traced_lock);
    (void)snprintf(traced, sizeof(traced), "%s", pod);
    (void)pthread_mutex_unlock(&traced_lock);
    atomic_store(&traces, pod[0] != '\0');
}

void sl_log(enum sl_log_level level, const char *message, ...)
{
    if ((int)level > atomic_load(&threshold)) {
        return;
    }
    va_list args;
    va_start(args, message);
    line_write(level, NULL, 0, message, args);
    va_end(args);
}

bool sl_log_pod_on(enum sl_log_level level, struct sl_str namespace, struct sl_str name)
{
    return (int)level <= atomic_load(&threshold) || is_traced(namespace, name);
}

static void pod_line(enum sl_log_level level, struct sl_str namespace, struct sl_str name,
                     uint64_t before, const char *message, va_list args)
{
    char pod[SL_LOG_POD_BYTES];
    (void)snprintf(pod, sizeof(pod), "%.*s/%.*s", (int)namespace.len, namespace.s, (int)name.len,
                   name.s);
    line_write(level, pod, before, message, args);
}

void sl_log_pod(enum sl_log_level level, struct sl_str namespace, struct sl_str name,
                const char *message, ...)
{
    if (!sl_log_pod_on(level, namespace, name)) {
        return;
    }
    va_list args;
    va_start(args, message);
    pod_line(level, namespace, name, 0, message, args);
    va_end(args);
}

void sl_log_pod_share(enum sl_log_level level, struct sl_str namespace, struct sl_str name,
                      const char *message, ...)
{
    uint64_t before = 0;
    if (!is_traced(namespace, name) &&
        ((int)level > atomic_load(&threshold) || !share_take(namespace, &before))) {
        return;
    }
    va_list args;
    va_start(args, message);
    pod_line(level, namespace, name, before, message, args);
    va_end(args);
}

/* The words of a refusal. */
#include "cluster/bind/refuse.h"

#include <stdarg.h>
#include <stdio.h>

/* Cuts text that overflowed its buffer after its last whole UTF-8 sequence. */
static void trim_text(char *text, size_t size, int written)
{
    if (written < 0 || (size_t)written < size) {
        return;
    }
    size_t end = size - 1;
    while (end > 0 && ((unsigned char)text[end - 1] & 0xC0) == 0x80) {
        end--;
    }
    if (end > 0 && ((unsigned char)text[end - 1] & 0x80) != 0) {
        text[end - 1] = '\0';
    }
}

void sl_refuse_pod(struct sl_bind_result *result, enum sl_bind_code code,
                   const struct sl_bind *bind, const char *format, ...)
{
    va_list args;
    result->code = code;
    int at = snprintf(result->text, sizeof(result->text), "pod %.*s/%.*s ", (int)bind->ns.len,
                      bind->ns.s, (int)bind->name.len, bind->name.s);
    if (at < 0 || (size_t)at >= sizeof(result->text)) {
        trim_text(result->text, sizeof(result->text), at);
        return;
    }
    size_t left = sizeof(result->text) - (size_t)at;
    va_start(args, format);
    int more = vsnprintf(result->text + at, left, format, args);
    va_end(args);
    trim_text(result->text + at, left, more);
}

void sl_refuse_node(struct sl_bind_result *result, enum sl_bind_code code,
                    const struct sl_bind *bind, const char *why)
{
    result->code = code;
    int n = snprintf(result->text, sizeof(result->text), "node %.*s%s", (int)bind->node.len,
                     bind->node.s, why);
    trim_text(result->text, sizeof(result->text), n);
}

void sl_refuse_memory(struct sl_bind_result *result)
{
    result->code = SL_BIND_NOMEM;
    (void)snprintf(result->text, sizeof(result->text), "out of memory, nothing was changed");
}

void sl_refuse_standing(const struct sl_entry *entry, const struct sl_bind *bind,
                        struct sl_bind_result *result)
{
    const struct sl_pod *pod = sl_state_pod(&entry->state);
    bool reserved = sl_state_reserved(&entry->state);
    if (!sl_str_eq(sl_str_of(pod->node), bind->node)) {
        sl_refuse_pod(result, SL_BIND_OTHER_NODE, bind, "is %s node %s, not %.*s",
                      reserved ? "being bound to" : "bound to", pod->node, (int)bind->node.len,
                      bind->node.s);
    } else if (reserved) {
        sl_refuse_pod(result, SL_BIND_IN_PROGRESS, bind,
                      "is being bound to node %s by another call", pod->node);
    } else {
        result->code = SL_BIND_ALREADY;
        (void)snprintf(result->assignment, sizeof(result->assignment), "%s",
                       pod->assignment == NULL ? "" : pod->assignment);
    }
}

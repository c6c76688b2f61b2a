/* A tree as YAML, by libyaml's emitter. */
#include "codec/tree/value.h"

#include <yaml.h>

static int on_text(void *context, unsigned char *text, size_t len)
{
    struct sl_buf *out = context;
    sl_buf_append(out, (const char *)text, len);
    return out->failed == SL_BUF_OK;
}

/* The emitter takes the event over, whether it succeeds or not. */
static bool emit(yaml_emitter_t *emitter, yaml_event_t *event, int made)
{
    return made != 0 && yaml_emitter_emit(emitter, event) != 0;
}

/* May the text stand without quotes? Readers of YAML 1.1 and 1.2 take what does not begin with a
 * letter, and some words, for something else than a string. */
static bool is_plain(struct sl_str text)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};
    char lower[8] = "";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        bool upper = c >= 'A' && c <= 'Z';
        if (i == 0 && !upper && !(c >= 'a' && c <= 'z')) {
            return false;
        }
        if (c == '\n') {
            return false;
        }
        if (i < sizeof(lower) - 1) {
            lower[i] = (char)(upper ? c - 'A' + 'a' : c);
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (text.len == strlen(words[i]) && strcmp(lower, words[i]) == 0) {
            return false;
        }
    }
    return text.len > 0;
}

static bool put_scalar(yaml_emitter_t *emitter, struct sl_str text, bool plain)
{
    yaml_event_t event;
    yaml_scalar_style_t style = plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return emit(emitter, &event,
                yaml_scalar_event_initialize(&event, NULL, NULL,
                                             (const yaml_char_t *)(text.len == 0 ? "" : text.s),
                                             (int)text.len, plain, 1, style));
}

static bool put_value(yaml_emitter_t *emitter, const struct sl_value *value);

static bool put_members(yaml_emitter_t *emitter, const struct sl_value *value)
{
    bool object = value->kind == SL_VALUE_OBJECT;
    yaml_event_t event;
    bool ok = emit(emitter, &event,
                   object ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                                YAML_BLOCK_MAPPING_STYLE)
                          : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                                 YAML_BLOCK_SEQUENCE_STYLE));
    for (const struct sl_value *each = value->first; ok && each != NULL; each = each->next) {
        ok = (!object || put_scalar(emitter, each->key, is_plain(each->key))) &&
             put_value(emitter, each);
    }
    return ok && emit(emitter, &event,
                      object ? yaml_mapping_end_event_initialize(&event)
                             : yaml_sequence_end_event_initialize(&event));
}

static bool put_value(yaml_emitter_t *emitter, const struct sl_value *value)
{
    switch (value->kind) {
    case SL_VALUE_NULL:
        return put_scalar(emitter, SL_STR("null"), true);
    case SL_VALUE_BOOL:
        return put_scalar(emitter, value->boolean ? SL_STR("true") : SL_STR("false"), true);
    case SL_VALUE_NUMBER:
        return put_scalar(emitter, value->text, true);
    case SL_VALUE_STRING:
        return put_scalar(emitter, value->text, is_plain(value->text));
    case SL_VALUE_ARRAY:
    case SL_VALUE_OBJECT:
        break;
    }
    return put_members(emitter, value);
}

static bool put_document(yaml_emitter_t *emitter, const struct sl_value *value)
{
    yaml_event_t event;
    return emit(emitter, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
           emit(emitter, &event,
                yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) &&
           put_value(emitter, value) &&
           emit(emitter, &event, yaml_document_end_event_initialize(&event, 1)) &&
           emit(emitter, &event, yaml_stream_end_event_initialize(&event));
}

void sl_value_to_yaml(const struct sl_value *value, struct sl_buf *out)
{
    yaml_emitter_t emitter;
    if (yaml_emitter_initialize(&emitter) == 0) {
        out->failed = SL_BUF_NOMEM;
        return;
    }
    yaml_emitter_set_output(&emitter, on_text, out);
    yaml_emitter_set_width(&emitter, -1);
    yaml_emitter_set_unicode(&emitter, 0); /* what is not ASCII comes as escapes */
    if (!put_document(&emitter, value) && out->failed == SL_BUF_OK) {
        out->failed = SL_BUF_NOMEM;
    }
    yaml_emitter_delete(&emitter);
}

/* Parses the text of sliced.dev/after. */
#include "core/stage/after.h"

#include "core/request/pod_read.h"
#include "util/data/search.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 253, LABEL_MAX = 63, QUOTED = 80 };

struct reader {
    struct sl_after *out;
    const char *of;     /* what is parsed */
    struct sl_str item; /* being parsed */
    struct sl_error *err;
};

static int complain(const struct reader *reader, const char *what)
{
    bool cut = reader->item.len > QUOTED;
    return sl_error_set(reader->err, SL_ERR_SYNTAX, "%s: \"%.*s%s\": %s", reader->of,
                        cut ? QUOTED : (int)reader->item.len,
                        reader->item.len == 0 ? "" : reader->item.s, cut ? "..." : "", what);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct sl_str trim(struct sl_str text)
{
    while (text.len > 0 && is_space(text.s[0])) {
        text.s++;
        text.len--;
    }
    while (text.len > 0 && is_space(text.s[text.len - 1])) {
        text.len--;
    }
    return text;
}

/* Takes the piece before the next comma outside of parentheses off *rest. False: nothing is left,
 * or, with *balanced false, parentheses do not match. */
static bool next_piece(struct sl_str *rest, struct sl_str *out, bool *balanced)
{
    size_t depth = 0;
    size_t i = 0;
    if (rest->s == NULL) {
        return false;
    }
    for (; i < rest->len && !(depth == 0 && rest->s[i] == ','); i++) {
        if (rest->s[i] == ')' && depth == 0) {
            *balanced = false;
            return false;
        }
        depth += rest->s[i] == '(';
        depth -= rest->s[i] == ')';
    }
    *balanced = depth == 0;
    *out = trim((struct sl_str){rest->s, i});
    bool last = i == rest->len;
    *rest = last ? (struct sl_str){NULL, 0} : (struct sl_str){rest->s + i + 1, rest->len - i - 1};
    return *balanced;
}

/* ---- names ---- */

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_lower(char c)
{
    return is_alnum(c) && !(c >= 'A' && c <= 'Z');
}

/* True for RFC 1123 names, as pods, Jobs and prefixes of labels need them. */
static bool is_name(struct sl_str text)
{
    bool good = text.len > 0 && text.len <= NAME_MAX_BYTES && is_lower(text.s[0]) &&
                is_lower(text.s[text.len - 1]);
    for (size_t i = 0; i < text.len && good; i++) {
        good = is_lower(text.s[i]) || text.s[i] == '-' || text.s[i] == '.';
    }
    return good;
}

static bool is_label_part(struct sl_str text)
{
    bool good = text.len > 0 && text.len <= LABEL_MAX && is_alnum(text.s[0]) &&
                is_alnum(text.s[text.len - 1]);
    for (size_t i = 0; i < text.len && good; i++) {
        char c = text.s[i];
        good = is_alnum(c) || c == '-' || c == '_' || c == '.';
    }
    return good;
}

static bool is_label_key(struct sl_str text)
{
    const char *slash = text.len == 0 ? NULL : memchr(text.s, '/', text.len);
    if (slash == NULL) {
        return is_label_part(text);
    }
    size_t prefix = (size_t)(slash - text.s);
    return is_name((struct sl_str){text.s, prefix}) &&
           is_label_part((struct sl_str){slash + 1, text.len - prefix - 1});
}

/* ---- requirements ---- */

static int put_hash(struct reader *reader, uint64_t hash)
{
    struct sl_after *out = reader->out;
    if (out->n_hashes == SL_STAGE_HASHES_MAX) {
        return complain(reader, "too many values in selectors");
    }
    out->hash[out->n_hashes++] = hash;
    out->rule[out->n_rules].n++;
    return 0;
}

static int put_value(struct reader *reader, struct sl_str key, struct sl_str value)
{
    char both[NAME_MAX_BYTES + LABEL_MAX + LABEL_MAX + 3];
    if (value.len > 0 && !is_label_part(value)) {
        return complain(reader, "what it compares with is not a label's value");
    }
    int len = snprintf(both, sizeof(both), "%.*s=%.*s", (int)key.len, key.s, (int)value.len,
                       value.len == 0 ? "" : value.s);
    return put_hash(reader, sl_hash(both, (size_t)len));
}

/* Reads "(a,b)" behind in or notin; list is not empty. */
static int put_values(struct reader *reader, struct sl_str key, struct sl_str list)
{
    struct sl_str piece = {NULL, 0};
    bool balanced = true;
    if (list.s[0] != '(' || list.s[list.len - 1] != ')') {
        return complain(reader, "in and notin are followed by values in parentheses");
    }
    struct sl_str rest = {list.s + 1, list.len - 2};
    if (trim(rest).len == 0) {
        return complain(reader, "there are no values in the parentheses");
    }
    while (next_piece(&rest, &piece, &balanced)) {
        if (put_value(reader, key, piece) < 0) {
            return -1;
        }
    }
    return balanced ? 0 : complain(reader, "parentheses do not match");
}

static struct sl_str skip(struct sl_str text, size_t n)
{
    return trim((struct sl_str){text.s + n, text.len - n});
}

/* True when the text starts with the word and a space or parenthesis. */
static bool has_word(struct sl_str text, struct sl_str word)
{
    return text.len > word.len && sl_str_starts(text, word) &&
           (is_space(text.s[word.len]) || text.s[word.len] == '(');
}

static int read_operator(struct reader *reader, struct sl_str key, struct sl_str rest)
{
    struct sl_selector_rule *rule = &reader->out->rule[reader->out->n_rules];
    if (rest.len == 0) {
        return put_hash(reader, sl_hash(key.s, key.len));
    }
    if (sl_str_starts(rest, SL_STR("!="))) {
        rule->negated = true;
        return put_value(reader, key, skip(rest, 2));
    }
    if (rest.s[0] == '=') {
        return put_value(reader, key, skip(rest, sl_str_starts(rest, SL_STR("==")) ? 2 : 1));
    }
    if (has_word(rest, SL_STR("in"))) {
        return put_values(reader, key, skip(rest, 2));
    }
    if (has_word(rest, SL_STR("notin"))) {
        rule->negated = true;
        return put_values(reader, key, skip(rest, 5));
    }
    return complain(reader, "a selector has key=value, key!=value, key in (a,b), key notin (a,b), "
                            "key or !key");
}

static int read_rule(struct reader *reader, struct sl_str text)
{
    struct sl_after *out = reader->out;
    if (out->n_rules == SL_STAGE_RULES_MAX) {
        return complain(reader, "too many requirements in selectors");
    }
    bool absent = text.len > 0 && text.s[0] == '!';
    struct sl_str rest = absent ? skip(text, 1) : text;
    size_t len = 0;
    while (len < rest.len && strchr("=!(), \t\r\n<>", rest.s[len]) == NULL) {
        len++;
    }
    struct sl_str key = {rest.s, len};
    out->rule[out->n_rules] = (struct sl_selector_rule){.first = out->n_hashes, .negated = absent};
    if (!is_label_key(key)) {
        return complain(reader, "a requirement does not begin with a label's key");
    }
    rest = skip(rest, len);
    if (absent && rest.len > 0) {
        return complain(reader, "nothing may follow !key");
    }
    if (read_operator(reader, key, rest) < 0) {
        return -1;
    }
    out->n_rules++;
    return 0;
}

/* ---- items ---- */

static int read_selector(struct reader *reader, struct sl_str text, struct sl_stage_item *item)
{
    struct sl_str rest = text;
    struct sl_str piece = {NULL, 0};
    bool balanced = true;
    item->kind = SL_STAGE_SELECTOR;
    item->text = text;
    item->rule = reader->out->n_rules;
    while (next_piece(&rest, &piece, &balanced)) {
        if (read_rule(reader, piece) < 0) {
            return -1;
        }
    }
    item->n_rules = (uint16_t)(reader->out->n_rules - item->rule);
    return balanced ? 0 : complain(reader, "parentheses do not match");
}

static bool is_selector(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr("=!()<> \t\r\n", text.s[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static int read_item(struct reader *reader, struct sl_stage_item *item)
{
    static const struct {
        struct sl_str prefix;
        enum sl_stage_kind kind;
    } prefixes[] = {{{"pod/", 4}, SL_STAGE_POD}, {{"job/", 4}, SL_STAGE_JOB}};
    struct sl_str text = reader->item;
    *item = (struct sl_stage_item){.kind = SL_STAGE_POD, .text = text};
    if (text.len == 0) {
        return complain(reader, "there is nothing between two commas");
    }
    if (text.s[0] == '(' && text.s[text.len - 1] == ')') {
        return read_selector(reader, trim((struct sl_str){text.s + 1, text.len - 2}), item);
    }
    if (is_selector(text)) {
        return read_selector(reader, text, item);
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (sl_str_starts(text, prefixes[i].prefix)) {
            item->kind = prefixes[i].kind;
            item->text = skip(text, prefixes[i].prefix.len);
        }
    }
    return is_name(item->text)
               ? 0
               : complain(reader, "neither pod/NAME, job/NAME, a pod's name nor a selector in "
                                  "parentheses");
}

int sl_after_parse(struct sl_str text, struct sl_after *out, struct sl_error *err)
{
    struct reader reader = {.out = out, .of = "annotation sliced.dev/after", .err = err};
    struct sl_str rest = text;
    bool balanced = true;
    *out = (struct sl_after){.n = 0};
    if (text.len > SL_POD_AFTER_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "annotation sliced.dev/after: longer than %d bytes",
                            SL_POD_AFTER_MAX);
    }
    while (next_piece(&rest, &reader.item, &balanced)) {
        if (out->n == SL_STAGE_ITEMS_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT,
                                "annotation sliced.dev/after: more than %d items",
                                SL_STAGE_ITEMS_MAX);
        }
        if (read_item(&reader, &out->item[out->n]) < 0) {
            return -1;
        }
        out->n++;
    }
    reader.item = text;
    return balanced ? 0 : complain(&reader, "parentheses do not match");
}

/* ---- matching ---- */

static bool hash_is_before(const void *item, const void *hash)
{
    return *(const uint64_t *)item < *(const uint64_t *)hash;
}

bool sl_stage_has_label(const uint64_t *label, uint32_t n_labels, uint64_t hash)
{
    size_t at = sl_lower_bound(label, n_labels, sizeof(*label), &hash, hash_is_before);
    return at < n_labels && label[at] == hash;
}

bool sl_stage_matches(const struct sl_selector_rule *rule, uint32_t n_rules, const uint64_t *hash,
                      const uint64_t *label, uint32_t n_labels)
{
    for (uint32_t r = 0; r < n_rules; r++) {
        bool any = false;
        for (uint32_t i = 0; i < rule[r].n && !any; i++) {
            any = sl_stage_has_label(label, n_labels, hash[rule[r].first + i]);
        }
        if (any == rule[r].negated) {
            return false;
        }
    }
    return true;
}

int sl_selector_parse(struct sl_str text, struct sl_selector *out, struct sl_error *err)
{
    struct sl_after after = {.n = 0};
    struct sl_stage_item item;
    struct reader reader = {.out = &after, .of = "selector", .item = trim(text), .err = err};
    *out = (struct sl_selector){.n_rules = 0};
    if (text.len > SL_SELECTOR_TEXT_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "selector: longer than %d bytes",
                            SL_SELECTOR_TEXT_MAX);
    }
    if (reader.item.len > 0 && read_selector(&reader, reader.item, &item) < 0) {
        return -1;
    }
    out->n_rules = after.n_rules;
    out->n_hashes = after.n_hashes;
    memcpy(out->rule, after.rule, sizeof(out->rule));
    memcpy(out->hash, after.hash, sizeof(out->hash));
    return 0;
}

bool sl_selector_matches(const struct sl_selector *selector, const uint64_t *label,
                         uint32_t n_labels)
{
    return sl_stage_matches(selector->rule, selector->n_rules, selector->hash, label, n_labels);
}

/* Options by their table. */
#include "util/term/option.h"

#include <stdio.h>

static bool command_has(const struct sl_option_table *table, const struct sl_option *option)
{
    return option->commands == 0 || (option->commands & table->which) != 0;
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n]) {
        n++;
    }
    return n;
}

static void fail_unknown(const struct sl_option_table *table, const char *word,
                         struct sl_error *err)
{
    const char *nearest = NULL;
    size_t most = 3; /* "--" and one letter in common suggest nothing */
    for (size_t i = 0; i < table->n; i++) {
        size_t n = common_prefix(word, table->option[i].name);
        if (n > most && command_has(table, &table->option[i])) {
            most = n;
            nearest = table->option[i].name;
        }
    }
    if (nearest != NULL) {
        (void)sl_error_set(err, SL_ERR_FIELD, "unknown option %s; did you mean %s?", word, nearest);
    } else {
        (void)sl_error_set(err, SL_ERR_FIELD, "unknown option %s; %s --help lists them", word,
                           table->command);
    }
}

/* Does the word name that option, or its last letters from the given one on? *value then points
 * behind '=', or behind the letter, when there is something. */
static bool is_option(const struct sl_option *option, const char *word, const char *letter,
                      const char **value)
{
    size_t len = strlen(option->name);
    bool by_letter = letter != NULL && letter[0] != '\0' && letter[0] == option->letter &&
                     (letter[1] == '\0' || option->value != NULL);
    bool by_name = strncmp(word, option->name, len) == 0 && (word[len] == '\0' || word[len] == '=');
    const char *rest = by_letter ? letter + 1 : by_name ? word + len : "";
    *value = rest[0] == '\0' ? NULL : rest + (rest[0] == '=' ? 1 : 0);
    return by_letter || by_name;
}

static const struct sl_option *option_find(const struct sl_option_table *table, const char *word,
                                           const char *letter, const char **value)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct sl_option *option = &table->option[i];
        if (command_has(table, option) && is_option(option, word, letter, value)) {
            return option;
        }
    }
    return NULL;
}

static bool is_flag(const struct sl_option_table *table, char letter, size_t *at)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct sl_option *option = &table->option[i];
        if (command_has(table, option) && option->kind == SL_OPTION_FLAG &&
            option->letter == letter) {
            *at = option->at;
            return true;
        }
    }
    return false;
}

/* "-Aw" is "-A -w": sets the flags whose letters stand before others. Returns the first letter that
 * is left, NULL where the word is no letters. */
static const char *flags_take(const struct sl_option_table *table, const char *word, void *out)
{
    size_t at = 0;
    if (word[0] != '-' || word[1] == '-') {
        return NULL;
    }
    for (word++; word[0] != '\0' && word[1] != '\0' && is_flag(table, word[0], &at); word++) {
        *(bool *)(void *)((char *)out + at) = true;
    }
    return word;
}

static int set_number(const struct sl_option *option, const char *value, uint64_t *member,
                      struct sl_error *err)
{
    int64_t number = 0;
    if (!sl_str_to_i64(sl_str_of(value), &number) || number < 0 || (uint64_t)number < option->min ||
        (uint64_t)number > option->max) {
        return sl_error_set(err, SL_ERR_FIELD, "%s takes an integer in %llu..%llu, not \"%s\"",
                            option->name, (unsigned long long)option->min,
                            (unsigned long long)option->max, value);
    }
    *member = (uint64_t)number;
    return 0;
}

static int option_set(const struct sl_option *option, const char *value, void *out,
                      struct sl_error *err)
{
    void *member = (char *)out + option->at;
    const char **text = member;
    bool *flag = member;
    switch (option->kind) {
    case SL_OPTION_FLAG:
        *flag = true;
        break;
    case SL_OPTION_ONCE:
        if (*text != NULL) {
            return sl_error_set(err, SL_ERR_FIELD, "%s is given twice", option->name);
        }
        *text = value;
        break;
    case SL_OPTION_TEXT:
        *text = value;
        break;
    case SL_OPTION_NUMBER:
        return set_number(option, value, member, err);
    case SL_OPTION_OTHER:
        break;
    }
    return 0;
}

const struct sl_option *sl_option_take(const struct sl_option_table *table, int argc,
                                       char *const *argv, int *at, void *out, const char **value,
                                       struct sl_error *err)
{
    const char *letter = flags_take(table, argv[*at], out);
    const struct sl_option *option = option_find(table, argv[*at], letter, value);
    if (option == NULL) {
        fail_unknown(table, argv[*at], err);
        return NULL;
    }
    if (option->value == NULL && *value != NULL) {
        (void)sl_error_set(err, SL_ERR_FIELD, "%s takes no value", option->name);
        return NULL;
    }
    if (option->value != NULL && *value == NULL && *at + 1 < argc) {
        *value = argv[++*at];
    }
    if (option->value != NULL && (*value == NULL || (*value)[0] == '\0')) {
        (void)sl_error_set(err, SL_ERR_FIELD, "%s needs a value: %s %s", option->name, option->name,
                           option->value);
        return NULL;
    }
    return option_set(option, *value, out, err) < 0 ? NULL : option;
}

void sl_option_help(const struct sl_option_table *table, int column, struct sl_buf *out)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct sl_option *option = &table->option[i];
        char left[64];
        if (command_has(table, option)) {
            const char letter[] = {',', ' ', '-', option->letter, '\0'};
            (void)snprintf(left, sizeof(left), "%s%s %s", option->name,
                           option->letter == '\0' ? "" : letter,
                           option->value == NULL ? "" : option->value);
            sl_buf_printf(out, "  %-*s %s\n", column, left, option->help);
        }
    }
}

/* The command line of "sliced certs". */
#include "unit/test.h"
#include <stdio.h>
#include <string.h>

#include "daemon/certs.h"

enum { WORDS_MAX = 8 };

static int parse(const char *const *words, struct sl_certs_options *out, struct sl_error *err)
{
    static char text[WORDS_MAX + 1][64];
    char *argv[WORDS_MAX + 2] = {text[0]};
    int argc = 1;
    for (; argc <= WORDS_MAX && words[argc - 1] != NULL; argc++) {
        (void)snprintf(text[argc], sizeof(text[argc]), "%s", words[argc - 1]);
        argv[argc] = text[argc];
    }
    return sl_certs_options_parse(argc, argv, out, err);
}

TEST_THAT(a_wrong_line_is_told)
{
    static const struct {
        const char *words[WORDS_MAX];
        const char *text;
    } cases[] = {
        {{NULL}, "--namespace NAMESPACE is missing"},
        {{"--namespace=x", NULL}, "nothing to do"},
        {{"--namespace=x", "--service=s", NULL}, "--server SECRET is missing"},
        {{"--namespace=x", "--webhook=w", NULL}, "--server SECRET is missing"},
        {{"--namespace=x", "--client=c", NULL}, "--client and --client-name go together"},
        {{"--namespace=x", "--client=c", "--client-name=", NULL}, "--client-name needs a value"},
        {{"x", NULL}, "x: expected an option"},
        {{"--tls=x", NULL}, "unknown option --tls"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_certs_options options;
        struct sl_error err = {.code = SL_ERR_NONE};
        assert_int_equal(parse(cases[i].words, &options, &err), -1);
        if (strstr(err.message, cases[i].text) == NULL) {
            fail_msg("\"%s\" and not \"%s\"", err.message, cases[i].text);
        }
    }
}

/* Base64 against RFC 4648's own vectors, and a round trip. */
#include "unit/test.h"
#include "util/base64.h"

static const char *const vectors[][2] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

TEST_THAT(base64_is_that_of_rfc_4648)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct sl_arena arena;
        struct sl_error err;
        struct sl_str plain;
        struct sl_buf text;
        sl_arena_init(&arena, 1000);
        sl_buf_init(&text, 1000);
        assert_int_equal(sl_base64_decode(sl_str_of(vectors[i][1]), &arena, &plain, &err), 0);
        assert_true(sl_str_eq(plain, sl_str_of(vectors[i][0])));
        sl_base64_encode(plain, &text);
        assert_true(sl_str_eq((struct sl_str){text.data, text.len}, sl_str_of(vectors[i][1])));
        sl_buf_free(&text);
        sl_arena_free(&arena);
    }
}

TEST_THAT(all_bytes_go_there_and_back)
{
    char data[259];
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (char)(unsigned char)(i * 7 & 0xff);
    }
    for (size_t len = 0; len <= sizeof(data); len++) {
        struct sl_arena arena;
        struct sl_error err;
        struct sl_str plain;
        struct sl_buf text;
        sl_arena_init(&arena, 1000);
        sl_buf_init(&text, 1000);
        sl_base64_encode((struct sl_str){data, len}, &text);
        assert_int_equal(text.len, (len + 2) / 3 * 4);
        assert_int_equal(
            sl_base64_decode((struct sl_str){text.data, text.len}, &arena, &plain, &err), 0);
        assert_true(sl_str_eq(plain, (struct sl_str){data, len}));
        sl_buf_free(&text);
        sl_arena_free(&arena);
    }
}

TEST_THAT(white_space_between_is_passed_over)
{
    struct sl_arena arena;
    struct sl_error err;
    struct sl_str plain;
    sl_arena_init(&arena, 1000);
    assert_int_equal(sl_base64_decode(SL_STR("Zm9v\n YmF\ty\r\n"), &arena, &plain, &err), 0);
    assert_true(sl_str_eq(plain, SL_STR("foobar")));
    sl_arena_free(&arena);
}

TEST_THAT(what_is_not_base64_is_an_error)
{
    static const char *const bad[] = {"Z",    "Zg",    "Zg=",      "Zg=a", "====", "Z===",
                                      "=Zg=", "Zm9v=", "Zg==Zg==", "Zm9*", "Zm-_", "Zm9vZ"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sl_arena arena;
        struct sl_error err;
        struct sl_str plain;
        sl_arena_init(&arena, 1000);
        assert_int_equal(sl_base64_decode(sl_str_of(bad[i]), &arena, &plain, &err), -1);
        assert_int_equal(err.code, SL_ERR_SYNTAX);
        sl_arena_free(&arena);
    }
}

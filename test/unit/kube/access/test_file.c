/* Whole files. */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kube/access/file.h"

static void with_file(size_t size, size_t max, struct sl_arena *arena, int expected,
                      struct sl_str *out, struct sl_error *err)
{
    char path[] = "/tmp/sliced-file-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(file);
    for (size_t i = 0; i < size; i++) {
        assert_true(fputc((int)('a' + i % 26), file) != EOF);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(sl_file_read(path, max, arena, out, err), expected);
    assert_int_equal(unlink(path), 0);
}

TEST_FIXTURE_OF(struct sl_arena, NULL, sl_arena_free)

TEST_ALONE(a_file_is_read_whole_up_to_its_maximum)
{
    static const size_t sizes[] = {0, 1, 255, 256, 257, 4096, 100000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct sl_arena arena;
        struct sl_error err;
        struct sl_str text = {NULL, 0};
        sl_arena_init(&arena, 200000);
        with_file(sizes[i], sizes[i], &arena, 0, &text, &err);
        assert_int_equal(text.len, sizes[i]);
        assert_int_equal(text.s[text.len], '\0');
        for (size_t k = 0; k < text.len; k++) {
            assert_int_equal(text.s[k], 'a' + k % 26);
        }
        sl_arena_free(&arena);
    }
}

TEST_ON(struct sl_arena *arena, a_file_longer_than_the_maximum_is_an_error)
{
    struct sl_error err;
    struct sl_str text = {NULL, 0};
    sl_arena_init(arena, 200000);
    with_file(101, 100, arena, -1, &text, &err);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_non_null(strstr(err.message, "longer than 100 bytes"));
    assert_non_null(strstr(err.message, "/tmp/sliced-file-"));
}

TEST_ON(struct sl_arena *arena, what_is_no_file_is_an_error_that_names_it)
{
    struct sl_error err;
    struct sl_str text;
    sl_arena_init(arena, 1000);
    assert_int_equal(sl_file_read("/nonexistent/x", 10, arena, &text, &err), -1);
    assert_int_equal(err.code, SL_ERR_NOTFOUND);
    assert_string_equal(err.message, "/nonexistent/x: No such file or directory");
    assert_int_equal(sl_file_read("/tmp", 10, arena, &text, &err), -1);
    assert_int_equal(err.code, SL_ERR_SYSTEM);
}

TEST_ON(struct sl_arena *arena, an_arena_that_is_too_small_is_an_error)
{
    struct sl_error err;
    struct sl_str text = {NULL, 0};
    sl_arena_init(arena, 50);
    with_file(100, 1000, arena, -1, &text, &err);
    assert_int_equal(err.code, SL_ERR_NOMEM);
}

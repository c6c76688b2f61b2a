/* The arena: its maximum holds, and what it hands out is sound. */
#include <string.h>

#include "unit/test.h"
#include "util/data/arena.h"

TEST_FIXTURE_OF(struct sl_arena, NULL, sl_arena_free)

TEST_ON(struct sl_arena *arena, arena_memory_is_zeroed_aligned_and_apart)
{
    enum { PIECES = 500 };
    unsigned char *piece[PIECES];
    sl_arena_init(arena, 1 << 20);
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = 1 + i % 97;
        piece[i] = sl_arena_alloc(arena, size);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % 16, 0);
        for (size_t j = 0; j < size; j++) {
            assert_int_equal(piece[i][j], 0);
        }
        memset(piece[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < PIECES; i++) {
        assert_int_equal(piece[i][0], i & 0xff);
        assert_int_equal(piece[i][i % 97], i & 0xff);
    }
}

TEST_ON(struct sl_arena *arena, arena_stops_at_its_maximum_and_says_so)
{
    sl_arena_init(arena, 100);
    assert_non_null(sl_arena_alloc(arena, 60));
    assert_null(sl_arena_alloc(arena, 41));
    assert_true(arena->full);
    assert_non_null(sl_arena_alloc(arena, 40));

    sl_arena_reset(arena);

    assert_false(arena->full);
    assert_non_null(sl_arena_alloc(arena, 100));
}

TEST_ON(struct sl_arena *arena, arena_reset_keeps_no_large_block)
{
    sl_arena_init(arena, 8 << 20);
    memset(sl_arena_alloc(arena, 4 << 20), 1, 4 << 20);

    sl_arena_reset(arena);

    assert_null(arena->block);
    assert_string_equal(sl_arena_strdup(arena, "text+", 4), "text");
}

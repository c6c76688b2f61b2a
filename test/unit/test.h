/* How a test program is written. A test states a behaviour and enters itself; main is in test.c:
 *
 *     TEST_THAT(an_empty_list_has_no_first)
 *     {
 *         ...
 *     }
 *
 * All tests of a program stand in one file and run in its order. */
#ifndef SLICED_TEST_TEST_H
#define SLICED_TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* row is NULL but for a test that is run for each row of a table, row_name its name. */
struct test_entry {
    int line;
    const char *name, *row_name;
    CMUnitTestFunction run;
    CMFixtureFunction set_up, tear_down;
    const void *row;
    bool alone; /* without the program's fixture */
};

void test_enter(const struct test_entry *entry); /* copies it */
void test_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down);
void test_program(CMFixtureFunction begin, CMFixtureFunction end);
const void *test_row(void); /* of the test that runs */

#define TEST_BEFORE_MAIN(function) __attribute__((constructor)) static void function(void)

#define TEST_ENTER(function, ...)                                                                  \
    TEST_BEFORE_MAIN(enter_##function)                                                             \
    {                                                                                              \
        test_enter(&(struct test_entry){                                                           \
            .line = __LINE__, .name = #function, .run = run_##function, __VA_ARGS__});             \
    }
#define TEST_ENTER_EACH(function, rows)                                                            \
    TEST_BEFORE_MAIN(enter_##function)                                                             \
    {                                                                                              \
        for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++) {                            \
            test_enter(&(struct test_entry){.line = __LINE__,                                      \
                                            .name = #function,                                     \
                                            .row_name = (rows)[i].name,                            \
                                            .run = run_##function,                                 \
                                            .row = &(rows)[i]});                                   \
        }                                                                                          \
    }

/* A test; what the program's fixture made is *state. */
#define TEST_THAT(name)                                                                            \
    static void run_##name(void **state);                                                          \
    TEST_ENTER(name, .row = NULL)                                                                  \
    static void run_##name(void **state __attribute__((unused)))

/* The same with a fixture of its own; either may be NULL. */
#define TEST_THAT_WITH(name, begin, end)                                                           \
    static void run_##name(void **state);                                                          \
    TEST_ENTER(name, .set_up = (begin), .tear_down = (end))                                        \
    static void run_##name(void **state __attribute__((unused)))

/* The same without a fixture, where the program has one. */
#define TEST_ALONE(name)                                                                           \
    static void run_##name(void **state);                                                          \
    TEST_ENTER(name, .alone = true)                                                                \
    static void run_##name(void **state __attribute__((unused)))

/* A test of what the fixture made, named: TEST_ON(struct rig *rig, an_empty_node_has_room). */
#define TEST_ON(what, name)                                                                        \
    static void name(what);                                                                        \
    static void run_##name(void **state)                                                           \
    {                                                                                              \
        name(*state);                                                                              \
    }                                                                                              \
    TEST_ENTER(name, .row = NULL)                                                                  \
    static void name(what)

/* A test for each row of an array, which the test's body calls row. Rows have a member name, which
 * is part of the test's. */
#define TEST_EACH(name, rows)                                                                      \
    static void name(const __typeof__((rows)[0]) *row);                                            \
    static void run_##name(void **state __attribute__((unused)))                                   \
    {                                                                                              \
        name(test_row());                                                                          \
    }                                                                                              \
    TEST_ENTER_EACH(name, rows)                                                                    \
    static void name(const __typeof__((rows)[0]) *row)

/* The same of what the fixture made. */
#define TEST_ON_EACH(what, name, rows)                                                             \
    static void name(what, const __typeof__((rows)[0]) *row);                                      \
    static void run_##name(void **state)                                                           \
    {                                                                                              \
        name(*state, test_row());                                                                  \
    }                                                                                              \
    TEST_ENTER_EACH(name, rows)                                                                    \
    static void name(what, const __typeof__((rows)[0]) *row)

/* With what each test of the program begins and ends, unless it has a fixture of its own. */
#define TEST_FIXTURE(set_up, tear_down)                                                            \
    TEST_BEFORE_MAIN(enter_fixture)                                                                \
    {                                                                                              \
        test_fixture(set_up, tear_down);                                                           \
    }

/* The same for what begins as zeros: begin and end take a pointer to it, either may be NULL. */
#define TEST_FIXTURE_OF(type, begin, end)                                                          \
    static int make_fixture(void **state)                                                          \
    {                                                                                              \
        void (*test_begin)(type *) = (begin);                                                      \
        void *test_made = calloc(1, sizeof(type));                                                 \
        assert_non_null(test_made);                                                                \
        *state = test_made;                                                                        \
        if (test_begin != NULL) {                                                                  \
            test_begin(test_made);                                                                 \
        }                                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    static int free_fixture(void **state)                                                          \
    {                                                                                              \
        void (*test_end)(type *) = (end);                                                          \
        if (test_end != NULL) {                                                                    \
            test_end(*state);                                                                      \
        }                                                                                          \
        free(*state);                                                                              \
        return 0;                                                                                  \
    }                                                                                              \
    TEST_FIXTURE(make_fixture, free_fixture)

/* With what the program itself begins and ends. */
#define TEST_PROGRAM(begin, end)                                                                   \
    TEST_BEFORE_MAIN(enter_program)                                                                \
    {                                                                                              \
        test_program(begin, end);                                                                  \
    }

#endif

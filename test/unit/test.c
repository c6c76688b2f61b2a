/* The main of test programs: runs the tests that entered themselves, in the order of their lines.
 * Allocates nothing, so that a test may count and fail allocations. */
#include "unit/test.h"

#include <stdio.h>

enum { TESTS_MAX = 512, NAME_SIZE = 192 };

static struct test_entry entries[TESTS_MAX];
static size_t n_entries;
static const struct test_entry *running;
static CMFixtureFunction fixture_set_up, fixture_tear_down, program_begin, program_end;
static void *program_state;

void test_enter(const struct test_entry *entry)
{
    size_t at = n_entries++;
    if (at >= TESTS_MAX) {
        return; /* main says so */
    }
    for (; at > 0 && entries[at - 1].line > entry->line; at--) {
        entries[at] = entries[at - 1];
    }
    entries[at] = *entry;
}

void test_fixture(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    fixture_set_up = set_up;
    fixture_tear_down = tear_down;
}

void test_program(CMFixtureFunction begin, CMFixtureFunction end)
{
    program_begin = begin;
    program_end = end;
}

const void *test_row(void)
{
    return running->row;
}

static int begin_program(void **state)
{
    int failed = program_begin == NULL ? 0 : program_begin(state);
    program_state = *state;
    return failed;
}

static int begin_test(void **state)
{
    running = *state;
    *state = program_state;
    return running->set_up == NULL ? 0 : running->set_up(state);
}

static int end_test(void **state)
{
    return running->tear_down == NULL ? 0 : running->tear_down(state);
}

int main(void)
{
    static struct CMUnitTest tests[TESTS_MAX];
    static char names[TESTS_MAX][NAME_SIZE];
    if (n_entries == 0 || n_entries > TESTS_MAX) {
        fprintf(stderr, "%zu tests entered, expected 1 to %d\n", n_entries, TESTS_MAX);
        return 1;
    }
    for (size_t i = 0; i < n_entries; i++) {
        struct test_entry *entry = &entries[i];
        if (!entry->alone && entry->set_up == NULL && entry->tear_down == NULL) {
            entry->set_up = fixture_set_up;
            entry->tear_down = fixture_tear_down;
        }
        snprintf(names[i], NAME_SIZE, entry->row_name == NULL ? "%s" : "%s: %s", entry->name,
                 entry->row_name);
        tests[i] = (struct CMUnitTest){names[i], entry->run, begin_test, end_test, entry};
    }
    return _cmocka_run_group_tests("tests", tests, n_entries, begin_program, program_end);
}

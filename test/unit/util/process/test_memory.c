/* What memory there is. */
#include <stdio.h>
#include <stdlib.h>

#include "unit/test.h"
#include <sys/stat.h>
#include <unistd.h>

#include "util/process/memory.h"

static char folder[] = "/tmp/sliced-memory-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    char path[128];
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/memory", folder);
    return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"/memory.max",
                                        "/memory.current",
                                        "/memory.stat",
                                        "/memory/memory.stat",
                                        "/memory/memory.limit_in_bytes",
                                        "/memory/memory.usage_in_bytes",
                                        "/memory",
                                        ""};
    char path[128];
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", folder, names[i]);
        (void)remove(path);
    }
    return 0;
}

TEST_PROGRAM(make_folder, remove_folder)

TEST_THAT(a_container_says_what_it_has_left)
{
    assert_int_equal(sl_memory_left(folder), INT64_MAX);
    put("memory/memory.limit_in_bytes", "1000\n");
    put("memory/memory.usage_in_bytes", "300\n");
    assert_int_equal(sl_memory_left(folder), 700);
    put("memory/memory.stat", "inactive_file 7\ntotal_inactive_file 20\ntotal_active_file 1\n");
    assert_int_equal(sl_memory_left(folder), 721);
    put("memory.max", "max\n");
    put("memory.current", "500\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n"); /* version 1's "max" */
    assert_true(sl_memory_left(folder) > INT64_MAX / 2);
    put("memory/memory.stat", "total_inactive_file 8000\n"); /* of an instant later */
    assert_true(sl_memory_left(folder) > INT64_MAX / 2);
    put("memory.max", "600\n");
    assert_int_equal(sl_memory_left(folder), 100);
    put("memory.current", "601\n");
    assert_int_equal(sl_memory_left(folder), 0);
    put("memory.stat", "anon 100\ninactive_file 400\nactive_file 50\nkernel x\nfile 450\n");
    assert_int_equal(sl_memory_left(folder), 449);
}

TEST_THAT(the_process_knows_what_it_has)
{
    struct sl_memory memory;
    sl_memory_read(&memory);
    assert_true(memory.anonymous > 0);
    assert_true(memory.anonymous < memory.resident);
    assert_true(memory.resident < memory.virtual);
    assert_true(memory.data > 0);
    assert_true(memory.data < memory.virtual);
}

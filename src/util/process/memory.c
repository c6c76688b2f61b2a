/* Reads /proc/self/statm and the memory controller. */
#include "util/process/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "util/str.h"

enum { LINE_MAX_BYTES = 128, PATH_BYTES = 512 };

/* False: there is no such file. */
static bool read_line(const char *path, char out[LINE_MAX_BYTES])
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(out, LINE_MAX_BYTES, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    return read;
}

void sl_memory_read(struct sl_memory *out)
{
    char line[LINE_MAX_BYTES];
    int64_t size = 0;
    int64_t resident = 0;
    int64_t shared = 0;
    int64_t data = 0;
    *out = (struct sl_memory){.virtual = 0};
    if (read_line("/proc/self/statm", line) &&
        // NOLINTNEXTLINE(cert-err34-c): the kernel's own format
        sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %*d %*d %" SCNd64, &size, &resident,
               &shared, &data) == 4) {
        int64_t page = sysconf(_SC_PAGESIZE);
        *out = (struct sl_memory){.virtual = size * page,
                                  .resident = resident * page,
                                  .anonymous = (resident - shared) * page,
                                  .data = data * page};
    }
}

/* False: there is no such file, or it holds no number ("max": no limit). */
static bool read_number(const char *folder, const char *name, int64_t *out)
{
    char path[PATH_BYTES];
    char line[LINE_MAX_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!read_line(path, line)) {
        return false;
    }
    struct sl_str rest = sl_str_of(line);
    return sl_str_to_i64(sl_str_cut(&rest, '\n'), out);
}

/* Files' pages that the kernel drops before it lacks memory: the lines of these names. */
static int64_t read_cache(const char *path, const char *const names[2])
{
    FILE *file = fopen(path, "re");
    char line[LINE_MAX_BYTES];
    int64_t cache = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        struct sl_str rest = sl_str_of(line);
        struct sl_str name = sl_str_cut(&rest, ' ');
        int64_t bytes = 0;
        if ((sl_str_eq(name, sl_str_of(names[0])) || sl_str_eq(name, sl_str_of(names[1]))) &&
            sl_str_to_i64(sl_str_cut(&rest, '\n'), &bytes)) {
            cache += bytes;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return cache;
}

int64_t sl_memory_left(const char *cgroups)
{
    static const struct {
        const char *limit;
        const char *usage;
        const char *stat;
        const char *cache[2];
    } versions[] = {
        {"memory.max", "memory.current", "memory.stat", {"inactive_file", "active_file"}},
        {"memory/memory.limit_in_bytes",
         "memory/memory.usage_in_bytes",
         "memory/memory.stat",
         {"total_inactive_file", "total_active_file"}},
    };
    for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        char path[PATH_BYTES];
        int64_t limit = 0;
        int64_t usage = 0;
        (void)snprintf(path, sizeof(path), "%s/%s", cgroups, versions[i].stat);
        if (read_number(cgroups, versions[i].limit, &limit) &&
            read_number(cgroups, versions[i].usage, &usage)) {
            int64_t cache = read_cache(path, versions[i].cache);
            usage = usage > cache ? usage - cache : 0; /* the two are not of the same instant */
            return limit > usage ? limit - usage : 0;
        }
    }
    return INT64_MAX;
}

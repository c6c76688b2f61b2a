/* Clock, medians, environment. */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

uint64_t bench_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t n, double q)
{
    if (n == 0) {
        return (double)NAN;
    }
    qsort(values, n, sizeof(*values), compare);
    double at = q * (double)(n - 1);
    size_t low = (size_t)at;
    size_t high = low + 1 < n ? low + 1 : low;
    return values[low] + (values[high] - values[low]) * (at - (double)low);
}

double bench_median(double *values, size_t n)
{
    return bench_quantile(values, n, 0.5);
}

static void print_processor(void)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            (void)printf("processor   %ld x%s", sysconf(_SC_NPROCESSORS_ONLN), colon + 1);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

void bench_print_environment(void)
{
    struct utsname name;
    struct tm utc;
    char date[32];
    time_t now = time(NULL);
    print_processor();
    if (uname(&name) == 0) {
        (void)printf("kernel      %s %s\n", name.sysname, name.release);
    }
#ifdef __clang__
    (void)printf("compiler    %s\n", __VERSION__);
#else
    (void)printf("compiler    gcc %s\n", __VERSION__);
#endif
    (void)printf("build       %s\n", BENCH_BUILD_TYPE);
    if (gmtime_r(&now, &utc) != NULL &&
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0) {
        (void)printf("date        %s\n", date);
    }
}

void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs("bench: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(1);
}

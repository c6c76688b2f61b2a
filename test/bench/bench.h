/* What both benchmarks share: a clock, medians, and where they ran. */
#ifndef SLICED_BENCH_BENCH_H
#define SLICED_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

uint64_t bench_now_ns(void);

/* These sort the values. NAN when there are none. */
double bench_quantile(double *values, size_t n, double q);
double bench_median(double *values, size_t n);

/* Processor, kernel, compiler, build type, date. */
void bench_print_environment(void);

/* Prints the text and ends the program with status 1. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif

/* The clocks of everything in this folder, in one place so that a test can put its own there. */
#ifndef SLICED_KUBE_CLOCK_H
#define SLICED_KUBE_CLOCK_H

#include <stdint.h>

/* Microseconds. */
int64_t sl_kube_monotonic_us(void);
int64_t sl_kube_real_us(void); /* Unix */

#endif

/* Kubernetes' MicroTime. */
#ifndef SLICED_KUBE_MICROTIME_H
#define SLICED_KUBE_MICROTIME_H

#include <stdint.h>

/* Unix microseconds as "2026-11-21T12:38:09.000000Z": always six digits of the second, which is the
 * only form that the API server takes. */
void sl_kube_microtime(int64_t us, char out[40]);

#endif

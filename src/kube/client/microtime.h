/* Kubernetes' MicroTime. */
#ifndef SLICED_KUBE_MICROTIME_H
#define SLICED_KUBE_MICROTIME_H

#include <stdint.h>

/* Writes Unix microseconds as "2026-11-21T12:38:09.000000Z", always with six digits of the second:
 * the API server takes no other form. */
void sl_kube_microtime(int64_t us, char out[40]);

#endif

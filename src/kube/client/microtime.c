/* Kubernetes' MicroTime (apimachinery's RFC3339Micro). */
#include "kube/client/microtime.h"

#include <stdio.h>
#include <string.h>

#include "util/time.h"
#include "util/timestamp.h"

void sl_kube_microtime(int64_t us, char out[40])
{
    char seconds[32];
    int64_t part = us % SL_SECOND_US;
    part = part < 0 ? part + SL_SECOND_US : part;
    sl_time_format(us - part, seconds);
    (void)snprintf(out, 40, "%.*s.%06dZ", (int)strcspn(seconds, ".Z"), seconds, (int)part);
}

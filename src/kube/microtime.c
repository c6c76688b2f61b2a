/* Kubernetes' MicroTime (apimachinery's RFC3339Micro). */
#include "kube/microtime.h"

#include <stdio.h>
#include <string.h>

#include "codec/object.h"

void sl_kube_microtime(int64_t us, char out[40])
{
    char seconds[32];
    int64_t part = us % 1000000;
    part = part < 0 ? part + 1000000 : part;
    sl_time_format(us - part, seconds);
    (void)snprintf(out, 40, "%.*s.%06dZ", (int)strcspn(seconds, ".Z"), seconds, (int)part);
}

#include "adversary/kubelet.h"

#include <time.h>

#include "adversary/fake_time.h"

void kubelet_tell(const struct thing *thing, const char *phase, int64_t ahead_us)
{
    char text[32];
    time_t seconds = (time_t)((fake_time_world_us() + ahead_us) / 1000000);
    struct tm tm;
    json_t *pod = world_edit(thing);
    json_t *status = json_object_get(pod, "status");
    (void)gmtime_r(&seconds, &tm);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    (void)json_object_set_new(status, "startTime", json_string(text));
    (void)json_object_set_new(status, "phase", json_string(phase));
    world_put(WORLD_PODS, pod);
}

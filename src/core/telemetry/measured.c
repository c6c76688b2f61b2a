/* Names, and what stands for nothing measured. */
#include "sliced/measured.h"

#include <string.h>

#include "util/data/hash.h"

const struct sl_measured sl_measured_none = {.room_mib = -1,
                                             .used_mib = SL_SERIES_UNKNOWN,
                                             .busy = SL_SERIES_UNKNOWN,
                                             .bandwidth = SL_SERIES_UNKNOWN,
                                             .load = SL_SERIES_UNKNOWN,
                                             .by = SL_SHARING_ASKS,
                                             .state = SL_SERIES_ABSENT};

int32_t sl_measured_left(const struct sl_measured *measured)
{
    if (measured->load < 0) {
        return -1;
    }
    int32_t equal = 1000 / (measured->n_pods + 1);
    int32_t rest = 1000 - measured->load;
    return measured->n_pods == 0 ? 1000 : rest > equal ? rest : equal;
}

const struct sl_measured_suffer *sl_measured_suffers(const struct sl_measured *measured,
                                                     uint32_t workload)
{
    for (unsigned i = 0; workload != 0 && i < SL_MEASURED_SUFFER; i++) {
        if (measured->suffer[i].workload == workload) {
            return &measured->suffer[i];
        }
    }
    return NULL;
}

int32_t sl_measured_speed(const struct sl_measured *measured,
                          const struct sl_measured_suffer *suffer, bool takes_turns)
{
    int32_t left = sl_measured_left(measured);
    int32_t speed = left >= suffer->alone ? 1000 : left * 1000 / suffer->alone;
    bool waits = takes_turns && measured->load > 0; /* neighbours that do nothing cost nothing */
    return left < 0 ? -1 : waits ? speed * 1000 / (1000 + suffer->cost * measured->n_pods) : speed;
}

int32_t sl_measured_most(const struct sl_measured *measured)
{
    int64_t least = 1000;
    for (unsigned i = 0; i < SL_MEASURED_KNOWN; i++) {
        bool less = measured->known[i].workload != 0 && measured->known[i].permille < least;
        least = less ? measured->known[i].permille : least;
    }
    int64_t most_mib = least == 0 ? INT32_MAX : ((int64_t)measured->room_mib + 1) * 1000 / least;
    return measured->room_mib < 0 ? -1 : most_mib > INT32_MAX ? INT32_MAX : (int32_t)most_mib;
}

uint32_t sl_measured_pod(const char *uid)
{
    return (uint32_t)sl_hash(uid, strlen(uid)) | 1;
}

bool sl_measured_saw(const struct sl_measured *measured, const char *uid)
{
    uint32_t pod = sl_measured_pod(uid);
    bool saw = false;
    for (unsigned i = 0; i < SL_MEASURED_SEEN; i++) {
        saw = saw || measured->seen[i] == pod;
    }
    return saw;
}

int32_t sl_measured_over(int64_t taken_mib, int64_t asks_mib)
{
    int64_t over = taken_mib > asks_mib + SL_USAGE_OVER_MIN_MIB ? taken_mib - asks_mib : 0;
    return over > INT32_MAX ? INT32_MAX : (int32_t)over;
}

bool sl_measured_repels(const struct sl_measured *measured)
{
    return measured->apart && measured->n_pods > 0 && measured->load > SL_LOAD_HIGH;
}

const char *sl_sharing_name(enum sl_sharing sharing)
{
    static const char *const names[] = {[SL_SHARING_ASKS] = "asks",
                                        [SL_SHARING_CBP] = "cbp",
                                        [SL_SHARING_CBP_PP] = "cbp-pp",
                                        [SL_SHARING_PEAKS] = "peaks"};
    return names[sharing];
}

/* Lives in one block, each followed by the highest use from each second on. */
#include "evidence/sharing/life.h"

#include <stdlib.h>

#include "util/data/vec.h"

int sl_sharing_life_add(struct sl_sharing_load *load, const struct sl_sharing_job *job,
                        const int32_t *use, struct sl_error *err)
{
    size_t length = job->length;
    if (sl_vec_reserve(&load->mib, &load->cap_mib, load->n_mib + 2 * length, sizeof(*load->mib)) <
        0) {
        return sl_error_nomem(err);
    }
    int32_t *own = load->mib + load->n_mib;
    int32_t most = 0;
    for (size_t i = length; i-- > 0;) {
        most = use[i] > most ? use[i] : most;
        own[i] = use[i];
        own[length + i] = most;
    }
    load->n_mib += 2 * length;
    return 0;
}

void sl_sharing_life_settle(struct sl_sharing_load *load)
{
    const int32_t *at = load->mib;
    for (uint32_t i = 0; i < load->n; i++) {
        struct sl_sharing_job *job = &load->job[i];
        job->use = at;
        job->ahead = at + job->length;
        at += 2 * (size_t)job->length;
    }
}

void sl_sharing_load_free(struct sl_sharing_load *load)
{
    free(load->job);
    free(load->mib);
    *load = (struct sl_sharing_load){.n = 0};
}

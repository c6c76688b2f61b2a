/* When planned cuts begin: more pods may come that the same cuts could serve. */
#include "sliced/cut.h"

enum { QUIET = 5 }; /* part of the window after which no more pods are waited for */

static size_t count_pods(const struct sl_cut_output *output)
{
    size_t n = 0;
    for (size_t i = 0; i < output->n_plans; i++) {
        n += output->plan[i].n_cuts > 0 ? output->plan[i].n_pods : 0;
    }
    return n;
}

bool sl_cut_batch_is_due(struct sl_cut_batch *batch, const struct sl_cut_output *output,
                         int64_t window_us, int64_t now_us, int64_t *due_us)
{
    size_t n = count_pods(output);
    *due_us = INT64_MAX;
    if (n == 0) {
        *batch = (struct sl_cut_batch){0};
        return false;
    }
    batch->since_us = batch->since_us == 0 ? now_us : batch->since_us;
    if (n > batch->n_pods) {
        batch->grown_us = now_us;
        batch->n_pods = n;
    }
    int64_t end_us = batch->since_us + window_us;
    int64_t quiet_us = batch->grown_us + window_us / QUIET;
    *due_us = end_us < quiet_us ? end_us : quiet_us;
    if (now_us < *due_us) {
        return false;
    }
    *batch = (struct sl_cut_batch){0};
    return true;
}

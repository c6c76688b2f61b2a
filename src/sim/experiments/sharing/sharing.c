/* slicesim reproduce sharing (rough). */
#include "sim/experiments/reproduce.h"
#include "sim/experiments/sharing/stage.h"
#include "sim/output/report.h"
#include "sim/play/crew.h"
#include <stdio.h>
#include <stdlib.h>
struct st {
    uint64_t seed;
    struct sl_sharing_outcome *o;
};
static int task(void *c, size_t i, struct sl_error *err)
{
    struct st *s = c;
    struct sl_sharing_load load;
    int rc = sl_sharing_generate(s->seed + i / SL_SCHEMES, &load, err);
    if (rc == 0)
        rc = sl_sharing_play(&load, (enum sl_sharing_scheme)(i % SL_SCHEMES), &s->o[i], err);
    sl_sharing_load_free(&load);
    return rc;
}
int sl_reproduce_sharing(const struct sl_reproduce_options *options, struct sl_buf *out,
                         struct sl_error *err)
{
    struct sl_crew crew = {options->threads, options->progress, "sharing"};
    struct st s = {options->seed,
                   calloc(options->seeds * SL_SCHEMES, sizeof(struct sl_sharing_outcome))};
    int rc = sl_crew_run(&crew, options->seeds * SL_SCHEMES, task, &s, err);
    for (unsigned k = 0; k < SL_SCHEMES && rc == 0; k++) {
        struct sl_sharing_outcome m = {0};
        for (size_t i = 0; i < options->seeds; i++) {
            struct sl_sharing_outcome *o = &s.o[i * SL_SCHEMES + k];
            m.pending_mean_s += o->pending_mean_s / options->seeds;
            m.pending_p99_s += o->pending_p99_s / options->seeds;
            m.memory += o->memory / options->seeds;
            m.busy += o->busy / options->seeds;
            m.slowdown_p99 += o->slowdown_p99 / options->seeds;
            m.makespan_s += o->makespan_s / options->seeds;
            m.pushed += o->pushed / options->seeds;
            m.beyond += o->beyond / options->seeds;
        }
        sl_buf_printf(out,
                      "%u pend %.0f p99 %.0f mem %.3f busy %.3f slow %.2f makespan %.0f pushed "
                      "%.2f beyond %.2f\n",
                      k, m.pending_mean_s, m.pending_p99_s, m.memory, m.busy, m.slowdown_p99,
                      m.makespan_s, m.pushed, m.beyond);
    }
    free(s.o);
    return rc;
}

/* The lives of jobs, and the generator. */
#include "evidence/sharing/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/input/rng.h"
#include "util/data/vec.h"

enum {
    JOBS = 500,
    GAP_S = 18,
    GPUS = 8,
    GPU_MIB = 15360,
    WORKLOADS = 10, /* that come again */
    ASK_STEP_MIB = 128,
    CONTEXT_MIB = 300, /* of CUDA, before a job has loaded anything */
    LOAD_S = 10,       /* that lasts for so long */
};

enum shape { CONSTANT, RAMP, BURSTS, LATE, LEAK, SHAPES };
static const double share[SHAPES] = {0.3, 0.2, 0.2, 0.2, 0.1};

/* ---- lives: in one block, each followed by the highest use from each second on ---- */

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

/* ---- the generator ---- */

/* The traits that the pods of one image share. */
struct workload {
    uint32_t image;
    enum shape shape;
    double peak_mib;
    double least; /* of the peak, that a pod comes to use */
    double busy;
    double length_s;
    int32_t ask_mib;
};

static double draw_even(struct sl_rng *rng, double low, double high)
{
    return low + sl_rng_unit(rng) * (high - low);
}

static double draw_log(struct sl_rng *rng, double low, double high)
{
    return low * sl_rng_exp(sl_rng_unit(rng) * sl_rng_log(high / low));
}

static enum shape draw_shape(struct sl_rng *rng)
{
    double at = sl_rng_unit(rng);
    enum shape shape = CONSTANT;
    while (shape + 1 < SHAPES && at >= share[shape]) {
        at -= share[shape];
        shape++;
    }
    return shape;
}

static struct workload draw_workload(struct sl_rng *rng, uint32_t image)
{
    struct workload w = {.image = image, .shape = draw_shape(rng)};
    w.peak_mib = draw_log(rng, 500, 6000);
    w.least = sl_rng_unit(rng) < 0.75 ? 0.9 : 0.5;
    w.busy = draw_log(rng, 0.03, 0.3);
    w.length_s = draw_log(rng, 120, 1800);
    double ask = w.peak_mib * draw_log(rng, 1, 3);
    int32_t steps = (int32_t)ceil(ask / ASK_STEP_MIB);
    w.ask_mib = steps * ASK_STEP_MIB < GPU_MIB ? steps * ASK_STEP_MIB : GPU_MIB;
    return w;
}

/* How one pod of a workload differs from the others. */
struct pod {
    double peak_mib;
    double turn;   /* LATE: part of its life after which the peak comes */
    double period; /* BURSTS: seconds from one to the next */
    double phase;
};

static double use_at(enum shape shape, const struct pod *pod, double second, double length)
{
    double at = second / length;
    switch (shape) {
    case RAMP:
        return pod->peak_mib * (at < 0.5 ? 0.2 + 1.6 * at : 1);
    case BURSTS:
        return pod->peak_mib *
               (fmod(second + pod->phase, pod->period) < 0.3 * pod->period ? 1 : 0.4);
    case LATE:
        return pod->peak_mib * (at < pod->turn ? 0.4 : 1);
    case LEAK:
        return pod->peak_mib * (0.1 + 0.9 * at);
    default:
        return pod->peak_mib;
    }
}

static int job_draw(struct sl_rng *rng, const struct workload *w, double part,
                    struct sl_sharing_load *load, struct sl_sharing_job *job, struct sl_error *err)
{
    struct pod pod = {.peak_mib = w->peak_mib * part * draw_even(rng, w->least, 1),
                      .turn = draw_even(rng, 0.6, 0.9),
                      .period = draw_even(rng, 60, 300)};
    pod.phase = sl_rng_unit(rng) * pod.period;
    double leaked = w->ask_mib * draw_even(rng, 0.4, 1.2);
    pod.peak_mib = w->shape == LEAK ? fmin(leaked, GPU_MIB) : pod.peak_mib;
    double length = ceil(w->length_s * draw_even(rng, 0.8, 1.25));
    int32_t life[SL_SHARING_LIFE_MAX];
    job->image = w->image;
    job->ask_mib = w->ask_mib;
    job->busy = w->busy;
    job->length = (uint32_t)length;
    for (uint32_t s = 0; s < job->length; s++) {
        double use = s < LOAD_S ? CONTEXT_MIB : use_at(w->shape, &pod, s, length);
        life[s] = (int32_t)use;
    }
    return sl_sharing_life_add(load, job, life, err);
}

int sl_sharing_generate(uint64_t seed, struct sl_sharing_mix mix, struct sl_sharing_load *out,
                        struct sl_error *err)
{
    struct workload workload[WORKLOADS];
    struct sl_rng rng;
    double at = 0;
    *out = (struct sl_sharing_load){.product = "Tesla-T4", .gpus = GPUS, .gpu_mib = GPU_MIB};
    out->job = calloc(JOBS, sizeof(*out->job));
    if (out->job == NULL) {
        return sl_error_nomem(err);
    }
    sl_rng_seed(&rng, seed, 1);
    for (uint32_t i = 0; i < WORKLOADS; i++) {
        workload[i] = draw_workload(&rng, i);
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        bool again = sl_rng_unit(&rng) < mix.repeated;
        struct workload once = draw_workload(&rng, WORKLOADS + i);
        const struct workload *w = again ? &workload[sl_rng_below(&rng, WORKLOADS)] : &once;
        out->job[i].submit_s = (int64_t)at;
        at += GAP_S * sl_rng_exponential(&rng);
        double part = i < JOBS / 2 ? mix.at_first : 1;
        if (job_draw(&rng, w, part, out, &out->job[i], err) < 0) {
            return -1;
        }
        out->n++;
    }
    sl_sharing_life_settle(out);
    return 0;
}

/* The 25 inference engines that sliced was tried with on a real GPU, after those of Ferikoglou et
 * al.: a context, then a network and an arena, then queries until they are done. */
#include <stdlib.h>

#include "evidence/sharing/jobs.h"
#include "sim/input/rng.h"

enum {
    GPU_MIB = 16384,
    CONTEXT_MIB = 640, /* of a process, with what the libraries take */
    CONTEXT_S = 9,     /* until it is there */
    LOAD_S = 12,       /* until all memory is taken */
    JOBS_MAX = 32,
};

/* Lives on the rig were thirty times as short, with thirty samples a second. */
static const double slower = 30;
static const double gap_s = 0.9;

/* Busy: fitted to how much longer engines took together, which is not how busy the GPU was. */
static const struct engine {
    double busy;
    double query_s;
    int32_t peak_mib;
    int queries[5]; /* of each job; 0: no more */
} engines[] = {
    {0.20, 0.020, 2060, {73, 73, 146, 146}},   /* MobileNet */
    {0.20, 0.020, 1650, {18, 18, 37, 37}},     /* quantised */
    {0.20, 0.022, 3440, {293, 293, 585, 585}}, /* ResNet-50 */
    {0.55, 0.047, 3370, {9, 9, 9, 73, 73}},    /* SSD MobileNet */
    {0.55, 0.047, 2870, {5, 5, 73, 73}},       /* fine-tuned */
    {0.55, 0.047, 2870, {37, 37, 293, 293}},   /* small */
};
enum { ENGINES = sizeof(engines) / sizeof(engines[0]) };

static int life_add(struct sl_sharing_load *load, struct sl_sharing_job *job, int queries,
                    struct sl_error *err)
{
    const struct engine *engine = &engines[job->image];
    int32_t life[SL_SHARING_LIFE_MAX];
    job->length = LOAD_S + (uint32_t)(slower * engine->query_s * queries) + 1;
    for (uint32_t s = 0; s < job->length; s++) {
        life[s] = s < LOAD_S ? CONTEXT_MIB * (s < CONTEXT_S ? (int32_t)s : CONTEXT_S) / CONTEXT_S
                             : engine->peak_mib;
    }
    return sl_sharing_life_add(load, job, life, err);
}

/* The jobs come in the order that the seed draws; again: a second time, once all have ended. */
int sl_sharing_rig(uint64_t seed, struct sl_sharing_mix mix, struct sl_sharing_load *out,
                   struct sl_error *err)
{
    int queries[JOBS_MAX];
    uint32_t image[JOBS_MAX];
    uint32_t n = 0;
    struct sl_rng rng;
    *out =
        (struct sl_sharing_load){.product = "NVIDIA-H100-80GB-HBM3", .gpus = 1, .gpu_mib = GPU_MIB};
    for (uint32_t e = 0; e < ENGINES; e++) {
        for (unsigned i = 0; i < 5 && engines[e].queries[i] > 0; i++) {
            image[n] = e;
            queries[n++] = engines[e].queries[i];
        }
    }
    out->job = calloc(2 * (size_t)n, sizeof(*out->job));
    if (out->job == NULL) {
        return sl_error_nomem(err);
    }
    sl_rng_seed(&rng, seed, 1);
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)sl_rng_below(&rng, i);
        uint32_t image_kept = image[i - 1];
        int queries_kept = queries[i - 1];
        image[i - 1] = image[k];
        queries[i - 1] = queries[k];
        image[k] = image_kept;
        queries[k] = queries_kept;
    }
    out->again = mix.repeated > 0 ? n : 0;
    double at = 0;
    for (uint32_t i = 0; i < (out->again > 0 ? 2 * n : n); i++) {
        struct sl_sharing_job *job = &out->job[i];
        const struct engine *engine = &engines[image[i % n]];
        at = i == n ? 0 : at;
        *job = (struct sl_sharing_job){
            .submit_s = (int64_t)at, .image = image[i % n], .busy = engine->busy};
        int64_t ask = (int64_t)engine->peak_mib * (100 + mix.over_percent) / 100;
        job->ask_mib = ask < GPU_MIB ? (int32_t)ask : GPU_MIB;
        at += slower * gap_s * (0.65 + 0.65 * sl_rng_unit(&rng));
        if (life_add(out, job, queries[i % n], err) < 0) {
            return -1;
        }
        out->n++;
    }
    sl_sharing_life_settle(out);
    return 0;
}

/* Learns mean shares of timeouts by their size. A class with few pods leans on the next smaller
 * one. */
#include "core/forecast/learn.h"

#include "core/forecast/supply.h"

enum {
    ONE = 1 << SL_LEARN_SHIFT, /* 1 as a share */
    FORGET_CLASS = 64,         /* pods after which the sums are halved */
    FORGET_ERROR = 256,
    PUBLISH = 32, /* an estimate moves once it is off by more than one part in so many */
};

/* Classes by the two leading bits: they start at each 2^o and each 1.5 * 2^o microseconds. */
static unsigned class_of(int64_t timeout_us)
{
    if (timeout_us < 2) {
        return 0;
    }
    const unsigned lead = 63 - (unsigned)__builtin_clzll((unsigned long long)timeout_us);
    const unsigned i = (lead - 1) * 2 + (unsigned)((timeout_us >> (lead - 1)) & 1);
    return i < SL_LEARN_CLASSES ? i : SL_LEARN_CLASSES - 1;
}

static int64_t part_of(int64_t us, int64_t share)
{
    return (int64_t)(((sl_work)us * share) >> SL_LEARN_SHIFT);
}

int64_t sl_learn_estimate(const struct sl_learn *learn, int64_t timeout_us)
{
    const int64_t rest =
        timeout_us - part_of(timeout_us, learn->by_size[class_of(timeout_us)].share);
    return rest > 0 ? rest : 1;
}

int64_t sl_learn_rest(const struct sl_learn *learn, int64_t timeout_us, int64_t elapsed_us)
{
    if (elapsed_us > timeout_us) {
        return sl_learn_overdue(elapsed_us - timeout_us);
    }
    const int64_t left = timeout_us > elapsed_us ? timeout_us - elapsed_us : 0;
    const int64_t expected = sl_learn_estimate(learn, timeout_us) - elapsed_us;
    const int64_t share = learn->by_size[class_of(timeout_us)].share;
    /* Past its estimate a pod is expected to use half of the usual share of what is left. */
    const int64_t late = (left - part_of(left, share)) / 2;
    return expected > late ? expected : late;
}

/* Returns (unused + weight * share) / (stated + weight), in 2^-30; shifts the sums to fit. */
static int64_t blend(int64_t unused, int64_t stated, int64_t weight, int64_t share)
{
    while (stated + weight >= INT64_C(1) << 32) {
        stated >>= 1;
        unused >>= 1;
        weight >>= 1;
    }
    const int64_t sum = stated + weight;
    return sum == 0 ? share : ((unused << SL_LEARN_SHIFT) + weight * share) / sum;
}

static void class_add(struct sl_learn_class *class, int64_t timeout_us, int64_t unused,
                      unsigned forget)
{
    if (class->n == forget) {
        class->n /= 2;
        class->stated_us /= 2;
        class->unused_us /= 2;
    }
    class->n++;
    class->stated_us += timeout_us;
    class->unused_us += unused;
}

/* Publishes estimates in steps, so that the schedules built on them last. */
static void publish_shares(struct sl_learn *learn)
{
    const struct sl_learn_class *all = &learn->all;
    const int64_t mean = all->n == 0 ? 0 : all->stated_us / all->n;
    int64_t share = blend(all->unused_us, all->stated_us, 2 * mean, 0);
    learn->all.share = share;
    for (unsigned i = 0; i < SL_LEARN_CLASSES; i++) {
        struct sl_learn_class *class = &learn->by_size[i];
        share = blend(class->unused_us, class->stated_us, INT64_C(2) << (i / 2), share);
        const int64_t change = share > class->share ? share - class->share : class->share - share;
        if (change > (ONE - class->share) / PUBLISH) {
            class->share = share;
            learn->version++;
        }
    }
}

void sl_learn_ended(struct sl_learn *learn, int64_t timeout_us, int64_t run_us)
{
    const int64_t run = run_us < timeout_us ? run_us : timeout_us;
    const int64_t estimate = sl_learn_estimate(learn, timeout_us);
    if (learn->n == FORGET_ERROR) {
        learn->n /= 2;
        learn->error_us /= 2;
        learn->run_us /= 2;
    }
    learn->n++;
    learn->error_us += estimate > run ? estimate - run : run - estimate;
    learn->run_us += run;
    class_add(&learn->by_size[class_of(timeout_us)], timeout_us, timeout_us - run, FORGET_CLASS);
    class_add(&learn->all, timeout_us, timeout_us - run, FORGET_ERROR);
    publish_shares(learn);
}

int64_t sl_learn_error_us(const struct sl_learn *learn)
{
    return learn->n == 0 ? 0 : learn->error_us / learn->n;
}

int64_t sl_learn_error_permille(const struct sl_learn *learn)
{
    int64_t error = learn->error_us;
    int64_t run = learn->run_us;
    while (error >= INT64_C(1) << 40) {
        error >>= 1;
        run >>= 1;
    }
    return run <= 0 ? (error > 0 ? 1000 : 0) : error * 1000 / run;
}

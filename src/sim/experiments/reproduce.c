/* The table of published experiments. */
#include "sim/experiments/reproduce.h"

static const struct sl_reproduction table[] = {
    {"short-tasks", "Shao et al., Table II: 20 short tasks on 2 GPUs under fifo, sjf, p", NULL,
     2000, true, sl_reproduce_short_tasks},
    {"orders", "mean response and longest wait of all orders on long queues, and over c", NULL, 100,
     true, sl_reproduce_orders},
    {"mig", "Park et al., Table III: batch, GPU parallel and MIG parallel on two A30", NULL, 1,
     false, sl_reproduce_mig},
    {"openb", "FGD's comparison: GPUs given of the openb cluster at 130 % load, by policy", NULL,
     10, false, sl_reproduce_openb},
    {"mig-acceptance", "asks for MIG instances accepted on 100 A100 until a tenth is refused", NULL,
     20, false, sl_reproduce_mig_acceptance},
    {"repartition", "a day of changing demand on 100 A100: static cuts, nos' rule, cuts by demand",
     NULL, 20, false, sl_reproduce_repartition},
    {"miso", "MISO: A100 cut for the jobs on them, against whole GPUs and the best static cut",
     "miso/mig_iter_time.csv", 100, false, sl_reproduce_miso},
    {"cbp-pp", "Ferikoglou et al.: decisions by CBP and PP, replayed with their inputs",
     "ferikoglou/cbp_pp_accept_golden.json", 1, false, sl_reproduce_cbp_pp},
    {"sharing",
     "GPUs shared by asks, CBP, PP, peaks and an oracle: pending time, use, out of memory", NULL,
     10, false, sl_reproduce_sharing},
};

const struct sl_reproduction *sl_reproduce_at(size_t i)
{
    size_t n = sizeof(table) / sizeof(table[0]);
    return i < n ? &table[i] : NULL;
}

const struct sl_reproduction *sl_reproduce_find(struct sl_str name)
{
    for (size_t i = 0; sl_reproduce_at(i) != NULL; i++) {
        if (sl_str_eq(sl_str_of(table[i].name), name)) {
            return &table[i];
        }
    }
    return NULL;
}

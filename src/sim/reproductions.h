/* What the table of experiments points to; each is in a file of its own. */
#ifndef SLICED_SIM_REPRODUCTIONS_H
#define SLICED_SIM_REPRODUCTIONS_H

#include "sim/reproduce.h"

int sl_reproduce_short_tasks(const struct sl_reproduce_options *options, struct sl_buf *out,
                             struct sl_error *err);
int sl_reproduce_orders(const struct sl_reproduce_options *options, struct sl_buf *out,
                        struct sl_error *err);
int sl_reproduce_mig(const struct sl_reproduce_options *options, struct sl_buf *out,
                     struct sl_error *err);
int sl_reproduce_openb(const struct sl_reproduce_options *options, struct sl_buf *out,
                       struct sl_error *err);
int sl_reproduce_mig_acceptance(const struct sl_reproduce_options *options, struct sl_buf *out,
                                struct sl_error *err);

#endif

/* slicesim run: from options to a report. */
#ifndef SLICED_SIM_RUN_H
#define SLICED_SIM_RUN_H

#include "sim/options.h"

/* Appends the report to out; notes go to standard error unless options->quiet. */
int sl_sim_command_run(const struct sl_sim_options *options, struct sl_buf *out,
                       struct sl_error *err);

#endif

/* Plots of an experiment: policies side by side, the distribution of waits, and the devices on
 * which jobs ran. */
#ifndef SLICED_SIM_PLOT_H
#define SLICED_SIM_PLOT_H

#include "sim/play/experiment.h"
#include "util/buf.h"

/* One SVG document. The experiment must have kept its details. */
void sl_plot(const struct sl_experiment *experiment, struct sl_buf *out);

/* The part of a device that a job has in the Gantt chart: bars of one device do not overlap. */
struct sl_gantt_bar {
    size_t job;
    uint32_t device; /* row of the chart */
    uint32_t lane;   /* of the device, from 0 */
};
struct sl_gantt_device {
    char name[96];
    uint32_t lanes;
};
struct sl_gantt {
    struct sl_gantt_bar *bar;
    struct sl_gantt_device *device;
    size_t n;
    size_t n_devices;
    size_t n_left_out; /* bars beyond what a chart shows */
};
enum { SL_GANTT_DEVICES_MAX = 64, SL_GANTT_LANES_MAX = 16, SL_GANTT_BARS_MAX = 4000 };

/* -1: out of memory. Free with sl_gantt_free. */
int sl_gantt_make(const struct sl_fleet *fleet, const struct sl_sim_run *run, struct sl_gantt *out);
void sl_gantt_free(struct sl_gantt *gantt);

#endif

/* slicesim: replays a trace or a generated workload through the scheduler's own policy, on a
 * virtual clock, and prints the outcome. */
#ifndef SLICED_SIM_SIM_H
#define SLICED_SIM_SIM_H

/* Returns the exit status: 0 done, 1 the system refused something, 2 wrong option or input. */
int sl_sim_main(int argc, char **argv);

#endif

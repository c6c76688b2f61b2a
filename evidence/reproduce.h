/* reproduce: published experiments, run again. */
#ifndef SLICED_EVIDENCE_REPRODUCE_H
#define SLICED_EVIDENCE_REPRODUCE_H

/* Returns the exit status: 0 done, 1 the system refused something, 2 wrong option or input. */
int sl_reproduce_main(int argc, char **argv);

#endif

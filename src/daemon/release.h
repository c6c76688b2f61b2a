/* "sliced release": opens the gates of pods by hand, without a daemon. */
#ifndef SLICED_DAEMON_RELEASE_H
#define SLICED_DAEMON_RELEASE_H

#include "kube/write/release_all.h"

/* argv[0] is "release". Exit status: 0 all gates are open, 1 some could not be opened or listed, 2
 * a wrong option. */
int sl_release_main(int argc, char **argv);

/* "3 pods looked at, 2 gates opened, 1 failed". Returns the exit status. */
int sl_release_summary(const struct sl_release_all_counts *counts, bool dry_run, bool one,
                       struct sl_buf *out);

#endif

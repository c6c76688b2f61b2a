/* How the server asks about cuts under way and nodes left out. Answers are copies. */
#ifndef SLICED_SERVER_PARTITION_READER_H
#define SLICED_SERVER_PARTITION_READER_H

#include "sliced/engine.h"

/* Any thread may call; no function waits for I/O, and for no longer than a plan of cuts takes. A
 * struct of NULLs stands for a daemon that cuts nothing. */
struct sl_partition_reader {
    void *context;
    /* Fills out for the node of that view. */
    void (*status)(void *context, const struct sl_view *view, int64_t now_us,
                   struct sl_partition_status *out);
};

#endif

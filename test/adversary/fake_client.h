/* The API server's client without a network: calls wait until they are carried out, in any order,
 * by the world of the test, and answers get lost on the way. With threads a thread of its own does
 * so, else whoever calls client_step. */
#ifndef SLICED_ADVERSARY_FAKE_CLIENT_H
#define SLICED_ADVERSARY_FAKE_CLIENT_H

#include "adversary/random.h"
#include "kube/client/client.h"

/* How unreliable the way is, in percent of the calls. */
struct client_faults {
    unsigned lost;    /* no answer: half of them were carried out */
    unsigned refused; /* 403, 409, 422, 429, 500 */
    unsigned cut;     /* a stream ends early */
    unsigned garbled; /* of a watch: bytes are not what was sent */
};

/* Does one thing that is due: answers a call, feeds a watch, runs a timer. False: there is nothing
 * to do before time passes or the world changes. */
bool client_step(struct sl_client *client, struct rng *rng, const struct client_faults *faults);

/* For the thread: none by default. */
void client_set_faults(struct sl_client *client, const struct client_faults *faults);

/* Every watch has been told all, no call waits for its answer. Timers may be left. */
bool client_is_idle(struct sl_client *client);

/* Ends all watches: "expired" says 410. */
void client_end_watches(struct sl_client *client, bool expired);

/* The client of the API server that was made last. */
struct sl_client *client_latest(void);
/* The one that asks what is measured; NULL: there is none. */
struct sl_client *client_measuring(void);

#endif

/* The daemon in this process: everything of it but its main loop, sockets and, unless there are to
 * be threads, the queue's thread. */
#ifndef SLICED_ADVERSARY_RIG_H
#define SLICED_ADVERSARY_RIG_H

#include "adversary/fake_client.h"
#include "adversary/fake_http.h"
#include "daemon/live/cluster.h"
#include "daemon/queue/queue.h"
#include "server/app/app.h"
#include "server/routes.h"
#include "telemetry/telemetry.h"

enum { RIG_CALLS = 64 };

/* What is played: everything that users write; or pods that are well-formed, on GPUs that are cut,
 * or shared and measured. */
enum play { PLAY_ALL, PLAY_CUTS, PLAY_USAGE, PLAYS };
extern const char *const play_names[PLAYS];

struct rig {
    struct rng rng;
    struct client_faults faults;
    struct sl_config config; /* as it was started */
    struct sl_kube_access access;
    struct sl_store *store;
    struct sl_cluster *cluster;
    struct sl_app *app;
    struct sl_telemetry *telemetry;    /* NULL: nothing is measured */
    struct sl_queue_worker *worker;    /* NULL: the queue is off */
    struct http_call *call[RIG_CALLS]; /* binds under way */
    struct sl_front_proxy proxy;       /* whom hooks.c believes */
    bool threads;
    char yaml[4096]; /* of the configuration in force */
};

/* Before the first rig begins. */
void rig_play(enum play play);
enum play rig_plays(void);
/* seed is for what rig decides itself. */
void rig_begin(struct rig *rig, uint64_t seed, bool threads);
void rig_end(struct rig *rig);
/* Ends the daemon in the middle of what it does, and begins another on the same world. */
void rig_restart(struct rig *rig);
/* What the main loop does each second. */
void rig_tick(struct rig *rig);
/* A new configuration, as SIGHUP brings it. */
void rig_reload(struct rig *rig);
/* A round of the queue's thread, and a look at its nominations. */
void rig_round(struct rig *rig);
/* At most n steps of the client, with faults; and what the requests under way wait for. */
void rig_carry_on(struct rig *rig, unsigned n);
/* Lets telemetry ask, and be answered. */
void rig_measure(struct rig *rig);
/* Until no request of this rig is under way. */
void rig_end_calls(struct rig *rig);
/* Lets everything come to rest without faults. False: another replica leads. */
bool rig_settle(struct rig *rig);
bool rig_leads(struct rig *rig);

/* One request that ends at once, as all but binds do. */
struct http_reply rig_ask(struct rig *rig, const char *method, const char *path, const char *body);
/* A bind: it is carried on in the background. */
void rig_bind(struct rig *rig, const char *body);
/* The node on which the pod of that UID has a nomination, or "". */
const char *rig_nominated(void *context, const char *uid);

#endif

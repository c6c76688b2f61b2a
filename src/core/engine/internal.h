/* The engine's parts. Private to this room. */
#ifndef SLICED_CORE_ENGINE_INTERNAL_H
#define SLICED_CORE_ENGINE_INTERNAL_H

#include "core/plan/state/calls.h"
#include "sliced/engine.h"
#include "sliced/pace.h"
#include "util/check.h"
#include "util/data/map.h"
#include "util/data/times.h"

/* The book of a node of which something is known: a cut under way, an earlier one, a drain. */
struct sl_cut_book {
    struct sl_cut_record record;
    struct sl_cut_run *run;       /* NULL: none */
    uint64_t node;                /* hash of the UID of the run's node: another is made anew */
    uint64_t write;               /* number of the write under way; 0: none */
    SL_TIMES(int64_t begun_us;    /* of the run */
             int64_t expected_us; /* its end */
             int64_t drained_us;  /* until then the node drains; 0: it does not */
             int64_t refused_us;  /* until then it is left out: a cut of it was refused */
    );
    size_t n_made;             /* how many of run->cut pods may wait for; 0: none does */
    uint64_t drained_for;      /* hash of the UID of the pod for which it drains */
    struct sl_cut_drain drain; /* with the keys and GPUs that the plan told last */
    uint64_t round;            /* in which it was seen last */
    bool draining;             /* the plan of this round wants it */
    bool planned;              /* its cut is planned, and waits for more pods */
    char trouble[sizeof(((struct sl_error *)NULL)->message)]; /* of its last write; empty: none */
    char ended[SL_CUT_NAME_MAX]; /* name of the last run: the watch may show it for a while */
    char cut[SL_CUT_WORDS_MAX];
    char pods[SL_CUT_WORDS_MAX];
    const char *why;    /* the phase of the run, or how the last one ended; never NULL */
    struct sl_map uids; /* keys: the UIDs of the pods for which it is cut, owned */
    char name[];
};

/* A pod that waits. */
struct sl_engine_pod {
    struct sl_pod *pod;         /* reference: as it was told last */
    struct sl_engine_pod *todo; /* next of this plan */
    uint64_t nomination;        /* number of its nomination or release; 0: none */
    uint64_t call;              /* number of the release under way; 0: none is */
    enum sl_hold_reason why;    /* refused */
    bool bare;                  /* released without a nomination */
    bool again;   /* release it later: the last try failed, or an earlier one has to end */
    bool stray;   /* it carries a nomination behind its gate that the queue did not make */
    bool listed;  /* in todo, for the reasons of the next members */
    bool failed;  /* its nomination could not be made true */
    bool release; /* is to be released */
    bool expired; /* its nomination is over, and may stand on the API server */
    bool refused;
    char uid[];
};

/* Pods that may be released. */
struct sl_window {
    struct sl_pace pace;
    int64_t pause_us; /* after releases that failed; 0: none did */
    SL_TIMES(
        int64_t paused_until_us; /* no release is tried again before; after failures, none at all */
        int64_t wake_us;         /* when more pods may go though nothing changes */
    );
    unsigned failures;   /* in a row */
    char failed[64];     /* the namespace of the first of them */
    bool failed_for_all; /* they are not confined to one namespace among others */
    bool full;           /* the window may have kept a pod from its nomination */
};

struct sl_engine {
    struct sl_engine_config config;
    struct sl_window window;
    struct sl_planner *planner;
    struct sl_stages *stages; /* borrowed; may be NULL */
    struct sl_cutter *cutter;
    const struct sl_view *const *view; /* borrowed, as the next but one */
    size_t n_views;
    const struct sl_demand *demand;
    struct sl_map books; /* by node name */
    bool outdated;       /* the views lack nominations */
    struct sl_map pods;  /* by UID */
    struct sl_engine_pod *todo;
    uint64_t last_release;
    bool again; /* some pod is to be released again */
    bool stray; /* some pod is */
    uint64_t last_write;
    uint64_t round;
    size_t under_way; /* runs begun here: nodes cannot make up others */
    struct sl_cut_batch batch;
    SL_TIMES(int64_t rest_us;   /* no plan of cuts before */
             int64_t follow_us; /* when the runs want a look */
             int64_t want_us;   /* when a plan of cuts is due */
    );
    struct sl_cut_seen *seen; /* pods that have started on nodes of nos' agents, by pod */
    size_t n_seen;
    int64_t
        seconds_us[SL_ACTUATOR_NOS_MPS + 1]; /* of cuts over all nodes, as learned; by actuator */
    sl_engine_record_fn record;              /* NULL: none */
    void *record_context;
    int64_t now_us; /* of the step */
    /* during a step */
    bool ended; /* a run has */
    sl_engine_do_fn act;
    void *context;
};

/* ---- record.c ---- */

void sl_record_command(const struct sl_engine *engine, const struct sl_engine_command *command,
                       bool done, int64_t now_us);
/* pod NULL: the drain ends. */
void sl_record_drain(const struct sl_engine *engine, const char *node, const struct sl_pod *pod,
                     int64_t now_us);

/* Records what is begun once it is known whether it may be, all else before it changes the run. */
static inline bool sl_engine_do(struct sl_engine *engine, const struct sl_engine_command *command)
{
    bool begins = command->kind == SL_DO_CUT_BEGIN || command->kind == SL_DO_NOMINATE;
    if (!begins) {
        sl_record_command(engine, command, true, engine->now_us);
    }
    bool done = engine->act(engine->context, command);
    if (begins) {
        sl_record_command(engine, command, done, engine->now_us);
    }
    return done;
}

/* ---- pods.c ---- */

/* Releases those that are to be released again, unless releases pause. */
void sl_pods_prepare(struct sl_engine *engine, int64_t now_us);
void sl_pods_act(struct sl_engine *engine, const struct sl_plan_action *action);
/* Does what follows the plan. True: nominations failed. */
bool sl_pods_follow_up(struct sl_engine *engine, int64_t now_us);
void sl_pods_free(struct sl_engine *engine);
void sl_pods_audit(const struct sl_engine *engine);

/* ---- window.c ---- */

void sl_window_init(struct sl_engine *engine);
/* The pod, which waits until now, is bound. */
void sl_window_bound(struct sl_engine *engine, struct sl_str uid, int64_t now_us);
/* A release failed for no fault of the pod: after that the releases pause, twice as long each time.
 * True: such a pause begins now. */
bool sl_window_broke(struct sl_engine *engine, struct sl_str namespace, int64_t now_us);
/* A release reached the API server, whatever it said of the pod. */
void sl_window_went(struct sl_engine *engine);
bool sl_window_is_paused(const struct sl_engine *engine, int64_t now_us);
/* After a plan; full: the window may have kept a pod from its nomination. */
void sl_window_note(struct sl_engine *engine, bool full, int64_t now_us);

/* ---- book.c ---- */

/* NULL: there is none. */
struct sl_cut_book *sl_book_find(const struct sl_engine *engine, const char *node);
/* Finds or makes it. NULL: out of memory. */
struct sl_cut_book *sl_book_of(struct sl_engine *engine, const char *node);
void sl_book_forget_pods(struct sl_cut_book *book);
/* Frees the run, without a word. */
void sl_book_drop(struct sl_engine *engine, struct sl_cut_book *book);
/* Forgets books of which nothing is left to remember; all of them. */
void sl_books_sweep(struct sl_engine *engine, int64_t now_us);
void sl_books_free(struct sl_engine *engine);
void sl_books_rebase(struct sl_engine *engine, int64_t by_us);

/* ---- follow.c ---- */

/* Takes the next step of each run. True: a cut has ended. */
bool sl_cuts_follow(struct sl_engine *engine, int64_t now_us);
/* Takes over the run and its first steps: the node is withheld already. */
void sl_cuts_begin(struct sl_engine *engine, struct sl_cut_book *book, struct sl_cut_run *run,
                   const struct sl_view *view, int64_t now_us);
/* Lets the pods for which the node is cut, or was to be, wait as all others. */
void sl_cuts_untell_pods(struct sl_engine *engine, struct sl_cut_book *book);

/* ---- seen.c ---- */

/* Notes which pods on nodes of nos' agents have started, and forgets those that are gone. */
void sl_cuts_see(struct sl_engine *engine, int64_t now_us);

/* ---- want.c ---- */

/* Plans cuts for the pods that wait, and begins those whose time has come. -1: out of memory. */
int sl_cuts_want(struct sl_engine *engine, int64_t now_us, struct sl_error *err);
struct sl_cut_limits sl_cuts_limits(const struct sl_engine *engine, int64_t now_us);

/* ---- tell.c ---- */

/* Notes the pods for which the node is cut by the plan: in place of earlier ones, or beside them.
 */
void sl_book_note_pods(struct sl_cut_book *book, const struct sl_cut_pod *pod,
                       const struct sl_cut_plan *plan);
void sl_book_add_pods(struct sl_cut_book *book, const struct sl_cut_pod *pod,
                      const struct sl_cut_plan *plan);
/* Tells these pods that the node is being cut, or is to be. */
void sl_cuts_tell_pods(struct sl_engine *engine, const struct sl_cut_book *book);
/* Tells the pod for which a node drains what must end, and by when. */
void sl_cuts_tell_drain(struct sl_engine *engine, const struct sl_view *view,
                        const struct sl_pod *pod, const struct sl_cut_drain *drain, int64_t now_us);

#endif

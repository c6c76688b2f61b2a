/* What the parts of bounded shortest job first share; nobody else includes it. */
#ifndef SLICED_CORE_BOUND_INTERNAL_H
#define SLICED_CORE_BOUND_INTERNAL_H

#include "core/bound_yard.h"
#include "sliced/bound.h"
#include "util/map.h"

/* Work is units times microseconds; 128 bits hold it for every pod a lane can have. */
__extension__ typedef __int128 sl_work;

/* Units that come free at one time; in an array a binary heap by time. */
struct sl_group {
    int64_t at;
    int64_t units;
};

struct sl_units {
    struct sl_group *group;
    size_t n;
    size_t cap;
};

/* Makes room for n groups; -1 when out of memory. */
int sl_units_reserve(struct sl_units *units, size_t n);
/* There is room: reserved before. */
void sl_units_add(struct sl_units *units, int64_t at, int64_t count);
/* Takes the count units that come free first, not before from; when that is. The caller knows that
 * there are so many. */
int64_t sl_units_take(struct sl_units *units, int64_t count, int64_t from);
void sl_units_sort(struct sl_units *units);
void sl_units_copy(struct sl_units *to, const struct sl_units *from); /* room as above */

/* How long pods run against what they state: by the timeout's size, two classes an octave. */
enum { SL_LEARN_CLASSES = 104, SL_LEARN_SHIFT = 30 };

struct sl_learn_class {
    int64_t stated; /* sums over pods that ended, of late */
    int64_t unused;
    int64_t share; /* of a timeout that is not used, as the estimates take it: in 2^-30 */
    uint32_t n;
};

struct sl_learn {
    struct sl_learn_class by_size[SL_LEARN_CLASSES];
    struct sl_learn_class all;
    int64_t error; /* sums over pods that ended, of late: estimate against run time */
    int64_t run;
    uint32_t n;
    uint32_t version; /* changes with an estimate */
};

int64_t sl_learn_estimate(const struct sl_learn *learn, int64_t timeout_us);
/* What is left of a pod that has run so long. */
int64_t sl_learn_rest(const struct sl_learn *learn, int64_t timeout_us, int64_t elapsed_us);
void sl_learn_ended(struct sl_learn *learn, int64_t timeout_us, int64_t run_us);
/* By how much an estimate is off, the mean; and against the mean run time, in thousandths. */
int64_t sl_learn_error_us(const struct sl_learn *learn);
int64_t sl_learn_error_permille(const struct sl_learn *learn);

struct sl_bound_waiter {
    struct sl_bound_pod spec;
    int64_t started_us;
    int64_t base_us;     /* start in the layout without anybody overtaking */
    uint64_t base_state; /* of which state that is */
    uint32_t place;      /* waiting: slot in its rank; running: index in the list */
    uint32_t entry;      /* in the virtual FIFO */
    uint8_t rank;
    bool running;
    /* Of a lane of several widths: */
    uint64_t serial;
    uint64_t node;     /* where it runs, 0: not told */
    uint64_t layout;   /* the number of the last layout that it was in */
    int64_t laid_us;   /* its start there */
    int64_t spare_us;  /* that may come later by */
    int64_t before_us; /* the least of that among those before it */
};

/* Waiting pods of one priority in order of submission, with a tree over them for the quick check:
 * node i has the children 2i and 2i + 1, slot s is leaf size + s. */
struct sl_rank_node {
    sl_work work;  /* sum */
    sl_work slack; /* the least of (divisor * submission - work ahead within the node) */
    int64_t units; /* sum */
};

struct sl_rank {
    struct sl_bound_waiter **slot; /* NULL: gone */
    struct sl_rank_node *tree;
    size_t first;       /* nobody before this slot */
    size_t used;        /* slots up to here */
    size_t size;        /* a power of two, or 0 */
    size_t n;           /* waiting */
    int64_t longest_us; /* W */
    int64_t settled_us; /* of that, what no news can change */
    int32_t priority;
};

enum { SL_BOUND_RANKS = 16, SL_BOUND_REJECTS = 8 };

/* A pod in the virtual FIFO. */
struct sl_entry {
    struct sl_bound_waiter *waiter; /* NULL: ended or withdrawn */
    int64_t submit_us;
    int64_t arrived_us;
    int64_t timeout_us;
    int64_t run_us;  /* known, or -1 */
    int64_t used_us; /* the run time that the present schedule takes */
    int64_t width;
    uint64_t id;
    int32_t priority;
    uint8_t rank;
    bool adopted; /* was running when it was told of: starts at once */
    bool withdrawn;
    bool settled;
};

struct sl_fifo {
    struct sl_entry *entry; /* as they arrived */
    uint32_t *queue;        /* of a replay: a heap of entries that wait */
    size_t n;
    size_t cap;
    size_t known;            /* entries that are over */
    size_t kept;             /* of these, what the present schedule could not settle */
    size_t news;             /* what the present schedule does not know */
    uint32_t version;        /* of the estimates in the present schedule */
    size_t spare_at;         /* entries from which on the past is let go */
    struct sl_units settled; /* free times after what no news can change */
    int64_t settled_last_us; /* and the last start there */
    struct sl_units units;   /* free times after all entries */
    int64_t last_us;
    struct sl_units sorted;   /* of units, for comparing */
    struct sl_bound_pod tail; /* the last one that was started there */
    bool sorted_stale;
};

struct sl_reject {
    const struct sl_bound_waiter *late; /* who would have been late */
    int64_t estimate;
    int64_t width;
};

/* A pod that may not go to a node (0: any) now: nor may one that is as long and as wide. */
struct sl_refusal {
    int64_t run_us;
    int64_t width;
    uint64_t node;
};

/* A lane of several widths. */
struct sl_mixed {
    bool active;
    int64_t width;        /* of the first pod */
    struct sl_yard fifo;  /* the virtual FIFO, up to now */
    struct sl_yard trial; /* for looking ahead */
    uint64_t serial;
    uint64_t layout; /* number */
    uint64_t state;  /* that it was made in */
    sl_work put_in;  /* work of those that started before their time since */
    int64_t least_us;
    int64_t asked_us; /* what those ahead would have had to spare for the last one refused */
    size_t credit;    /* steps that looking ahead may take */
    int64_t wait_us[SL_BOUND_RANKS]; /* latest starts, as of the layout */
    uint64_t looked;                 /* the state that the ranks' longest_us are of */
    uint64_t looks;                  /* how often all who wait were played ahead */
    int64_t widest;                  /* of all pods so far */
    int64_t last_fifo_us;            /* when one more, so wide, would start in the virtual FIFO */
    int64_t last_laid_us;            /* and in the layout */
    int64_t last_us;                 /* what is to spare there */
    int64_t lag_us;                  /* that may be later by */
    const struct sl_bound_waiter *tried; /* of a trial */
    bool kept;
    bool sure; /* of the last answer */
    uint64_t answered_state;
    struct sl_refusal answered[SL_BOUND_REJECTS]; /* refused in this state */
    size_t n_answered;
};

struct sl_bound {
    struct sl_bound_config config;
    int64_t now;
    int64_t capacity;
    int64_t running_units;
    struct sl_map pods; /* by id */
    struct sl_bound_waiter **running;
    size_t n_running;
    size_t running_cap;
    size_t n_waiting;
    struct sl_rank rank[SL_BOUND_RANKS];
    uint8_t order[SL_BOUND_RANKS]; /* indexes of rank, highest priority first */
    uint8_t n_ranks;
    bool tree_stale;
    uint32_t tree_version;    /* of the estimates in the trees */
    int64_t divisor;          /* of the quick check */
    int64_t longest_estimate; /* of the waiting, at least */
    int64_t widest;
    struct sl_learn learn;
    struct sl_fifo fifo;
    int64_t arrived_sum; /* of estimates, of late */
    int64_t arrived_n;
    /* What holds for one state: until something happens, or time passes. */
    uint64_t state;
    uint64_t units_state;
    int64_t due_us; /* see sl_bound_due_us */
    uint64_t base_state;
    struct sl_units units; /* free times of the running */
    struct sl_units base;  /* after the layout without anybody overtaking, sorted */
    int64_t base_last_us;  /* the last start there */
    struct sl_units scratch;
    sl_work running_work;
    int64_t running_end;
    uint64_t reject_state;
    struct sl_reject reject[SL_BOUND_REJECTS];
    size_t n_rejects;
    int64_t steps_at;
    size_t steps;
    struct sl_mixed mixed;
};

/* < 0: a goes first. */
int sl_bound_compare(const struct sl_bound_pod *a, const struct sl_bound_pod *b);

static inline bool sl_bound_fits_lane(const struct sl_bound *bound, int64_t width)
{
    return width <= bound->capacity;
}

/* rank */
uint8_t sl_rank_of(struct sl_bound *bound, int32_t priority);
int sl_rank_insert(struct sl_bound *bound, struct sl_bound_waiter *waiter);
void sl_rank_remove(struct sl_bound *bound, struct sl_bound_waiter *waiter);
void sl_rank_refresh(struct sl_bound *bound); /* brings the trees up to date */
void sl_rank_free(struct sl_rank *rank);
/* The least of (divisor * submission - work ahead) in the rank, without that waiter, when work of
 * ahead is in front of all; more than any when nobody is left. */
sl_work sl_rank_slack(const struct sl_rank *rank, const struct sl_bound_waiter *without,
                      sl_work ahead);

/* Units of those before the waiter in its rank, and its own. */
int64_t sl_rank_units_to(const struct sl_rank *rank, const struct sl_bound_waiter *waiter);

/* virtual FIFO */
int sl_fifo_arrive(struct sl_bound *bound, struct sl_bound_waiter *waiter, bool adopted);
void sl_fifo_over(struct sl_bound *bound, struct sl_bound_waiter *waiter, int64_t run_us,
                  bool withdrawn);
int sl_fifo_capacity(struct sl_bound *bound, int64_t before, int64_t after);
void sl_fifo_refresh(struct sl_bound *bound);
void sl_fifo_free(struct sl_fifo *fifo);

/* several widths */
int sl_mixed_reserve(struct sl_bound *bound);
/* It arrives, or turns up running. There is room. */
void sl_mixed_arrive(struct sl_bound *bound, struct sl_bound_waiter *waiter, bool adopted);
void sl_mixed_started(struct sl_bound *bound, const struct sl_bound_waiter *waiter);
void sl_mixed_over(struct sl_bound *bound, const struct sl_bound_waiter *waiter, int64_t run_us,
                   bool withdrawn);
bool sl_mixed_admits(struct sl_bound *bound, const struct sl_bound_waiter *waiter, uint64_t node);
/* From now on, when it has nodes, and pods of several widths. */
int sl_mixed_begin(struct sl_bound *bound, int64_t width);
void sl_mixed_look_ahead(struct sl_bound *bound); /* brings W up to date */
void sl_mixed_free(struct sl_mixed *mixed);

/* layout */
struct sl_allowance {
    int64_t wait_us; /* a pod starts by its submission + this */
    int64_t lag_us;  /* the lane's end may lie behind the virtual FIFO's by this */
    int64_t slip_us; /* who is late already may be made later by this */
};

void sl_bound_allowance(const struct sl_bound *bound, uint8_t rank, struct sl_allowance *out);
bool sl_layout_admits(struct sl_bound *bound, const struct sl_bound_waiter *waiter);
int sl_layout_reserve(struct sl_bound *bound);

#endif

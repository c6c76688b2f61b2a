#include "core/share/machine.h"

#include "util/data/heap.h"
#include "util/data/sat.h"
#include "util/data/vec.h"

#include <stdlib.h>

/* ---- the order of those who wait ---- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static bool goes_first(const struct sl_share_pod *a, const struct sl_share_pod *b, int order)
{
    return order != 0 ? order < 0 : a->facts.number < b->facts.number;
}

static bool is_older(const void *a, const void *b, const void *context)
{
    const struct sl_share_pod *x = (*(struct sl_stay *const *)a)->pod;
    const struct sl_share_pod *y = (*(struct sl_stay *const *)b)->pod;
    (void)context;
    int order = compare_numbers(y->facts.item.priority, x->facts.item.priority);
    order = order != 0 ? order : compare_numbers(x->facts.item.submit_us, y->facts.item.submit_us);
    return goes_first(x, y, order);
}

static bool is_ahead(const void *a, const void *b, const void *context)
{
    const struct sl_machine *machine = context;
    const struct sl_share_pod *x = (*(struct sl_stay *const *)a)->pod;
    const struct sl_share_pod *y = (*(struct sl_stay *const *)b)->pod;
    if (machine->rule == SL_MACHINE_FIFO) {
        return is_older(a, b, NULL);
    }
    struct sl_order_config order = machine->config->order;
    order.due = machine->rule == SL_MACHINE_DUE;
    return goes_first(x, y, sl_order_compare(&order, &x->facts.item, &y->facts.item, 0));
}

static bool ends_before(const void *a, const void *b, const void *context)
{
    const struct sl_stay *x = *(struct sl_stay *const *)a;
    const struct sl_stay *y = *(struct sl_stay *const *)b;
    (void)context;
    return goes_first(x->pod, y->pod, compare_numbers(x->end_us, y->end_us));
}

static void note_place(const void *item, size_t at)
{
    (*(struct sl_stay *const *)item)->place = (uint32_t)at;
}

static void note_second(const void *item, size_t at)
{
    (*(struct sl_stay *const *)item)->second = (uint32_t)at;
}

enum { ITEM = sizeof(struct sl_stay *) };

static struct sl_heap_rule by_order(const struct sl_machine *machine)
{
    return (struct sl_heap_rule){
        .size = ITEM, .is_before = is_ahead, .moved = note_place, .context = machine};
}

static const struct sl_heap_rule by_age = {
    .size = ITEM, .is_before = is_older, .moved = note_second};
static const struct sl_heap_rule by_end = {
    .size = ITEM, .is_before = ends_before, .moved = note_place};

static void push(struct sl_stays *heap, const struct sl_heap_rule *rule, struct sl_stay *stay)
{
    heap->at[heap->n] = stay;
    rule->moved(&stay, heap->n);
    heap->n++;
    sl_heap_fix(rule, heap->at, heap->n, heap->n - 1);
}

static void take(struct sl_stays *heap, const struct sl_heap_rule *rule, size_t at)
{
    heap->n--;
    if (at < heap->n) {
        heap->at[at] = heap->at[heap->n];
        rule->moved(&heap->at[at], at);
        sl_heap_fix(rule, heap->at, heap->n, at);
    }
}

static bool reserve(struct sl_stays *stays, size_t n)
{
    return sl_vec_reserve(&stays->at, &stays->cap, n, ITEM) == 0;
}

/* ---- pods on the machine ---- */

static struct sl_stay *stay_of(const struct sl_machine *machine, struct sl_share_pod *pod)
{
    return &pod->stay[machine->rule];
}

static unsigned class_of(const struct sl_share_pod *pod)
{
    unsigned class = 63 - (unsigned)__builtin_clzll((unsigned long long)pod->facts.units);
    return class < SL_MACHINE_WIDTHS ? class : SL_MACHINE_WIDTHS - 1;
}

static struct sl_stays *waiting_of(struct sl_machine *machine, const struct sl_share_pod *pod)
{
    return &machine->waiting[class_of(pod)];
}

static bool has_oldest(const struct sl_machine *machine)
{
    return machine->rule == SL_MACHINE_ORDER && machine->config->order.kind == SL_ORDER_BOUNDED;
}

bool sl_machine_add(struct sl_machine *machine, struct sl_share_pod *pod)
{
    struct sl_stays *waiting = waiting_of(machine, pod);
    const struct sl_heap_rule rule = by_order(machine);
    if (!reserve(waiting, waiting->n + 1) || !reserve(&machine->oldest, machine->n + 1) ||
        !reserve(&machine->running, machine->n + 1) ||
        !reserve(&machine->scratch, machine->n + 1)) {
        return false;
    }
    struct sl_stay *stay = stay_of(machine, pod);
    *stay = (struct sl_stay){.pod = pod, .start_us = INT64_MAX};
    machine->n++;
    machine->widths |= UINT64_C(1) << class_of(pod);
    push(waiting, &rule, stay);
    if (has_oldest(machine)) {
        push(&machine->oldest, &by_age, stay);
    }
    return true;
}

static void take_waiting(struct sl_machine *machine, struct sl_stay *stay)
{
    const struct sl_heap_rule rule = by_order(machine);
    struct sl_stays *waiting = waiting_of(machine, stay->pod);
    take(waiting, &rule, stay->place);
    if (waiting->n == 0) {
        machine->widths &= ~(UINT64_C(1) << class_of(stay->pod));
    }
    if (has_oldest(machine)) {
        take(&machine->oldest, &by_age, stay->second);
    }
}

void sl_machine_remove(struct sl_machine *machine, struct sl_share_pod *pod)
{
    struct sl_stay *stay = stay_of(machine, pod);
    if (stay->start_us == INT64_MAX) {
        take_waiting(machine, stay);
    } else {
        machine->used -= stay->held;
        machine->n_overdue -= stay->overdue;
        if (!stay->overdue) {
            take(&machine->running, &by_end, stay->place);
        }
    }
    stay->pod = NULL;
    machine->n--;
}

void sl_machine_due(struct sl_machine *machine, struct sl_share_pod *pod)
{
    const struct sl_stay *stay = stay_of(machine, pod);
    if (stay->start_us == INT64_MAX) {
        const struct sl_heap_rule rule = by_order(machine);
        struct sl_stays *waiting = waiting_of(machine, pod);
        sl_heap_fix(&rule, waiting->at, waiting->n, stay->place);
    }
}

/* How long a run of that time takes here: longer where the pod is wider than the machine. */
static int64_t stretch(const struct sl_share_pod *pod, int64_t held, int64_t run_us)
{
    int64_t width = sl_sat_mul(pod->facts.units, SL_SHARE_ONE);
    double times = held > 0 && held < width ? (double)width / (double)held : 1.0;
    double us = (double)run_us * times;
    return us < (double)SL_SHARE_RUN_MAX_US ? (int64_t)us : SL_SHARE_RUN_MAX_US;
}

static int64_t end_of(const struct sl_stay *stay, int64_t least_us)
{
    const struct sl_share_facts *facts = &stay->pod->facts;
    int64_t run_us = facts->run_us < 0 ? facts->item.timeout_us : facts->run_us;
    int64_t end_us = sl_sat_add(stay->start_us, stretch(stay->pod, stay->held, run_us));
    return end_us > least_us ? end_us : least_us;
}

void sl_machine_over(struct sl_machine *machine, struct sl_share_pod *pod, int64_t now_us)
{
    struct sl_stay *stay = stay_of(machine, pod);
    if (stay->overdue) {
        sl_machine_remove(machine, pod);
    } else if (stay->start_us != INT64_MAX) {
        stay->end_us = end_of(stay, now_us);
        sl_heap_fix(&by_end, machine->running.at, machine->running.n, stay->place);
    }
}

int64_t sl_machine_next(const struct sl_machine *machine)
{
    return machine->running.n == 0 ? INT64_MAX : machine->running.at[0]->end_us;
}

struct sl_share_pod *sl_machine_end(struct sl_machine *machine, int64_t now_us)
{
    while (sl_machine_next(machine) <= now_us) {
        struct sl_stay *stay = machine->running.at[0];
        struct sl_share_pod *pod = stay->pod;
        if (pod->facts.run_us >= 0) {
            sl_machine_remove(machine, pod);
            return pod;
        }
        take(&machine->running, &by_end, 0);
        stay->overdue = true;
        machine->n_overdue++;
    }
    return NULL;
}

/* ---- starts ---- */

static int64_t width_of(const struct sl_machine *machine, const struct sl_share_pod *pod)
{
    int64_t width = sl_sat_mul(pod->facts.units, SL_SHARE_ONE);
    return width < machine->size ? width : machine->size;
}

void sl_machine_put(struct sl_machine *machine, struct sl_share_pod *pod, int64_t start_us,
                    int64_t now_us)
{
    struct sl_stay *stay = stay_of(machine, pod);
    take_waiting(machine, stay);
    stay->start_us = start_us;
    stay->held = width_of(machine, pod);
    machine->used += stay->held;
    stay->end_us = end_of(stay, now_us);
    push(&machine->running, &by_end, stay);
}

/* The first in order of those who are that narrow, but for one. */
struct want {
    const struct sl_stay *but;
    int64_t width;  /* at most */
    int64_t end_us; /* it ends by then, by its timeout, */
    int64_t other;  /* or is at most so wide */
};

static struct sl_stay *first_of(const struct sl_machine *machine, const struct want *want,
                                int64_t now_us)
{
    struct sl_stay *best = NULL;
    for (uint64_t left = machine->widths; left != 0; left &= left - 1) {
        struct sl_stay *stay = machine->waiting[__builtin_ctzll(left)].at[0];
        int64_t width = width_of(machine, stay->pod);
        if (width > want->width || stay == want->but) {
            continue;
        }
        int64_t end_us = sl_sat_add(now_us, stay->pod->facts.item.timeout_us);
        if ((width <= want->other || end_us <= want->end_us) &&
            (best == NULL || is_ahead(&stay, &best, machine))) {
            best = stay;
        }
    }
    return best;
}

static const struct want anything = {.width = INT64_MAX, .other = INT64_MAX};

/* Has the pod waited for so much longer than the longest under FIFO that it goes before shorter
 * ones? */
static bool is_late(const struct sl_machine *machine, const struct sl_share_pod *pod,
                    int64_t now_us)
{
    const struct sl_stay *first = first_of(machine->fifo, &anything, now_us);
    int64_t waits_us = first == NULL ? 0 : now_us - first->pod->facts.item.submit_us;
    int64_t longest_us =
        waits_us > machine->fifo->longest_us ? waits_us : machine->fifo->longest_us;
    return now_us - pod->facts.item.submit_us >
           sl_sat_mul(longest_us / 1000, machine->config->c_permille);
}

static struct sl_stay *head_of(const struct sl_machine *machine, int64_t now_us)
{
    struct sl_stay *oldest = machine->oldest.n == 0 ? NULL : machine->oldest.at[0];
    if (oldest != NULL && is_late(machine, oldest->pod, now_us)) {
        return oldest;
    }
    return first_of(machine, &anything, now_us);
}

/* Writes by when the head has room, and what is free then beside it. */
static void reserve_for(struct sl_machine *machine, int64_t width, struct want *out)
{
    struct sl_heap_rule rule = by_end;
    rule.moved = NULL;
    struct sl_stay **end = machine->scratch.at;
    size_t n = machine->running.n;
    int64_t free = machine->size - machine->used;
    memcpy(end, machine->running.at, n * sizeof(struct sl_stay *));
    while (free < width && n > 0) {
        free += end[0]->held;
        out->end_us = end[0]->end_us;
        n--;
        end[0] = end[n];
        sl_heap_fix(&rule, end, n, 0);
    }
    out->other = free - width;
}

struct sl_share_pod *sl_machine_start(struct sl_machine *machine, int64_t now_us)
{
    struct sl_stay *next = machine->size > 0 && machine->running.n + machine->n_overdue < machine->n
                               ? head_of(machine, now_us)
                               : NULL;
    int64_t free = machine->size - machine->used;
    if (next == NULL) {
        return NULL;
    }
    if (width_of(machine, next->pod) > free) {
        struct want want = {.but = next, .width = free, .end_us = INT64_MAX, .other = INT64_MAX};
        if (first_of(machine, &want, now_us) == NULL) {
            return NULL;
        }
        want.end_us = INT64_MIN;
        reserve_for(machine, width_of(machine, next->pod), &want);
        next = first_of(machine, &want, now_us);
    }
    if (next == NULL) {
        return NULL;
    }
    sl_machine_put(machine, next->pod, now_us, now_us);
    int64_t wait_us = now_us - next->pod->facts.item.submit_us;
    machine->longest_us = wait_us > machine->longest_us ? wait_us : machine->longest_us;
    return next->pod;
}

void sl_machine_free(struct sl_machine *machine)
{
    for (unsigned i = 0; i < SL_MACHINE_WIDTHS; i++) {
        free(machine->waiting[i].at);
    }
    free(machine->oldest.at);
    free(machine->running.at);
    free(machine->scratch.at);
}

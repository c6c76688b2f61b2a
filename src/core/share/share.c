#include "core/share/machine.h"
#include "util/data/list.h"

#include <stdlib.h>

/* The tenant's pods of one user, or all of them. */
struct sl_share_user {
    struct sl_link all;
    struct sl_machine fifo;
    struct sl_machine order;
    struct sl_share_pod *sink; /* one that has ended, which others prolong; NULL: none */
    size_t n;                  /* pods */
    char name[];
};

struct sl_share {
    struct sl_share_config config;
    struct sl_list users;
    size_t n_users;
    struct sl_machine due; /* with users: all pods */
    int64_t size;
    int64_t longest_us; /* the least of users to come */
    int64_t now_us;
    int64_t next_us; /* the first end after now_us; INT64_MIN: something has changed since */
    struct sl_list pods;
    size_t n_pods;
    size_t n_ended; /* of them */
};

/* ---- users ---- */

static struct sl_share_user *user_at(struct sl_link *at)
{
    return at == NULL ? NULL : SL_CONTAINER(at, struct sl_share_user, all);
}

static struct sl_share_user *first_user(const struct sl_share *share)
{
    return user_at(share->users.first);
}

static void resize_users(struct sl_share *share)
{
    for (struct sl_share_user *user = first_user(share); user != NULL;
         user = user_at(user->all.next)) {
        user->fifo.size = share->size / (int64_t)share->n_users;
        user->order.size = user->fifo.size;
    }
}

static struct sl_share_user *user_get(struct sl_share *share, struct sl_str name)
{
    size_t len = share->config.users ? name.len : 0;
    struct sl_share_user *user = first_user(share);
    while (user != NULL && !sl_str_eq((struct sl_str){name.s, len}, sl_str_of(user->name))) {
        user = user_at(user->all.next);
    }
    if (user != NULL) {
        return user;
    }
    user = calloc(1, sizeof(*user) + len + 1);
    if (user == NULL) {
        return NULL;
    }
    if (len > 0) {
        memcpy(user->name, name.s, len);
    }
    user->fifo = (struct sl_machine){
        .rule = SL_MACHINE_FIFO, .config = &share->config, .longest_us = share->longest_us};
    user->order = (struct sl_machine){
        .rule = SL_MACHINE_ORDER, .config = &share->config, .fifo = &user->fifo};
    sl_list_add_last(&share->users, &user->all);
    share->n_users++;
    resize_users(share);
    return user;
}

static void user_free(struct sl_share *share, struct sl_share_user *user)
{
    sl_list_remove(&share->users, &user->all);
    share->n_users--;
    sl_machine_free(&user->fifo);
    sl_machine_free(&user->order);
    free(user);
}

/* Users without pods have no part. */
static void tidy(struct sl_share *share)
{
    struct sl_share_user *next = NULL;
    size_t before = share->n_users;
    for (struct sl_share_user *user = first_user(share); user != NULL && share->config.users;
         user = next) {
        next = user_at(user->all.next);
        if (user->n == 0) {
            user_free(share, user);
        }
    }
    if (share->n_users != before) {
        resize_users(share);
    }
}

/* ---- pods ---- */

static struct sl_share_pod *pod_at(struct sl_link *at)
{
    return at == NULL ? NULL : SL_CONTAINER(at, struct sl_share_pod, all);
}

static struct sl_machine *machine_of(struct sl_share *share, const struct sl_share_pod *pod,
                                     int rule)
{
    struct sl_machine *const machine[SL_MACHINES] = {
        [SL_MACHINE_FIFO] = &pod->user->fifo,
        [SL_MACHINE_ORDER] = &pod->user->order,
        [SL_MACHINE_DUE] = share->config.users ? &share->due : NULL,
    };
    return machine[rule];
}

static void pod_free(struct sl_share *share, struct sl_share_pod *pod)
{
    for (int i = 0; i < SL_MACHINES; i++) {
        if (pod->stay[i].pod != NULL) {
            sl_machine_remove(machine_of(share, pod, i), pod);
        }
    }
    share->n_ended -= pod->facts.run_us >= 0;
    pod->user->sink = pod->user->sink == pod ? NULL : pod->user->sink;
    pod->user->n--;
    share->n_pods--;
    share->next_us = INT64_MIN;
    sl_list_remove(&share->pods, &pod->all);
    free(pod);
}

/* Frees a pod that has ended, once it is on no machine any more. */
static void leave(struct sl_share *share, struct sl_share_pod *pod)
{
    bool stays = false;
    for (int i = 0; i < SL_MACHINES; i++) {
        stays = stays || pod->stay[i].pod != NULL;
    }
    if (!stays) {
        pod_free(share, pod);
    }
}

struct sl_share_pod *sl_share_arrive(struct sl_share *share, const struct sl_share_facts *facts,
                                     struct sl_str user, int64_t now_us)
{
    struct sl_share_pod *pod = calloc(1, sizeof(*pod));
    struct sl_share_user *of = pod == NULL ? NULL : user_get(share, user);
    if (of == NULL) {
        free(pod);
        return NULL;
    }
    const int64_t start_us[SL_MACHINES] = {
        [SL_MACHINE_FIFO] = facts->fifo_us,
        [SL_MACHINE_ORDER] = facts->user_us,
        [SL_MACHINE_DUE] = facts->start_us,
    };
    pod->facts = *facts;
    pod->facts.item.uid = (struct sl_str){NULL, 0};
    pod->facts.item.due_us = facts->user_us;
    pod->user = of;
    of->n++;
    share->n_pods++;
    share->now_us = now_us > share->now_us ? now_us : share->now_us;
    share->next_us = INT64_MIN;
    share->n_ended += facts->run_us >= 0;
    sl_list_add_last(&share->pods, &pod->all);
    for (int i = 0; i < SL_MACHINES; i++) {
        struct sl_machine *machine = machine_of(share, pod, i);
        if (machine != NULL && !sl_machine_add(machine, pod)) {
            pod_free(share, pod);
            return NULL;
        }
        if (machine != NULL && start_us[i] != INT64_MAX) {
            sl_machine_put(machine, pod, start_us[i], now_us);
        }
    }
    return pod;
}

static bool waits_everywhere(const struct sl_share_pod *pod)
{
    bool waits = false;
    bool runs = false;
    for (int i = 0; i < SL_MACHINES; i++) {
        waits = waits || pod->stay[i].pod != NULL;
        runs = runs || (pod->stay[i].pod != NULL && pod->stay[i].start_us != INT64_MAX);
    }
    return waits && !runs;
}

/* The work of an ended pod that waits is done by another such one of its user: so ended pods do not
 * become more and more. */
static void merge(struct sl_share *share, struct sl_share_pod *pod)
{
    struct sl_share_pod *sink = pod->user->sink;
    if (sink == NULL || !waits_everywhere(sink)) {
        pod->user->sink = pod;
        return;
    }
    double more_us =
        (double)pod->facts.run_us * (double)pod->facts.units / (double)sink->facts.units;
    sink->facts.run_us += more_us < (double)(SL_SHARE_RUN_MAX_US - sink->facts.run_us)
                              ? (int64_t)more_us
                              : SL_SHARE_RUN_MAX_US - sink->facts.run_us;
    pod_free(share, pod);
}

void sl_share_over(struct sl_share *share, struct sl_share_pod *pod, int64_t run_us, int64_t now_us)
{
    run_us = run_us < 0 ? 0 : run_us;
    pod->facts.run_us = run_us < SL_SHARE_RUN_MAX_US ? run_us : SL_SHARE_RUN_MAX_US;
    pod->facts.owner = NULL;
    share->n_ended++;
    share->next_us = INT64_MIN;
    for (int i = 0; i < SL_MACHINES; i++) {
        if (pod->stay[i].pod != NULL) {
            sl_machine_over(machine_of(share, pod, i), pod, now_us);
        }
    }
    if (!waits_everywhere(pod)) {
        leave(share, pod);
    } else if (share->n_ended > SL_SHARE_ENDED_MAX) {
        merge(share, pod);
    }
}

void sl_share_withdraw(struct sl_share *share, struct sl_share_pod *pod)
{
    pod_free(share, pod);
    tidy(share);
}

/* ---- the share ---- */

struct sl_share *sl_share_new(const struct sl_share_config *config)
{
    struct sl_share *share = calloc(1, sizeof(*share));
    if (share != NULL) {
        share->config = *config;
        share->now_us = INT64_MIN;
        share->next_us = INT64_MIN;
        share->due = (struct sl_machine){.rule = SL_MACHINE_DUE, .config = &share->config};
    }
    return share;
}

void sl_share_free(struct sl_share *share)
{
    if (share == NULL) {
        return;
    }
    for (struct sl_share_pod *pod = pod_at(share->pods.first); pod != NULL;) {
        struct sl_share_pod *next = pod_at(pod->all.next);
        free(pod);
        pod = next;
    }
    for (struct sl_share_user *user = first_user(share); user != NULL;) {
        struct sl_share_user *next = user_at(user->all.next);
        user_free(share, user);
        user = next;
    }
    sl_machine_free(&share->due);
    free(share);
}

void sl_share_resize(struct sl_share *share, int64_t size)
{
    share->size = size;
    share->due.size = size;
    share->next_us = INT64_MIN;
    resize_users(share);
}

int64_t sl_share_size(const struct sl_share *share)
{
    return share->size;
}

size_t sl_share_pods(const struct sl_share *share)
{
    return share->n_pods;
}

const struct sl_share_facts *sl_share_facts_of(const struct sl_share_pod *pod)
{
    return &pod->facts;
}

void sl_share_visit(const struct sl_share *share,
                    void (*visit)(void *context, const struct sl_share_facts *facts,
                                  const char *user),
                    void *context)
{
    for (const struct sl_share_pod *pod = pod_at(share->pods.first); pod != NULL;
         pod = pod_at(pod->all.next)) {
        visit(context, &pod->facts, pod->user->name);
    }
}

int64_t sl_share_longest(const struct sl_share *share)
{
    int64_t longest_us = share->longest_us;
    for (const struct sl_share_user *user = first_user(share); user != NULL;
         user = user_at(user->all.next)) {
        longest_us = user->fifo.longest_us > longest_us ? user->fifo.longest_us : longest_us;
    }
    return longest_us;
}

void sl_share_set_longest(struct sl_share *share, int64_t longest_us)
{
    share->longest_us = longest_us;
}

/* ---- the play ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_end(const struct sl_share *share)
{
    int64_t next_us = sl_machine_next(&share->due);
    for (const struct sl_share_user *user = first_user(share); user != NULL;
         user = user_at(user->all.next)) {
        next_us = earlier(next_us, sl_machine_next(&user->fifo));
        next_us = earlier(next_us, sl_machine_next(&user->order));
    }
    return next_us;
}

int64_t sl_share_now(const struct sl_share *share)
{
    return share->now_us;
}

int64_t sl_share_next(const struct sl_share *share)
{
    return share->n_pods == share->n_ended ? INT64_MAX : share->next_us;
}

static void end_runs(struct sl_share *share, struct sl_machine *machine, int64_t now_us)
{
    struct sl_share_pod *pod = sl_machine_end(machine, now_us);
    while (pod != NULL) {
        leave(share, pod);
        pod = sl_machine_end(machine, now_us);
    }
}

struct telling {
    struct sl_share *share;
    sl_share_start_fn started;
    void *context;
};

static void tell(const struct telling *telling, struct sl_share_pod *pod, int64_t now_us)
{
    pod->facts.start_us = now_us;
    if (pod->facts.owner != NULL) {
        telling->started(telling->context, pod->facts.owner, now_us);
    }
}

static void start_of_user(const struct telling *telling, struct sl_share_user *user, int64_t now_us)
{
    struct sl_share *share = telling->share;
    struct sl_share_pod *pod = NULL;
    for (pod = sl_machine_start(&user->fifo, now_us); pod != NULL;
         pod = sl_machine_start(&user->fifo, now_us)) {
        pod->facts.fifo_us = now_us;
    }
    for (pod = sl_machine_start(&user->order, now_us); pod != NULL;
         pod = sl_machine_start(&user->order, now_us)) {
        pod->facts.user_us = now_us;
        pod->facts.item.due_us = now_us;
        if (share->config.users) {
            sl_machine_due(&share->due, pod);
        } else {
            tell(telling, pod, now_us);
        }
    }
}

/* Ends and starts all that does at one time. */
static void step(const struct telling *telling, int64_t now_us)
{
    struct sl_share *share = telling->share;
    struct sl_share_user *user = NULL;
    for (user = first_user(share); user != NULL; user = user_at(user->all.next)) {
        end_runs(share, &user->fifo, now_us);
        end_runs(share, &user->order, now_us);
    }
    end_runs(share, &share->due, now_us);
    for (user = first_user(share); user != NULL; user = user_at(user->all.next)) {
        start_of_user(telling, user, now_us);
    }
    for (struct sl_share_pod *pod = sl_machine_start(&share->due, now_us); pod != NULL;
         pod = sl_machine_start(&share->due, now_us)) {
        tell(telling, pod, now_us);
    }
}

void sl_share_play(struct sl_share *share, int64_t now_us, sl_share_start_fn started, void *context)
{
    const struct telling telling = {share, started, context};
    share->now_us = now_us > share->now_us ? now_us : share->now_us;
    int64_t at_us = share->next_us <= share->now_us ? INT64_MIN : share->now_us;
    while (at_us < share->now_us) {
        at_us = earlier(next_end(share), share->now_us);
        step(&telling, at_us);
        share->next_us = next_end(share);
    }
    tidy(share);
}

struct copying {
    struct sl_share *copy;
    int64_t now_us;
    bool lacking;
};

/* All end at their timeouts, those that have ended in reality as they did. */
static void copy_pod(void *context, const struct sl_share_facts *facts, const char *user)
{
    struct copying *copying = context;
    struct sl_share_facts copy = *facts;
    copy.run_us = facts->run_us < 0 ? facts->item.timeout_us : facts->run_us;
    if (sl_share_arrive(copying->copy, &copy, sl_str_of(user), copying->now_us) == NULL) {
        copying->lacking = true;
    }
}

int sl_share_foretell(const struct sl_share *share, sl_share_start_fn told, void *context)
{
    struct copying copying = {.copy = sl_share_new(&share->config), .now_us = share->now_us};
    if (copying.copy == NULL) {
        return -1;
    }
    sl_share_set_longest(copying.copy, sl_share_longest(share));
    sl_share_resize(copying.copy, share->size);
    sl_share_visit(share, copy_pod, &copying);
    int64_t at_us = share->now_us;
    while (!copying.lacking && at_us < INT64_MAX) {
        sl_share_play(copying.copy, at_us, told, context);
        at_us = next_end(copying.copy);
    }
    sl_share_free(copying.copy);
    return copying.lacking ? -1 : 0;
}

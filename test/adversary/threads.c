#include "adversary/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "adversary/hooks.h"
#include "adversary/moves.h"

enum { BURST = 25, BREATH = 50 };

/* A thread that makes moves of one role, so many for a hundred of the users'. */
struct player {
    const char *name;
    enum move_role role;
    unsigned percent;
    pthread_t thread;
    struct rig rig; /* its own chance and requests; what they go to is shared */
    unsigned long moves;
    const bool *without;
};

static _Atomic unsigned long progress; /* of the users, in percent of the others' moves */

static const struct move *pick(struct player *player)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n_moves; i++) {
        sum += moves[i].role == player->role && !player->without[i] ? moves[i].weight : 0;
    }
    unsigned at = sum == 0 ? 0 : rng_below(&player->rig.rng, sum);
    for (size_t i = 0; i < n_moves && sum > 0; i++) {
        unsigned weight =
            moves[i].role == player->role && !player->without[i] ? moves[i].weight : 0;
        if (at < weight) {
            return &moves[i];
        }
        at -= weight;
    }
    return NULL;
}

/* Users write in bursts, and the daemon gets its breath in between; the others keep up with them.
 */
static void keep_pace(const struct player *player, unsigned long made)
{
    if (player->role != MOVE_USER) {
        while (atomic_load(&progress) * player->percent / 100 < made) {
            hooks_nap();
        }
        return;
    }
    atomic_store(&progress, made);
    for (unsigned i = 0;
         made % BURST == 0 && i < BREATH && (i < 5 || !client_is_idle(client_latest())); i++) {
        hooks_nap();
    }
}

static void *play(void *context)
{
    struct player *player = context;
    for (unsigned long i = 0; i < player->moves; i++) {
        const struct move *move = pick(player);
        keep_pace(player, i);
        if (move != NULL) {
            move->make(&player->rig);
        }
        rig_carry_on(&player->rig, 0);
    }
    if (player->role == MOVE_USER) {
        atomic_store(&progress, player->moves);
    }
    rig_end_calls(&player->rig);
    return NULL;
}

void threads_play(struct rig *rig, uint64_t seed, unsigned long steps, const bool *without)
{
    static struct player players[] = {
        {.name = "users", .role = MOVE_USER, .percent = 100},
        {.name = "scheduler", .role = MOVE_SCHEDULER, .percent = 100},
        {.name = "another scheduler", .role = MOVE_SCHEDULER, .percent = 100},
        {.name = "reader", .role = MOVE_READER, .percent = 20},
        {.name = "another reader", .role = MOVE_READER, .percent = 20},
        {.name = "operator", .role = MOVE_OPERATOR, .percent = 4},
    };
    enum { PLAYERS = sizeof(players) / sizeof(players[0]) };
    struct rng rng = {seed};
    for (unsigned i = 0; i < PLAYERS; i++) {
        players[i].rig = *rig;
        players[i].rig.rng.state = rng_next(&rng);
        players[i].moves = steps * players[i].percent / 100;
        players[i].without = without;
        if (pthread_create(&players[i].thread, NULL, play, &players[i]) != 0) {
            abort();
        }
    }
    for (unsigned i = 0; i < PLAYERS; i++) {
        (void)pthread_join(players[i].thread, NULL);
    }
}

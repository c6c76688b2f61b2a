/* Units by node. */
#include "telemetry/units.h"

#include <stdlib.h>

static void node_free(struct sl_unit_node *node)
{
    while (node->first != NULL) {
        struct sl_unit *unit = node->first;
        node->first = unit->next;
        free(unit);
    }
    free(node);
}

void sl_units_free(struct sl_units *units)
{
    size_t at = 0;
    for (struct sl_unit_node *node = sl_map_next(&units->nodes, &at); node != NULL;
         node = sl_map_next(&units->nodes, &at)) {
        node_free(node);
    }
    sl_map_free(&units->nodes);
    units->n = 0;
}

struct sl_unit_node *sl_units_node(const struct sl_units *units, struct sl_str name)
{
    return sl_map_get(&units->nodes, name.s, name.len);
}

/* Finds or adds; NULL: out of memory. */
static struct sl_unit_node *node_get(struct sl_units *units, struct sl_str name)
{
    struct sl_unit_node *node = sl_units_node(units, name);
    return node != NULL ? node : SL_MAP_ADD(&units->nodes, struct sl_unit_node, name, name);
}

struct sl_unit *sl_units_find(const struct sl_unit_node *node, int64_t gpu, int64_t instance)
{
    struct sl_unit *unit = node == NULL ? NULL : node->first;
    while (unit != NULL && (unit->gpu != gpu || unit->instance != instance)) {
        unit = unit->next;
    }
    return unit;
}

static int64_t sampled_us(const struct sl_unit *unit)
{
    const struct sl_series *series = &unit->series;
    return series->n == 0 ? 0 : sl_series_at(series, series->n - 1U)->at_us;
}

static bool is_older(const struct sl_unit *unit, int64_t before_us)
{
    return unit->energy.last_us < before_us && sampled_us(unit) < before_us;
}

/* ---- places ---- */

enum lack { NOTHING, OF_INSTANCES, OF_GPUS, OF_UNITS };

static enum lack lack_of(const struct sl_unit_node *home, const struct sl_unit_claim *claim)
{
    uint64_t gpus = UINT64_C(1) << claim->gpu;
    unsigned instances = 0;
    unsigned n = 0;
    for (const struct sl_unit *unit = home->first; unit != NULL; unit = unit->next) {
        gpus |= UINT64_C(1) << unit->gpu;
        instances += unit->gpu == claim->gpu && unit->instance >= 0;
        n++;
    }
    if (claim->instance >= 0 &&
        instances >= sl_usage_instances(claim->node, claim->gpu, claim->uuid)) {
        return OF_INSTANCES;
    }
    return (unsigned)__builtin_popcountll(gpus) > sl_usage_gpus(claim->node) ? OF_GPUS
           : n >= SL_UNITS_OF_NODE_MAX                                       ? OF_UNITS
                                                                             : NOTHING;
}

/* May the newcomer have the unit's place? */
static bool gives_way(const struct sl_unit *unit, const struct sl_unit_claim *claim, enum lack lack,
                      bool expected)
{
    bool here = unit->gpu == claim->gpu;
    bool in_the_way =
        lack == OF_INSTANCES ? here && unit->instance >= 0 : lack == OF_UNITS || !here;
    bool invented = expected && !sl_usage_expects(claim->node, unit->gpu, unit->uuid,
                                                  unit->instance, unit->profile);
    return in_the_way && (invented || is_older(unit, claim->silent_us));
}

static void unit_drop(struct sl_units *units, struct sl_unit **link)
{
    struct sl_unit *unit = *link;
    *link = unit->next;
    free(unit);
    units->n--;
}

/* Takes places from others until there is one. False: there is none. */
static bool make_place(struct sl_units *units, struct sl_unit_node *home,
                       const struct sl_unit_claim *claim)
{
    bool expected =
        sl_usage_expects(claim->node, claim->gpu, claim->uuid, claim->instance, claim->profile);
    enum lack lack = lack_of(home, claim);
    while (lack != NOTHING) {
        struct sl_unit **link = &home->first;
        while (*link != NULL && !gives_way(*link, claim, lack, expected)) {
            link = &(*link)->next;
        }
        if (*link == NULL) {
            return false;
        }
        unit_drop(units, link);
        lack = lack_of(home, claim);
    }
    return true;
}

struct sl_unit *sl_units_add(struct sl_units *units, const struct sl_unit_claim *claim)
{
    struct sl_str name = sl_str_of(claim->node->name);
    if (claim->gpu < 0 || claim->gpu >= SL_NODE_DEVICES_MAX || claim->instance < -1 ||
        claim->instance > INT16_MAX) {
        return NULL;
    }
    struct sl_unit_node *home = sl_units_node(units, name);
    if ((home != NULL && !make_place(units, home, claim)) || units->n >= units->max) {
        units->over++;
        return NULL;
    }
    home = node_get(units, name);
    struct sl_unit *unit =
        home == NULL ? NULL : calloc(1, sizeof(*unit) + units->window * sizeof(unit->sample[0]));
    if (unit == NULL) {
        return NULL;
    }
    unit->gpu = (int16_t)claim->gpu;
    unit->instance = (int16_t)claim->instance;
    unit->series = (struct sl_series){.sample = unit->sample, .cap = units->window};
    unit->measured = sl_measured_none;
    unit->next = home->first;
    home->first = unit;
    units->n++;
    return unit;
}

struct sl_unit *sl_units_of_gpu(const struct sl_unit_node *node, int64_t gpu, const char *uuid)
{
    struct sl_unit *by_index = NULL;
    for (struct sl_unit *unit = node == NULL ? NULL : node->first; unit != NULL;
         unit = unit->next) {
        if (unit->instance >= 0) {
            continue;
        }
        bool both = uuid != NULL && unit->uuid[0] != '\0';
        if (both && strcmp(unit->uuid, uuid) == 0) {
            return unit;
        }
        if (!both && unit->gpu == gpu) {
            by_index = unit;
        }
    }
    return by_index;
}

/* The pod's place, found or made: who is named takes it also from one of whom only use is told. */
static struct sl_unit_name *place_of(struct sl_unit *unit, uint64_t pod, int64_t since_us,
                                     bool named)
{
    struct sl_unit_name *place = NULL;
    for (unsigned i = 0; i < unit->n_names; i++) {
        struct sl_unit_name *name = &unit->name[i];
        if (name->pod == pod) {
            return name;
        }
        bool told = !named && name->used_us >= since_us;
        place = name->at_us < since_us && !told ? name : place;
    }
    if (pod == 0) {
        return NULL;
    }
    if (place == NULL && unit->n_names < SL_USAGE_NAMES_MAX) {
        place = &unit->name[unit->n_names++];
    }
    if (place != NULL) {
        *place = (struct sl_unit_name){.pod = pod};
    }
    return place;
}

struct sl_unit_name *sl_unit_name(struct sl_unit *unit, uint64_t pod, int64_t at_us,
                                  int64_t keep_us)
{
    struct sl_unit_name *name = place_of(unit, pod, at_us - keep_us, true);
    if (name != NULL) {
        name->at_us = at_us > name->at_us ? at_us : name->at_us;
    } else if (pod != 0) {
        unit->crowded_us = at_us > unit->crowded_us ? at_us : unit->crowded_us;
    }
    return name;
}

bool sl_unit_own(struct sl_unit *unit, uint64_t pod, int64_t at_us, int64_t mib, int64_t keep_us)
{
    struct sl_unit_name *name = mib < 0 ? NULL : place_of(unit, pod, at_us - keep_us, false);
    if (name != NULL &&
        (at_us > name->used_us || (at_us == name->used_us && mib > name->used_mib))) {
        name->used_mib = (int32_t)mib;
        name->used_us = at_us;
    }
    return name != NULL;
}

void sl_unit_names(const struct sl_unit *unit, int64_t keep_us, struct sl_usage_names *out)
{
    int64_t since_us = sampled_us(unit) - keep_us;
    out->n = 0;
    for (unsigned i = 0; i < unit->n_names; i++) {
        const struct sl_unit_name *name = &unit->name[i];
        bool told = name->used_us > 0 && name->used_us >= since_us;
        bool named = name->at_us > 0 && name->at_us >= since_us;
        if (told || named) {
            out->unnamed[out->n] = !named;
            out->used_mib[out->n] = told ? name->used_mib : -1;
            out->pod[out->n++] = name->pod;
        }
    }
    out->crowded = unit->crowded_us > 0 && unit->crowded_us >= since_us;
}

size_t sl_units_named_beside(const struct sl_unit_node *node, int64_t gpu, int64_t instance,
                             int64_t keep_us, uint64_t *out, size_t max)
{
    size_t n = 0;
    for (const struct sl_unit *unit = node == NULL ? NULL : node->first; unit != NULL;
         unit = unit->next) {
        struct sl_usage_names names = {.n = 0};
        if (unit->gpu != gpu || unit->instance != instance) {
            sl_unit_names(unit, keep_us, &names);
        }
        for (unsigned i = 0; i < names.n && n < max; i++) {
            out[n] = names.pod[i];
            n += !names.unnamed[i];
        }
    }
    return n;
}

size_t sl_units_rows(const struct sl_unit_node *node, const struct sl_usage_rule *rule,
                     struct sl_usage_row *out, size_t max)
{
    size_t n = 0;
    for (const struct sl_unit *unit = node == NULL ? NULL : node->first; unit != NULL && n < max;
         unit = unit->next) {
        out[n] = (struct sl_usage_row){
            .gpu = unit->gpu,
            .instance = unit->instance,
            .measured = unit->measured,
            .sampled_us = sampled_us(unit),
            .idle_us = sl_spell_length(&unit->spell, rule->now_us, rule->stale_us, rule->future_us),
            .since_us = unit->spell.since_us,
            .watts = sl_energy_watts(&unit->energy, rule->now_us, rule->stale_us, rule->future_us),
            .joules = unit->energy.last_us == 0 ? -1 : unit->energy.mj / 1000,
        };
        memcpy(out[n].uuid, unit->uuid, sizeof(out[n].uuid));
        memcpy(out[n].profile, unit->profile, sizeof(out[n].profile));
        sl_unit_names(unit, rule->gap_us, &out[n].names);
        n++;
    }
    return n;
}

static void unit_restart(struct sl_unit *unit, int64_t now_us, int64_t future_us)
{
    int64_t until_us = now_us + future_us;
    sl_series_cut(&unit->series, until_us);
    sl_usage_restart(&unit->usage, until_us + 1);
    if (unit->spell.last_us > until_us) {
        unit->spell = (struct sl_spell){.last_us = 0};
    }
    if (unit->energy.last_us > until_us) {
        unit->energy.last_us = 0; /* what was drawn stays */
    }
    for (unsigned i = 0; i < unit->n_names; i++) {
        struct sl_unit_name *name = &unit->name[i];
        name->at_us = name->at_us > now_us ? now_us : name->at_us;
        name->used_us = name->used_us > now_us ? now_us : name->used_us;
    }
    unit->crowded_us = unit->crowded_us > now_us ? now_us : unit->crowded_us;
}

void sl_units_restart(struct sl_units *units, int64_t now_us, int64_t future_us)
{
    size_t at = 0;
    for (struct sl_unit_node *node = sl_map_next(&units->nodes, &at); node != NULL;
         node = sl_map_next(&units->nodes, &at)) {
        for (struct sl_unit *unit = node->first; unit != NULL; unit = unit->next) {
            unit_restart(unit, now_us, future_us);
        }
    }
}

/* More use than was asked for is not forgotten while the node is there. */
static bool is_forgotten(const struct sl_unit *unit, int64_t before_us, bool gone)
{
    return is_older(unit, before_us) && (gone || unit->measured.over_mib == 0);
}

void sl_units_forget(struct sl_units *units, int64_t before_us)
{
    size_t at = 0;
    for (struct sl_unit_node *node = sl_map_next(&units->nodes, &at); node != NULL;
         node = sl_map_next(&units->nodes, &at)) {
        bool gone = node->round != units->round;
        struct sl_unit **link = &node->first;
        while (*link != NULL) {
            if (is_forgotten(*link, before_us, gone)) {
                unit_drop(units, link);
            } else {
                link = &(*link)->next;
            }
        }
        if (node->first == NULL && (gone || !node->given)) {
            (void)sl_map_remove(&units->nodes, node->name, strlen(node->name));
            free(node);
        }
    }
}

size_t sl_units_bytes(const struct sl_units *units)
{
    return units->n * (sizeof(struct sl_unit) + units->window * sizeof(struct sl_sample)) +
           sl_map_bytes(&units->nodes);
}

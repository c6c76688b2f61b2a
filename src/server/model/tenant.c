/* Tenants: for each resource what is theirs, and what they have. */
#include "server/model/tenant.h"
#include "server/model/row.h"

enum { IN_A_MILLI = 1000 /* millionths in a thousandth */ };

#define TENANT(member) SL_AT(struct sl_model_tenant, member)
#define OF_ROW(member) SL_BEHIND(struct sl_model_tenant, row, struct sl_tenant_row, member)

const struct sl_field sl_model_tenant[] = {
    ALL("tenant", TEXT, "Name of the tenant.", OF_ROW(tenant), COLUMN(1, "TENANT"),
        SHOWN(1, "Tenant")),
    ALL("resource", TEXT, "Name of the resource.", OF_ROW(resource), COLUMN(2, "RESOURCE"),
        SHOWN(2, "Resource")),
    ALL("model", TEXT,
        "The guaranteed model of GPUs of which the row tells, as pods have it that select this one "
        "alone; null: of all.",
        TENANT(model), COLUMN(14, "MODEL"), WIDE(14, "Model")),
    ALL("shareMilli", SHARE, "Its own share of the units, in thousandths of one.", TENANT(share),
        COLUMN(3, "SHARE"), SHOWN(3, "Share")),
    ALL("guaranteed", NUMBER, "Units of that share which are its own however many tenants come.",
        OF_ROW(guaranteed), COLUMN(12, "GUARANTEED"), WIDE(12, "Guaranteed")),
    ALL("cap", POSITIVE, "The most units that its pods may hold; null: there is no cap.",
        OF_ROW(cap), COLUMN(13, "CAP"), WIDE(13, "Cap")),
    ALL("held", NUMBER, "Units of its pods that run, or that have them set aside.", OF_ROW(held),
        COLUMN(4, "HELD"), SHOWN(4, "Held")),
    ALL("borrowedMilli", SHARE, "What it holds beyond its share, in thousandths of a unit.",
        TENANT(borrowed), COLUMN(5, "BORROWED"), SHOWN(5, "Borrowed")),
    ALL("lentMilli", SHARE, "What others borrow of its share, in thousandths of a unit.",
        TENANT(lent), COLUMN(6, "LENT"), SHOWN(6, "Lent")),
    ALL("lentUntil", SECOND,
        "By when all that others borrow now has ended, by the timeouts; null: nobody borrows.",
        OF_ROW(bound_us)),
    ALL("waitingUnits", NUMBER, "Units that its waiting pods ask for.", OF_ROW(waiting)),
    ALL("podsWaiting", NUMBER, "Its pods that wait.", TENANT(waiting), COLUMN(7, "WAITING"),
        SHOWN(7, "Waiting")),
    ALL("podsDue", NUMBER, "Of these, pods that would have started by now on its own share.",
        TENANT(due), COLUMN(8, "DUE"), SHOWN(8, "Due")),
    ALL("dueSince", SECOND, "Since when the longest due one is that; null: none is.",
        OF_ROW(due_us)),
    CELL(LEFT, "For how long a pod has been due.", TENANT(late_us), COLUMN(9, "LATE"),
         SHOWN(9, "Late")),
    ALL("podsRunning", NUMBER, "Its pods that hold units.", TENANT(running), COLUMN(10, "RUNNING"),
        WIDE(10, "Running")),
    ALL("podsOverdue", NUMBER,
        "Pods that are due, though every run of another tenant began after they were: a plan "
        "should not do that.",
        TENANT(overdue), COLUMN(11, "OVERDUE"), WIDE(11, "Overdue")),
    SL_FIELDS_END,
};

void sl_model_tenant_of(const struct sl_tenant_row *row, struct sl_model_tenant *out)
{
    *out = (struct sl_model_tenant){
        .row = row,
        .model = row->model[0] == '\0' ? NULL : row->model,
        .share = row->share / IN_A_MILLI,
        .borrowed = row->borrowed / IN_A_MILLI,
        .lent = row->lent / IN_A_MILLI,
        .late_us = row->pods_due > 0 ? row->late_us : -1,
        .waiting = (int64_t)row->pods_waiting,
        .due = (int64_t)row->pods_due,
        .running = (int64_t)row->pods_running,
        .overdue = (int64_t)row->pods_overdue,
    };
}

#define SPENT(member)    SL_AT(struct sl_model_spent, member)
#define OF_SPENT(member) SL_BEHIND(struct sl_model_spent, row, struct sl_spent, member)

const struct sl_field sl_model_spent[] = {
    USERS("tenant", TEXT, "Name of the tenant.", OF_SPENT(tenant), SHOWN(1, "Tenant")),
    USERS("resource", TEXT, "Name of the resource.", OF_SPENT(resource), SHOWN(2, "Resource")),
    USERS("since", TEXT, "The last 1d, 7d, 30d or 90d.", OF_SPENT(since), SHOWN(3, "Since")),
    USERS("shareMilliHours", SHARE, "What its own share gave, in thousandths of a unit's hour.",
          SPENT(milli[0]), SHOWN(4, "Share-Hours")),
    USERS("heldMilliHours", SHARE, "What its pods held.", SPENT(milli[1]), SHOWN(5, "Held-Hours")),
    USERS("usedMilliHours", SHARE,
          "Of that, as much as the pods' GPUs were busy, as far as it was measured; null: it was "
          "not.",
          SPENT(milli[SL_SPENT_USED]), SHOWN(6, "Used-Hours")),
    USERS("borrowedMilliHours", SHARE, "Of what they held, beyond its share.", SPENT(milli[2]),
          SHOWN(7, "Borrowed-Hours")),
    USERS("lentMilliHours", SHARE, "What others borrowed of its share.", SPENT(milli[3]),
          SHOWN(8, "Lent-Hours")),
    USERS("waitedMilliHours", SHARE, "What its waiting pods asked for, as long as they waited.",
          SPENT(milli[4]), SHOWN(9, "Waited-Hours")),
    SL_FIELDS_END,
};

void sl_model_spent_of(const struct sl_spent *row, struct sl_model_spent *out)
{
    *out = (struct sl_model_spent){.row = row};
    for (unsigned i = 0; i < SL_SPENT_KINDS; i++) {
        out->milli[i] = row->hours[i] < 0 ? -1 : (int64_t)(row->hours[i] * 1000 + 0.5);
    }
}

// The tenants, where there are any: what of each resource is theirs, and what they have.
import { element, renewAll, span } from "./draw.js";
import { get } from "./get.js";
import { table } from "./panel.js";

const HEAD = ["Tenant", "Resource", "Share", "Held", "Borrowed", "Lent", "Waiting", "Due", "Late"];
const units = (milli) => String(Math.round(milli / 10) / 100);

function cellsOf(row, at) {
    const late = row.dueSince === null ? "-" : span(Math.max(0, (Date.parse(at) - Date.parse(row.dueSince)) / 1000));
    const resource = row.resource + (row.model === null ? "" : " on " + row.model);
    return [row.tenant, resource, units(row.shareMilli), row.held, units(row.borrowedMilli), units(row.lentMilli),
        row.podsWaiting, row.podsDue, late].map(String);
}

export class Tenants {
    constructor(box) {
        Object.assign(this, { box, counted: box.querySelector("summary"), rows: box.querySelector("div") });
    }

    async look() {
        const { at, items, omitted } = await get("api/v1/tenants");
        const due = items.reduce((sum, row) => sum + (row.model === null ? row.podsDue : 0), 0), names = new Set(items.map((row) => row.tenant));
        this.box.hidden = items.length === 0;
        this.counted.textContent = names.size + (names.size === 1 ? " tenant; " : " tenants; ") + due + (due === 1 ? " pod is due" : " pods are due") +
            (omitted > 0 ? "; " + omitted + " rows are left out" : "");
        renewAll(this.rows, items.length === 0 ? [element("p")] : [table(HEAD, items.map((row) => cellsOf(row, at)))]);
    }
}

// One pod's story, or one node's, beside the picture.
import { element, span } from "./draw.js";
import { get } from "./get.js";

const NODES_SHOWN = 200;

export function table(head, rows) {
    const made = element("table");
    const line = element("tr");
    line.append(...head.map((text) => element("th", text)));
    made.append(line);
    for (const row of rows) {
        const tr = element("tr");
        tr.append(...row.map((text) => element("td", text === null || text === undefined ? "-" : String(text))));
        made.append(tr);
    }
    return made;
}

export function facts(pairs) {
    return table([], pairs.filter(([, value]) => value !== null && value !== undefined && value !== ""));
}

const askOf = (pod) => pod.ask.map((item) => item.count + " " + item.resource).join(", ");
const when = (at) => at ? new Date(at).toLocaleString() : null;

function queueFacts(queue) {
    const start = queue.estimatedStart;
    return facts([
        ["State", queue.state], ["Why", queue.text], ["Waited", span(queue.waitedSeconds)],
        ["Should start in", start.inSeconds === null ? null : span(start.inSeconds) + " (" + start.sure + ")"],
        ["At the latest", when(queue.latestStart)], ["Ahead of it", queue.ahead],
        ["Nominated to", queue.nomination ? queue.nomination.node + ", " + queue.nomination.assignment : null],
        ["Nominations expired", queue.expiries || null],
    ]);
}

// The nodes by why they do not fit: what is the same on many is told once.
function reasonsOf(nodes) {
    const counts = new Map();
    for (const node of nodes) {
        const why = node.fits ? "fits" : node.text ?? node.reason;
        counts.set(why, [...(counts.get(why) ?? []), node.name]);
    }
    return [...counts].sort((a, b) => b[1].length - a[1].length)
        .map(([why, names]) => [names.length, why, names.slice(0, 5).join(", ") + (names.length > 5 ? ", …" : "")]);
}

async function podDetail(key) {
    const [namespace, name] = key.split("/");
    const told = await get("api/v1/pods/" + encodeURIComponent(namespace) + "/" + encodeURIComponent(name) +
        "/explain?limit=" + NODES_SHOWN);
    const parts = [element("h2", key), facts([
        ["Phase", told.pod.phase], ["Node", told.pod.node], ["Asks for", askOf(told.pod)],
        ["Timeout", told.pod.timeoutSeconds === null ? null : span(told.pod.timeoutSeconds)],
        ["Created", when(told.pod.createdAt)], ["Problem", told.pod.malformed ?? told.pod.problem],
        ["Devices", told.assignment?.annotation],
    ])];
    if (told.queue) {
        parts.push(element("h3", "In the queue"), queueFacts(told.queue));
    }
    if (told.nodes && told.nodes.length > 0) {
        parts.push(element("h3", "On the nodes"), table(["Nodes", "Why", "Such as"], reasonsOf(told.nodes)));
    }
    return parts;
}

// What only some daemons have: partitioning, telemetry.
async function itemsOf(path) {
    try {
        return (await get(path)).items;
    } catch {
        return [];   // a standby does not know what is under way
    }
}

function cutFacts(cut) {
    return facts([
        ["State", cut.state], ["Since", when(cut.since)], ["Cut", cut.cut], ["For", cut.pods], ["Why", cut.why],
        ["Expected until", when(cut.until)], ["A cut takes", cut.cutSeconds > 0 ? span(cut.cutSeconds) : null],
        ["Failed in a row", cut.failures || null],
    ]);
}

const percent = (permille) => permille === null ? null : Math.round(permille / 10) + " %";

function usageRow(row) {
    const used = row.usedMiB === null ? null : row.usedMiB + (row.memoryMiB === null ? "" : " of " + row.memoryMiB);
    return [row.gpu, row.instance === null ? "" : row.instance + " " + row.profile, used, percent(row.busyPermille),
        row.idleSeconds > 0 ? span(row.idleSeconds) : "", row.state];
}

async function nodeDetail(name) {
    const one = encodeURIComponent(name);
    const [node, cuts, usage] = await Promise.all([get("api/v1/nodes/" + one),
        itemsOf("api/v1/partitions?node=" + one), itemsOf("api/v1/usage?node=" + one)]);
    const parts = [element("h2", name), facts([["Product", node.product], ["Problem", node.problem]]),
        element("h3", "Resources"),
        table(["Resource", "Capacity", "Used", "Set aside", "Free"],
            node.pools.map((p) => [p.resource, p.capacity, p.used, p.setAside, p.free])),
    ];
    if (cuts.length > 0) {
        parts.push(element("h3", "Partitioning"), cutFacts(cuts[0]));
    }
    if (usage.length > 0) {
        parts.push(element("h3", "Measured"),
            table(["GPU", "Instance", "Memory, MiB", "Busy", "Idle for", "Samples"], usage.map(usageRow)));
    }
    parts.push(element("h3", "Pods"));
    parts.push(node.pods.length === 0 ? element("p", "None.") : table(["Pod", "Asks for", "", "Timeout"],
        node.pods.map((p) => [p.namespace + "/" + p.name, askOf(p), p.setAside ? "set aside" : p.phase, span(p.timeoutSeconds)])));
    return parts;
}

export class Panel {
    constructor(root) {
        Object.assign(this, { root, detail: root.querySelector("#detail"), what: null });
        root.querySelector("#close").addEventListener("click", () => this.close());
    }

    close() {
        this.what = null;
        this.root.hidden = true;
        this.before?.focus();
    }

    open(kind, key) {
        this.before = document.activeElement;
        this.what = { kind, key };
        this.detail.replaceChildren(element("h2", key));
        this.root.hidden = false;
        this.root.querySelector("#close").focus();
        return this.look();
    }

    async look() {
        const what = this.what;
        if (what === null) {
            return;
        }
        let parts;
        try {
            parts = await (what.kind === "pod" ? podDetail(what.key) : nodeDetail(what.key));
        } catch (error) {
            parts = [element("h2", what.key), element("p", error.message, { class: "bad" })];
        }
        if (this.what === what) {
            this.detail.replaceChildren(...parts);
        }
    }
}

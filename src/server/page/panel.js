// One pod's story, or one node's, beside the picture.
import { element, link, renewAll, span, until } from "./draw.js";
import { get } from "./get.js";

const NODES_SHOWN = 200, SUCH_AS = 5;

// A cell: text, an element, or a list of these.
function cell(tag, content, attributes = {}) {
    const made = element(tag, "", attributes);
    const known = content === null || content === undefined ? "-" : content;
    made.append(...(Array.isArray(known) ? known : [known instanceof Node ? known : String(known)]));
    return made;
}

export function table(head, rows) {
    const made = element("table");
    const line = element("tr");
    line.append(...head.map((text) => cell("th", text, { scope: "col" })));
    made.append(line);
    for (const row of rows) {
        const tr = element("tr");
        tr.append(...row.map((content) => cell("td", content)));
        made.append(tr);
    }
    return made;
}

// Names with what they are; what is not known is left out.
export function facts(pairs) {
    const made = element("table", "", { class: "facts" });
    for (const [name, content] of pairs) {
        if (content !== null && content !== undefined && content !== "") {
            const tr = element("tr");
            tr.append(cell("th", name, { scope: "row" }), cell("td", content));
            made.append(tr);
        }
    }
    return made;
}

const askOf = (pod) => pod.ask.map((item) => item.count + " " + item.resource).join(", ");
const when = (at) => at ? new Date(at).toLocaleString() : null;
const podLink = (pod) => pod ? link("pod", pod.namespace + "/" + pod.name) : null;

const SURE = {
    now: "its turn has come", reserved: "at the latest: enforced timeouts free its room",
    estimate: "about then, if every pod ahead runs for its whole timeout",
};

function startText(start) {
    return start.inSeconds === null ? "not known"
        : (start.inSeconds === 0 ? "now" : "in " + until(start.inSeconds) + ", " + when(start.at)) + ": " + SURE[start.sure];
}

function queueFacts(queue) {
    return facts([
        ["State", queue.state + (queue.reason === "None" ? "" : ", " + queue.reason) + ", since " + when(queue.since)],
        ["Why", queue.text],
        ["Should start", startText(queue.estimatedStart)],
        ["If pods run as usual", when(queue.estimatedStart.usuallyAt)],
        ["Promised latest start", when(queue.latestStart)],
        ["Waited", span(queue.waitedSeconds)],
        ["Ahead of it", queue.ahead > 0 && queue.first ? [queue.ahead + ", first ", podLink(queue.first)] : queue.ahead],
        ["Counts as running for", span(queue.plannedTimeoutSeconds)],
        ["Usually runs for", queue.usualRuntimeSeconds === null ? null : span(queue.usualRuntimeSeconds)],
        ["Nominated to", queue.nomination ? [link("node", queue.nomination.node), ", " + queue.nomination.assignment] : null],
    ]);
}

const OUTCOMES = {
    Expired: "kube-scheduler did not bind it in time", Withdrawn: "the node or the pod had changed",
    Refused: "its devices were no longer free", ReleaseRefused: "the API server refused to let it go",
};

// What became of its turns. The daemon remembers the last few, and counts those that expired.
function triedParts(queue) {
    if (queue.tried.length === 0) {
        return [element("p", queue.nomination || queue.state === "Released" ? "Its first turn."
            : "Nothing that this replica knows of.")];
    }
    const rows = queue.tried.map((one) => [when(one.at), one.node === null ? "none" : link("node", one.node), one.outcome,
        span((Date.parse(one.endedAt) - Date.parse(one.at)) / 1000), OUTCOMES[one.outcome] + (one.why === null ? "" : ": " + one.why)]);
    const more = queue.expiries > queue.tried.filter((one) => one.outcome !== "Withdrawn").length
        ? [element("p", queue.expiries + " of its nominations have expired; these are the last tries.")] : [];
    return [table(["Its turn", "Node", "Outcome", "After", "Because"], rows), ...more];
}

// What would help: what the queue says first, then what the nodes say.
function remediesOf(told) {
    const found = [told.queue?.remedy, ...told.summary?.reasons.map((reason) => reason.remedy) ?? []];
    return [...new Set(found.filter((text) => text))];
}

// The nodes by their reason. Examples are of those that were listed.
function reasonRows(told) {
    const named = (matches) => {
        const names = told.nodes.filter(matches).map((node) => node.name);
        return names.slice(0, SUCH_AS).join(", ") + (names.length > SUCH_AS ? ", …" : "");
    };
    const { fit, reasons } = told.summary;
    const fitting = fit > 0 ? [[fit, "Fits", "it has room there", named((node) => node.fits)]] : [];
    return fitting.concat([...reasons].sort((a, b) => b.nodes - a.nodes).map((one) => [one.nodes, one.reason,
        one.nearest + (one.never ? " (never, as it is)" : ""), named((node) => !node.fits && node.reason === one.reason)]));
}

function endText({ startedAt, timeoutSeconds }) {
    return startedAt && timeoutSeconds !== null ? when(Date.parse(startedAt) + timeoutSeconds * 1000) : null;
}

function waitingParts(told) {
    const parts = [];
    if (told.queue) {
        parts.push(element("h3", "In the queue"), queueFacts(told.queue));
    }
    const remedies = remediesOf(told);
    if (remedies.length > 0) {
        const list = element("ul");
        list.append(...remedies.map((text) => element("li", text)));
        parts.push(element("h3", "What would help"), list);
    }
    if (told.queue) {
        parts.push(element("h3", "What was tried"), ...triedParts(told.queue));
    }
    const { summary } = told;
    if (summary) {
        const excluded = summary.excluded > 0 ? "; it excludes " + summary.excluded + " more itself." : ".";
        parts.push(element("h3", "On the nodes"),
            element("p", "It fits on " + summary.fit + " of " + (summary.nodes - summary.excluded) + excluded),
            ...summary.uncut.map((each) => element("p", each.text + ".")),
            table(["Nodes", "Reason", "The nearest says", "Such as"], reasonRows(told)));
    }
    return parts;
}

async function podDetail(key) {
    const [namespace, name] = key.split("/");
    const told = await get("api/v1/pods/" + encodeURIComponent(namespace) + "/" + encodeURIComponent(name) +
        "/explain?limit=" + NODES_SHOWN);
    const { pod, assignment } = told;
    const picked = assignment?.pickedBy === "devicePlugin" ? ", as planned: the device plugin picks" : "";
    return [element("h2", key), facts([
        ["Phase", pod.phase], ["Node", pod.node ? link("node", pod.node) : null], ["Asks for", askOf(pod)],
        ["Timeout", pod.timeoutSeconds === null ? "it states none" : span(pod.timeoutSeconds)],
        ["Created", when(pod.createdAt)], ["Started", when(pod.startedAt)], ["Ends by", endText(pod)],
        ["Problem", pod.malformed ?? pod.problem],
        ["Devices", assignment?.annotation ? assignment.annotation + picked : null],
    ]), ...waitingParts(told)];
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
        ["State", cut.state], ["Since", when(cut.since)], ["Cut", cut.cut], ["For", cut.pods],
        ["Why", cut.text === null ? cut.why : cut.why + ": " + cut.text],
        ["Expected until", when(cut.until)], ["A cut takes", cut.cutSeconds > 0 ? span(cut.cutSeconds) : null],
        ["Failed in a row", cut.failures || null],
    ]);
}

const percent = (permille) => permille === null ? null : Math.round(permille / 10) + " %";

function usageRow(row) {
    const used = row.usedMiB === null ? null : row.usedMiB + (row.memoryMiB === null ? "" : " of " + row.memoryMiB);
    return [row.gpu, row.instance === null ? "" : row.instance + " " + row.profile, used, percent(row.busyPermille),
        row.powerWatts === null ? null : row.powerWatts + " W",
        row.energyJoules === null ? null : Math.round(row.energyJoules / 1000) + " kJ",
        row.idleSeconds > 0 ? span(row.idleSeconds) : "", row.state];
}

async function nodeDetail(name) {
    const one = encodeURIComponent(name);
    const [node, cuts, usage] = await Promise.all([get("api/v1/nodes/" + one),
        itemsOf("api/v1/partitions?node=" + one), itemsOf("api/v1/usage?node=" + one)]);
    const broken = node.devices.filter((device) => !device.healthy).map((device) => device.index);
    const parts = [element("h2", name), facts([["Product", node.product], ["Problem", node.problem],
        ["Broken GPUs", broken.join(", ")]]),
        element("h3", "Resources"),
        table(["Resource", "Capacity", "Used", "Set aside", "Free"],
            node.pools.map((p) => [p.resource, p.capacity, p.used, p.setAside, p.free])),
    ];
    if (cuts.length > 0) {
        parts.push(element("h3", "Partitioning"), cutFacts(cuts[0]));
    }
    if (usage.length > 0) {
        parts.push(element("h3", "Measured"),
            table(["GPU", "Instance", "Memory, MiB", "Busy", "Power", "Energy", "Idle for", "Samples"], usage.map(usageRow)));
    }
    parts.push(element("h3", "Pods"));
    parts.push(node.pods.length === 0 ? element("p", "None.") : table(["Pod", "Asks for", "State", "Timeout"],
        node.pods.map((p) => [podLink(p), askOf(p), p.setAside ? "set aside" : p.phase, span(p.timeoutSeconds)])));
    return parts;
}

export class Panel {
    constructor(root) {
        Object.assign(this, { root, detail: root.querySelector("#detail"), what: null, before: null });
        root.querySelector("#close").addEventListener("click", () => this.close());
    }

    close() {
        if (this.what !== null) {
            this.what = null;
            this.root.hidden = true;
            this.before?.focus();
            this.before = null;
        }
    }

    // The focus goes into the panel, so that keys scroll it and a screen reader reads it, and back when it closes.
    open(kind, key) {
        this.before = this.before ?? document.activeElement;
        this.what = { kind, key };
        this.detail.replaceChildren(element("h2", key), element("p", "…"));
        this.root.hidden = false;
        this.detail.scrollTop = 0;
        this.detail.focus();
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
            renewAll(this.detail, parts);
        }
    }
}

// The page: asks the daemon for news, shows one of its views, and opens a panel beside them.
import { Ask } from "./ask.js";
import { colors, css, element, fit, followClock, hatch, inkOn, lettersOf, onScheme, renewAll } from "./draw.js";
import { get } from "./get.js";
import { showHealth, standsBy } from "./health.js";
import { Panel } from "./panel.js";
import { Picture } from "./picture.js";
import { Queue } from "./queue.js";
import { Summary } from "./summary.js";
import { Tenants } from "./tenants.js";
import { Times } from "./times.js";

const EVERY_MS = 2000, WAITS = 200;
const byId = (id) => document.getElementById(id);
const views = ["cluster", "queue", "times", "ask", "state"];
const worker = new Worker("worker.js");
const panel = new Panel(byId("panel"));
const openPod = (key) => panel.open("pod", key);
// What keys have chosen, for screen readers: pictures tell them nothing.
const say = (text) => { byId("said").textContent = text; };
const queue = new Queue(byId("rows"), byId("counted"), openPod, (row) =>
    say(row.namespace + "/" + row.name + ", " + row.position + " of the queue, " + row.state + ": " + row.text));
const tenants = new Tenants(byId("tenants"));
const times = new Times(byId("lines"), byId("ticks"), barText, (kind, key) => panel.open(kind, key), say);
const picture = new Picture(byId("picture"), (event, hit) => tip(event, hit === null ? null : hitText(hit)), (hit) =>
    hit.slice !== null && hit.slice.users.length === 1 ? openPod(hit.slice.users[0]) : panel.open("node", hit.place.node.name),
(node) => say(nodeText(node)));
const summary = new Summary(byId("summary"), byId("source"));
const ask = new Ask(byId("ask"));
let view = "cluster", waits = { items: [], total: 0 }, askedMs = 0, pictures = 0;

// ---- what is under the pointer ----

function tip(event, text) {
    const box = byId("tip");
    box.hidden = text === null;
    if (text !== null) {
        box.textContent = text;
        box.style.left = Math.min(event.clientX + 12, innerWidth - box.offsetWidth - 4) + "px";
        box.style.top = Math.min(event.clientY + 12, innerHeight - box.offsetHeight - 4) + "px";
    }
}

function measuredText({ measured, memoryMiB }) {
    const busy = measured.busyPermille === null ? [] : ["busy for " + Math.round(measured.busyPermille / 10) + " % of the time"];
    const used = measured.usedMiB === null ? [] : [measured.usedMiB + (memoryMiB > 0 ? " of " + memoryMiB : "") + " MiB used"];
    return [...busy, ...used].join(", ");
}

function hitText({ place, device, slice }) {
    const lines = [place.node.name + (place.node.product ? ", " + place.node.product : "")];
    if (place.node.cutting) {
        lines.push("its GPUs are being cut");
    }
    if (device) {
        lines.push("GPU " + device.index + (device.healthy ? "" : ", broken") + (slice && slice.what ? ", " + slice.what : "") +
            (device.over > 0 ? ", uses " + device.over + " MiB more than declared" : ""));
        if (device.measured) {
            lines.push(measuredText(device));
        }
        lines.push(!slice || slice.users.length === 0 ? "idle" : (slice.aside ? "set aside for " : "") + slice.users.join(", "));
    }
    return lines.concat(place.node.problem ?? []).join("\n");
}

function nodeText(node) {
    const slices = node.devices.flatMap((device) => device.slices);
    const used = slices.filter((slice) => slice.users.length > 0).length;
    const broken = node.devices.filter((device) => !device.healthy).length;
    return [node.name, node.product, node.devices.length + " GPUs, " + used + " of " + slices.length + " slices taken",
        broken > 0 ? broken + " GPUs broken" : "", node.problem ?? ""].filter((text) => text !== "").join(", ");
}

function barText(bar) {
    const left = bar.to === null ? "states no timeout" : "ends by " + new Date(bar.to).toLocaleString();
    return bar.pod + "\n" + (bar.waits ? "should start " + new Date(bar.from).toLocaleString() : bar.node + (bar.aside ? ", set aside" : "")) + "\n" + left;
}

// ---- the legend and the counts ----

function legendEntry(text, paint, made = element("span"), wide = 14) {
    const box = element("canvas", "", { "aria-hidden": "true" });
    paint(fit(box, wide, 14));
    box.style.width = wide + "px";
    made.append(box, text);
    return made;
}

function letters(pen, namespace, color) {
    pen.fillStyle = color;
    pen.fillRect(0, 0, 24, 14);
    pen.fillStyle = inkOn(color);
    pen.font = "11px system-ui, sans-serif";
    pen.fillText(lettersOf(namespace), 3, 11, 20);
}

// Chosen, a namespace is found: whoever cannot tell its colour sees what is left.
function namespaceEntry(namespace, color) {
    const chosen = byId("find").value === namespace + "/";
    const button = element("button", "", { type: "button", "aria-pressed": String(chosen), "data-namespace": namespace });
    return legendEntry(namespace, (pen) => letters(pen, namespace, color), button, 24);
}

function fill(pen, color) {
    pen.fillStyle = color;
    pen.fillRect(0, 0, 14, 14);
}

// Only when something has changed: a button that is made anew loses the click that has begun on it.
let legend = "";
function drawLegend() {
    const key = JSON.stringify([colors(), byId("find").value, css("--ground")]);
    if (key === legend) {
        return;
    }
    legend = key;
    const chosen = document.activeElement?.dataset.namespace;
    byId("legend").replaceChildren(
        ...colors().map(([namespace, color]) => namespaceEntry(namespace, color)),
        legendEntry("set aside", (pen) => { fill(pen, css("--soft")); hatch(pen, 0, 0, 14, 14, css("--ground")); }),
        legendEntry("being cut", (pen) => { fill(pen, css("--idle")); hatch(pen, 0, 0, 14, 14, css("--ink")); }),
        legendEntry("idle", (pen) => fill(pen, css("--idle"))),
        legendEntry("busy, where it was measured", (pen) => { fill(pen, css("--idle")); pen.fillStyle = css("--ink"); pen.fillRect(0, 11, 9, 3); }),
        legendEntry("broken, or beyond its declaration", (pen) => { pen.strokeStyle = css("--bad"); pen.strokeRect(1, 1, 12, 12); }));
    if (chosen !== undefined) {
        [...byId("legend").querySelectorAll("button")].find((button) => button.dataset.namespace === chosen)?.focus();
    }
}

function countOf(nodes) {
    let slices = 0, used = 0, aside = 0, broken = 0, gpus = 0, usedGpus = 0, freeGpus = 0, asideGpus = 0;
    for (const node of nodes) {
        for (const device of node.devices) {
            gpus++;
            broken += device.healthy ? 0 : 1;
            if (device.slices.some((slice) => slice.users.length > 0 && !slice.aside)) {
                usedGpus++;
            } else if (device.slices.some((slice) => slice.aside)) {
                asideGpus++;
            } else if (device.healthy) {
                freeGpus++;
            }
            for (const slice of device.slices) {
                slices++;
                used += slice.users.length > 0 && !slice.aside ? 1 : 0;
                aside += slice.aside ? 1 : 0;
            }
        }
    }
    const text = nodes.length + " nodes, " + gpus + " GPUs, " + slices + " slices: " + used + " used, " + aside + " set aside, " +
        (slices - used - aside) + " idle" + (broken > 0 ? "; " + broken + " GPUs broken" : "");
    return { text, gpus, broken, used: usedGpus, aside: asideGpus, free: freeGpus };
}

// ---- news ----

const known = new Map();   // nodes by name, in the order of the API
function takeNodes({ complete, nodes }) {
    if (complete) {
        known.clear();
    }
    nodes.forEach((node) => known.set(node.name, node));   // one that is there keeps its place
}

// Sums up each resource over the nodes: the most memory of a unit, and how many units.
function offersOf(nodes) {
    const offers = new Map();
    for (const { resource, memoryMiB, capacity } of nodes.flatMap((node) => node.offers)) {
        const offer = offers.get(resource);
        offers.set(resource, { resource, memoryMiB: Math.max(memoryMiB, offer?.memoryMiB ?? 0), capacity: capacity + (offer?.capacity ?? 0) });
    }
    return [...offers.values()].sort((a, b) => a.resource < b.resource ? -1 : 1);
}

function showNodes(total) {
    const nodes = [...known.values()];
    ask.offer(offersOf(nodes));
    picture.show(nodes);
    const counts = countOf(nodes);
    summary.show({ counts });
    byId("told").textContent = counts.text + (total > nodes.length ? " (of " + total + " nodes)" : "");
    drawLegend();
    times.show(nodes, waits);
    document.body.dataset.nodes = String(nodes.length);
}

worker.onmessage = ({ data }) => {
    const begin = performance.now();
    trouble("nodes", data.error ? "The nodes cannot be read: " + data.error : null);
    if (!data.error && !data.same) {
        takeNodes(data);
        if (data.complete || data.nodes.length > 0) {
            showNodes(data.total);
            noteTimes(begin);
        }
    }
};

// For test/bench: how long it took, and how often.
function noteTimes(begin) {
    const end = performance.now(), noted = document.body.dataset;
    noted.firstMs ??= String(end);
    noted.updateMs = String(end - askedMs);
    noted.drawnMs = String(end - begin);
    noted.pictures = String(++pictures);
}

const troubles = new Map();
function trouble(what, text) {
    if (text === null) {
        troubles.delete(what);
    } else {
        troubles.set(what, text);
    }
    byId("trouble").hidden = troubles.size === 0;
    byId("trouble").textContent = [...troubles.values()].join(" ");
}

function stateEntries(state, bad) {
    const told = [standsBy(state) ? element("li", "stands by")
        : element("li", state.ready ? "ready" : "not ready: " + state.missing, state.ready ? {} : { class: "bad" })];
    if (state.leader) {
        const { leads, holder } = state.leader;
        told.push(element("li", leads ? "leads" : "leader: " + (holder ?? "none"), holder === null && !leads ? { class: "bad" } : {}));
    }
    told.push(element("li", state.cluster.bound + " pods run, " + state.cluster.waiting + " wait"));
    if (bad.length > 0) {
        const item = element("li");
        item.append(element("button", "! " + bad.length + " to look at", { type: "button", class: "link bad", "data-view": "state", title: bad.join(", ") }));
        told.push(item);
    }
    return told;
}

async function lookAtState() {
    const state = await get("api/v1/state");
    followClock(Date.parse(state.startedAt) + state.uptimeSeconds * 1000);
    summary.show({ state });
    ask.schedule(state.schedulerName);
    renewAll(byId("health"), stateEntries(state, showHealth(byId("how"), state)));
}

async function lookAtQueue() {
    if (view === "queue") {
        await queue.look();
        await tenants.look();
    } else if (view === "times") {
        waits = await get("api/v1/queue?limit=" + WAITS);
        times.show([...known.values()], waits);
    } else if (view === "cluster") {
        await summary.look();
    }
}

async function guarded(what, look) {
    try {
        await look();
        trouble(what, null);
    } catch (error) {
        trouble(what, error.status === 404 && what === "queue" ? null : error.message);
        if (error.status === 404 && what === "queue") {
            byId("counted").textContent = error.message;
        }
    }
}

async function round() {
    if (!document.hidden) {
        askedMs = performance.now();
        worker.postMessage(null);
        await Promise.all([guarded("state", lookAtState), guarded("queue", lookAtQueue), panel.look()]);
    }
    setTimeout(round, EVERY_MS);
}

// ---- what the user does ----

function show(name) {
    view = name;
    for (const one of views) {
        byId(one).hidden = one !== name;
        byId("tab-" + one).setAttribute("aria-selected", String(one === name));
        byId("tab-" + one).tabIndex = one === name ? 0 : -1;
    }
    document.title = byId("tab-" + name).firstChild.textContent.trim() + " · sliced";
    history.replaceState(null, "", "#" + name);
    guarded("queue", lookAtQueue);
    picture.draw();
    times.draw();
}

for (const name of views) {
    byId("tab-" + name).addEventListener("click", () => show(name));
}

// Among tabs arrow keys move, as screen readers say they do.
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step !== undefined) {
        show(views[(views.indexOf(view) + step + views.length) % views.length]);
        byId("tab-" + view).focus();
        event.preventDefault();
    }
});

function find(text) {
    picture.found = times.found = queue.found = text.trim();
    byId("rows").scrollTop = 0;
    picture.draw();
    times.draw();
    drawLegend();
    guarded("queue", lookAtQueue);
}
byId("find").addEventListener("input", (event) => find(event.target.value));

byId("legend").addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (chosen) {
        byId("find").value = chosen.getAttribute("aria-pressed") === "true" ? "" : chosen.dataset.namespace + "/";
        find(byId("find").value);
    }
});

document.addEventListener("click", (event) => {
    const { open, key, view: wanted } = event.target.closest("[data-open], [data-view]")?.dataset ?? {};
    if (open) {
        panel.open(open, key);
    } else if (wanted) {
        show(wanted);
    }
});
addEventListener("hashchange", () => show(views.includes(location.hash.slice(1)) ? location.hash.slice(1) : view));

document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
        panel.close();
    } else if (event.target.closest("input, textarea, select")) {
        return;   // the key is the field's
    } else if (event.key === "/") {
        byId("find").focus();
        event.preventDefault();
    } else if (!event.ctrlKey && !event.altKey && !event.metaKey && views[Number(event.key) - 1]) {
        show(views[Number(event.key) - 1]);
    }
});

onScheme(() => {
    picture.draw();
    times.draw();
    drawLegend();
});
show(views.includes(location.hash.slice(1)) ? location.hash.slice(1) : "cluster");
round();

// The page: asks the daemon for news, shows one of three views, and opens a panel beside them.
import { Ask } from "./ask.js";
import { colors, css, element, hatch, fit, onScheme, span } from "./draw.js";
import { get } from "./get.js";
import { Panel } from "./panel.js";
import { Picture } from "./picture.js";
import { Queue } from "./queue.js";
import { Times } from "./times.js";

const EVERY_MS = 2000, WAITS = 200;
const byId = (id) => document.getElementById(id);
const views = ["cluster", "queue", "times", "ask"];
const worker = new Worker("worker.js");
const panel = new Panel(byId("panel"));
const openPod = (key) => panel.open("pod", key);
const queue = new Queue(byId("rows"), byId("counted"), openPod);
const times = new Times(byId("lines"), (event, bar) => tip(event, bar === null ? null : barText(bar)), openPod);
const picture = new Picture(byId("picture"), (event, hit) => tip(event, hit === null ? null : hitText(hit)), (hit) =>
    hit.slice !== null && hit.slice.users.length === 1 ? openPod(hit.slice.users[0]) : panel.open("node", hit.place.node.name));
const ask = new Ask(byId("ask").querySelector("form"), byId("answer"), byId("resources"));
let view = "cluster", runs = [], waits = [];

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

function barText(bar) {
    const left = bar.to === null ? "states no timeout" : "ends by " + new Date(bar.to).toLocaleString();
    return bar.pod + "\n" + (bar.waits ? "should start " + new Date(bar.from).toLocaleString() : bar.node + (bar.aside ? ", set aside" : "")) + "\n" + left;
}

// ---- the legend and the counts ----

function legendEntry(text, paint) {
    const span = element("span");
    const box = element("canvas");
    paint(fit(box, 14, 14));
    span.append(box, text);
    return span;
}

function fill(pen, color) {
    pen.fillStyle = color;
    pen.fillRect(0, 0, 14, 14);
}

function drawLegend() {
    byId("legend").replaceChildren(
        ...colors().map(([namespace, color]) => legendEntry(namespace, (pen) => fill(pen, color))),
        legendEntry("set aside", (pen) => { fill(pen, css("--soft")); hatch(pen, 0, 0, 14, 14, css("--ground")); }),
        legendEntry("being cut", (pen) => { fill(pen, css("--idle")); hatch(pen, 0, 0, 14, 14, css("--ink")); }),
        legendEntry("idle", (pen) => fill(pen, css("--idle"))),
        legendEntry("busy, where it was measured", (pen) => { fill(pen, css("--idle")); pen.fillStyle = css("--ink"); pen.fillRect(0, 11, 9, 3); }),
        legendEntry("broken, or beyond its declaration", (pen) => { pen.strokeStyle = css("--bad"); pen.strokeRect(1, 1, 12, 12); }));
}

function countText(nodes) {
    let slices = 0, used = 0, aside = 0, broken = 0, gpus = 0;
    for (const node of nodes) {
        for (const device of node.devices) {
            gpus++;
            broken += device.healthy ? 0 : 1;
            for (const slice of device.slices) {
                slices++;
                used += slice.users.length > 0 && !slice.aside ? 1 : 0;
                aside += slice.aside ? 1 : 0;
            }
        }
    }
    return nodes.length + " nodes, " + gpus + " GPUs, " + slices + " slices: " + used + " used, " + aside + " set aside, " +
        (slices - used - aside) + " idle" + (broken > 0 ? "; " + broken + " GPUs broken" : "");
}

// ---- news ----

worker.onmessage = ({ data }) => {
    trouble("nodes", data.error ? "The nodes cannot be read: " + data.error : null);
    if (!data.error && !data.same) {
        const begin = performance.now();
        runs = data.runs;
        ask.offer(data.resources);
        picture.show(data.nodes);
        byId("told").textContent = countText(data.nodes) + (data.total > data.nodes.length ? " (of " + data.total + " nodes)" : "");
        drawLegend();
        times.show(runs, waits);
        document.body.dataset.drawnMs = String(performance.now() - begin);
        document.body.dataset.nodes = String(data.nodes.length);
    }
};

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

async function lookAtState() {
    const state = await get("api/v1/state");
    const missing = state.watch?.missing ?? null;
    const told = [[state.ready ? "ready" : "not ready" + (missing ? ": " + missing : ""), !state.ready]];
    if (state.leader) {
        const { leads, holder } = state.leader;
        told.push([leads ? "leads" : "leader: " + (holder ?? "none"), holder === null && !leads]);
    }
    told.push(["up " + span(state.uptimeSeconds), false], ["generation " + state.generation, false],
        [state.cluster.bound + " pods run, " + state.cluster.waiting + " wait", false]);
    byId("health").replaceChildren(...told.map(([text, bad]) => element("li", text, bad ? { class: "bad" } : {})));
}

async function lookAtQueue() {
    if (view === "queue") {
        await queue.look();
    } else if (view === "times") {
        waits = (await get("api/v1/queue?limit=" + WAITS)).items;
        times.show(runs, waits);
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
    }
    history.replaceState(null, "", "#" + name);
    guarded("queue", lookAtQueue);
    picture.draw();
    times.draw();
}

for (const name of views) {
    byId("tab-" + name).addEventListener("click", () => show(name));
}

byId("find").addEventListener("input", (event) => {
    picture.found = times.found = queue.found = event.target.value.trim();
    byId("rows").scrollTop = 0;
    picture.draw();
    times.draw();
    guarded("queue", lookAtQueue);
});

document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
        panel.close();
    } else if (event.target.tagName !== "INPUT" && event.key === "/") {
        byId("find").focus();
        event.preventDefault();
    } else if (event.target.tagName !== "INPUT" && views[Number(event.key) - 1]) {
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

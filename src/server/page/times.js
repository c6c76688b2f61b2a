// The time line: pods that run until when, and pods that should start when, by node and GPU, folded. Only rows in
// sight are made.
import { colorOf, element, now, renewAll, shape, span } from "./draw.js";

const ROW = 24, MARGIN = 5, TICK = 64, WIDE = 1000, HIGH = 20;   // the height until rows are made; of an SVG's own units
const STEPS = [60, 300, 900, 3600, 4 * 3600, 86400, 2 * 86400, 7 * 86400];

const countOf = (number, what) => number + " " + what + (number === 1 ? "" : "s");

function summaryOf(bars, present) {
    const waits = bars.filter((bar) => bar.waits).length, aside = bars.filter((bar) => bar.aside).length;
    const next = bars.map((bar) => bar.waits ? bar.from : bar.to).filter((at) => at !== null && at > present).sort((a, b) => a - b)[0];
    const counts = [[bars.length - waits - aside, " run"], [aside, " set aside"], [waits, " to start"]].filter(([count]) => count > 0);
    return (counts.map(([count, what]) => count + what).join(", ") || "idle") +
        (next === undefined ? "" : (waits > 0 ? ", the first in " : ", next end in ") + span((next - present) / 1000));
}

export class Times {
    constructor(region, ticks, textOf, onOpen, onChoose) {
        Object.assign(this, { region, ticks, textOf, onOpen, onChoose, nodes: [], waits: { items: [], total: 0 }, rows: [], high: ROW, open: new Set(), found: "", chosen: "" });
        region.addEventListener("scroll", () => this.makeRows());
        region.addEventListener("keydown", (event) => this.key(event));
        region.addEventListener("click", (event) => {
            const row = this.rows[Number(event.target.closest("[data-row]")?.dataset.row)];
            if (row) {
                this.chosen = row.id;
                this.act(row, !row.parts);
            }
        });
        addEventListener("resize", () => this.draw());
    }

    // Opens the story, or folds and unfolds.
    act(row, opens) {
        if (opens && row.kind) {
            this.onOpen(row.kind, row.key);
        } else if (row.parts && !this.open.delete(row.id)) {
            this.open.add(row.id);
        }
        this.draw();
    }

    key(event) {
        const at = this.rows.findIndex((row) => row.id === this.chosen), row = this.rows[at];
        const step = { ArrowDown: 1, ArrowUp: -1, Home: -this.rows.length, End: this.rows.length }[event.key];
        const folds = row?.parts && event.key === (this.open.has(row.id) ? "ArrowLeft" : "ArrowRight");
        if (step !== undefined && this.rows.length > 0) {
            this.choose(Math.min(this.rows.length - 1, Math.max(0, at + step)));
        } else if (event.key === "ArrowLeft" && row?.parent && !folds) {
            this.choose(this.rows.findIndex((one) => one.id === row.parent));
        } else if (row && (folds || event.key === "Enter" || event.key === " ")) {
            this.act(row, event.key === "Enter");
        } else {
            return;
        }
        event.preventDefault();
    }

    choose(at) {
        this.chosen = this.rows[at].id;
        const top = at * this.high, most = this.region.clientHeight - this.high;
        this.region.scrollTop = Math.min(top, Math.max(top - most, this.region.scrollTop));
        this.draw();
        this.onChoose(this.rows[at].text);
    }

    show(nodes, waits) {
        this.nodes = nodes;
        this.waits = waits;
        this.draw();
    }

    // A part and, where it is unfolded, its parts, which are made no sooner than that.
    add(row, parent, place, size) {
        row.id = (parent ? parent.id + "/" : "") + (row.key ?? row.name);
        Object.assign(row, { parent: parent?.id, level: parent ? parent.level + 1 : 1, place, size });
        this.rows.push(row);
        if (row.parts && (this.found !== "" || this.open.has(row.id))) {
            const parts = row.parts();
            parts.forEach((part, i) => this.add(part, row, i + 1, parts.length));
        }
    }

    podRow(bar) {
        return { name: bar.pod, text: this.textOf(bar), kind: "pod", key: bar.pod, lanes: [[bar]] };
    }

    podRows(bars) {
        return bars.sort((a, b) => (a.waits ? a.from - b.from : (a.to ?? Infinity) - (b.to ?? Infinity))).map((bar) => this.podRow(bar));
    }

    group(name, bars, lanes, parts, more = {}) {
        const told = summaryOf(bars, this.present);
        return { name, told, text: name + ": " + told, lanes, parts: bars.length === 0 ? null : parts, ...more };
    }

    nodeRow(node, bars) {
        const lost = bars.filter((bar) => bar.gpus.length === 0);   // nobody knows on which GPUs
        const gpus = node.devices.map((device) => ["GPU " + device.index, bars.filter((bar) => bar.gpus.includes(device.index))])
            .concat([["GPUs not known", lost]]).filter(([, held], i) => held.length > 0 || (this.found === "" && i < node.devices.length));
        return this.group(node.name, bars, gpus.map(([, held]) => held), () => gpus.map(([name, held]) =>
            this.group(name, held, held.map((bar) => [bar]), () => this.podRows(held))), { kind: "node", key: node.name });
    }

    groupsAt(present) {
        const matches = (bar) => this.found === "" || bar.pod.includes(this.found) || bar.node.includes(this.found);
        const waiting = this.waits.items.filter((row) => row.state !== "Nominated" && row.estimatedStart.at !== null).map((row) => {
            const from = Math.max(present, Date.parse(row.estimatedStart.at));
            return { pod: row.namespace + "/" + row.name, namespace: row.namespace, node: "", waits: true,
                from, to: from + row.plannedTimeoutSeconds * 1000 };
        }).filter(matches);
        const nodes = this.nodes.map((node) => [node, node.runs.filter(matches)])
            .filter(([node, runs]) => runs.length > 0 || (node.devices.length > 0 && node.name.includes(this.found)));
        this.bars = waiting.concat(nodes.flatMap(([, runs]) => runs));
        return [...waiting.length === 0 ? [] : [this.group(this.waits.total + " wait", waiting, [waiting.slice(0, 20)], () => this.podRows(waiting), { key: "waiting pods" })],
            ...nodes.map(([node, runs]) => this.nodeRow(node, runs))];
    }

    draw() {
        if (this.region.clientHeight === 0) {
            return;
        }
        this.present = now();
        this.rows = [];
        const groups = this.groupsAt(this.present);
        groups.forEach((group, i) => this.add(group, undefined, i + 1, groups.length));
        const ends = this.bars.map((bar) => bar.to ?? 0).filter((end) => end > this.present).sort((a, b) => a - b);
        const last = ends[Math.floor(ends.length * 0.9)] ?? this.present + 3600e3;
        const from = this.present - (last - this.present) * 0.15;
        this.x = (at) => at === null ? WIDE : Math.min(WIDE, Math.max(0, (at - from) / (last - from) * WIDE));
        renewAll(this.ticks, this.tickParts(last));
        this.makeRows();
        const high = this.region.querySelector("[data-row]")?.offsetHeight;
        if (high > 0 && high !== this.high) {
            this.high = high;
            this.makeRows();
        }
    }

    makeRows() {
        const first = Math.max(0, Math.floor(this.region.scrollTop / this.high) - MARGIN);
        const made = this.rows.slice(first, first + Math.ceil(this.region.clientHeight / this.high) + 2 * MARGIN);
        const gap = (rows) => {
            const box = element("div", "", { role: "presentation" });
            box.style.height = Math.max(0, rows) * this.high + "px";
            return box;
        };
        renewAll(this.region, [gap(first), ...made.map((row, i) => this.rowOf(row, first + i)), gap(this.rows.length - first - made.length)]);
        const at = made.findIndex((row) => row.id === this.chosen);
        this.region.setAttribute("aria-activedescendant", at < 0 ? "" : "line-" + (first + at));
    }

    rowOf(row, at) {
        const open = row.parts ? { "aria-expanded": String(this.found !== "" || this.open.has(row.id)) } : {};
        const made = element("div", "", { role: "treeitem", id: "line-" + at, "data-row": at, "data-id": row.id, title: row.text, "aria-label": row.text,
            "aria-level": row.level, "aria-posinset": row.place, "aria-setsize": row.size, "aria-selected": String(row.id === this.chosen), ...open });
        const name = element("span", "", { class: "name" });
        name.append(element("span", row.name), element("span", row.told ?? "", { class: "small" }));
        made.append(name, this.barsOf(row));
        return made;
    }

    // One lane above the other, as high as the row: of a node its GPUs, of a GPU its pods.
    barsOf(row) {
        const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" });
        const high = HIGH / row.lanes.length;
        row.lanes.forEach((bars, lane) => bars.forEach((bar) => {
            const from = this.x(bar.from), box = { x: from, y: lane * high + 0.5, width: Math.max(2, this.x(bar.to) - from), height: Math.max(0.5, high - 1) };
            svg.append(shape("rect", { ...box, fill: colorOf(bar.namespace), opacity: bar.waits ? 0.55 : bar.to === null ? 0.4 : 1 }));
            if (bar.waits || bar.aside) {
                svg.append(shape("rect", { ...box, fill: "url(#hatch)" }));
            }
        }));
        svg.append(shape("path", { d: `M${this.x(this.present)} 0V${HIGH}`, class: "now" }));
        return svg;
    }

    tickParts(last) {
        const most = Math.max(1, Math.floor(this.ticks.clientWidth * 0.85 / TICK)), left = (last - this.present) / 1000;
        const step = STEPS.find((s) => left / s <= Math.min(8, most)) ?? Math.ceil(left / 86400 / most) * 86400;
        const made = [];
        for (let at = 0; at <= left; at += step) {
            const tick = element("span", at === 0 ? "now" : "+" + span(at));
            tick.style.left = this.x(this.present + at * 1000) * 100 / WIDE + "%";
            made.push(tick);
        }
        return made;
    }
}

// Jobs that follow each other: how they are written down, drawn, and asked about.
import { element, shape, span } from "./draw.js";

const BOX = { wide: 168, high: 40, gapX: 16, gapY: 26 };
const SECONDS = { d: 86400, h: 3600, m: 60, s: 1 };

// As JSON has it, which YAML reads alike; what JSON leaves as it is and YAML does not allow is escaped too.
export function quoted(text) {
    return JSON.stringify(text.toWellFormed()).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
        (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

// In a container's command Kubernetes makes $ of $$, and reads $(NAME): the shell shall have what was written.
const forShell = (text) => text.replace(/\$(?=[$(])/g, "$$$$");

function jobOf(stage, { namespace, scheduler }) {
    const notes = [...stage.timeout === "" ? [] : ["sliced.dev/timeout: " + quoted(stage.timeout)],
        ...stage.after === null ? [] : ["sliced.dev/after: " + quoted("job/" + stage.after.name)]];
    return ["apiVersion: batch/v1", "kind: Job", "metadata:", "  name: " + quoted(stage.name), "  namespace: " + quoted(namespace),
        "spec:", "  backoffLimit: " + Number(stage.retries), "  template:",
        ...notes.length === 0 ? [] : ["    metadata:", "      annotations:", ...notes.map((note) => "        " + note)],
        "    spec:", ...scheduler === "" ? [] : ["      schedulerName: " + quoted(scheduler)], "      restartPolicy: Never", "      containers:", "      - name: main", "        image: " + quoted(stage.image),
        ...stage.command.trim() === "" ? [] : ['        command: ["/bin/sh", "-c", ' + quoted(forShell(stage.command)) + "]"],
        "        resources:", "          limits:", "            " + quoted(stage.resource) + ": " + Number(stage.count), ""].join("\n");
}

// stages: [{name, image, command, resource, count, timeout, retries, after: a stage or null}]
// common: {namespace, scheduler}, which is "" for the cluster's own
export function manifestOf(stages, common) {
    return stages.map((stage) => jobOf(stage, common)).join("---\n");
}

// The first pod of its Job, as /api/v1/estimates takes it.
export function podOf(stage, { namespace, scheduler }) {
    return {
        apiVersion: "v1", kind: "Pod",
        metadata: { name: stage.name, namespace, annotations: stage.timeout === "" ? {} : { "sliced.dev/timeout": stage.timeout } },
        spec: { ...scheduler === "" ? {} : { schedulerName: scheduler }, containers: [{ name: "main", image: stage.image, resources: { limits: { [stage.resource]: stage.count } } }] },
    };
}

// "2h30m", "5400"; null: the text is none.
export function secondsOf(timeout) {
    const parts = timeout.match(/\d+[dhms]/g);
    return /^\d+$/.test(timeout) ? Number(timeout) : parts === null ? null
        : parts.reduce((sum, part) => sum + parseInt(part, 10) * SECONDS[part.slice(-1)], 0);
}

// Lists stages that might start earlier: {what, stage}, three at most. offers: [{resource, memoryMiB}].
export function easierThan(stage, offers) {
    const seconds = secondsOf(stage.timeout), own = offers.find((offer) => offer.resource === stage.resource);
    const less = offers.filter((offer) => own && offer.memoryMiB > 0 && offer.memoryMiB < own.memoryMiB).sort((a, b) => b.memoryMiB - a.memoryMiB)[0];
    const shorter = seconds === null ? { timeout: "1h" } : seconds > 1 ? { timeout: Math.ceil(seconds / 2) + "s" } : null;
    const smaller = stage.count > 1 ? { count: Math.floor(stage.count / 2) } : less ? { resource: less.resource, count: 1 } : null;
    const said = (change) => [...change.timeout ? ["a timeout of " + span(secondsOf(change.timeout))] : [],
        ...change.count ? [change.count + " " + (change.resource ?? stage.resource)] : []].join(" and ");
    return [shorter, smaller, shorter && smaller ? { ...shorter, ...smaller } : null].filter((change) => change !== null)
        .map((change) => ({ what: "With " + said(change), stage: { ...stage, ...change } }));
}

const shortened = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

// Each stage below the one that it follows.
export function graphOf(stages) {
    const rows = [], place = new Map();
    for (const stage of stages) {
        const depth = stage.after === null ? 0 : place.get(stage.after).depth + 1;
        rows[depth] = (rows[depth] ?? 0) + 1;
        place.set(stage, { depth, x: (rows[depth] - 1) * (BOX.wide + BOX.gapX), y: depth * (BOX.high + BOX.gapY) });
    }
    const wide = Math.max(...rows) * (BOX.wide + BOX.gapX) - BOX.gapX, high = rows.length * (BOX.high + BOX.gapY) - BOX.gapY;
    const svg = shape("svg", { viewBox: `-1 -1 ${wide + 2} ${high + 2}`, width: wide + 2, height: high + 2, role: "img",
        "aria-label": stages.map((stage) => stage.name + (stage.after === null ? "" : " after " + stage.after.name)).join(", ") });
    for (const [stage, { x, y }] of place) {
        if (stage.after !== null) {
            const from = place.get(stage.after), middle = BOX.wide / 2;
            svg.append(shape("path", { d: `M${from.x + middle} ${from.y + BOX.high}L${x + middle} ${y}m-4 -7l4 7l4 -7`, class: "arrow" }));
        }
        svg.append(shape("rect", { x, y, width: BOX.wide, height: BOX.high, rx: 4, class: "stage" }));
        [stage.name, stage.count + " " + stage.resource + (stage.timeout === "" ? "" : ", " + stage.timeout)].forEach((text, line) => {
            const label = shape("text", { x: x + 8, y: y + 16 + line * 16, class: line === 0 ? "" : "soft" });
            label.textContent = shortened(text, 24);
            svg.append(label);
        });
    }
    return svg;
}

export function optionsOf(offers) {
    return offers.map(({ resource, memoryMiB, capacity }) => element("option", resource +
        (memoryMiB > 0 ? ", up to " + Math.round(memoryMiB / 102.4) / 10 + " GiB" : "") + ", " + capacity + " of them", { value: resource }));
}

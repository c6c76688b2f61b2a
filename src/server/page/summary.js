// The cluster in numbers, and how they went over the last hour where Prometheus knows. No pod is named.
import { element, renewAll, shape, span } from "./draw.js";
import { get } from "./get.js";

const LOOK_MS = 10000, WIDE = 120, HIGH = 28;
const plain = (value) => String(Math.round(value * 10) / 10);

// {name, number, more, line, text}: the line of /api/v1/history, and how its values are said.
function tilesOf({ cluster, queue }, { gpus, used, aside, free, broken }) {
    return [
        { name: "pods wait", number: cluster.waiting, line: "waiting" },
        { name: "pods run", number: cluster.bound, line: "running" },
        { name: "GPUs used", number: used, more: "of " + gpus + (aside > 0 ? ", " + aside + " set aside" : ""), line: "usedUnits", of: "units used" },
        { name: "GPUs free", number: free, more: broken > 0 ? broken + " broken" : "", line: "freeUnits", of: "units free" },
        ...queue === null ? [] : [
            { name: "mean wait", number: span(queue.meanWaitSeconds), more: "of pods that were bound", line: "meanWaitSeconds", of: "mean wait of ten minutes", text: span },
            { name: "ended by timeout", number: queue.runsEnded.timeout, more: "of " + (queue.runsEnded.timeout + queue.runsEnded.before) + " runs",
                line: "timeouts", of: "ended by timeout in ten minutes" },
        ],
    ];
}

function plotOf(tile, values) {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) {
        return [];
    }
    const text = tile.text ?? plain, least = Math.min(...known), most = Math.max(...known), last = known[known.length - 1];
    const said = (tile.of ?? tile.name) + " over the last hour: least " + text(least) + ", most " + text(most) + ", at last " + text(last);
    const svg = shape("svg", { viewBox: `-1 -2 ${WIDE + 2} ${HIGH + 4}`, role: "img", "aria-label": said });
    const title = shape("title", {});
    title.textContent = said;
    const place = (value, i) => (i / (values.length - 1) * WIDE).toFixed(1) + " " + (most > 0 ? HIGH - value / most * HIGH : HIGH).toFixed(1);
    // a point alone is a dot; where nothing is known the line has a gap
    const d = values.map((value, i) => value === null ? "" : (i > 0 && values[i - 1] !== null ? "L" : "M") + place(value, i) + "h0").join("");
    svg.append(title, shape("path", { d, class: "plot" }));
    return [svg];
}

function sourceText({ kept, error, endsAt }) {
    return !kept ? "How they went is not known: telemetry.url names no Prometheus."
        : error !== null ? "Prometheus does not tell how they went: " + error
        : endsAt === null ? "Prometheus is asked how they went." : "Over the last hour, from 0 up, as Prometheus has it; of GPUs in units of their resources.";
}

export class Summary {
    constructor(list, source) {
        Object.assign(this, { list, source, state: null, counts: null, history: { kept: true, error: null, endsAt: null, lines: {} }, askedMs: -Infinity });
    }

    async look() {
        if (performance.now() - this.askedMs > (this.history.endsAt === null ? LOOK_MS / 5 : LOOK_MS)) {
            this.askedMs = performance.now();
            this.history = await get("api/v1/history");
            this.show({});
        }
    }

    show(fresh) {
        Object.assign(this, fresh);
        if (this.state === null || this.counts === null) {
            return;
        }
        renewAll(this.list, tilesOf(this.state, this.counts).map((tile) => {
            const made = element("li");
            made.append(element("strong", tile.number), " " + tile.name, element("span", tile.more ?? "", { class: "small" }),
                ...plotOf(tile, this.history.lines[tile.line] ?? []));
            return made;
        }));
        this.source.textContent = sourceText(this.history);
    }
}

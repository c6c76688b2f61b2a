// Who runs until when, and who should start when.
import { colorOf, css, fit, hatch, span } from "./draw.js";

const ROW = 18, LEFT = 260, TOP = 22, MOST = 400;
const STEPS = [60, 300, 900, 3600, 4 * 3600, 86400, 7 * 86400];

export class Times {
    constructor(canvas, onTip, onOpen) {
        Object.assign(this, { canvas, runs: [], waits: [], bars: [], found: "" });
        canvas.addEventListener("mousemove", (event) => onTip(event, this.at(event)));
        canvas.addEventListener("mouseleave", (event) => onTip(event, null));
        canvas.addEventListener("click", (event) => {
            const bar = this.at(event);
            if (bar !== null) {
                onOpen(bar.pod);
            }
        });
    }

    show(runs, waits) {
        this.runs = runs;
        this.waits = waits;
        this.draw();
    }

    // The bars in the order in which they are drawn: what ends first, then what starts first.
    chosen(now) {
        const matches = (bar) => this.found === "" || bar.pod.includes(this.found) || bar.node.includes(this.found);
        const running = this.runs.filter(matches).map((run) => ({
            ...run, from: run.start, to: run.timeout === null ? null : run.start + run.timeout * 1000 }));
        running.sort((a, b) => (a.to ?? Infinity) - (b.to ?? Infinity));
        const waiting = this.waits.filter((row) => row.state !== "Nominated" && row.estimatedStart.at !== null).map((row) => {
            const from = Math.max(now, Date.parse(row.estimatedStart.at));
            return { pod: row.namespace + "/" + row.name, namespace: row.namespace, node: "", waits: true,
                from, to: from + row.plannedTimeoutSeconds * 1000, timeout: row.plannedTimeoutSeconds };
        }).filter(matches);
        waiting.sort((a, b) => a.from - b.from);
        return [...running.slice(0, MOST / 2), ...waiting.slice(0, MOST / 2)];
    }

    draw() {
        const now = Date.now();
        this.bars = this.chosen(now);
        const width = this.canvas.parentElement.clientWidth - 32;
        if (width <= LEFT) {
            return;
        }
        const pen = fit(this.canvas, width, TOP + this.bars.length * ROW + 10);
        pen.font = "11px system-ui, sans-serif";
        pen.textBaseline = "middle";
        const ends = this.bars.map((bar) => bar.to ?? now).filter((end) => end > now).sort((a, b) => a - b);
        const last = ends[Math.floor(ends.length * 0.9)] ?? now + 3600e3;
        const from = now - (last - now) * 0.15;
        const scale = (width - LEFT - 10) / (last * 1.0 - from);
        const x = (at) => LEFT + Math.min(width - LEFT, Math.max(0, (at - from) * scale));
        this.drawTicks(pen, now, last, x);
        this.bars.forEach((bar, i) => this.drawBar(pen, bar, TOP + i * ROW, x, width));
    }

    drawTicks(pen, now, last, x) {
        const step = STEPS.find((s) => (last - now) / 1000 / s <= 8) ?? STEPS[STEPS.length - 1];
        for (let at = now; at <= last; at += step * 1000) {
            pen.strokeStyle = css(at === now ? "--accent" : "--line");
            pen.beginPath();
            pen.moveTo(x(at) + 0.5, TOP - 4);
            pen.lineTo(x(at) + 0.5, TOP + this.bars.length * ROW);
            pen.stroke();
            pen.fillStyle = css("--soft");
            pen.fillText(at === now ? "now" : "+" + span((at - now) / 1000), x(at) + 2, 9);
        }
    }

    drawBar(pen, bar, y, x, width) {
        const end = bar.to === null ? width : x(bar.to);
        const from = x(bar.from);
        bar.y = y;
        pen.fillStyle = css("--ink");
        pen.fillText(bar.pod.length > 40 ? bar.pod.slice(0, 39) + "…" : bar.pod, 0, y + ROW / 2, LEFT - 10);
        pen.globalAlpha = bar.waits ? 0.55 : bar.to === null ? 0.4 : 1;
        pen.fillStyle = colorOf(bar.namespace);
        pen.fillRect(from, y + 2, Math.max(2, end - from), ROW - 4);
        pen.globalAlpha = 1;
        if (bar.waits || bar.aside) {
            hatch(pen, from, y + 2, Math.max(2, end - from), ROW - 4, css("--ground"));
        }
    }

    at(event) {
        const py = event.clientY - this.canvas.getBoundingClientRect().top;
        return this.bars[Math.floor((py - TOP) / ROW)] ?? null;
    }
}

// Who runs until when, and who should start when.
import { colorOf, css, fit, hatch, now, span } from "./draw.js";

const ROW = 18, TOP = 22, MOST = 400, TICK = 52;
const STEPS = [60, 300, 900, 3600, 4 * 3600, 86400, 2 * 86400, 7 * 86400];

export class Times {
    constructor(canvas, onTip, onOpen, onChoose) {
        Object.assign(this, { canvas, onChoose, runs: [], waits: [], bars: [], found: "", chosen: "" });
        canvas.addEventListener("mousemove", (event) => onTip(event, this.at(event)));
        canvas.addEventListener("mouseleave", (event) => onTip(event, null));
        canvas.addEventListener("click", (event) => {
            const bar = this.at(event);
            if (bar !== null) {
                onOpen(bar.pod);
            }
        });
        canvas.addEventListener("keydown", (event) => this.key(event, onOpen));
        addEventListener("resize", () => this.draw());
    }

    key(event, onOpen) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const at = this.bars.findIndex((bar) => bar.pod === this.chosen);
        if (step !== undefined && this.bars.length > 0) {
            const bar = this.bars[Math.min(this.bars.length - 1, Math.max(0, at + step))];
            this.chosen = bar.pod;
            this.reveal(bar);
            this.draw();
            this.onChoose(bar);
        } else if (event.key === "Enter" && at >= 0) {
            onOpen(this.chosen);
        } else {
            return;
        }
        event.preventDefault();
    }

    reveal(bar) {
        const y = this.canvas.getBoundingClientRect().top + bar.y;
        if (y < 0 || y + ROW > innerHeight) {
            scrollBy(0, y - innerHeight / 2);
        }
    }

    show(runs, waits) {
        this.runs = runs;
        this.waits = waits;
        this.draw();
    }

    // In the order in which they are drawn: what ends first, then what starts first.
    barsAt(now) {
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
        const width = this.canvas.parentElement.clientWidth - 32;
        if (width <= 0) {
            return;
        }
        const present = now();
        this.bars = this.barsAt(present);
        this.left = Math.min(260, Math.round(width * 0.4));
        const pen = fit(this.canvas, width, TOP + this.bars.length * ROW + 10);
        pen.font = "11px system-ui, sans-serif";
        pen.textBaseline = "middle";
        const ends = this.bars.map((bar) => bar.to ?? present).filter((end) => end > present).sort((a, b) => a - b);
        const last = ends[Math.floor(ends.length * 0.9)] ?? present + 3600e3;
        const from = present - (last - present) * 0.15;
        const scale = (width - this.left - 10) / (last - from);
        const x = (at) => this.left + Math.min(width - this.left, Math.max(0, (at - from) * scale));
        this.drawTicks(pen, present, last, x);
        this.bars.forEach((bar, i) => this.drawBar(pen, bar, TOP + i * ROW, x, width));
    }

    drawTicks(pen, now, last, x) {
        const most = Math.max(1, Math.floor((x(last) - x(now)) / TICK));
        const days = Math.ceil((last - now) / 86400e3 / most) * 86400;
        const step = STEPS.find((s) => (last - now) / 1000 / s <= Math.min(8, most)) ?? days;
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
        if (bar.pod === this.chosen) {
            pen.strokeStyle = css("--accent");
            pen.strokeRect(0.5, y + 0.5, width - 1, ROW - 1);
        }
        const room = Math.floor(this.left / 6.5);
        pen.fillStyle = css("--ink");
        pen.fillText(bar.pod.length > room ? bar.pod.slice(0, room - 1) + "…" : bar.pod, 4, y + ROW / 2, this.left - 10);
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

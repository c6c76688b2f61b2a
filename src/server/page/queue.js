// The pods that wait. Only the rows in sight are asked for and made, however many there are. A row is as high as
// its sentence needs: where none are drawn, each counts as what those that are drawn take in the mean.
import { element, renewAll, span, until } from "./draw.js";
import { get } from "./get.js";

const ROW = 27, MARGIN = 20;   // the height until rows are drawn

const keyOf = (row) => row.namespace + "/" + row.name;

function cellsOf(row) {
    const start = row.estimatedStart;
    const ask = row.ask.map((item) => item.count + " " + item.resource).join(", ");
    return [
        [row.position, "number"], [keyOf(row)], [ask],
        [span(row.plannedTimeoutSeconds), "number"], [span(row.waitedSeconds), "number"], [row.state],
        [start.inSeconds === null ? "-" : until(start.inSeconds), "number"], [row.text],
    ];
}

export class Queue {
    constructor(region, counted, onOpen, onChoose) {
        Object.assign(this, { region, counted, onOpen, onChoose, rows: [], first: 0, total: 0, high: ROW, found: "", chosen: "", body: region.querySelector("tbody") });
        region.addEventListener("scroll", () => this.scrolled());
        region.addEventListener("keydown", (event) => this.key(event));
        this.body.addEventListener("click", (event) => this.open(event.target.closest("tr[data-pod]")));
    }

    drawn() {
        return [...this.body.querySelectorAll("tr[data-pod]")];
    }

    // The first row in sight, and where it begins; {at: null} when it is not drawn.
    edge() {
        const edge = this.region.getBoundingClientRect().top;
        const rows = this.drawn();
        const seen = rows.findIndex((tr) => tr.getBoundingClientRect().bottom > edge);
        const known = seen > 0 || (seen === 0 && (this.first === 0 || rows[0].getBoundingClientRect().top <= edge));
        return known ? { row: this.first + seen, key: rows[seen].dataset.pod, at: rows[seen].getBoundingClientRect().top }
            : { row: Math.floor(this.region.scrollTop / this.high), at: null };
    }

    // A pod's name is looked for among all that wait, a namespace as well.
    path() {
        const high = Math.ceil(this.region.clientHeight / this.high) + 2 * MARGIN;
        const top = Math.max(0, this.edge().row - MARGIN);
        const find = this.found === "" ? "" : "&find=" + encodeURIComponent(this.found);
        return "api/v1/queue?limit=" + Math.max(high, 2 * MARGIN) + (top > 0 ? "&skip=" + top : "") + find;
    }

    async look() {
        const path = this.path(), begin = performance.now();
        const read = await get(path);
        if (path !== this.path()) {
            return;   // it was scrolled meanwhile, and another answer is on its way
        }
        this.first = read.skipped;
        this.rows = read.items;
        this.total = read.skipped + read.items.length + read.omitted;
        this.order = read.order;
        this.all = read.total;
        this.draw();
        this.region.dataset.lookMs = String(performance.now() - begin);
    }

    scrolled() {
        const top = this.edge().row;
        const end = top + Math.ceil(this.region.clientHeight / this.high);
        const missing = top < this.first || (end > this.first + this.rows.length && end <= this.total);
        if (missing && !this.asked) {
            this.asked = true;
            this.look().catch(() => {}).finally(() => { this.asked = false; });
        }
    }

    gap(rows) {
        const tr = element("tr", "", { class: "gap" });
        const td = element("td", "", { colspan: "8" });
        td.style.height = rows * this.high + "px";
        tr.append(td);
        return tr;
    }

    // The rows in sight stay where they are, whatever becomes of those above them.
    draw() {
        const { key, at } = this.edge();
        this.makeRows();
        const rows = this.drawn();
        const high = rows.length === 0 ? this.high
            : (rows[rows.length - 1].getBoundingClientRect().bottom - rows[0].getBoundingClientRect().top) / rows.length;
        if (Math.abs(high - this.high) > 1) {
            this.high = high;
            this.makeRows();
        }
        const stays = this.region.scrollTop > 0 && at !== null ? this.drawn().find((tr) => tr.dataset.pod === key) : undefined;
        if (stays) {
            this.region.scrollTop += stays.getBoundingClientRect().top - at;
        }
    }

    makeRows() {
        const made = this.rows.map((row) => {
            const tr = element("tr", "", { "data-pod": keyOf(row), "data-position": row.position });
            if (keyOf(row) === this.chosen) {
                tr.setAttribute("class", "chosen");
            }
            for (const [text, kind] of cellsOf(row)) {
                tr.append(element("td", String(text), kind ? { class: kind } : { title: String(text) }));
            }
            return tr;
        });
        const after = this.total - this.first - this.rows.length;
        renewAll(this.body, [this.gap(this.first), ...made, this.gap(after)]);
        this.counted.textContent = this.all === 0 ? "No pods wait."
            : this.all + " pods wait, in the order " + this.order + (this.found === "" ? "." : "; " + this.total + " match.");
    }

    open(tr) {
        if (tr) {
            this.chosen = tr.dataset.pod;
            this.draw();
            this.onOpen(tr.dataset.pod);
        }
    }

    key(event) {
        const at = this.rows.findIndex((row) => keyOf(row) === this.chosen);
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step !== undefined && this.rows.length > 0) {
            const next = this.rows[Math.min(this.rows.length - 1, Math.max(0, at + step))];
            this.chosen = keyOf(next);
            this.draw();
            this.onChoose(next);
            this.body.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" });
        } else if (event.key === "Enter" && at >= 0) {
            this.onOpen(this.chosen);
        } else {
            return;
        }
        event.preventDefault();
    }
}

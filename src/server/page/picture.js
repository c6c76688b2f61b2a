// The cluster as nodes, their GPUs and slices, on one canvas.
import { colorOf, css, fit, hatch, inkOn, lettersOf } from "./draw.js";

const CELL = 26, GAP = 3, HEAD = 15, PAD = 8;
const WIDE = 34;   // a GPU whose slices can be told apart
const LETTERS = 15;   // the narrowest slice that has room for its namespace's letters

export class Picture {
    constructor(canvas, onTip, onOpen, onChoose) {
        Object.assign(this, { canvas, onChoose, nodes: [], found: "", places: [], chosen: -1 });
        canvas.addEventListener("mousemove", (event) => onTip(event, this.at(event)));
        canvas.addEventListener("mouseleave", (event) => onTip(event, null));
        canvas.addEventListener("click", (event) => this.open(this.at(event), onOpen));
        canvas.addEventListener("keydown", (event) => this.key(event, onOpen));
        this.field = canvas.parentElement;
        addEventListener("resize", () => this.draw());
        addEventListener("scroll", () => requestAnimationFrame(() => this.draw()), { passive: true });
    }

    show(nodes) {
        this.nodes = nodes.filter((node) => node.devices.length > 0);
        this.draw();
    }

    open(hit, onOpen) {
        if (hit !== null) {
            this.chosen = this.places.indexOf(hit.place);
            onOpen(hit);
            this.draw();
        }
    }

    key(event, onOpen) {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (step !== undefined && this.places.length > 0) {
            this.chosen = (this.chosen + step + this.places.length) % this.places.length;
            this.reveal(this.places[this.chosen]);
            this.draw();
            this.onChoose(this.places[this.chosen].node);
        } else if (event.key === "Enter" && this.places[this.chosen]) {
            onOpen({ place: this.places[this.chosen], slice: null });
        } else {
            return;
        }
        event.preventDefault();
    }

    // Only what is in sight is drawn: the canvas stays in the window, the field behind it scrolls.
    reveal(place) {
        const top = this.field.offsetTop + place.y;
        if (top < scrollY || top + place.h > scrollY + innerHeight) {
            scrollTo(0, top - innerHeight / 2);
        }
    }

    layout(width) {
        let x = 0, y = 0, high = 0;
        this.places = [];
        for (const node of this.nodes) {
            const per = Math.min(node.devices.length, 8);
            const w = Math.max(per * (WIDE + GAP), 80);
            const h = HEAD + Math.ceil(node.devices.length / per) * (CELL + GAP);
            if (x > 0 && x + w > width) {
                x = 0;
                y += high + PAD;
                high = 0;
            }
            this.places.push({ node, x, y, w, h, per });
            x += w + PAD;
            high = Math.max(high, h);
        }
        return y + high + PAD;
    }

    draw() {
        const width = this.field.clientWidth;
        if (width <= 0) {
            return;
        }
        const all = this.layout(width);
        const high = Math.min(all, innerHeight);
        this.field.style.height = all + "px";
        this.top = Math.min(Math.max(0, scrollY - this.field.offsetTop), all - high);
        const pen = fit(this.canvas, width, high);
        pen.font = "11px system-ui, sans-serif";
        pen.textBaseline = "top";
        pen.translate(0, -this.top);
        this.places.forEach((place, i) => {
            if (place.y + place.h >= this.top && place.y <= this.top + high) {
                this.drawNode(pen, place, i === this.chosen);
            }
        });
    }

    isFaint(place, slice) {
        return this.found !== "" && !place.node.name.includes(this.found) &&
            !slice.users.some((user) => user.includes(this.found));
    }

    drawNode(pen, place, chosen) {
        const { node, x, y, w, h, per } = place;
        pen.fillStyle = css(node.problem ? "--bad" : chosen ? "--accent" : "--soft");
        pen.fillText(((node.problem ? "! " : "") + node.name).slice(0, Math.floor(w / 6)), x, y, w);
        node.devices.forEach((device, i) =>
            this.drawDevice(pen, place, device, x + (i % per) * (WIDE + GAP), y + HEAD + Math.floor(i / per) * (CELL + GAP)));
        if (chosen) {
            pen.strokeStyle = css("--accent");
            pen.strokeRect(x - 2, y - 2, w + 4, h + 2);
        }
    }

    drawDevice(pen, place, device, x, y) {
        for (const slice of device.slices) {
            const left = x + Math.round(slice.from * WIDE);
            const wide = Math.max(2, Math.round((slice.to - slice.from) * WIDE) - 1);
            pen.globalAlpha = this.isFaint(place, slice) ? 0.15 : 1;
            pen.fillStyle = slice.users.length === 0 ? css("--idle") : colorOf(slice.namespace);
            pen.fillRect(left, y, wide, CELL);
            if (slice.aside || place.node.cutting) {
                hatch(pen, left, y, wide, CELL, css(place.node.cutting ? "--ink" : "--ground"));
            } else if (slice.users.length > 0 && wide >= LETTERS) {
                pen.fillStyle = inkOn(colorOf(slice.namespace));
                pen.fillText(lettersOf(slice.namespace), left + 3, y + 7, wide - 4);
            }
        }
        pen.globalAlpha = 1;
        if (device.measured?.busyPermille > 0) {   // how busy it was, along the lower edge
            pen.fillStyle = css("--ink");
            pen.fillRect(x, y + CELL - 3, Math.max(1, Math.round(WIDE * device.measured.busyPermille / 1000)), 3);
        }
        if (device.over > 0) {
            pen.fillStyle = css("--bad");
            pen.fillText("!", x + WIDE - 6, y + 2);
        }
        pen.strokeStyle = css(device.healthy && device.over === 0 ? "--line" : "--bad");
        pen.strokeRect(x + 0.5, y + 0.5, WIDE - 1, CELL - 1);
        if (!device.healthy) {
            pen.beginPath();
            pen.moveTo(x, y);
            pen.lineTo(x + WIDE, y + CELL);
            pen.moveTo(x + WIDE, y);
            pen.lineTo(x, y + CELL);
            pen.stroke();
        }
    }

    // What lies under the pointer: {place, device, slice}, or null.
    at(event) {
        const box = this.canvas.getBoundingClientRect();
        const px = event.clientX - box.left, py = event.clientY - box.top + this.top;
        const place = this.places.find((p) => px >= p.x && px < p.x + p.w && py >= p.y && py < p.y + p.h);
        if (place === undefined) {
            return null;
        }
        const column = Math.floor((px - place.x) / (WIDE + GAP));
        const row = Math.floor((py - place.y - HEAD) / (CELL + GAP));
        const device = row >= 0 && column < place.per ? place.node.devices[row * place.per + column] : undefined;
        const part = (px - place.x - column * (WIDE + GAP)) / WIDE;
        return { place, device, slice: device?.slices.find((s) => part >= s.from && part < s.to) ?? null };
    }
}

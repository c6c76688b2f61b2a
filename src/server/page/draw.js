// Pieces of pictures, lines and tables.

// Colours that stay apart for most eyes, on light ground and dark (Okabe and Ito, without black).
const HUES = ["#e69f00", "#56b4e9", "#009e73", "#d9c400", "#0072b2", "#d55e00", "#cc79a7"];
const REST = "#8c8f93";
const given = new Map();

// The first namespaces that are met get a colour each, the others share one.
export function colorOf(namespace) {
    if (!given.has(namespace)) {
        given.set(namespace, HUES[given.size] ?? REST);
    }
    return given.get(namespace);
}

export function colors() {
    return [...given].filter(([, color]) => color !== REST);
}

// Ink that can be read on that colour.
const inks = new Map();
export function inkOn(color) {
    if (!inks.has(color)) {
        const [r, g, b] = [1, 3, 5].map((at) => (parseInt(color.slice(at, at + 2), 16) / 255) ** 2.2);
        inks.set(color, 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff");
    }
    return inks.get(color);
}

// The letters by which a namespace is told apart without its colour: "team-12" is "t12", "vision" is "vi".
export function lettersOf(namespace) {
    const digits = namespace.match(/\d+$/)?.[0] ?? "";
    return digits === "" ? namespace.slice(0, 2) : namespace[0] + digits.slice(-2);
}

// A colour of the style sheet. Asking the browser 8,000 times for a picture takes longer than drawing it.
const styles = new Map();
export function css(name) {
    if (!styles.has(name)) {
        styles.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    }
    return styles.get(name);
}

export function onScheme(redraw) {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
        styles.clear();
        redraw();
    });
}

// Makes the canvas that large, sharp on every screen, and returns its pen.
export function fit(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    return pen;
}

export function hatch(pen, x, y, w, h, color) {
    pen.save();
    pen.beginPath();
    pen.rect(x, y, w, h);
    pen.clip();
    pen.strokeStyle = color;
    pen.beginPath();
    for (let at = x - h; at < x + w; at += 5) {
        pen.moveTo(at, y + h);
        pen.lineTo(at + h, y);
    }
    pen.stroke();
    pen.restore();
}

const UNITS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];

// "45s", "12m", "3h20m": two units at most.
export function span(seconds) {
    if (seconds === null || seconds === undefined || Number.isNaN(seconds)) {
        return "-";
    }
    let left = Math.max(0, Math.round(seconds)), text = "", parts = 0;
    for (const [size, unit] of UNITS) {
        if (left >= size && parts < 2) {
            text += Math.floor(left / size) + unit;
            left %= size;
            parts++;
        } else if (parts > 0) {
            break;
        }
    }
    return text === "" ? "0s" : text;
}

// A time to come, as the daemon says it: rounded up to what is shown.
export function until(seconds) {
    const unit = seconds > 86400 ? 3600 : seconds > 3600 ? 60 : 1;
    return span(seconds === null ? null : Math.ceil(seconds / unit) * unit);
}

// The daemon's clock, which the browser's may differ from.
let aheadMs = 0;
export function followClock(daemonMs) {
    const off = daemonMs - Date.now();
    aheadMs = Math.abs(off) < 2000 ? 0 : off;
}
export const now = () => Date.now() + aheadMs;

// Makes old show what fresh does and leaves alone what is the same: a selection and the focus stay.
export function renew(old, fresh) {
    if (old.nodeType === Node.TEXT_NODE || old.tagName !== fresh.tagName) {
        if (!old.isEqualNode(fresh)) {
            old.replaceWith(fresh);
        }
        return;
    }
    for (const { name } of [...old.attributes]) {
        if (!fresh.hasAttribute(name)) {
            old.removeAttribute(name);
        }
    }
    for (const { name, value } of fresh.attributes) {
        if (name === "style") {
            old.style.cssText = fresh.style.cssText;   // the page's policy allows no style in markup
        } else if (old.getAttribute(name) !== value) {
            old.setAttribute(name, value);
        }
    }
    renewAll(old, [...fresh.childNodes]);
}

export function renewAll(parent, fresh) {
    const old = [...parent.childNodes];
    old.slice(fresh.length).forEach((node) => node.remove());
    fresh.forEach((node, i) => i < old.length ? renew(old[i], node) : parent.append(node));
}

// An element with text, never markup: pods' names are written by their users.
export function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text ?? "";
    for (const [name, value] of Object.entries(attributes)) {
        made.setAttribute(name, value);
    }
    return made;
}

// A part of a drawing. Its colours are attributes: the page's policy allows no style in markup.
export function shape(tag, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
        made.setAttribute(name, value);
    }
    return made;
}

// Leads to the story of a pod ("NAMESPACE/NAME") or of a node.
export function link(kind, key) {
    return element("button", key, { type: "button", class: "link", "data-open": kind, "data-key": key });
}

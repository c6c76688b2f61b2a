// What if: Jobs are put together, and when the first would start is asked. Nothing is written to the cluster.
import { element, renewAll, span, until } from "./draw.js";
import { post } from "./get.js";
import { easierThan, graphOf, manifestOf, optionsOf, podOf, secondsOf } from "./job.js";
import { facts, table } from "./panel.js";

const TRIES = 10, AGAIN_MS = 1000, STAGES_MAX = 8, ROOTS_MAX = 3;

const startOf = (told) => told.startsInSeconds === null ? "that is not known"
    : told.startsInSeconds === 0 ? "now" : "in " + until(told.startsInSeconds) + ", " + new Date(told.estimatedStart).toLocaleString();

function answerOf(stage, told) {
    const seconds = secondsOf(stage.timeout);
    return [element("h2", stage.name + " would start " + startOf(told)), facts([
        ["How sure", told.estimateKind], ["State", told.state], ["Why", told.message],
        ["Place in the queue", told.position], ["Ahead of it", told.ahead], ["Node", told.node], ["Devices", told.devices],
        ["Ends by", told.startsInSeconds === null || seconds === null ? null : new Date(Date.parse(told.estimatedStart) + seconds * 1000).toLocaleString()],
        ["Pods that would start later", told.delayed],
    ])];
}

function gainOf(told, than) {
    const gain = told.startsInSeconds === null || than.startsInSeconds === null ? null : than.startsInSeconds - told.startsInSeconds;
    return gain === null ? "" : Math.abs(gain) < 1 ? "no earlier" : span(Math.abs(gain)) + (gain > 0 ? " earlier" : " later");
}

export class Ask {
    constructor(root) {
        const [form, answer, graph, manifest, copied] = ["form", "#answer", "#graph", "#manifest", "#copied"].map((one) => root.querySelector(one));
        Object.assign(this, { form, answer, graph, manifest, copied, sets: form.querySelector("#stages"), model: root.querySelector("template"),
            save: root.querySelector("#save"), offers: [], asked: 0, made: 0 });
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            this.ask();
        });
        form.addEventListener("input", () => this.update());
        root.addEventListener("click", (event) => {
            const act = event.target.closest("[data-act]")?.dataset.act;
            if (act) {
                this[act](event.target.closest("fieldset"));
                this.update();
            }
        });
        this.add();
        this.update();
    }

    // offers: what the nodes have, [{resource, memoryMiB, capacity}].
    offer(offers) {
        if (JSON.stringify(offers) !== JSON.stringify(this.offers)) {
            this.offers = offers;
            this.form.querySelectorAll("[name=resource]").forEach((select) => this.fill(select));
            this.update();
        }
    }

    // The choice stays, also where it is offered no more.
    fill(select) {
        const chosen = select.value, gone = chosen !== "" && !this.offers.some((offer) => offer.resource === chosen);
        select.replaceChildren(...optionsOf(this.offers), ...gone ? [element("option", chosen + ", gone", { value: chosen })] : []);
        select.value = chosen !== "" ? chosen : this.offers[0]?.resource ?? "";
    }

    add() {
        const before = this.sets.lastElementChild, set = document.importNode(this.model.content, true).firstElementChild;
        set.dataset.id = String(++this.made);
        set.elements.name.value = "job-" + this.made;
        this.fill(set.elements.resource);
        this.sets.append(set);
        if (before !== null) {   // as the last one, which it follows
            for (const name of ["image", "resource", "count", "timeout", "retries"]) {
                set.elements[name].value = before.elements[name].value;
            }
            set.elements.after.append(element("option", "", { value: before.dataset.id, selected: "" }));
            set.elements.name.focus();
        }
    }

    // A stage that followed it follows its predecessor.
    remove(set) {
        for (const other of this.sets.children) {
            if (other.elements.after.value === set.dataset.id) {
                other.elements.after.replaceChildren(element("option", "", { value: set.elements.after.value, selected: "" }));
            }
        }
        set.remove();
        this.sets.lastElementChild.elements.name.focus();
    }

    async copy() {
        try {
            await navigator.clipboard.writeText(this.manifest.textContent);
            this.copied.textContent = "Copied.";
        } catch {   // the browser or its user does not allow it
            getSelection().selectAllChildren(this.manifest);
            this.copied.textContent = "It is selected: copy it by the keyboard.";
        }
    }

    stages() {
        const stages = new Map();
        for (const set of this.sets.children) {   // each follows one of those before it
            const read = (name) => set.elements[name].value;
            stages.set(set.dataset.id, { name: read("name"), image: read("image").trim(), command: read("command"), resource: read("resource"),
                count: Number(read("count")), timeout: read("timeout").trim(), retries: Number(read("retries")), after: stages.get(read("after")) ?? null });
        }
        return [...stages.values()];
    }

    // The scheduler that the queue's pods name, until somebody writes another.
    schedule(name) {
        const { scheduler } = this.form.elements;
        if (name !== null && scheduler.value === "" && scheduler.defaultValue !== name) {
            scheduler.defaultValue = scheduler.value = name;
            this.update();
        }
    }

    common() {
        return { namespace: this.form.elements.namespace.value || "default", scheduler: this.form.elements.scheduler.value };
    }

    update() {
        const sets = [...this.sets.children];
        sets.forEach((set, i) => {
            const { name, after } = set.elements, chosen = after.value;
            name.setCustomValidity(sets.some((other) => other !== set && other.elements.name.value === name.value) ? "Two stages have this name." : "");
            after.replaceChildren(element("option", "nothing", { value: "" }),
                ...sets.slice(0, i).map((other) => element("option", other.elements.name.value, { value: other.dataset.id })));
            after.value = chosen;
            set.querySelector("legend").textContent = sets.length > 1 ? "Stage " + (i + 1) : "Job";
            set.querySelector("[data-act=remove]").hidden = sets.length === 1;
            after.closest("label").hidden = i === 0;
        });
        this.form.querySelector("[data-act=add]").disabled = sets.length >= STAGES_MAX;
        const stages = this.stages(), whole = this.form.checkValidity() && stages.every((stage) => stage.image !== "" && stage.resource !== "");
        renewAll(this.graph, [graphOf(stages)]);
        this.manifest.textContent = whole ? manifestOf(stages, this.common()) : "";
        this.manifest.parentElement.hidden = !whole;
        this.copied.textContent = whole ? "" : "The manifest stands here as soon as every stage has a good name and an image.";
        URL.revokeObjectURL(this.save.href);
        this.save.href = URL.createObjectURL(new Blob([this.manifest.textContent], { type: "application/yaml" }));
    }

    // One question after the other: what is asked for, then what might start earlier.
    async ask() {
        const asked = ++this.asked, stages = this.stages(), common = this.common();
        const parts = [];
        const show = (...more) => {
            if (asked === this.asked) {   // no other question was asked meanwhile
                parts.push(...more);
                this.answer.replaceChildren(...parts);
            }
        };
        this.answer.setAttribute("aria-busy", "true");
        try {
            const told = await this.patiently(podOf(stages[0], common), asked);
            show(...answerOf(stages[0], told));
            for (const stage of stages.slice(1)) {
                const roots = stages.filter((one) => one.after === null).slice(1, ROOTS_MAX);
                show(...stage.after !== null ? [element("p", stage.name + " waits until " + stage.after.name + " has succeeded.")]
                    : roots.includes(stage) ? answerOf(stage, await this.patiently(podOf(stage, common), asked)) : []);
            }
            if (told.startsInSeconds !== 0) {
                const rows = [];
                for (const { what, stage } of easierThan(stages[0], this.offers)) {
                    const easier = await this.patiently(podOf(stage, common), asked);
                    rows.push([what, startOf(easier), gainOf(easier, told)]);
                }
                show(element("h3", "What would change " + stages[0].name + "'s start"), table(["", "It would start", ""], rows));
            }
        } catch (error) {
            show(element("p", error.message, { class: "bad" }));
        }
        if (asked === this.asked) {
            this.answer.setAttribute("aria-busy", "false");
        }
    }

    // One estimate is made at a time: others may ask as well.
    async patiently(pod, asked) {
        for (let left = TRIES; ; left--) {
            try {
                return await post("api/v1/estimates", pod);
            } catch (error) {
                if (error.status !== 429 || left === 0 || asked !== this.asked) {
                    throw error;
                }
                await new Promise((done) => setTimeout(done, AGAIN_MS));
            }
        }
    }
}

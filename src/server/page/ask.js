// What if: when would a pod start that is not there? Nothing is changed by asking.
import { element, until } from "./draw.js";
import { post } from "./get.js";
import { facts } from "./panel.js";

const TRIES = 10, AGAIN_MS = 1000;

function podOf(fields) {
    const annotations = fields.timeout === "" ? {} : { "sliced.dev/timeout": fields.timeout };
    return {
        apiVersion: "v1", kind: "Pod",
        metadata: { name: "what-if", namespace: fields.namespace === "" ? "default" : fields.namespace, annotations },
        spec: { priority: Number(fields.priority), containers: [{ name: "main", resources: { limits: { [fields.resource]: fields.count } } }] },
    };
}

function answerOf(told) {
    const start = told.startsInSeconds === null ? "that is not known"
        : told.startsInSeconds === 0 ? "now" : "in " + until(told.startsInSeconds) + ", " + new Date(told.estimatedStart).toLocaleString();
    return [element("h2", "It would start " + start), facts([
        ["How sure", told.estimateKind], ["State", told.state], ["Why", told.message],
        ["Place in the queue", told.position], ["Ahead of it", told.ahead], ["Node", told.node], ["Devices", told.devices],
        ["Pods that would start later", told.delayed],
    ])];
}

export class Ask {
    constructor(form, answer, resources) {
        Object.assign(this, { form, answer, list: resources, asked: 0 });
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            this.ask();
        });
    }

    offer(resources) {
        this.list.replaceChildren(...resources.map((resource) => element("option", "", { value: resource })));
    }

    async ask() {
        const asked = ++this.asked;
        const pod = podOf(Object.fromEntries(new FormData(this.form)));
        this.answer.setAttribute("aria-busy", "true");
        let parts;
        try {
            parts = answerOf(await this.patiently(pod, asked));
        } catch (error) {
            parts = [element("p", error.message, { class: "bad" })];
        }
        if (asked === this.asked) {   // no other question was asked meanwhile
            this.answer.replaceChildren(...parts);
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

// Reads the nodes apart from the page's own thread: 1,000 nodes are some MiB of JSON. It asks for those
// that have changed, and hands on what the picture and the time line draw of them, and no more.
"use strict";

const MAX_NODES = 5000;
let version = "";   // what was read last

const podKey = (pod) => pod.namespace + "/" + pod.name;

function sliceOf(from, to, what, pods, holders) {
    const users = pods.map(podKey);
    const first = users.length > 0 ? holders.get(users[0]) : undefined;
    return { from, to, what, users, namespace: users.length > 0 ? pods[0].namespace : "",
        aside: first !== undefined && first.aside };
}

// Instances lie where they are on their board; where that is not known, one beside the other.
function instancesOf(device, holders) {
    const steps = device.memorySlices;
    const sorted = device.instances.slice().sort((a, b) => (a.start ?? 0) - (b.start ?? 0));
    const known = steps !== null && sorted.every((instance) => instance.start !== null && instance.memorySlices !== null);
    return sorted.map((instance, i) => {
        const from = known ? instance.start / steps : i / sorted.length;
        const to = known ? (instance.start + instance.memorySlices) / steps : (i + 1) / sorted.length;
        return sliceOf(from, to, instance.profile ?? instance.resource, instance.pods, holders);
    });
}

// Pods that share a GPU lie beside each other, as wide as what they hold of it.
function sharesOf(device, node, holders) {
    const replicas = Math.max(1, ...node.pools.filter((pool) => pool.onDevices).map((pool) => pool.replicas));
    const total = device.memoryUnits > 0 ? device.memoryUnits : replicas;
    const slices = [];
    let at = 0;
    for (const pod of device.pods) {
        const holder = holders.get(podKey(pod));
        const held = holder === undefined ? 0 : holder.parts
            .filter((part) => part.device === device.index).reduce((sum, part) => sum + part.amount, 0);
        const width = device.used.whole ? 1 : Math.max(held, 1) / total;
        slices.push(sliceOf(at, Math.min(1, at + width), "", [pod], holders));
        at = Math.min(1, at + width);
    }
    if (at < 0.999) {
        slices.push(sliceOf(at, 1, "", [], holders));
    }
    return slices;
}

function nodeOf(node) {
    const holders = new Map(node.pods.map((pod) => [podKey(pod), { aside: pod.setAside, parts: pod.devices }]));
    return {
        offers: node.pools.map(({ resource, memoryMiB, capacity }) => ({ resource, memoryMiB, capacity })),
        runs: node.pods.map((pod) => {
            const from = Date.parse(pod.startedAt ?? pod.createdAt);
            return { pod: podKey(pod), namespace: pod.namespace, node: node.name, aside: pod.setAside,
                gpus: [...new Set(pod.devices.map((part) => part.device).filter((device) => device !== null && device >= 0))],
                from, to: pod.timeoutSeconds === null ? null : from + pod.timeoutSeconds * 1000 };
        }),
        name: node.name, product: node.product ?? "", problem: node.problem, cutting: node.cutting,
        devices: node.devices.map((device) => ({
            index: device.index, healthy: device.healthy, over: device.used.overMiB,
            measured: device.measured, memoryMiB: device.memoryMiB,
            slices: device.instances.length > 0 ? instancesOf(device, holders) : sharesOf(device, node, holders),
        })),
    };
}

async function look() {
    const reply = await fetch(new URL("../api/v1/nodes?limit=" + MAX_NODES +
        (version === "" ? "" : "&since=" + version), self.location));
    if (reply.status === 304) {
        return { same: true };
    }
    const read = await reply.json();
    if (!reply.ok) {
        throw new Error(read.message ?? "HTTP " + reply.status);
    }
    version = read.version;
    return { same: false, complete: read.complete, total: read.total, nodes: read.items.map(nodeOf) };
}

self.onmessage = async () => {
    try {
        self.postMessage(await look());
    } catch (error) {
        version = "";
        self.postMessage({ error: String(error.message ?? error) });
    }
};

// How the daemon is: what it knows and since when, how it plans, what is broken. All of it is in /api/v1/state.
import { element, link, now, renewAll, span } from "./draw.js";
import { table } from "./panel.js";

const OLD_S = 120;   // docs/metrics.md calls older news an alarm

const milliseconds = (seconds) => seconds >= 10 ? span(seconds) : (seconds * 1000).toFixed(seconds < 0.01 ? 2 : 0) + " ms";
const ageOf = (at) => at === null ? Infinity : (now() - Date.parse(at)) / 1000;
const ageText = (at) => at === null ? "none yet" : span(ageOf(at)) + " ago";

// What is counted, less what never happened.
function countsText(counts) {
    const met = Object.entries(counts).filter(([, count]) => count > 0);
    return met.length === 0 ? "none" : met.map(([name, count]) => count + " " + name.replace("_", " ")).join(", ");
}

// {what, how, bad, metric}: bad is undefined where a number says nothing by itself.
function leaderRow({ leader }) {
    const row = { what: "Leader", metric: "sliced_leader" };
    if (!leader) {
        return { ...row, how: "this daemon: an embedded cluster has no other" };
    }
    if (leader.leads) {
        return { ...row, how: "this replica, " + leader.identity + (leader.election ? "" : ", without an election"), bad: false };
    }
    return { ...row, how: (leader.holder ?? "no replica") + " leads; this one, " + leader.identity + ", stands by", bad: leader.holder === null };
}

function watchRows({ watch }) {
    return ["nodes", "pods"].filter(() => watch).map((resource) => {
        const { lastNewsAt, failures, synced } = watch[resource];
        return {
            what: "News of " + resource, metric: "sliced_reflector_last_news_timestamp_seconds", bad: !synced || ageOf(lastNewsAt) > OLD_S,
            how: ageText(lastNewsAt) + (synced ? "" : ", not all are listed yet") + (failures > 0 ? "; lists or watches broken: " + failures : ""),
        };
    });
}

function apiServerRows({ apiServer }) {
    return apiServer ? [{ what: "Calls to the API server", metric: "sliced_kube_request_failures_total",
        how: apiServer.requests + ", of which failed: " + apiServer.failures }] : [];
}

function telemetryRow({ telemetry }) {
    const row = { what: "Telemetry", metric: "sliced_telemetry_last_answer_timestamp_seconds" };
    return telemetry === null ? { ...row, how: "not configured" } : {
        ...row, bad: !telemetry.answered || ageOf(telemetry.lastAnswerAt) > OLD_S,
        how: "last answer: " + ageText(telemetry.lastAnswerAt) + (telemetry.error === null ? "" : "; " + telemetry.error),
    };
}

function queueRows({ queue, mode }) {
    if (queue === null) {
        return [{ what: "Queue", how: "off (queue.enabled)" }];
    }
    if (!queue.plans) {
        return [{ what: "Plans", metric: "sliced_queue_plans_total", how: "made by the leader" }];
    }
    const { planSeconds: took, schedulerSilentSeconds: silent, nominationsEnded: ended, releases } = queue;
    const tenth = Object.values(ended).reduce((sum, count) => sum + count, 0) / 10;
    return [
        { what: "Plans", metric: "sliced_queue_plan_seconds_total", how: took === null ? "none yet" : queue.planned + "; the last took " +
            milliseconds(took.last) + ", of the last " + took.of + " the median " + milliseconds(took.median) + ", the worst " + milliseconds(took.worst) },
        ...mode === "embedded" ? [] : [{ what: "kube-scheduler", metric: "sliced_queue_scheduler_silent_seconds", bad: silent > 0,
            how: silent > 0 ? "silent for " + span(silent) + ": nominations wait for it" : "heard from, or no pod waits for it" }],
        { what: "Nominations not bound yet", metric: "sliced_queue_outstanding", how: queue.outstanding + ", with a window of " + queue.window },
        { what: "Nominations ended", metric: "sliced_queue_nominations_ended_total", how: countsText(ended),
            bad: ended.expired > tenth || ended.bound_elsewhere > tenth },
        { what: "Releases", metric: "sliced_queue_releases_total", how: countsText(releases) },
        { what: "Oldest wait", metric: "sliced_queue_oldest_wait_seconds", how: span(queue.oldestWaitSeconds) },
    ];
}

function configRow({ config }) {
    const { lastReload, path } = config;
    return { what: "Configuration", metric: "sliced_config_reloads_total", bad: lastReload?.result === "failed",
        how: lastReload === null ? (path ?? "all defaults") + ", as at the start" : lastReload.message + ", " + ageText(lastReload.at) };
}

// A standby that could take over at once is as it should be.
export function standsBy({ ready, leader, watch }) {
    return !ready && Boolean(leader) && !leader.leads && leader.holder !== null && watch.synced;
}

export function rowsOf(state) {
    const { nodes, cuts } = state.broken;
    return [
        { what: "Ready", metric: "sliced_synced", bad: standsBy(state) ? undefined : !state.ready,
            how: state.ready ? "it decides" : "no: " + state.missing },
        leaderRow(state), ...watchRows(state), ...apiServerRows(state), telemetryRow(state), ...queueRows(state),
        { what: "Nodes with problems", metric: "sliced_cluster_nodes_overcommitted", how: nodes.total + " of " + state.cluster.nodes, bad: nodes.total > 0 },
        { what: "Nodes left out: their cuts fail", metric: "sliced_partition_gpus", how: String(cuts.total), bad: cuts.total > 0 },
        { what: "Ceilings met", metric: "sliced_limit_hits_total", how: countsText(state.limitHits) },
        configRow(state),
        { what: "Up", metric: "process_start_time_seconds", how: span(state.uptimeSeconds) + ", version " + state.version },
    ];
}

const MARKS = { true: ["! look", "bad"], false: ["✓ good", "good"], undefined: ["", ""] };

function more({ items, total }) {
    return total > items.length ? [element("p", "and " + (total - items.length) + " more")] : [];
}

function brokenText({ problem, brokenGpus }) {
    return [...problem === null ? [] : [problem], ...brokenGpus > 0 ? [brokenGpus + " broken GPU" + (brokenGpus > 1 ? "s" : "")] : []].join("; ");
}

function brokenParts({ nodes, cuts }) {
    const parts = [];
    if (nodes.total > 0) {
        parts.push(element("h2", "Nodes with problems"), table(["Node", "Problem"],
            nodes.items.map((one) => [link("node", one.node), brokenText(one)])), ...more(nodes));
    }
    if (cuts.total > 0) {
        parts.push(element("h2", "Cuts that failed"), table(["Node", "Failed in a row", "Why", "Left out until"], cuts.items.map((one) =>
            [link("node", one.node), one.failures, one.why, one.until === null ? null : new Date(one.until).toLocaleString()])), ...more(cuts));
    }
    return parts;
}

export function showHealth(region, state) {
    const rows = rowsOf(state);
    const made = table(["What", "Judged", "How it is", "Metric"], rows.map(({ what, how, bad, metric }) =>
        [what, element("span", MARKS[bad][0], { class: MARKS[bad][1] }), how, metric ?? ""]));
    renewAll(region, [made, ...brokenParts(state.broken)]);
    return rows.filter((row) => row.bad).map((row) => row.what);
}

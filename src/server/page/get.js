// Paths start behind the folder of the page, so that it works behind a proxy too.
const base = new URL("..", import.meta.url);

// One question to the daemon. Its own words about what went wrong are the error's.
async function ask(path, options) {
    const reply = await fetch(new URL(path, base), options);
    const read = await reply.json();
    if (!reply.ok) {
        const error = new Error(read.message ?? "HTTP " + reply.status);
        error.status = reply.status;
        throw error;
    }
    return read;
}

export function get(path) {
    return ask(path);
}

// A question that takes an object. It changes nothing: that is all that the page posts.
export function post(path, object) {
    return ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(object) });
}

// Paths start behind the folder of the page, so that it works behind a proxy too.
const base = new URL("..", import.meta.url);

// One question to the daemon. Its own words about what went wrong are the error's.
export async function get(path) {
    const reply = await fetch(new URL(path, base));
    const read = await reply.json();
    if (!reply.ok) {
        const error = new Error(read.message ?? "HTTP " + reply.status);
        error.status = reply.status;
        throw error;
    }
    return read;
}

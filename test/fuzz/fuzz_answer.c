/* Any text as an answer of Prometheus: in one piece and in pieces of random lengths (the first byte
 * seeds them) the same is told, and what is told keeps within its bounds. A decoder that has been
 * used, and failed, reads the next answer as a new one does. */
#include "samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sl_answer *answer_for(struct sl_buf *out)
{
    const struct sl_answer_options options = {
        .node_label = {SL_STR("Hostname"), SL_STR("hostname"), SL_STR("node"), SL_STR("")},
        .series = samples_series,
        .sample = samples_sample,
        .context = out};
    struct sl_answer *answer = sl_answer_new(&options);
    samples_check(answer != NULL);
    return answer;
}

/* seed 0: in one piece. */
static void read_pieces(struct sl_answer *answer, struct sl_buf *out, const char *text, size_t len,
                        uint64_t seed)
{
    struct sl_error err = {0};
    int rc = 0;
    sl_answer_reset(answer);
    for (size_t at = 0; at < len && rc == 0;) {
        size_t n = seed == 0 ? len : samples_piece(&seed, len - at);
        char *piece = samples_copy(text + at, n);
        rc = sl_answer_feed(answer, piece, n, &err);
        free(piece);
        at += n;
    }
    if (rc == 0) {
        rc = sl_answer_finish(answer, &err);
    }
    sl_buf_printf(out, "\n%d %d %s", rc, (int)err.code, err.message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    const char *text = (const char *)data + 1;
    struct sl_buf whole;
    struct sl_buf pieces;
    sl_buf_init(&whole, SAMPLES_OUT_MAX);
    sl_buf_init(&pieces, SAMPLES_OUT_MAX);
    struct sl_answer *fresh = answer_for(&whole);
    struct sl_answer *used = answer_for(&pieces);
    read_pieces(used, &pieces, text, size / 2, 0);
    pieces.len = 0;
    read_pieces(fresh, &whole, text, size - 1, 0);
    read_pieces(used, &pieces, text, size - 1, (uint64_t)data[0] + 1);
    samples_compare(&whole, &pieces);
    sl_answer_free(fresh);
    sl_answer_free(used);
    sl_buf_free(&whole);
    sl_buf_free(&pieces);
    return 0;
}

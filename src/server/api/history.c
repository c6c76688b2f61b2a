/* GET /api/v1/history: how the daemon's numbers went over the last hour. It names nobody. */
#include "server/api/api.h"
#include "server/api/handlers.h"

void sl_api_history(struct sl_request *request)
{
    const struct sl_usage_reader *reader = &request->app->usage;
    struct sl_history history = {.kept = false};
    struct sl_writer w = {.buf = &request->reply};
    if (sl_request_only(request, "") < 0) {
        return;
    }
    if (reader->history != NULL) {
        reader->history(reader->context, &history);
    }
    sl_write_object(&w);
    sl_write_member_bool(&w, "kept", history.kept);
    sl_write_key(&w, "endsAt");
    sl_api_time(&w, history.end_us);
    sl_write_member_i64(&w, "stepSeconds", SL_HISTORY_STEP_S);
    sl_write_member_text(&w, "error", history.error[0] == '\0' ? NULL : history.error);
    sl_write_member_object(&w, "lines");
    for (unsigned i = 0; i < SL_HISTORY_LINES && history.end_us > 0; i++) {
        sl_write_member_array(&w, history.line[i].name);
        for (unsigned k = 0; k < SL_HISTORY_POINTS; k++) {
            sl_write_double(&w, history.line[i].value[k]);
        }
        sl_write_array_end(&w);
    }
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

/* Answers with the page's files. */
#include "server/page/page.h"

#include "server/http/request.h"
#include "server/page/files.h"

static const char *type_of(struct sl_str name)
{
    static const struct {
        struct sl_str end;
        const char *type;
    } types[] = {
        {{".html", 5}, "text/html; charset=utf-8"},
        {{".css", 4}, "text/css; charset=utf-8"},
        {{".js", 3}, "text/javascript; charset=utf-8"},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (sl_str_ends(name, types[i].end)) {
            return types[i].type;
        }
    }
    return "application/octet-stream";
}

static void write_file(struct sl_request *request, struct sl_str name)
{
    for (size_t i = 0; i < sl_page_files_n; i++) {
        const struct sl_page_file *file = &sl_page_files[i];
        if (sl_str_eq(name, sl_str_of(file->name))) {
            request->content_type = type_of(name);
            request->page = true;
            sl_buf_append(&request->reply, (const char *)file->data, file->len);
            return;
        }
    }
    (void)sl_error_set(&request->err, SL_ERR_NOTFOUND, "the page has no such file: see /ui/");
    (void)sl_request_fail(request, 404);
}

void sl_page_index(struct sl_request *request)
{
    write_file(request, SL_STR("index.html"));
}

void sl_page_file(struct sl_request *request)
{
    write_file(request, request->param[0]);
}

/* GET /ui/ and its files. */
#ifndef SLICED_SERVER_PAGE_H
#define SLICED_SERVER_PAGE_H

struct sl_request;

void sl_page_index(struct sl_request *request);
void sl_page_file(struct sl_request *request);

#endif

/* Serves requests: what the HTTP library calls. */
#ifndef SLICED_SERVER_SERVE_H
#define SLICED_SERVER_SERVE_H

#include <microhttpd.h>

/* The callbacks of struct sl_server_calls; context is the struct sl_listener. */
enum MHD_Result sl_serve_request(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *upload_data,
                                 size_t *upload_data_size, void **request);
void sl_serve_completed(void *context, struct MHD_Connection *connection, void **request,
                        enum MHD_RequestTerminationCode how);

#endif

/* The table of routes, and what else the HTTP side is given of the application. */
#ifndef SLICED_SERVER_ROUTES_H
#define SLICED_SERVER_ROUTES_H

#include "server/http/http.h"

extern const struct sl_service sl_service;

#endif

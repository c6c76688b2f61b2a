/* How rows of the tables of fields are written.
 *     ALL("ahead", NUMBER, "Pods that go before it.", OF_ROW(ahead), COLUMN(10, "AHEAD")),
 * is a member that all see, with a column in the debug API's table. Behind the help stand where the
 * value is, and the columns. */
#ifndef SLICED_SERVER_MODEL_ROW_H
#define SLICED_SERVER_MODEL_ROW_H

#include "server/model/field.h"

#define SEEN(who, name, form, help, ...)                                                           \
    {                                                                                              \
        (name), (who), SL_AS_##form, (help), __VA_ARGS__                                           \
    }
#define ALL(name, form, help, ...)   SEEN(SL_SEEN_BY_ALL, name, form, help, __VA_ARGS__)
#define USERS(name, form, help, ...) SEEN(SL_SEEN_BY_USERS, name, form, help, __VA_ARGS__)
#define OPERATORS(name, form, ...)   SEEN(SL_SEEN_BY_OPERATORS, name, form, NULL, __VA_ARGS__)
/* A column alone; help where users see it, else NULL. */
#define CELL(form, help, ...) SEEN(0, NULL, form, help, __VA_ARGS__)
/* All fields of another table in the same place, of that record (nothing: of the same). */
#define MEMBERS_OF(who, fields, ...) SEEN(who, NULL, MEMBERS, NULL, .sub = (fields), __VA_ARGS__)

#define TEXT_BY(function)         .text = (function)
#define LIST_OF(fields, function) .sub = (fields), .next = (function)
#define OBJECT_OF(fields)         .sub = (fields)
#define COLUMN(place, head)       .column = {(place), (head), false}
#define SHOWN(place, head)        .shown = {(place), (head), false}
#define WIDE(place, head)         .shown = {(place), (head), true}

#endif

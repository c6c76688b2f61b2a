/* The page's files as they were when the program was built. */
#ifndef SLICED_SERVER_PAGE_FILES_H
#define SLICED_SERVER_PAGE_FILES_H

#include <stddef.h>

struct sl_page_file {
    const char *name; /* "main.js" */
    const unsigned char *data;
    size_t len;
};

extern const struct sl_page_file sl_page_files[];
extern const size_t sl_page_files_n;

#endif

/* Where published data is. */
#include "evidence/shape/data.h"

#include <stdio.h>

int sl_ferikoglou_path(const char *folder, const char *name, char *path, size_t size,
                       struct sl_error *err)
{
    static const char *const places[] = {"ferikoglou/", ""};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, size, "%s/%s%s", folder, places[i], name);
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            (void)fclose(file);
            return 0;
        }
    }
    return sl_error_set(err, SL_ERR_NOTFOUND, "no ferikoglou/%s in %s", name, folder);
}

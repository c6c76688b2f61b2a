/* The file that the mig-manager reads (mig-parted's format), edited as a text: only the lines that
 * are ours change. Private to this room.
 *
 *     version: v1
 *     mig-configs:
 *       sliced-5c3d-1: [{devices: [2], mig-enabled: true, mig-devices: {"3g.20gb": 2}}]
 *       all-disabled:
 *       - devices: all
 *         mig-enabled: false
 *
 * mig-parted refuses a file as a whole for one entry that it cannot read, for an unknown key, and
 * for mig-configs without an entry. */
#ifndef SLICED_KUBE_CUT_MIG_FILE_H
#define SLICED_KUBE_CUT_MIG_FILE_H

#include "util/buf.h"
#include "util/error.h"

/* The API server takes ConfigMaps of 1 MiB, which may hold other keys too. */
enum { SL_MIG_FILE_MAX = 900 << 10 };

struct sl_mig_entry {
    const char *name;   /* "sliced-<hash>-<attempt>" */
    struct sl_str text; /* a flow sequence, on one line */
};

/* True for "sliced-<hexadecimal digits>-<digits>", the names of our entries. *stem is the part
 * before the attempt. */
bool sl_mig_entry_name(struct sl_str name, struct sl_str *stem);

/* Writes the text with these entries to out, which has a maximum. keeps tells which other entries
 * of ours stay; those of others stay as they are written. An empty text is begun anew. Returns 1; 0
 * when the text is right as it is; -1 with *err when it is too long, or of a form in which the
 * entries cannot be told apart line by line, or an entry of such a name was rewritten by others. */
int sl_mig_file_edit(struct sl_str text, const struct sl_mig_entry *entry, size_t n,
                     bool (*keeps)(void *context, struct sl_str name), void *context,
                     struct sl_buf *out, struct sl_error *err);

#endif

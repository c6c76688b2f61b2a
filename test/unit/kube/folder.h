/* A test's own folder, removed with all that is in it. */
#ifndef SLICED_TEST_KUBE_FOLDER_H
#define SLICED_TEST_KUBE_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Links are removed, not followed. */
static inline void folder_remove(const char *path)
{
    char inner[512];
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        assert_in_range(snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name), 1,
                        sizeof(inner) - 1);
        assert_int_equal(lstat(inner, &info), 0);
        if (S_ISDIR(info.st_mode)) {
            folder_remove(inner);
        } else {
            assert_int_equal(unlink(inner), 0);
        }
    }
    assert_int_equal(closedir(folder), 0);
    assert_int_equal(rmdir(path), 0);
}

#endif

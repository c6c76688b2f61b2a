/* The main of a fuzz target where libFuzzer is not: plays each file of the folders (or files) given
 * through it, whole and cut short. Finds nothing new; keeps what was found from coming back. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    INPUT_MAX = 1 << 20, /* a longer file has no place in a corpus */
    CUT_EACH = 2048,     /* cut at every byte up to here, */
    CUT_STEP = 97,       /* then at every such many */
    PATH_SIZE = 4096,
};

/* The target sees a block of exactly that size, so that AddressSanitizer sees it read beyond. */
static int play(const uint8_t *data, size_t size)
{
    uint8_t *block = malloc(size > 0 ? size : 1);
    if (block == NULL) {
        return -1;
    }
    if (size > 0) {
        memcpy(block, data, size);
    }
    LLVMFuzzerTestOneInput(block, size);
    free(block);
    return 0;
}

static int play_cut(const uint8_t *data, size_t size)
{
    for (size_t cut = 0; cut < size; cut += cut < CUT_EACH ? 1 : CUT_STEP) {
        if (play(data, cut) != 0) {
            return -1;
        }
    }
    return play(data, size);
}

static int play_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    int result = -1;
    uint8_t *data = malloc(INPUT_MAX);
    if (data == NULL) {
        goto done;
    }
    size_t size = fread(data, 1, INPUT_MAX, file);
    if (ferror(file) != 0 || size == INPUT_MAX) {
        (void)fprintf(stderr, "%s: cannot be read, or is too long\n", path);
        goto done;
    }
    result = play_cut(data, size);

done:
    free(data);
    (void)fclose(file);
    return result;
}

/* The number of files played, -1 when one could not be. */
static int play_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        perror(folder);
        return -1;
    }
    int played = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[PATH_SIZE];
        if (entry->d_name[0] == '.') {
            continue;
        }
        int length = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof(path) || play_file(path) != 0) {
            played = -1;
            break;
        }
        played++;
    }
    closedir(dir);
    return played;
}

int main(int argc, char **argv)
{
    int played = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) != 0) {
            perror(argv[i]);
            return EXIT_FAILURE;
        }
        int more = S_ISDIR(info.st_mode) ? play_folder(argv[i]) : play_file(argv[i]) + 1;
        if (more <= 0) {
            (void)fprintf(stderr, "%s: nothing played\n", argv[i]);
            return EXIT_FAILURE;
        }
        played += more;
    }
    (void)printf("%d inputs played, whole and cut short\n", played);
    return played > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

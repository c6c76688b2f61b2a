/* A free thread takes the next task from a counter. */
#include "sim/play/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "util/time.h"

enum { WHOLE = 1000 };

struct work {
    const struct sl_crew *crew;
    int (*task)(void *context, size_t index, struct sl_error *err);
    void *context;
    size_t n;
    _Atomic size_t next;
    _Atomic bool failed;
    pthread_mutex_t lock; /* of what follows */
    size_t done;
    size_t parts; /* of those under way, in thousandths */
    size_t failed_at;
    struct sl_error error;
    struct timespec told;
    bool progress;
    bool shown;
};

/* The task of this thread. */
static _Thread_local struct work *current;
static _Thread_local size_t current_part; /* in thousandths; is in current->parts */

static bool time_to_tell(struct work *work)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    long long ms = (long long)(now.tv_sec - work->told.tv_sec) * 1000 +
                   (now.tv_nsec - work->told.tv_nsec) / SL_MS_NS;
    if (ms < 200) {
        return false;
    }
    work->told = now;
    return true;
}

static void progress_tell(struct work *work)
{
    if (work->progress && time_to_tell(work)) {
        work->shown = true;
        (void)fprintf(stderr, "\r%s: %zu of %zu (%zu %%)", work->crew->doing, work->done, work->n,
                      (work->done * WHOLE + work->parts) / work->n * 100 / WHOLE);
        (void)fflush(stderr);
    }
}

void sl_crew_part(size_t done, size_t of)
{
    struct work *work = current;
    size_t part = of == 0 ? 0 : (size_t)((double)done / (double)of * WHOLE);
    if (work == NULL || !work->progress || part <= current_part || part > WHOLE) {
        return;
    }
    (void)pthread_mutex_lock(&work->lock);
    work->parts += part - current_part;
    current_part = part;
    progress_tell(work);
    (void)pthread_mutex_unlock(&work->lock);
}

static void *thread_work(void *argument)
{
    struct work *work = argument;
    while (!atomic_load(&work->failed)) {
        size_t index = atomic_fetch_add(&work->next, 1);
        if (index >= work->n) {
            break;
        }
        struct sl_error err = {.code = SL_ERR_NONE};
        current = work;
        current_part = 0;
        int rc = work->task(work->context, index, &err);
        current = NULL;
        (void)pthread_mutex_lock(&work->lock);
        work->parts -= current_part;
        work->done++;
        if (rc < 0) {
            if (!atomic_load(&work->failed) || index < work->failed_at) {
                work->failed_at = index;
                work->error = err;
            }
            atomic_store(&work->failed, true);
        }
        progress_tell(work);
        (void)pthread_mutex_unlock(&work->lock);
    }
    return NULL;
}

static unsigned threads_for(const struct sl_crew *crew, size_t n)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = crew->threads > 0 ? crew->threads : (size_t)(processors > 0 ? processors : 1);
    wanted = wanted < SL_CREW_THREADS_MAX ? wanted : SL_CREW_THREADS_MAX;
    return (unsigned)(wanted < n ? wanted : n);
}

int sl_crew_run(const struct sl_crew *crew, size_t n,
                int (*task)(void *context, size_t index, struct sl_error *err), void *context,
                struct sl_error *err)
{
    pthread_t thread[SL_CREW_THREADS_MAX];
    unsigned started = 0;
    struct work work = {.crew = crew,
                        .task = task,
                        .context = context,
                        .n = n,
                        .progress = crew->progress && isatty(STDERR_FILENO) == 1};
    unsigned wanted = threads_for(crew, n);
    (void)pthread_mutex_init(&work.lock, NULL);
    (void)clock_gettime(CLOCK_MONOTONIC, &work.told);
    /* this thread works too; alone, if no other can be made */
    while (started + 1 < wanted &&
           pthread_create(&thread[started], NULL, thread_work, &work) == 0) {
        started++;
    }
    (void)thread_work(&work);
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    (void)pthread_mutex_destroy(&work.lock);
    if (work.shown) {
        (void)fputs("\r\033[K", stderr);
    }
    if (atomic_load(&work.failed)) {
        if (err != NULL) {
            *err = work.error;
        }
        return -1;
    }
    return 0;
}

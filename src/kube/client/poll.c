/* Waits on one epoll set for libcurl's sockets and for word from other threads (an eventfd).
 * curl_multi_perform and curl_multi_poll would make a system call for each call in flight, whatever
 * happened; here libcurl hears only of the socket on which something did. */
#include "kube/client/internal.h"
#include "util/clock.h"
#include "util/time.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS_MAX = 16 };

/* The client that the calling thread runs. */
static _Thread_local const struct sl_client *own_client;

/* ---- what libcurl says ---- */

/* Leaves a connection in the set until it is closed, or an event comes that nobody waits for:
 * libcurl closes a connection that is still being made without a word, and says only afterwards,
 * when the number may be another thread's file, that it lost interest. Other sockets (its
 * resolver's) leave the set at once. */
static int on_interest(CURL *easy, curl_socket_t fd, int what, void *context, void *unused)
{
    static const uint32_t events[] = {
        [CURL_POLL_IN] = EPOLLIN,
        [CURL_POLL_OUT] = EPOLLOUT,
        [CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT,
    };
    struct sl_client *client = context;
    struct sl_socket *socket = sl_sockets_find(client, fd);
    struct epoll_event event = {.data.fd = fd};
    (void)easy;
    (void)unused;
    if (socket != NULL) {
        socket->watched = what != CURL_POLL_REMOVE;
    }
    if (what == CURL_POLL_REMOVE) {
        if (socket == NULL) {
            (void)epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        }
        return 0;
    }
    event.events = events[what & CURL_POLL_INOUT];
    if (epoll_ctl(client->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT) {
        (void)epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
    struct sl_client *client = context;
    (void)multi;
    client->curl_due_us =
        timeout_ms < 0 ? INT64_MAX : sl_clock_monotonic_us() + (int64_t)timeout_ms * SL_MS_US;
    return 0;
}

/* ---- waiting ---- */

void sl_client_wake(void *context)
{
    static const uint64_t one = 1;
    struct sl_client *client = context;
    bool known = atomic_exchange(&client->woken, true);
    if (!known && own_client != client) {
        (void)!write(client->wake_fd, &one, sizeof(one));
    }
}

static void take_event(struct sl_client *client, const struct epoll_event *event)
{
    int fd = event->data.fd;
    int mask = 0;
    int running = 0;
    uint64_t count = 0;
    if (fd == client->wake_fd) {
        (void)!read(fd, &count, sizeof(count));
        return;
    }
    const struct sl_socket *socket = sl_sockets_find(client, fd);
    if (socket != NULL && !socket->watched) {
        (void)epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return;
    }
    mask |= (event->events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0;
    mask |= (event->events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0;
    mask |= (event->events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0;
    (void)curl_multi_socket_action(client->multi, fd, mask, &running);
}

void sl_client_poll(struct sl_client *client, int64_t wait_us)
{
    struct epoll_event events[EVENTS_MAX];
    int running = 0;
    if (client->curl_due_us < INT64_MAX) {
        int64_t left_us = client->curl_due_us - sl_clock_monotonic_us();
        wait_us = left_us < wait_us ? left_us : wait_us;
    }
    wait_us = wait_us < 0 || atomic_load(&client->woken) ? 0 : wait_us;
    int n = epoll_wait(client->epoll_fd, events, EVENTS_MAX,
                       (int)((wait_us + SL_MS_US - 1) / SL_MS_US));
    atomic_store(&client->woken, false); /* the caller looks next at what was left until now */
    for (int i = 0; i < n; i++) {
        take_event(client, &events[i]);
    }
    if (client->curl_due_us <= sl_clock_monotonic_us()) {
        client->curl_due_us = INT64_MAX; /* libcurl sets it anew */
        (void)curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

/* ---- life ---- */

void sl_client_own(const struct sl_client *client)
{
    own_client = client;
}

int sl_client_poll_init(struct sl_client *client, struct sl_error *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    client->curl_due_us = INT64_MAX;
    client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    event.data.fd = client->wake_fd;
    if (client->epoll_fd < 0 || client->wake_fd < 0 ||
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->wake_fd, &event) < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "no epoll set for the client: %s", strerror(errno));
    }
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_interest);
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    return 0;
}

void sl_client_poll_free(struct sl_client *client)
{
    if (client->epoll_fd >= 0) {
        (void)close(client->epoll_fd);
    }
    if (client->wake_fd >= 0) {
        (void)close(client->wake_fd);
    }
}

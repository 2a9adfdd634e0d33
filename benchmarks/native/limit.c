/* The limit: one thread, epoll, and the same body for every request. No single-threaded NameServer behind the same
 * sockets can be faster, because this one reads only the opaque.
 *
 *   limit BODY-FILE        prints "listening on PORT"
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wire.h"

#define READ_BYTES (256 * 1024)
#define AT_ONCE 256
#define HEAD_BYTES 160

struct connection {
    int fd;
    unsigned char *in, *out;
    size_t in_size, in_room, out_at, out_size, out_room;
};

static unsigned char *body;
static size_t body_size;
static int poller;
static unsigned char heads[AT_ONCE][HEAD_BYTES];
static struct iovec parts[2 * AT_ONCE];

static void drop(struct connection *connection) {
    close(connection->fd);
    free(connection->in);
    free(connection->out);
    free(connection);
}

static void want(struct connection *connection, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &event);
}

static int flush_rest(struct connection *connection) {
    while (connection->out_at < connection->out_size) {
        size_t left = connection->out_size - connection->out_at;
        ssize_t sent = send(connection->fd, connection->out + connection->out_at, left, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN;
        connection->out_at += (size_t)sent;
    }
    connection->out_at = connection->out_size = 0;
    want(connection, EPOLLIN);
    return 1;
}

static void keep(struct connection *connection, const unsigned char *data, size_t size) {
    if (connection->out_size + size > connection->out_room) {
        connection->out_room = 2 * (connection->out_size + size);
        connection->out = grown(connection->out, connection->out_room);
    }
    memcpy(connection->out + connection->out_size, data, size);
    connection->out_size += size;
}

/* Write `count` answers; the rest that the socket does not accept is kept for later. */
static int answer(struct connection *connection, int count) {
    if (count == 0) return 1;
    ssize_t sent = 0;
    if (connection->out_size == 0) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2 * (size_t)count};
        sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return 0;
        if (sent < 0) sent = 0;
    }
    size_t skip = (size_t)sent;
    for (int part = 0; part < 2 * count; part++) {
        size_t size = parts[part].iov_len, done = skip < size ? skip : size;
        skip -= done;
        if (done < size) keep(connection, (unsigned char *)parts[part].iov_base + done, size - done);
    }
    if (connection->out_size > 0) want(connection, EPOLLIN | EPOLLOUT);
    return 1;
}

static int serve(struct connection *connection) {
    if (connection->in_room - connection->in_size < READ_BYTES) {
        connection->in_room = connection->in_size + 2 * READ_BYTES;
        connection->in = grown(connection->in, connection->in_room);
    }
    ssize_t got = recv(connection->fd, connection->in + connection->in_size, READ_BYTES, 0);
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return 0;
    connection->in_size += (size_t)got;
    size_t at = 0;
    int count = 0;
    while (connection->in_size - at >= 8) {
        const unsigned char *frame = connection->in + at;
        size_t length = be32(frame), header = be32(frame + 4) & 0xffffff;
        if (connection->in_size - at < 4 + length) break;
        long opaque = json_number((const char *)frame + 8, header, "\"opaque\":", 0);
        int size = snprintf((char *)heads[count] + 8, HEAD_BYTES - 8,
                            "{\"code\":0,\"flag\":1,\"language\":\"JAVA\",\"opaque\":%ld,"
                            "\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}",
                            opaque);
        put_be32(heads[count], (uint32_t)(4 + (size_t)size + body_size));
        put_be32(heads[count] + 4, (uint32_t)size);
        parts[2 * count] = (struct iovec){heads[count], 8 + (size_t)size};
        parts[2 * count + 1] = (struct iovec){body, body_size};
        at += 4 + length;
        if (++count == AT_ONCE) {
            if (!answer(connection, count)) return 0;
            count = 0;
        }
    }
    memmove(connection->in, connection->in + at, connection->in_size - at);
    connection->in_size -= at;
    return answer(connection, count);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "limit BODY-FILE\n");
        return 2;
    }
    body = whole_file(argv[1], &body_size);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("listening on %d\n", ntohs(address.sin_port));
    fflush(stdout);
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN}, events[256];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int ready = epoll_wait(poller, events, 256, -1);
        for (int n = 0; n < ready; n++) {
            struct connection *connection = events[n].data.ptr;
            if (connection == NULL) {
                int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd < 0) continue;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                connection = calloc(1, sizeof *connection);
                if (connection == NULL) fail("memory");
                connection->fd = fd;
                struct epoll_event added = {.events = EPOLLIN, .data.ptr = connection};
                epoll_ctl(poller, EPOLL_CTL_ADD, fd, &added);
                continue;
            }
            int alive = 1;
            if (events[n].events & EPOLLOUT) alive = flush_rest(connection);
            if (alive && events[n].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) alive = serve(connection);
            if (!alive) drop(connection);
        }
    }
}

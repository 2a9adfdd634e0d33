/* Load generator: sends requests to a NameServer and measures the latency of the answers.
 *
 *   load --port P --plan FILE [--connections N] [--depth D] [--rate R] [--seconds S] [--warmup S] [--answer CODE]
 *   load --port P --plan FILE --connections N --brokers on
 *
 * Closed loop: every connection keeps D requests in flight.
 * Open loop (--rate): requests are due at even intervals, independent of the server, and latency counts from when a
 * request was due: if the server stalls, all requests due meanwhile count.
 *
 * The plan holds complete frames in which only the opaque is overwritten (all numbers little-endian):
 *   bodies u32, then for each: size u32, bytes
 *   frames u32, then for each: head size u32, place of the opaque in it u32, body i32 (-1: none), head bytes
 * The opaque has 9 digits, or 4 bytes in a binary header. --answer is the code that answers must have (0).
 * With -DTLS the connections use TLS and do not verify the certificate.
 * Every connection sends all frames in turn, each connection with its own start.
 *
 * As brokers (--brokers on) the connections stay open, because a broker needs its connection. Each line on standard
 * input, `START COUNT RATE`, sends the frames START, START+1, … START+COUNT-1, frame f over connection f mod N: one after
 * another if RATE is 0, else at this rate without waiting for answers. The program ends at the end of input.
 *
 * Prints one JSON object, or one per line of input. Latencies are in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef TLS
#include <openssl/ssl.h>
#endif

#include "histogram.h"
#include "wire.h"

#define READ_BYTES (256 * 1024)
#define OPAQUE_DIGITS 9
#define FIRST_OPAQUE 100000000L
#define OPEN_DEPTH 8192 /* maximum requests in flight of one connection in an open loop */
#define HEAD_ROOM 8192
#ifdef TLS
#define IS_TLS 1
#else
#define IS_TLS 0
#endif

struct frame {
    const unsigned char *head;
    uint32_t head_size, opaque_at;
    int32_t body;
};

struct connection {
#ifdef TLS
    SSL *tls;
#endif
    int fd, writable;
    uint32_t next;               /* next frame to send */
    uint32_t *slots, free_slots; /* stack of free slots */
    uint64_t *due_ns;            /* by slot: when it was due; 0: not in flight */
    unsigned char *out;
    size_t out_at, out_size, out_room;
    unsigned char head[HEAD_ROOM]; /* of the incoming answer: its two words and its header */
    size_t head_size, skip;        /* remaining bytes of its body */
};

static struct {
    int port, connections, depth, brokers, answer;
    double rate, seconds, warmup;
    const char *plan;
} options = {.connections = 1, .depth = 1, .seconds = 1};

static unsigned char **bodies;
static uint32_t *body_sizes, frame_count;
static struct frame *frames;
static struct connection *connections;
static int poller, slot_count, keep_asking;
static struct histogram latencies;
static uint64_t sent, answered, failed, dropped, got_bytes, measure_from_ns, measured;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void read_plan(void) {
    size_t size;
    unsigned char *at = whole_file(options.plan, &size);
    uint32_t number;
#define TAKE(into) (memcpy(&(into), at, 4), at += 4)
    TAKE(number);
    bodies = grown(NULL, (number + 1) * sizeof *bodies);
    body_sizes = grown(NULL, (number + 1) * sizeof *body_sizes);
    for (uint32_t n = 0; n < number; n++) {
        TAKE(body_sizes[n]);
        bodies[n] = at;
        at += body_sizes[n];
    }
    TAKE(frame_count);
    frames = grown(NULL, frame_count * sizeof *frames);
    for (uint32_t n = 0; n < frame_count; n++) {
        TAKE(frames[n].head_size);
        TAKE(frames[n].opaque_at);
        TAKE(frames[n].body);
        frames[n].head = at;
        at += frames[n].head_size;
    }
#undef TAKE
}

/* The bytes of a connection; -1 and EAGAIN: not now. */
#ifdef TLS
static void secure(struct connection *connection) {
    static SSL_CTX *context;
    if (context == NULL) {
        context = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    connection->tls = SSL_new(context);
    SSL_set_fd(connection->tls, connection->fd);
    if (SSL_connect(connection->tls) != 1) {
        fprintf(stderr, "TLS handshake failed\n");
        exit(1);
    }
    fcntl(connection->fd, F_SETFL, fcntl(connection->fd, F_GETFL) | O_NONBLOCK);
}

static ssize_t result(struct connection *connection, int done) {
    if (done > 0) return done;
    int error = SSL_get_error(connection->tls, done);
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return -1;
}

static ssize_t send_some(struct connection *connection, const void *data, size_t size) {
    return result(connection, SSL_write(connection->tls, data, (int)size));
}

static ssize_t read_some(struct connection *connection, void *data, size_t size) {
    return result(connection, SSL_read(connection->tls, data, (int)size));
}
#else
static void secure(struct connection *connection) { (void)connection; }

static ssize_t send_some(struct connection *connection, const void *data, size_t size) {
    return send(connection->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t read_some(struct connection *connection, void *data, size_t size) {
    return recv(connection->fd, data, size, MSG_DONTWAIT);
}
#endif

static void want(struct connection *connection, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &event);
}

static void open_connection(uint32_t n) {
    struct connection *connection = &connections[n];
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)options.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    secure(connection);
    connection->next = (uint32_t)((uint64_t)n * frame_count / (uint64_t)options.connections);
    connection->slots = grown(NULL, (size_t)slot_count * sizeof *connection->slots);
    connection->due_ns = grown(NULL, (size_t)slot_count * sizeof *connection->due_ns);
    for (int slot = 0; slot < slot_count; slot++) {
        connection->slots[slot] = (uint32_t)(slot_count - 1 - slot);
        connection->due_ns[slot] = 0;
    }
    connection->free_slots = (uint32_t)slot_count;
    connection->writable = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event);
}

/* Brokers connect with their first request: idle connections would be closed. */
static void open_connections(void) {
    connections = calloc((size_t)options.connections, sizeof *connections);
    if (connections == NULL) fail("memory");
    for (uint32_t n = 0; n < (uint32_t)options.connections && !options.brokers; n++) open_connection(n);
}

static void put(struct connection *connection, const unsigned char *data, size_t size) {
    if (connection->out_size + size > connection->out_room) {
        connection->out_room = 2 * (connection->out_size + size);
        connection->out = grown(connection->out, connection->out_room);
    }
    memcpy(connection->out + connection->out_size, data, size);
    connection->out_size += size;
}

/* Append a request to the connection's buffer. */
static void ask(struct connection *connection, uint64_t due) {
    const struct frame *frame = &frames[connection->next];
    connection->next = (connection->next + 1) % frame_count;
    uint32_t slot = connection->slots[--connection->free_slots];
    connection->due_ns[slot] = due;
    size_t at = connection->out_size;
    put(connection, frame->head, frame->head_size);
    long opaque = FIRST_OPAQUE + slot;
    if (frame->head[4] == 1) put_be32(connection->out + at + frame->opaque_at, (uint32_t)opaque);
    else for (int digit = OPAQUE_DIGITS - 1; digit >= 0; digit--, opaque /= 10)
        connection->out[at + frame->opaque_at + (size_t)digit] = (unsigned char)('0' + opaque % 10);
    if (frame->body >= 0) put(connection, bodies[frame->body], body_sizes[frame->body]);
    sent++;
}

static void flush_out(struct connection *connection) {
    while (connection->out_at < connection->out_size) {
        size_t left = connection->out_size - connection->out_at;
        ssize_t done = send_some(connection, connection->out + connection->out_at, left);
        if (done < 0 && errno == EAGAIN) {
            if (connection->writable) want(connection, EPOLLIN | EPOLLOUT);
            connection->writable = 0;
            return;
        }
        if (done < 0) fail("send");
        connection->out_at += (size_t)done;
    }
    connection->out_at = connection->out_size = 0;
    if (!connection->writable) want(connection, EPOLLIN);
    connection->writable = 1;
}

static void take_answer(struct connection *connection, uint64_t now) {
    const char *header = (const char *)connection->head + 8;
    size_t size = connection->head_size - 8;
    int binary = connection->head[4] == 1;
    long slot = (binary ? (long)be32(connection->head + 13) : json_number(header, size, "\"opaque\":", -1)) - FIRST_OPAQUE;
    long code = binary ? (long)(be32(connection->head + 8) >> 16) : json_number(header, size, "\"code\":", 0);
    if (slot < 0 || slot >= slot_count || connection->due_ns[slot] == 0) {
        fprintf(stderr, "an answer that belongs to no request: %.*s\n", (int)size, header);
        exit(1);
    }
    if (code != options.answer) failed++;
    uint64_t due = connection->due_ns[slot];
    connection->due_ns[slot] = 0;
    connection->slots[connection->free_slots++] = (uint32_t)slot;
    answered++;
    if (due >= measure_from_ns) {
        measured++;
        histogram_add(&latencies, now > due ? now - due : 0);
    }
}

/* Split a chunk into answers; only their headers are parsed. */
static void take(struct connection *connection, const unsigned char *data, size_t size, uint64_t now) {
    while (size > 0) {
        if (connection->skip > 0) {
            size_t some = size < connection->skip ? size : connection->skip;
            connection->skip -= some, data += some, size -= some;
            continue;
        }
        size_t wanted = connection->head_size < 8 ? 8 : 8 + (be32(connection->head + 4) & 0xffffff);
        if (wanted > HEAD_ROOM) {
            fprintf(stderr, "an answer with a header of %zu bytes\n", wanted - 8);
            exit(1);
        }
        size_t some = wanted - connection->head_size < size ? wanted - connection->head_size : size;
        memcpy(connection->head + connection->head_size, data, some);
        connection->head_size += some, data += some, size -= some;
        if (connection->head_size < 8) continue;
        wanted = 8 + (be32(connection->head + 4) & 0xffffff);
        if (connection->head_size < wanted) continue;
        connection->skip = 4 + (size_t)be32(connection->head) - wanted;
        take_answer(connection, now);
        connection->head_size = 0;
    }
}

static void receive(struct connection *connection) {
    static unsigned char scratch[READ_BYTES];
    do { /* TLS returns one record at a time, and epoll does not see what it holds */
        ssize_t got = read_some(connection, scratch, READ_BYTES);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) {
            fprintf(stderr, "the server closed a connection after %llu answers\n", (unsigned long long)answered);
            exit(1);
        }
        got_bytes += (uint64_t)got;
        take(connection, scratch, (size_t)got, now_ns());
    } while (IS_TLS);
}

static void receive_until(uint64_t until_ns, uint64_t now) {
    struct epoll_event events[512];
    uint64_t left = until_ns > now ? until_ns - now : 0;
    struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    int ready = epoll_pwait2(poller, events, 512, &timeout, NULL);
    for (int n = 0; n < ready; n++) {
        struct connection *connection = events[n].data.ptr;
        if (events[n].events & EPOLLOUT) flush_out(connection);
        if (events[n].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(connection);
        if (!keep_asking) continue;
        for (uint64_t at = now_ns(); connection->free_slots > 0 && at < until_ns;) ask(connection, at);
        if (connection->out_size > 0 && connection->writable) flush_out(connection);
    }
}

static void closed_loop(uint64_t end_ns) {
    keep_asking = 1;
    for (int n = 0; n < options.connections; n++) {
        for (uint64_t now = now_ns(); connections[n].free_slots > 0;) ask(&connections[n], now);
        flush_out(&connections[n]);
    }
    for (uint64_t now = now_ns(); now < end_ns; now = now_ns()) receive_until(end_ns, now);
}

/* Requests that were due and are not answered yet count with their waiting time. */
static void wait_for_the_rest(uint64_t patience_ns) {
    uint64_t end_ns = now_ns() + patience_ns;
    for (uint64_t now = now_ns(); answered < sent && now < end_ns; now = now_ns()) receive_until(now + 10000000u, now);
    for (int n = 0; n < options.connections; n++)
        for (int slot = 0; slot < slot_count && connections[n].slots != NULL; slot++)
            if (connections[n].due_ns[slot] != 0) histogram_add(&latencies, now_ns() - connections[n].due_ns[slot]);
}

static void open_loop(uint64_t from_ns, uint64_t end_ns) {
    double every_ns = 1e9 / options.rate;
    uint64_t asked = 0, due = from_ns;
    for (uint64_t now = now_ns(); now < end_ns; now = now_ns()) {
        while (due <= now && due < end_ns) {
            struct connection *connection = &connections[asked % (uint64_t)options.connections];
            if (connection->free_slots > 0) {
                ask(connection, due);
                if (connection->writable) flush_out(connection);
            } else {
                dropped++;
            }
            due = from_ns + (uint64_t)((double)++asked * every_ns);
        }
        receive_until(due < end_ns ? due : end_ns, now_ns());
    }
    wait_for_the_rest(10000000000u);
}

static void as_brokers(uint32_t start, uint32_t count, double rate) {
    uint64_t from_ns = now_ns();
    for (uint32_t n = 0; n < count; n++) {
        uint64_t due = rate > 0 ? from_ns + (uint64_t)(n * 1e9 / rate) : now_ns();
        for (uint64_t now = now_ns(); now < due; now = now_ns()) receive_until(due, now);
        uint32_t number = (start + n) % (uint32_t)options.connections;
        struct connection *connection = &connections[number];
        if (connection->slots == NULL) open_connection(number);
        connection->next = (start + n) % frame_count;
        ask(connection, due);
        if (connection->writable) flush_out(connection);
        while (rate <= 0 && answered < sent) receive_until(now_ns() + 1000000000u, now_ns());
    }
    wait_for_the_rest(60000000000u);
}

static void print_result(double elapsed) {
    printf("{\"answered\":%llu,\"measured\":%llu,\"failed\":%llu,\"dropped\":%llu,\"unanswered\":%llu,\"bytes\":%llu,"
           "\"elapsed_s\":%.6f,\"per_second\":%.1f,\"mean_us\":%.2f,\"p50_us\":%.2f,\"p90_us\":%.2f,\"p99_us\":%.2f,"
           "\"p999_us\":%.2f,\"max_us\":%.2f}\n",
           (unsigned long long)answered, (unsigned long long)measured, (unsigned long long)failed,
           (unsigned long long)dropped, (unsigned long long)(sent - answered), (unsigned long long)got_bytes, elapsed,
           (double)measured / elapsed, latencies.total ? (double)latencies.sum / (double)latencies.total / 1e3 : 0.0,
           (double)histogram_at(&latencies, 0.5) / 1e3, (double)histogram_at(&latencies, 0.9) / 1e3,
           (double)histogram_at(&latencies, 0.99) / 1e3, (double)histogram_at(&latencies, 0.999) / 1e3,
           (double)latencies.greatest / 1e3);
    fflush(stdout);
}

static void follow_orders(void) {
    char line[256];
    unsigned start, count;
    double rate;
    while (fgets(line, sizeof line, stdin) != NULL && sscanf(line, "%u %u %lf", &start, &count, &rate) == 3) {
        memset(&latencies, 0, sizeof latencies);
        sent = answered = measured = failed = dropped = got_bytes = 0;
        uint64_t from_ns = now_ns();
        as_brokers(start, count, rate);
        print_result((double)(now_ns() - from_ns) / 1e9);
    }
}

static void read_options(int argc, char **argv) {
    for (int n = 1; n + 1 < argc; n += 2) {
        const char *name = argv[n], *value = argv[n + 1];
        if (!strcmp(name, "--port")) options.port = atoi(value);
        else if (!strcmp(name, "--plan")) options.plan = value;
        else if (!strcmp(name, "--connections")) options.connections = atoi(value);
        else if (!strcmp(name, "--depth")) options.depth = atoi(value);
        else if (!strcmp(name, "--rate")) options.rate = atof(value);
        else if (!strcmp(name, "--seconds")) options.seconds = atof(value);
        else if (!strcmp(name, "--warmup")) options.warmup = atof(value);
        else if (!strcmp(name, "--answer")) options.answer = atoi(value);
        else if (!strcmp(name, "--brokers")) options.brokers = !strcmp(value, "on");
        else options.port = -1;
    }
    if (argc % 2 == 0 || options.port <= 0 || options.plan == NULL || options.connections < 1 || options.depth < 1) {
        fprintf(stderr, "load --port P --plan FILE [--connections N] [--depth D] [--rate R] [--seconds S] [--warmup S] "
                        "[--brokers on]\n");
        exit(2);
    }
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    prctl(PR_SET_TIMERSLACK, 1UL);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    poller = epoll_create1(EPOLL_CLOEXEC);
    read_plan();
    slot_count = options.brokers ? 64 : options.rate > 0 ? OPEN_DEPTH : options.depth;
    open_connections();
    if (options.brokers) {
        follow_orders();
        return 0;
    }
    uint64_t from_ns = now_ns();
    measure_from_ns = from_ns + (uint64_t)(options.warmup * 1e9);
    uint64_t end_ns = measure_from_ns + (uint64_t)(options.seconds * 1e9);
    if (options.rate > 0) open_loop(from_ns, end_ns);
    else closed_loop(end_ns);
    print_result(options.rate > 0 ? options.seconds : (double)(now_ns() - measure_from_ns) / 1e9);
    return 0;
}

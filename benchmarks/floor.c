/* What the machine takes for the bytes alone: a file read and sent, or received and written, over loopback, with no
 * protocol, no checksum and no checks.
 *
 *   floor up FILE BLOCK_KIB CONNECTIONS          reads the file in blocks and sends each
 *   floor down FILE PIECE_KIB CONNECTIONS MIB    receives so much in pieces and writes each to its place
 *
 * A child process is the other side and has no file. One line of JSON tells the wall time and the CPU time of each side.
 * Run by `make bench-floor`.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, PIECE = 256 << 10 };

static struct sockaddr_in address;
static const char *path;
static int is_up;
static size_t block;
static size_t total;
static size_t next;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* The next block that nobody has: its offset, or `total`. */
static size_t take(size_t *len) {
    size_t offset = __sync_fetch_and_add(&next, block);
    if (offset >= total) return total;
    *len = total - offset < block ? total - offset : block;
    return offset;
}

static size_t piece_at(size_t done, size_t len) { return len - done < PIECE ? len - done : PIECE; }

static void send_all(int to, const char *bytes, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t sent = send(to, bytes + done, piece_at(done, len), MSG_NOSIGNAL);
        if (sent <= 0) fail("send");
        done += (size_t)sent;
    }
}

static void *client(void *unused) {
    (void)unused;
    int file = open(path, is_up ? O_RDONLY : O_WRONLY), peer = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (file < 0) fail(path);
    if (connect(peer, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    char *bytes = malloc(block);
    memset(bytes, 0, block);
    for (size_t len = 0, offset; (offset = take(&len)) < total;) {
        if (is_up) {
            for (size_t done = 0; done < len; done += PIECE)
                if (pread(file, bytes + done, piece_at(done, len), (off_t)(offset + done)) <= 0) fail("pread");
            send_all(peer, bytes, len);
        } else {
            for (size_t done = 0; done < len;) {
                ssize_t got = recv(peer, bytes + done, len - done, 0);
                if (got <= 0) fail("recv");
                done += (size_t)got;
            }
            if (pwrite(file, bytes, len, (off_t)offset) != (ssize_t)len) fail("pwrite");
        }
    }
    close(peer);
    close(file);
    free(bytes);
    return NULL;
}

/* The other side: forgets what it gets, or sends zeroes until nobody wants more. */
static void *server(void *argument) {
    int peer = (int)(long)argument;
    char *bytes = calloc(1, PIECE);
    if (is_up)
        while (recv(peer, bytes, PIECE, 0) > 0) {}
    else
        while (send(peer, bytes, PIECE, MSG_NOSIGNAL) > 0) {}
    free(bytes);
    return NULL;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static double cpu(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int main(int count, char **arguments) {
    if (count < 5) return fprintf(stderr, "usage: floor up|down FILE KIB CONNECTIONS [MIB]\n"), 2;
    is_up = !strcmp(arguments[1], "up");
    path = arguments[2];
    block = (size_t)atol(arguments[3]) << 10;
    int connections = atoi(arguments[4]);
    if (connections < 1 || connections > CONNECTIONS_MAX || block == 0) return fprintf(stderr, "floor: bad number\n"), 2;
    struct stat stat_;
    if (is_up) {
        if (stat(path, &stat_)) fail(path);
        total = (size_t)stat_.st_size;
    } else {
        total = (size_t)(count > 5 ? atol(arguments[5]) : 1024) << 20;
        int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        if (file < 0 || ftruncate(file, (off_t)total)) fail(path);
        close(file);
    }

    int listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, CONNECTIONS_MAX)) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);

    pthread_t threads[CONNECTIONS_MAX];
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        for (int i = 0; i < connections; i++)
            pthread_create(&threads[i], NULL, server, (void *)(long)accept(listener, NULL, NULL));
        for (int i = 0; i < connections; i++) pthread_join(threads[i], NULL);
        _exit(0);
    }
    struct timespec from, until;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < connections; i++) pthread_create(&threads[i], NULL, client, NULL);
    for (int i = 0; i < connections; i++) pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &until);
    waitpid(child, NULL, 0);
    printf("{\"way\": \"%s\", \"block_kib\": %zu, \"connections\": %d, \"mib\": %zu, \"wall_s\": %.3f, \"cpu_s\": %.3f, "
           "\"other_cpu_s\": %.3f}\n",
           arguments[1], block >> 10, connections, total >> 20,
           (double)(until.tv_sec - from.tv_sec) + (double)(until.tv_nsec - from.tv_nsec) / 1e9, cpu(RUSAGE_SELF),
           cpu(RUSAGE_CHILDREN));
    return 0;
}

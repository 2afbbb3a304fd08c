/* The network for a process of a test: it reaches none of the ports that stand in the file $TENURE_APART. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Signal handlers and children between fork and exec write too, so nothing here may allocate. */
static int is_apart(int port) {
    const char *path = getenv("TENURE_APART");
    char text[4096];
    ssize_t length;
    int before = errno, file, one = 0, found = 0;
    if (!port || !path) return 0;
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        errno = before;
        return 0;
    }
    length = syscall(SYS_read, file, text, sizeof text);
    close(file);
    errno = before;
    for (ssize_t at = 0; at <= length && !found; at++) {
        int digit = at < length && text[at] >= '0' && text[at] <= '9';
        found = !digit && one == port;
        one = digit ? one * 10 + (text[at] - '0') : 0;
    }
    return found;
}

static int port_of(const struct sockaddr *address) {
    return address->sa_family == AF_INET ? ntohs(((const struct sockaddr_in *)address)->sin_port) : 0;
}

/* Whether the other end of a connection is one that is not reached any more. */
static int is_cut(int fd) {
    int before = errno, cut = 0;
    struct sockaddr_storage other;
    socklen_t length = sizeof other;
    if (getenv("TENURE_APART") && !getpeername(fd, (struct sockaddr *)&other, &length)) {
        cut = is_apart(port_of((struct sockaddr *)&other));
    }
    errno = cut ? ECONNRESET : before;
    return cut;
}

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    NEXT(connect);
    if (is_apart(port_of(address))) {
        errno = EHOSTUNREACH;
        return -1;
    }
    return next(fd, address, length);
}

ssize_t read(int fd, void *bytes, size_t count) {
    NEXT(read);
    return is_cut(fd) ? -1 : next(fd, bytes, count);
}

ssize_t recv(int fd, void *bytes, size_t count, int flags) {
    NEXT(recv);
    return is_cut(fd) ? -1 : next(fd, bytes, count, flags);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    NEXT(write);
    return is_cut(fd) ? -1 : next(fd, bytes, count);
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    NEXT(send);
    return is_cut(fd) ? -1 : next(fd, bytes, count, flags);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    NEXT(writev);
    return is_cut(fd) ? -1 : next(fd, pieces, count);
}

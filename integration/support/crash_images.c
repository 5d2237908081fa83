/* Preloaded: asks a server on a socket before each call that changes something below a folder, and says when it is done.
 *
 *     cc -shared -fPIC -o crash_images.so crash_images.c -ldl
 *     CRASH_IMAGES_ROOT=/folder CRASH_IMAGES_SOCKET=/socket LD_PRELOAD=./crash_images.so ...
 *
 * The server answers when it has taken its image of the folder; it serves one call at a time, so that no image is taken
 * while something changes. Files without a name (O_TMPFILE) change nothing until they are linked.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

static const char *root, *place;

__attribute__((constructor)) static void begin(void) {
    root = getenv("CRASH_IMAGES_ROOT");
    place = getenv("CRASH_IMAGES_SOCKET");
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int below(const char *path) {
    size_t length = root ? strlen(root) : 0;
    return length && path && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

/* The path of a name in an open folder, or of an open file if the name is null. */
static const char *full(int folder, const char *path, char *into) {
    char name[64];
    ssize_t length;
    if (!root) return NULL;
    if (path && path[0] == '/') return path;
    if (path && folder == AT_FDCWD) return path;
    snprintf(name, sizeof name, "/proc/self/fd/%d", folder);
    length = readlink(name, into, PATH_MAX);
    if (length < 0) return NULL;
    into[length] = 0;
    if (path) snprintf(into + length, PATH_MAX - length, "/%s", path);
    return into;
}

/* Ask; the connection, which is closed when the call is done, or -1. */
static int ask(const char *call, const char *path) {
    int error = errno, made = -1;
    char line[PATH_MAX + 32], answer;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (place && path && below(path)) {
        snprintf(address.sun_path, sizeof address.sun_path, "%s", place);
        made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made >= 0) {
            int length = snprintf(line, sizeof line, "%s %s\n", call, path);
            if (connect(made, (struct sockaddr *)&address, sizeof address) || send(made, line, length, MSG_NOSIGNAL) < 0 ||
                recv(made, &answer, 1, 0) != 1) {
                REAL(close)(made);
                made = -1;
            }
        }
    }
    errno = error;
    return made;
}

static void done(int made) {
    int error = errno;
    if (made >= 0) {
        /* Said, too: a process that was forked meanwhile holds the connection open. */
        send(made, "d", 1, MSG_NOSIGNAL);
        REAL(close)(made);
    }
    errno = error;
}

#define AROUND(type, call, path, what)   \
    do {                                 \
        int made = ask(call, path);      \
        type result = what;              \
        done(made);                      \
        return result;                   \
    } while (0)

#define CHANGES(flags) (((flags) & (O_CREAT | O_TRUNC)) && ((flags) & O_TMPFILE) != O_TMPFILE)

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        mode_t mode = 0;                                                            \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                      \
            va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); \
        }                                                                           \
        AROUND(int, "open", CHANGES(flags) ? path : NULL, REAL(name)(path, flags, mode)); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                \
    int name(int folder, const char *path, int flags, ...) {                        \
        mode_t mode = 0;                                                            \
        char into[PATH_MAX + 1];                                                    \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                      \
            va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); \
        }                                                                           \
        AROUND(int, "open", CHANGES(flags) ? full(folder, path, into) : NULL, REAL(name)(folder, path, flags, mode)); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void *data, size_t size) {
    char into[PATH_MAX + 1];
    AROUND(ssize_t, "write", full(file, NULL, into), REAL(write)(file, data, size));
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    char into[PATH_MAX + 1];
    AROUND(ssize_t, "write", full(file, NULL, into), REAL(pwrite64)(file, data, size, at));
}
int rename(const char *from, const char *to) { AROUND(int, "rename", to, REAL(rename)(from, to)); }
int renameat(int a, const char *from, int b, const char *to) {
    char into[PATH_MAX + 1];
    AROUND(int, "rename", full(b, to, into), REAL(renameat)(a, from, b, to));
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    char into[PATH_MAX + 1];
    AROUND(int, "rename", full(b, to, into), REAL(renameat2)(a, from, b, to, flags));
}
int link(const char *from, const char *to) { AROUND(int, "link", to, REAL(link)(from, to)); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    char into[PATH_MAX + 1];
    AROUND(int, "link", full(b, to, into), REAL(linkat)(a, from, b, to, flags));
}
int unlink(const char *path) { AROUND(int, "unlink", path, REAL(unlink)(path)); }
int remove(const char *path) { AROUND(int, "unlink", path, REAL(remove)(path)); }
int unlinkat(int folder, const char *path, int flags) {
    char into[PATH_MAX + 1];
    AROUND(int, "unlink", full(folder, path, into), REAL(unlinkat)(folder, path, flags));
}
int rmdir(const char *path) { AROUND(int, "rmdir", path, REAL(rmdir)(path)); }
int mkdir(const char *path, mode_t mode) { AROUND(int, "mkdir", path, REAL(mkdir)(path, mode)); }
int mkdirat(int folder, const char *path, mode_t mode) {
    char into[PATH_MAX + 1];
    AROUND(int, "mkdir", full(folder, path, into), REAL(mkdirat)(folder, path, mode));
}
int ftruncate64(int file, off64_t size) {
    char into[PATH_MAX + 1];
    AROUND(int, "truncate", full(file, NULL, into), REAL(ftruncate64)(file, size));
}

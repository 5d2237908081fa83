/* Preloaded: the n-th call below a folder that opens for writing, writes, flushes, links, renames or deletes fails.
 *
 *     cc -shared -fPIC -o disk_faults.so disk_faults.c -ldl
 *     LD_PRELOAD=./disk_faults.so python ...
 *
 * Nothing fails until the process calls arm(folder, n, errno); calls() tells how many were met since.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char root[PATH_MAX];
static atomic_long met, fatal = -1;
static int fault;
static int sticky;

void arm(const char *folder, long n, int error, int all_after) {
    snprintf(root, sizeof root, "%s", folder);
    fault = error;
    sticky = all_after;
    atomic_store(&met, 0);
    atomic_store(&fatal, n);
}

long calls(void) { return atomic_load(&met); }

static int below(const char *path) {
    size_t length = strlen(root);
    return length && path && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static int below_at(int folder, const char *path) {
    char name[64], full[PATH_MAX];
    ssize_t length;
    if (!path) return 0;
    if (path[0] == '/' && strncmp(path, "/proc/self/fd/", 14)) return below(path);
    if (path[0] == '/') snprintf(name, sizeof name, "%.60s", path);
    else snprintf(name, sizeof name, "/proc/self/fd/%d", folder);
    length = readlink(name, full, sizeof full - 1);
    if (length < 0) return 0;
    full[length] = 0;
    return below(full);
}

static int below_descriptor(int descriptor) {
    char name[64], full[PATH_MAX];
    ssize_t length;
    if (!root[0]) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    length = readlink(name, full, sizeof full - 1);
    if (length < 0) return 0;
    full[length] = 0;
    return below(full);
}

/* Whether this call is the one that fails. */
static int fails(int counts) {
    long at, n = atomic_load(&fatal);
    if (!counts) return 0;
    at = atomic_fetch_add(&met, 1);
    if (n < 0 || (sticky ? at < n : at != n)) return 0;
    errno = fault;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        mode_t mode = 0;                                                            \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                      \
            va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); \
        }                                                                           \
        if (fails((flags & O_ACCMODE) != O_RDONLY && below(path))) return -1;       \
        return REAL(name)(path, flags, mode);                                       \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                \
    int name(int folder, const char *path, int flags, ...) {                        \
        mode_t mode = 0;                                                            \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                      \
            va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); \
        }                                                                           \
        if (fails((flags & O_ACCMODE) != O_RDONLY && below_at(folder, path))) return -1; \
        return REAL(name)(folder, path, flags, mode);                               \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int descriptor, const void *data, size_t size) {
    if (fails(below_descriptor(descriptor))) return -1;
    return REAL(write)(descriptor, data, size);
}
ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t at) {
    if (fails(below_descriptor(descriptor))) return -1;
    return REAL(pwrite64)(descriptor, data, size, at);
}
int fsync(int descriptor) {
    if (fails(below_descriptor(descriptor))) return -1;
    return REAL(fsync)(descriptor);
}
int fdatasync(int descriptor) {
    if (fails(below_descriptor(descriptor))) return -1;
    return REAL(fdatasync)(descriptor);
}
int close(int descriptor) {
    int failed = (fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY && fails(below_descriptor(descriptor));
    int error = errno, result = REAL(close)(descriptor);
    if (failed) { errno = error; return -1; }
    return result;
}
int rename(const char *from, const char *to) {
    if (fails(below(to))) return -1;
    return REAL(rename)(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    if (fails(below_at(b, to))) return -1;
    return REAL(renameat)(a, from, b, to);
}
int link(const char *from, const char *to) {
    if (fails(below(to))) return -1;
    return REAL(link)(from, to);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    if (fails(below_at(b, to))) return -1;
    return REAL(linkat)(a, from, b, to, flags);
}
int unlink(const char *path) {
    if (fails(below(path))) return -1;
    return REAL(unlink)(path);
}
int unlinkat(int folder, const char *path, int flags) {
    if (fails(below_at(folder, path))) return -1;
    return REAL(unlinkat)(folder, path, flags);
}
int rmdir(const char *path) {
    if (fails(below(path))) return -1;
    return REAL(rmdir)(path);
}
int mkdir(const char *path, mode_t mode) {
    if (fails(below(path))) return -1;
    return REAL(mkdir)(path, mode);
}
int mkdirat(int folder, const char *path, mode_t mode) {
    if (fails(below_at(folder, path))) return -1;
    return REAL(mkdirat)(folder, path, mode);
}

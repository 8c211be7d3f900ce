/* Stands before the C library (LD_PRELOAD) and lets writes to a store, or syncs of it, fail on demand. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int first_write, writes_to_fail, writes, first_sync, syncs, failures;

/* From the k-th write on, this many fail with ENOSPC; the k-th sync fails with EIO. 0: none. */
void disk_fails(int write, int how_many, int sync) {
    first_write = write; writes_to_fail = how_many; first_sync = sync; writes = syncs = failures = 0;
}
int disk_failures(void) { return failures; }

static int is_store(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return strstr(path, "cortex.db") != NULL;
}

static int is_full(int fd) {
    if (!first_write || !is_store(fd)) return 0;
    writes++;
    if (writes < first_write || writes >= first_write + writes_to_fail) return 0;
    failures++;
    errno = ENOSPC;
    return 1;
}

static int fails_to_sync(int fd) {
    if (!first_sync || !is_store(fd) || ++syncs != first_sync) return 0;
    failures++;
    errno = EIO;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) { return is_full(fd) ? -1 : REAL(write)(fd, data, size); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    return is_full(fd) ? -1 : REAL(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    return is_full(fd) ? -1 : REAL(pwrite64)(fd, data, size, at);
}
/* No power is cut here, so a sync that does not fail has nothing to do: what was written is seen by everybody. */
int fsync(int fd) { return fails_to_sync(fd) ? -1 : 0; }
int fdatasync(int fd) { return fails_to_sync(fd) ? -1 : 0; }

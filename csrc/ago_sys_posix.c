/*
 * ago_sys.h by a POSIX libc, for hosts that are not Linux on AArch64 or x86-64.
 */
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE

#include "ago_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void *ago_sys_allocate(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes + AGO_ALIGNMENT) != 0) {
        return NULL;
    }
    return memset(memory, 0, bytes + AGO_ALIGNMENT);
}

void *ago_sys_share(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int ago_sys_fork(void) { return (int)fork(); }

#if defined(__APPLE__)
#define PEAK_UNIT UINT64_C(1) /* of ru_maxrss, bytes */
#else
#define PEAK_UNIT UINT64_C(1024)
#endif

int ago_sys_wait(int process, int *code, uint64_t *peak) {
    int status = 0;
    struct rusage usage = {0};
    while (wait4(process, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    *peak = (uint64_t)usage.ru_maxrss * PEAK_UNIT;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void ago_sys_limit_memory(uint64_t bytes) {
    const struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    setrlimit(RLIMIT_AS, &limit);
}

void ago_sys_alarm(size_t milliseconds) {
    const struct itimerval timer = {
        .it_value = {(time_t)(milliseconds / 1000), (suseconds_t)(milliseconds % 1000 * 1000)}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

void ago_sys_pin(size_t cpu) { (void)cpu; /* no portable way */ }

int ago_sys_open(const char *path, int for_writing) {
    return for_writing ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : open(path, O_RDONLY);
}

ptrdiff_t ago_sys_read(int file, void *destination, size_t bytes) {
    return read(file, destination, bytes);
}

ptrdiff_t ago_sys_write(int file, const void *source, size_t bytes) {
    return write(file, source, bytes);
}

int ago_sys_close(int file) {
    return close(file);
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec now = {0, 0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t ago_sys_nanoseconds(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t ago_sys_thread_nanoseconds(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void ago_sys_exit(int code) {
    _exit(code);
}

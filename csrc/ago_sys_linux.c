/*
 * ago_sys.h by Linux system calls, and the program's entry point: no libc is linked.
 *
 * Numbers of system calls: arch/x86/entry/syscalls/syscall_64.tbl and
 * include/uapi/asm-generic/unistd.h of Linux.
 */
#include "ago_sys.h"

#if defined(__aarch64__)
enum {
    SYS_MADVISE = 233,
    SYS_MMAP = 222,
    SYS_OPENAT = 56,
    SYS_CLOSE = 57,
    SYS_READ = 63,
    SYS_WRITE = 64,
    SYS_CLOCK_GETTIME = 113,
    SYS_CLONE = 220,
    SYS_WAIT4 = 260,
    SYS_PRLIMIT64 = 261,
    SYS_SETITIMER = 103,
    SYS_SCHED_SETAFFINITY = 122,
    SYS_EXIT_GROUP = 94
};

__asm__(".text\n"
        ".globl _start\n"
        ".hidden _start\n"
        "_start:\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x0, sp\n" /* argc, then argv, as the kernel left them */
        "    and sp, x0, #-16\n"
        "    bl ago_sys_start\n");

static long system_call(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}
#elif defined(__x86_64__)
enum {
    SYS_MADVISE = 28,
    SYS_MMAP = 9,
    SYS_OPENAT = 257,
    SYS_CLOSE = 3,
    SYS_READ = 0,
    SYS_WRITE = 1,
    SYS_CLOCK_GETTIME = 228,
    SYS_CLONE = 56,
    SYS_WAIT4 = 61,
    SYS_PRLIMIT64 = 302,
    SYS_SETITIMER = 38,
    SYS_SCHED_SETAFFINITY = 203,
    SYS_EXIT_GROUP = 231
};

__asm__(".text\n"
        ".globl _start\n"
        ".hidden _start\n"
        "_start:\n"
        "    xorl %ebp, %ebp\n"
        "    movq %rsp, %rdi\n" /* argc, then argv, as the kernel left them */
        "    andq $-16, %rsp\n"
        "    call ago_sys_start\n");

static long system_call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory", "cc");
    return result;
}
#else
#error "ago_sys_linux.c knows AArch64 and x86-64; use ago_sys_posix.c"
#endif

enum {
    AT_FDCWD = -100,
    O_RDONLY = 0,
    O_WRITE_FRESH = 0x241, /* O_WRONLY | O_CREAT | O_TRUNC */
    FILE_MODE = 0644,
    PROT_READ_WRITE = 3,
    MAP_PRIVATE_ANONYMOUS = 0x22,
    MAP_SHARED_ANONYMOUS = 0x21,
    MADV_HUGEPAGE = 14,
    CLOCK_MONOTONIC = 1,
    CLOCK_THREAD_CPUTIME_ID = 3,
    SIGCHLD = 17,
    ITIMER_REAL = 0,
    RLIMIT_AS = 9,
    RUSAGE_LONGS = 18, /* of struct rusage */
    RUSAGE_PEAK = 4,   /* ru_maxrss in it, KiB */
    EINTR = 4
};

#define HUGE_PAGE ((size_t)2 << 20)

int main(int argc, char **argv);
AGO_HIDDEN void ago_sys_start(long *stack) __attribute__((noreturn));

void ago_sys_start(long *stack) {
    ago_sys_exit(main((int)stack[0], (char **)(stack + 1)));
}

void *ago_sys_allocate(size_t bytes) {
    const size_t size = bytes + HUGE_PAGE;
    const long start = system_call(SYS_MMAP, 0, (long)size, PROT_READ_WRITE,
                                   MAP_PRIVATE_ANONYMOUS, -1, 0);
    if (start < 0 && start > -4096) { /* an error number */
        return NULL;
    }
    const uintptr_t aligned = ((uintptr_t)start + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    if (bytes >= HUGE_PAGE) { /* fewer TLB misses while weights stream; may be refused */
        system_call(SYS_MADVISE, (long)aligned, (long)bytes, MADV_HUGEPAGE, 0, 0, 0);
    }
    return (void *)aligned;
}

void *ago_sys_share(size_t bytes) {
    const long start =
        system_call(SYS_MMAP, 0, (long)bytes, PROT_READ_WRITE, MAP_SHARED_ANONYMOUS, -1, 0);
    return start < 0 && start > -4096 ? NULL : (void *)start;
}

int ago_sys_fork(void) { return (int)system_call(SYS_CLONE, SIGCHLD, 0, 0, 0, 0, 0); }

int ago_sys_wait(int process, int *code, uint64_t *peak) {
    int status = 0;
    long usage[RUSAGE_LONGS] = {0};
    while (system_call(SYS_WAIT4, process, (long)&status, 0, (long)usage, 0, 0) == -EINTR) {
    }
    *code = (status >> 8) & 0xff;
    *peak = (uint64_t)usage[RUSAGE_PEAK] << 10;
    return status & 0x7f;
}

void ago_sys_limit_memory(uint64_t bytes) {
    const uint64_t limit[2] = {bytes, bytes}; /* struct rlimit64: now, and at most */
    system_call(SYS_PRLIMIT64, 0, RLIMIT_AS, (long)limit, 0, 0, 0);
}

void ago_sys_alarm(size_t milliseconds) {
    /* struct itimerval: the interval, then the time left; each in seconds and microseconds */
    const int64_t timer[4] = {0, 0, (int64_t)(milliseconds / 1000),
                              (int64_t)(milliseconds % 1000 * 1000)};
    system_call(SYS_SETITIMER, ITIMER_REAL, (long)timer, 0, 0, 0, 0);
}

void ago_sys_pin(size_t cpu) {
    uint64_t mask[16] = {0};
    mask[cpu / 64 % 16] = UINT64_C(1) << cpu % 64;
    system_call(SYS_SCHED_SETAFFINITY, 0, sizeof mask, (long)mask, 0, 0, 0);
}

int ago_sys_open(const char *path, int for_writing) {
    return (int)system_call(SYS_OPENAT, AT_FDCWD, (long)path,
                            for_writing ? O_WRITE_FRESH : O_RDONLY, FILE_MODE, 0, 0);
}

ptrdiff_t ago_sys_read(int file, void *destination, size_t bytes) {
    return system_call(SYS_READ, file, (long)destination, (long)bytes, 0, 0, 0);
}

ptrdiff_t ago_sys_write(int file, const void *source, size_t bytes) {
    return system_call(SYS_WRITE, file, (long)source, (long)bytes, 0, 0, 0);
}

int ago_sys_close(int file) {
    return (int)system_call(SYS_CLOSE, file, 0, 0, 0, 0, 0);
}

static uint64_t read_clock(long clock) {
    int64_t now[2] = {0, 0}; /* struct timespec: seconds, nanoseconds */
    system_call(SYS_CLOCK_GETTIME, clock, (long)now, 0, 0, 0, 0);
    return (uint64_t)now[0] * UINT64_C(1000000000) + (uint64_t)now[1];
}

uint64_t ago_sys_nanoseconds(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t ago_sys_thread_nanoseconds(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void ago_sys_exit(int code) {
    for (;;) {
        system_call(SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0);
    }
}

/*
 * The few services of the operating system that the programs on devices use.
 *
 * ago_sys_linux.c implements them by system calls, so that they need no libc: they build
 * wherever clang and lld are and run on any Linux or Android. ago_sys_posix.c is for other systems.
 */
#ifndef AGO_SYS_H
#define AGO_SYS_H

#include "ago_runtime.h"

#define AGO_SYS_STDOUT 1
#define AGO_SYS_STDERR 2

/* Zeroed memory aligned to at least AGO_ALIGNMENT, never freed; NULL if there is none left. */
AGO_HIDDEN void *ago_sys_allocate(size_t bytes);

/* Opens a file for reading, or for writing from scratch; a negative number on failure. */
AGO_HIDDEN int ago_sys_open(const char *path, int for_writing);

/* Read or write up to `bytes` bytes; the number done, 0 at the end of the file, negative on
 * failure. */
AGO_HIDDEN ptrdiff_t ago_sys_read(int file, void *destination, size_t bytes);
AGO_HIDDEN ptrdiff_t ago_sys_write(int file, const void *source, size_t bytes);

/* Closes a file; 0 on success. */
AGO_HIDDEN int ago_sys_close(int file);

/* Monotonic time in nanoseconds. */
AGO_HIDDEN uint64_t ago_sys_nanoseconds(void);

/* Time in nanoseconds that the calling thread ran on a CPU. */
AGO_HIDDEN uint64_t ago_sys_thread_nanoseconds(void);

/* Zeroed memory shared with the processes started later, never freed; NULL if there is none left. */
AGO_HIDDEN void *ago_sys_share(size_t bytes);

/* Starts a process that goes on as a copy of this one: 0 there, its number here, or negative. */
AGO_HIDDEN int ago_sys_fork(void);

/* Waits for a process to end. Returns the signal that ended it, or 0 and its exit code; `peak` is the
 * most memory that it had in use, in bytes. */
AGO_HIDDEN int ago_sys_wait(int process, int *code, uint64_t *peak);

/* Lets this process, and those that it starts, have no more than so many bytes of addresses, if the
 * system can. */
AGO_HIDDEN void ago_sys_limit_memory(uint64_t bytes);

/* Has a signal end this process after some milliseconds of wall time; 0 takes that back. */
AGO_HIDDEN void ago_sys_alarm(size_t milliseconds);

/* Keeps this process on one CPU, if the system lets it. */
AGO_HIDDEN void ago_sys_pin(size_t cpu);

/* Ends the program; does not return. */
AGO_HIDDEN void ago_sys_exit(int code) __attribute__((noreturn));

#endif /* AGO_SYS_H */

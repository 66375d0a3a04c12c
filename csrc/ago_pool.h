/*
 * A small pool of threads for NAME_set_pool of a model compiled for several threads. It needs POSIX
 * threads; models themselves do not, and take any other pool through ago_pool (ago_runtime.h).
 *
 * A pool serves one run at a time. Its threads, which include the caller's while a run lasts, spin
 * for some microseconds when they have nothing to do, then sleep.
 */
#ifndef AGO_POOL_H
#define AGO_POOL_H

#include "ago_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes a pool of `threads` threads, the caller's among them; NULL if the system refuses.
 *
 * cpus: for each thread but the caller's, the number of the CPU it stays on, or -1 for any; NULL for
 * any. Where threads cannot be bound to CPUs, as on macOS, it is ignored.
 */
AGO_EXPORT ago_pool *ago_pool_create(int32_t threads, const int32_t *cpus);

/*
 * Chooses CPUs for ago_pool_create: those of the highest capacity where some have less, as on phones;
 * -1, for any, where all are alike or nothing is known of them.
 *
 * root: where Linux describes its CPUs; NULL for /sys/devices/system/cpu.
 * threads, cpus: threads - 1 numbers are written, in turn, beginning with the second such CPU: the
 *     calling thread is left where it is.
 */
AGO_EXPORT void ago_pool_big_cpus(const char *root, int32_t threads, int32_t *cpus);

/* Ends the pool's threads and frees it; no run may be under way. NULL is ignored. */
AGO_EXPORT void ago_pool_destroy(ago_pool *pool);

#ifdef __cplusplus
}
#endif

#endif /* AGO_POOL_H */

/*
 * ago_pool.h with POSIX threads and C11 atomics.
 *
 * One word says all: the number of the job in its upper half, then whether it is open for joining,
 * then how many threads work on it. A thread that joins by compare-and-swap may read the job and
 * take chunks of it until none are left; the caller, which takes its share too, closes the job and
 * waits until everyone has left. So a thread that wakes too late finds the job closed and touches
 * nothing.
 */
#if defined(__linux__)
#define _GNU_SOURCE /* pthread_setaffinity_np */
#endif

#include "ago_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define OPEN ((uint64_t)1 << 31)
#define WORKING (OPEN - 1)
#define JOB ((uint64_t)1 << 32)

enum { SPINS = 4000 }; /* looks at the word before a thread sleeps: some ten microseconds */
enum { MOST_CPUS = 1024 };

typedef struct {
    ago_pool interface; /* first, so that a pool is an ago_pool */
    _Atomic uint64_t word;
    void (*task)(void *data, int32_t chunk);
    void *data;
    int32_t chunks;
    _Atomic int32_t next; /* chunk that is taken next */
    _Atomic int32_t sleepers;
    _Atomic int32_t waiting; /* whether the caller sleeps until the last thread leaves */
    _Atomic int32_t stop;
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    int32_t threads; /* those that were started */
    pthread_t thread[];
} pool_state;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_chunks(pool_state *pool) {
    for (;;) {
        const int32_t chunk = atomic_fetch_add(&pool->next, 1);
        if (chunk >= pool->chunks) {
            return;
        }
        pool->task(pool->data, chunk);
    }
}

/* Joins the open job that is not `last`; its number, or `last` if there is none. */
static uint64_t join_job(pool_state *pool, uint64_t last) {
    uint64_t word = atomic_load(&pool->word);
    while (word / JOB != last && (word & OPEN) != 0) {
        if (atomic_compare_exchange_weak(&pool->word, &word, word + 1)) {
            return word / JOB;
        }
    }
    return last;
}

static void leave_job(pool_state *pool) {
    const uint64_t word = atomic_fetch_sub(&pool->word, 1) - 1;
    if ((word & (OPEN | WORKING)) == 0 && atomic_load(&pool->waiting)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
    }
}

/* Whether there may be something to do: another job than `last`, or the end. */
static int is_called(pool_state *pool, uint64_t last) {
    const uint64_t word = atomic_load(&pool->word);
    return atomic_load(&pool->stop) || (word / JOB != last && (word & OPEN) != 0);
}

static void wait_for_job(pool_state *pool, uint64_t last) {
    for (int spin = 0; spin < SPINS; ++spin) {
        if (is_called(pool, last)) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!is_called(pool, last)) {
        pthread_cond_wait(&pool->work, &pool->mutex);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void *worker(void *self) {
    pool_state *pool = self;
    uint64_t last = 0;
    while (!atomic_load(&pool->stop)) {
        const uint64_t job = join_job(pool, last);
        if (job == last) {
            wait_for_job(pool, last);
            continue;
        }
        last = job;
        take_chunks(pool);
        leave_job(pool);
    }
    return NULL;
}

static void wake(pool_state *pool) {
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static int is_busy(pool_state *pool) { return (atomic_load(&pool->word) & WORKING) != 0; }

static void wait_for_workers(pool_state *pool) {
    for (int spin = 0; spin < SPINS; ++spin) {
        if (!is_busy(pool)) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->waiting, 1);
    while (is_busy(pool)) {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    atomic_store(&pool->waiting, 0);
    pthread_mutex_unlock(&pool->mutex);
}

static int32_t thread_count(void *self) {
    const pool_state *pool = self;
    return pool->threads + 1;
}

static void run(void *self, void (*task)(void *data, int32_t chunk), void *data, int32_t chunks) {
    pool_state *pool = self;
    pool->task = task;
    pool->data = data;
    pool->chunks = chunks;
    atomic_store(&pool->next, 0);
    const uint64_t job = atomic_load(&pool->word) / JOB + 1;
    atomic_store(&pool->word, job * JOB | OPEN);
    wake(pool);
    take_chunks(pool);
    atomic_fetch_and(&pool->word, ~OPEN);
    wait_for_workers(pool);
}

static void bind_to_cpu(pthread_t thread, int32_t cpu) {
#if defined(__linux__)
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        pthread_setaffinity_np(thread, sizeof set, &set);
    }
#else
    (void)thread, (void)cpu;
#endif
}

/* The capacity of a CPU; 0 where it is not known, as of one that is offline. */
static long cpu_capacity(const char *root, int32_t cpu) {
    char path[512];
    long capacity = 0;
    const int length = snprintf(path, sizeof path, "%s/cpu%d/cpu_capacity", root, (int)cpu);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "r") : NULL;
    if (file != NULL) {
        capacity = fscanf(file, "%ld", &capacity) == 1 ? capacity : 0;
        fclose(file);
    }
    return capacity;
}

void ago_pool_big_cpus(const char *root, int32_t threads, int32_t *cpus) {
    int32_t big[MOST_CPUS], count = 0;
    long highest = 0;
    int differ = 0;
    for (int32_t cpu = 0; cpu < MOST_CPUS; ++cpu) {
        const long capacity =
            cpu_capacity(root == NULL ? "/sys/devices/system/cpu" : root, cpu);
        if (capacity > 0) {
            differ |= highest > 0 && capacity != highest;
            count = capacity > highest ? 0 : count;
            highest = capacity > highest ? capacity : highest;
            if (capacity == highest) {
                big[count++] = cpu;
            }
        }
    }
    for (int32_t thread = 1; thread < threads; ++thread) {
        cpus[thread - 1] = differ ? big[thread % count] : -1;
    }
}

ago_pool *ago_pool_create(int32_t threads, const int32_t *cpus) {
    const int32_t others = threads > 1 ? threads - 1 : 0;
    pool_state *pool = calloc(1, sizeof *pool + (size_t)others * sizeof *pool->thread);
    if (pool == NULL) {
        return NULL;
    }
    pool->interface.self = pool;
    pool->interface.thread_count = thread_count;
    pool->interface.run = run;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (; pool->threads < others; ++pool->threads) {
        pthread_t *thread = &pool->thread[pool->threads];
        if (pthread_create(thread, NULL, worker, pool) != 0) {
            ago_pool_destroy(&pool->interface);
            return NULL;
        }
        bind_to_cpu(*thread, cpus == NULL ? -1 : cpus[pool->threads]);
    }
    return &pool->interface;
}

void ago_pool_destroy(ago_pool *pool) {
    if (pool == NULL) {
        return;
    }
    pool_state *state = pool->self;
    atomic_store(&state->stop, 1);
    pthread_mutex_lock(&state->mutex);
    pthread_cond_broadcast(&state->work);
    pthread_mutex_unlock(&state->mutex);
    for (int32_t i = 0; i < state->threads; ++i) {
        pthread_join(state->thread[i], NULL);
    }
    pthread_cond_destroy(&state->done);
    pthread_cond_destroy(&state->work);
    pthread_mutex_destroy(&state->mutex);
    free(state);
}

/*
 * Counts how often each byte of a piece of code is the first of an executed instruction: the CPU
 * stops after each one (x86-64's trap flag), on Linux.
 */
#define _GNU_SOURCE

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

static uintptr_t first;
static size_t size;
static int64_t *counts;

static void count(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    const ucontext_t *stopped = context;
    const uintptr_t place = (uintptr_t)stopped->uc_mcontext.gregs[REG_RIP] - first;
    if (place < size) {
        ++counts[place];
    }
}

/* Calls `run` once; `executions` has one count for each byte from `code` on. */
void count_steps(void (*run)(void *const *), void *const *arguments, uintptr_t code, size_t bytes,
                 int64_t *executions) {
    struct sigaction before;
    struct sigaction during = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
    first = code;
    size = bytes;
    counts = executions;
    sigemptyset(&during.sa_mask);
    sigaction(SIGTRAP, &during, &before);
    __asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
    run(arguments);
    __asm__ volatile("pushfq\n andq $-257, (%%rsp)\n popfq" ::: "memory", "cc");
    sigaction(SIGTRAP, &before, NULL);
}

/*
 * What one core can do: multiply-adds from registers, and bytes from each level of memory.
 *
 * Vectors are as wide as the instruction set that this file is compiled for. Every loop is opaque to
 * the compiler where it could otherwise be shortened or become a call of memcpy.
 */
#include "ago_runtime.h"

#if defined(__AVX512F__)
#define LANES 16
#define CHAINS 16
#elif defined(__AVX2__)
#define LANES 8
#define CHAINS 12
#elif defined(__ARM_NEON)
#define LANES 4
#define CHAINS 16
#else
#define LANES 1
#define CHAINS 12
#endif

/* Loads and stores in flight between two steps of a loop counter. */
#define UNROLL 8

typedef float vector __attribute__((vector_size(4 * LANES)));

#if LANES > 1
#define MULTIPLY_ADD(a, b, c) __builtin_elementwise_fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c)) /* without an FMA instruction: two operations */
#endif

/* Floating-point operations of one step of `ago_fma`. */
AGO_EXPORT int32_t ago_fma_flop(void) { return 2 * LANES * CHAINS; }

/* `times` steps of CHAINS independent multiply-adds; more chains than pipes x latency. */
AGO_EXPORT float ago_fma(int64_t times, float factor, float addend) {
    vector accumulators[CHAINS];
    const vector zero = {0};
    const vector a = zero + factor, b = zero + addend;
    for (int32_t i = 0; i < CHAINS; ++i) {
        accumulators[i] = zero + (float)i;
    }
    for (int64_t step = 0; step < times; ++step) {
#pragma clang loop unroll(full)
        for (int32_t i = 0; i < CHAINS; ++i) {
            accumulators[i] = MULTIPLY_ADD(accumulators[i], a, b);
        }
    }
    vector sum = zero;
    for (int32_t i = 0; i < CHAINS; ++i) {
        sum += accumulators[i];
    }
    float total = 0.0f;
    for (int32_t lane = 0; lane < LANES; ++lane) {
        total += ((const float *)&sum)[lane];
    }
    return total;
}

/* Reads `bytes` bytes `times` times; `bytes` is a multiple of 64 x UNROLL. */
AGO_EXPORT float ago_read(const float *source, int64_t bytes, int64_t times) {
    vector sums[UNROLL];
    const int64_t vectors = bytes / (int64_t)sizeof(vector);
    for (int32_t i = 0; i < UNROLL; ++i) {
        sums[i] = (vector){0};
    }
    for (int64_t repeat = 0; repeat < times; ++repeat) {
        const vector *from = (const vector *)source;
        for (int64_t at = 0; at < vectors; at += UNROLL) {
#pragma clang loop unroll(full)
            for (int32_t i = 0; i < UNROLL; ++i) {
                sums[i] += from[at + i];
            }
        }
        __asm__ volatile("" ::: "memory");
    }
    float total = 0.0f;
    for (int32_t i = 0; i < UNROLL; ++i) {
        for (int32_t lane = 0; lane < LANES; ++lane) {
            total += ((const float *)&sums[i])[lane];
        }
    }
    return total;
}

/* Copies `bytes` bytes `times` times; `bytes` is a multiple of 64 x UNROLL. */
AGO_EXPORT void ago_copy(float *target, const float *source, int64_t bytes, int64_t times) {
    const int64_t vectors = bytes / (int64_t)sizeof(vector);
    for (int64_t repeat = 0; repeat < times; ++repeat) {
        const vector *from = (const vector *)source;
        vector *to = (vector *)target;
        for (int64_t at = 0; at < vectors; at += UNROLL) {
            vector values[UNROLL];
#pragma clang loop unroll(full)
            for (int32_t i = 0; i < UNROLL; ++i) {
                values[i] = from[at + i];
            }
            __asm__ volatile("" ::: "memory");
#pragma clang loop unroll(full)
            for (int32_t i = 0; i < UNROLL; ++i) {
                to[at + i] = values[i];
            }
        }
    }
}

/* A block of neighbouring lines is scanned at once, so that memory is read by rows. */
#include "ago_scan.h"

#define BLOCK 64

#define DEFINE_SCAN(name, type, wide)                                                             \
    static void name(const ago_scan_args *args, const type *x, type *y, int64_t count) {          \
        wide total[BLOCK];                                                                        \
        for (int64_t j = 0; j < count; ++j) {                                                     \
            total[j] = args->multiply ? 1 : 0;                                                    \
        }                                                                                         \
        for (int64_t k = 0; k < args->extent; ++k) {                                              \
            const int64_t at = (args->reverse ? args->extent - 1 - k : k) * args->inner;          \
            for (int64_t j = 0; j < count; ++j) {                                                 \
                const wide term = (wide)x[at + j], old = total[j];                                \
                total[j] = args->multiply ? old * term : old + term;                              \
                y[at + j] = (type)(args->exclusive ? old : total[j]);                             \
            }                                                                                     \
        }                                                                                         \
    }

DEFINE_SCAN(scan_f32, float, double)
DEFINE_SCAN(scan_i64, int64_t, uint64_t)
DEFINE_SCAN(scan_i32, int32_t, uint32_t)

void ago_scan(const ago_scan_args *args, const void *x, void *y) {
    for (int64_t outer = 0; outer < args->outer; ++outer) {
        for (int64_t start = 0; start < args->inner; start += BLOCK) {
            const int64_t left = args->inner - start, count = left < BLOCK ? left : BLOCK;
            const int64_t at = outer * args->extent * args->inner + start;
            switch (args->type) {
            case AGO_F32:
                scan_f32(args, (const float *)x + at, (float *)y + at, count);
                break;
            case AGO_I64:
                scan_i64(args, (const int64_t *)x + at, (int64_t *)y + at, count);
                break;
            default:
                scan_i32(args, (const int32_t *)x + at, (int32_t *)y + at, count);
            }
        }
    }
}

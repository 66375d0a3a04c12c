/*
 * What the files of one model need beside ago_runtime.h: the model's description, and the checks of
 * ago_runtime.c, which are compiled for any CPU of the architecture.
 */
#ifndef AGO_MODEL_H
#define AGO_MODEL_H

#include "ago_runtime.h"

AGO_C_BEGIN

/* What a model demands of its caller. */
typedef struct {
    uint64_t fingerprint;     /* ties contexts and weights to this very code */
    size_t weights_bytes;     /* header included; 0 for a model without weights */
    size_t workspace_bytes;   /* 0 for a model that needs none */
    const uint64_t *features; /* AGO_CPU_FEATURES where the kernels were compiled */
    int32_t inputs, outputs;
    const uint8_t *element_bytes; /* of each input, then of each output */
} ago_model;

/*
 * The header that weights begin with; what follows it is aligned as the weights are. All numbers are
 * little-endian.
 *
 * The hash is the polynomial sum of w[i] * AGO_WEIGHTS_PRIME^(n - 1 - i) modulo 2^64 over the n
 * 64-bit words behind the header. It finds any change inside a single word; it is no protection
 * against forgery.
 */
typedef struct {
    uint64_t magic;
    uint64_t bytes; /* of all, this header included */
    uint64_t fingerprint;
    uint64_t hash;
    uint64_t zeros[4];
} ago_weights_header;

#define AGO_WEIGHTS_MAGIC UINT64_C(0x01535447574f4741) /* "AGOWGTS", then the version, 1 */
#define AGO_WEIGHTS_PRIME UINT64_C(0x9e3779b97f4a7c15)

/* Instructions that code may use, as bits; those that every CPU of the architecture has go unsaid. */
#define AGO_CPU_AVX2 (UINT64_C(1) << 0) /* with FMA, F16C, BMI1, BMI2, LZCNT, MOVBE: x86-64-v3 */
#define AGO_CPU_AVX512 (UINT64_C(1) << 1) /* F, BW, CD, DQ, VL: x86-64-v4 */
#define AGO_CPU_AVX (UINT64_C(1) << 2)
#define AGO_CPU_DOTPROD (UINT64_C(1) << 3)
#define AGO_CPU_FP16 (UINT64_C(1) << 4)
#define AGO_CPU_ATOMICS (UINT64_C(1) << 5)
#define AGO_CPU_RDM (UINT64_C(1) << 6)
#define AGO_CPU_SHA3 (UINT64_C(1) << 7)
#define AGO_CPU_SVE (UINT64_C(1) << 8)
#define AGO_CPU_SSE4 (UINT64_C(1) << 9) /* SSSE3, SSE4.1, SSE4.2, POPCNT: x86-64-v2 */

/* Those of the file that is being compiled: what its compiler was allowed to use. */
#if defined(__AVX512F__)
#define AGO_CPU_FEATURES (AGO_CPU_AVX512 | AGO_CPU_AVX2 | AGO_CPU_AVX)
#elif defined(__AVX2__)
#define AGO_CPU_FEATURES (AGO_CPU_AVX2 | AGO_CPU_AVX)
#elif defined(__AVX__)
#define AGO_CPU_FEATURES AGO_CPU_AVX
#elif defined(__SSE4_1__)
#define AGO_CPU_FEATURES AGO_CPU_SSE4
#elif defined(__aarch64__)
#if defined(__ARM_FEATURE_DOTPROD)
#define AGO_CPU_HAS_DOTPROD AGO_CPU_DOTPROD
#else
#define AGO_CPU_HAS_DOTPROD UINT64_C(0)
#endif
#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
#define AGO_CPU_HAS_FP16 AGO_CPU_FP16
#else
#define AGO_CPU_HAS_FP16 UINT64_C(0)
#endif
#if defined(__ARM_FEATURE_ATOMICS)
#define AGO_CPU_HAS_ATOMICS AGO_CPU_ATOMICS
#else
#define AGO_CPU_HAS_ATOMICS UINT64_C(0)
#endif
#if defined(__ARM_FEATURE_QRDMX)
#define AGO_CPU_HAS_RDM AGO_CPU_RDM
#else
#define AGO_CPU_HAS_RDM UINT64_C(0)
#endif
#if defined(__ARM_FEATURE_SHA3)
#define AGO_CPU_HAS_SHA3 AGO_CPU_SHA3
#else
#define AGO_CPU_HAS_SHA3 UINT64_C(0)
#endif
#if defined(__ARM_FEATURE_SVE)
#define AGO_CPU_HAS_SVE AGO_CPU_SVE
#else
#define AGO_CPU_HAS_SVE UINT64_C(0)
#endif
#define AGO_CPU_FEATURES                                                                  \
    (AGO_CPU_HAS_DOTPROD | AGO_CPU_HAS_FP16 | AGO_CPU_HAS_ATOMICS | AGO_CPU_HAS_RDM |     \
     AGO_CPU_HAS_SHA3 | AGO_CPU_HAS_SVE)
#else
#define AGO_CPU_FEATURES UINT64_C(0)
#endif

/* NAME_init. Checks everything, then fills in the context; leaves it unusable on an error. */
AGO_HIDDEN int32_t ago_init(const ago_model *model, ago_context *context, const void *weights,
                            size_t weights_bytes, void *workspace, size_t workspace_bytes);

/* The checks of NAME_run and NAME_step before they touch memory. */
AGO_HIDDEN int32_t ago_check(const ago_model *model, const ago_context *context,
                             const void *const *inputs, void *const *outputs);

/* NAME_set_pool. */
AGO_HIDDEN int32_t ago_set_pool(const ago_model *model, ago_context *context,
                                const ago_pool *pool);

/* NAME_error_text. */
AGO_HIDDEN const char *ago_error_text(int32_t code);

/* Which of some features (AGO_CPU_...) this CPU lacks; those that cannot be found out count as
 * there. */
AGO_HIDDEN uint64_t ago_cpu_lacks(uint64_t features);

AGO_C_END

#endif /* AGO_MODEL_H */

/* The layer avx2: eight floats in AVX2 and FMA. */

#include <immintrin.h>

typedef int32_t ago_signed_avx2 __attribute__((vector_size(32)));
typedef uint32_t ago_unsigned_avx2 __attribute__((vector_size(32)));

#define AGO_SUFFIX avx2
#define AGO_FLOATS __m256
#define AGO_SIGNED ago_signed_avx2
#define AGO_UNSIGNED ago_unsigned_avx2
#define AGO_OVERWRITES_ADDEND 0

AGO_INLINE __m256 ago_splat_avx2(float c) {
    return _mm256_set1_ps(c);
}

AGO_INLINE ago_unsigned_avx2 ago_bits_avx2(__m256 v) {
    return (ago_unsigned_avx2)v;
}

AGO_INLINE __m256 ago_floats_avx2(ago_unsigned_avx2 bits) {
    return (__m256)bits;
}

AGO_INLINE __m256 ago_to_float_avx2(ago_signed_avx2 i) {
    return _mm256_cvtepi32_ps((__m256i)i);
}

AGO_INLINE __m256 ago_fma_avx2(__m256 a, __m256 b, __m256 c) {
    return _mm256_fmadd_ps(a, b, c);
}

AGO_INLINE __m256 ago_lesser_avx2(__m256 a, __m256 b) {
    return _mm256_min_ps(a, b);
}

AGO_INLINE __m256 ago_greater_avx2(__m256 a, __m256 b) {
    return _mm256_max_ps(a, b);
}

AGO_INLINE __m256 ago_choose_avx2(ago_signed_avx2 mask, __m256 a, __m256 b) {
    return _mm256_blendv_ps(b, a, (__m256)mask);
}

/* As ago_scale_f32. */
AGO_INLINE __m256 ago_scale_avx2(__m256 y, __m256 t) {
    const ago_unsigned_avx2 sum = (ago_unsigned_avx2)t, low = sum >> 1, high = sum - low;
    return y * (__m256)(low << 23) * (__m256)(high << 23);
}

#include "ago_math_factors.h"
#include "ago_math_kernels.h"
#include "ago_math_lanes.h"

#undef AGO_SUFFIX
#undef AGO_FLOATS
#undef AGO_SIGNED
#undef AGO_UNSIGNED
#undef AGO_OVERWRITES_ADDEND
#undef AGO_FACTORS
#undef AGO_FACTOR_FMA

/* The layer avx512: sixteen floats in AVX-512 F and DQ, which scale by powers of two in one instruction. */

#include <immintrin.h>

typedef int32_t ago_signed_avx512 __attribute__((vector_size(64)));
typedef uint32_t ago_unsigned_avx512 __attribute__((vector_size(64)));

#define AGO_SUFFIX avx512
#define AGO_FLOATS __m512
#define AGO_SIGNED ago_signed_avx512
#define AGO_UNSIGNED ago_unsigned_avx512
#define AGO_OVERWRITES_ADDEND 0

AGO_INLINE __m512 ago_splat_avx512(float c) {
    return _mm512_set1_ps(c);
}

AGO_INLINE ago_unsigned_avx512 ago_bits_avx512(__m512 v) {
    return (ago_unsigned_avx512)v;
}

AGO_INLINE __m512 ago_floats_avx512(ago_unsigned_avx512 bits) {
    return (__m512)bits;
}

AGO_INLINE __m512 ago_to_float_avx512(ago_signed_avx512 i) {
    return _mm512_cvtepi32_ps((__m512i)i);
}

AGO_INLINE __m512 ago_fma_avx512(__m512 a, __m512 b, __m512 c) {
    return _mm512_fmadd_ps(a, b, c);
}

AGO_INLINE __m512 ago_lesser_avx512(__m512 a, __m512 b) {
    return _mm512_min_ps(a, b);
}

AGO_INLINE __m512 ago_greater_avx512(__m512 a, __m512 b) {
    return _mm512_max_ps(a, b);
}

AGO_INLINE __m512 ago_choose_avx512(ago_signed_avx512 mask, __m512 a, __m512 b) {
    return _mm512_mask_mov_ps(b, _mm512_movepi32_mask((__m512i)mask), a);
}

AGO_INLINE __m512 ago_scale_avx512(__m512 y, __m512 t) {
    return _mm512_scalef_ps(y, t - _mm512_set1_ps(AGO_EXP_MAGIC));
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

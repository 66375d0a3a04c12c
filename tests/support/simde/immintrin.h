/*
 * <immintrin.h> with the AVX-512 that this CPU lacks, lane by lane, by SIMDe
 * (https://github.com/simd-everywhere/simde). What SIMDe 0.7 has not, or has otherwise than the
 * instruction does (scalef flushes denormals, roundscale takes no expression for its constant), is
 * written here after the definition in Intel's intrinsics guide.
 */
#ifndef AGO_TEST_IMMINTRIN_H
#define AGO_TEST_IMMINTRIN_H

#include_next <immintrin.h>
#include <stdint.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#undef _kand_mask16
#undef _kor_mask16
#undef _kxor_mask16
#undef _knot_mask16
#undef _mm512_cvtepi32_ps
#undef _mm512_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#undef _mm512_roundscale_ps
#undef _mm512_scalef_ps
#define _kand_mask16(a, b) ((__mmask16)((a) & (b)))
#define _kor_mask16(a, b) ((__mmask16)((a) | (b)))
#define _kxor_mask16(a, b) ((__mmask16)((a) ^ (b)))
#define _knot_mask16(a) ((__mmask16)~(a))
#define _mm512_cvtepi32_ps test_cvtepi32_ps
#define _mm512_maskz_loadu_ps test_maskz_loadu_ps
#define _mm512_mask_storeu_ps test_mask_storeu_ps
#define _mm512_roundscale_ps(a, how) simde_mm512_roundscale_ps((a), (how))
#define _mm512_scalef_ps test_scalef_ps

static inline __m512 test_cvtepi32_ps(__m512i a) {
    typedef int32_t integers __attribute__((vector_size(64)));
    return __builtin_convertvector((integers)a, __m512);
}

static inline __m512 test_maskz_loadu_ps(__mmask16 mask, const float *p) {
    __m512 v;
    for (int lane = 0; lane < 16; ++lane) {
        v[lane] = (mask >> lane & 1) != 0 ? p[lane] : 0.0f;
    }
    return v;
}

static inline void test_mask_storeu_ps(float *p, __mmask16 mask, __m512 v) {
    for (int lane = 0; lane < 16; ++lane) {
        if ((mask >> lane & 1) != 0) {
            p[lane] = v[lane];
        }
    }
}

/* a * 2^floor(b), rounded once: the product is exact in float64 for all powers that matter. */
static inline float test_scalef(float a, float b) {
    const float floor = __builtin_floorf(b < -300.0f ? -300.0f : b > 300.0f ? 300.0f : b);
    union {
        uint64_t bits;
        double value;
    } power;
    if (b != b) {
        return b;
    }
    power.bits = (uint64_t)(1023 + (int)floor) << 52;
    return (float)((double)a * power.value);
}

static inline __m512 test_scalef_ps(__m512 a, __m512 b) {
    for (int lane = 0; lane < 16; ++lane) {
        a[lane] = test_scalef(a[lane], b[lane]);
    }
    return a;
}

/* Statements of empty assembly order what is in registers, where a vector of 64 bytes cannot be here;
 * they change no value. */
#define __asm__
#define volatile(...)

/* From here on the including file takes this machine for one that has it. */
#define __AVX512F__ 1
#define __AVX512DQ__ 1

#endif

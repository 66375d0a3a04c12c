/* The layer neon: four floats in Advanced SIMD. A Horner step takes two instructions there (the constant is
 * copied, since FMLA overwrites it), and many cycles until its result: loops do several vectors at once. */

#include <arm_neon.h>

#define AGO_SUFFIX neon
#define AGO_FLOATS float32x4_t
#define AGO_SIGNED int32x4_t
#define AGO_UNSIGNED uint32x4_t
#define AGO_OVERWRITES_ADDEND 1

AGO_INLINE float32x4_t ago_splat_neon(float c) {
    return vdupq_n_f32(c);
}

AGO_INLINE uint32x4_t ago_bits_neon(float32x4_t v) {
    return vreinterpretq_u32_f32(v);
}

AGO_INLINE float32x4_t ago_floats_neon(uint32x4_t bits) {
    return vreinterpretq_f32_u32(bits);
}

AGO_INLINE float32x4_t ago_to_float_neon(int32x4_t i) {
    return vcvtq_f32_s32(i);
}

AGO_INLINE float32x4_t ago_fma_neon(float32x4_t a, float32x4_t b, float32x4_t c) {
    return vfmaq_f32(c, a, b);
}

#define AGO_FACTORS float32x4_t
#define AGO_FACTOR_FMA(x, k, i, c) vfmaq_laneq_f32(c, x, k, i)

AGO_INLINE float32x4_t ago_factors_neon(float a, float b, float c, float d) {
    float32x4_t k = {a, b, c, d};
    __asm__("" : "+w"(k)); /* a register instead of the four that compilers make of known lanes */
    return k;
}

AGO_INLINE float32x4_t ago_fixed_neon(float c) {
    float32x4_t v = vdupq_n_f32(c);
    __asm__("" : "+w"(v)); /* in front of a loop, where compilers would copy a known number in each turn */
    return v;
}

AGO_INLINE float32x4_t ago_lesser_neon(float32x4_t a, float32x4_t b) {
    return vminq_f32(a, b);
}

AGO_INLINE float32x4_t ago_greater_neon(float32x4_t a, float32x4_t b) {
    return vmaxq_f32(a, b);
}

AGO_INLINE float32x4_t ago_choose_neon(int32x4_t mask, float32x4_t a, float32x4_t b) {
    return vbslq_f32((uint32x4_t)mask, a, b);
}

/* As ago_scale_f32. */
AGO_INLINE float32x4_t ago_scale_neon(float32x4_t y, float32x4_t t) {
    const uint32x4_t sum = vreinterpretq_u32_f32(t), low = sum >> 1, high = sum - low;
    return y * vreinterpretq_f32_u32(low << 23) * vreinterpretq_f32_u32(high << 23);
}

#include "ago_math_kernels.h"
#include "ago_math_lanes.h"

#undef AGO_SUFFIX
#undef AGO_FLOATS
#undef AGO_SIGNED
#undef AGO_UNSIGNED
#undef AGO_OVERWRITES_ADDEND
#undef AGO_FACTORS
#undef AGO_FACTOR_FMA

/* The layer f32: single floats in plain C, for every machine; and the float64 functions. */

#define AGO_SUFFIX f32
#define AGO_FLOATS float
#define AGO_SIGNED int32_t
#define AGO_UNSIGNED uint32_t
#define AGO_OVERWRITES_ADDEND 1

AGO_INLINE float ago_splat_f32(float c) {
    return c;
}

AGO_INLINE uint32_t ago_bits_f32(float v) {
    uint32_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}

AGO_INLINE float ago_floats_f32(uint32_t bits) {
    float v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

AGO_INLINE float ago_to_float_f32(int32_t i) {
    return (float)i;
}

/* Without an instruction it is computed in float64: rounded twice, within 0.5000001 units. */
AGO_INLINE float ago_fma_f32(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return (float)((double)a * b + c);
#endif
}

AGO_INLINE float ago_lesser_f32(float a, float b) {
    return a < b ? a : b;
}

AGO_INLINE float ago_greater_f32(float a, float b) {
    return a > b ? a : b;
}

AGO_INLINE float ago_choose_f32(int mask, float a, float b) {
    return mask ? a : b;
}

/* y 2^n as y 2^floor(n/2) 2^ceil(n/2): the last product alone can overflow or become denormal. */
AGO_INLINE float ago_scale_f32(float y, float t) {
    const uint32_t sum = ago_bits_f32(t), low = sum >> 1, high = sum - low;
    return y * ago_floats_f32(low << 23) * ago_floats_f32(high << 23);
}

#include "ago_math_factors.h"
#include "ago_math_kernels.h"

#include "ago_math_double.h"

#undef AGO_SUFFIX
#undef AGO_FLOATS
#undef AGO_SIGNED
#undef AGO_UNSIGNED
#undef AGO_OVERWRITES_ADDEND
#undef AGO_FACTORS
#undef AGO_FACTOR_FMA

/*
 * Functions of float32 numbers and vectors for generated code, without libm and libc.
 *
 *   ago_exp_f32(x), ago_exp_avx2(v), ago_exp_avx512(v), ago_exp_neon(v), and likewise
 *   exp2 decay log sigmoid silu tanh erf gelu written once for all, in ago_math_kernels.h
 *   sin cos tan asin acos atan sinh cosh asinh acosh atanh pow
 *                                  in float64, lane by lane, in ago_math_double.h
 *
 * Errors, in units in the last place of the float32 result, over all 2^32 arguments (of pow: a sample):
 * at most 2 for exp and exp2, 4 for log, sigmoid, tanh and erf, 8 for decay and silu, 1 for the float64 ones;
 * of gelu, 8 units of the argument. decay takes arguments up to 88.
 * Infinities, NaN, signed zeros and denormals, as arguments and as results, are as IEEE 754 and C99's Annex F
 * have them. Coefficients are minimax fits, re-derived by tools/fit_vector_math.py.
 *
 * An instruction set is a *layer*: a header that defines the primitives
 *
 *   ago_splat_S(c)            one float in every lane
 *   ago_bits_S(v), ago_floats_S(i)                       the same bits as unsigned integers and back
 *   ago_to_float_S(i)         signed integers as floats
 *   ago_fma_S(a, b, c)        a * b + c, rounded once
 *   ago_lesser_S(a, b), ago_greater_S(a, b)              where a or b is NaN: b, or NaN
 *   ago_choose_S(mask, a, b)  a where the comparison `mask` holds, else b
 *   ago_fixed_S(c)            ago_splat_S(c), kept in a register
 *   AGO_FACTORS, ago_factors_S(a, b, c, d), AGO_FACTOR_FMA(x, k, i, c)
 *                             four floats, the type of such a set, and x * k[i] + c for a literal i
 *   AGO_OVERWRITES_ADDEND   whether ago_fma_S overwrites c, so that one that is needed again is copied
 *   ago_scale_S(y, t)         y * 2^n for the integer n = t - AGO_EXP_MAGIC in [-150, 128]
 *
 * for its suffix S and then includes ago_math_kernels.h. Other arithmetic and comparisons are C operators,
 * which GNU vectors share with floats.
 */
#ifndef AGO_MATH_H
#define AGO_MATH_H

#include "ago_runtime.h"

#define AGO_JOIN_(a, b, c) a##b##_##c
#define AGO_JOIN(a, b, c) AGO_JOIN_(a, b, c)
/* The function `name` of the layer that is being defined. */
#define AGO_FN(name) AGO_JOIN(ago_, name, AGO_SUFFIX)

/* t = x + AGO_EXP_MAGIC has the integer nearest to x in its low bits: n + 254 for the integer n. */
#define AGO_EXP_MAGIC 12583166.0f
/* The same with n + 127, of which a shift by 23 makes 2^n for n from -126 on; infinity for n = 128. */
#define AGO_SMALL_MAGIC 12583039.0f

#include "ago_math_scalar.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "ago_math_avx2.h"
#endif
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include "ago_math_avx512.h"
#endif
#if defined(__aarch64__)
#include "ago_math_neon.h"
#endif

#endif

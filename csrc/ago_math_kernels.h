/*
 * exp, exp2, decay, log, sigmoid, silu, tanh, erf and gelu for the layer AGO_SUFFIX: see ago_math.h. Included once a layer.
 *
 * No branches and no tables. Bounds are written so that NaN passes: it is the second operand.
 */

/* p * x + c, a step of Horner's scheme. */
#define AGO_STEP(p, x, c) AGO_FN(fma)(p, x, AGO_FN(splat)(c))

/* |x| */
AGO_INLINE AGO_FLOATS AGO_FN(abs)(AGO_FLOATS x) {
    return AGO_FN(floats)(AGO_FN(bits)(x) & 0x7fffffffu);
}

/* |magnitude| with the sign of `sign`. */
AGO_INLINE AGO_FLOATS AGO_FN(with_sign)(AGO_FLOATS magnitude, AGO_FLOATS sign) {
    return AGO_FN(floats)(AGO_FN(bits)(AGO_FN(abs)(magnitude)) | (AGO_FN(bits)(sign) & 0x80000000u));
}

/* e^x; infinity above 88.72, denormal below -87.33, 0 below -103.97. With n = round(x / ln 2) and
 * r = x - n ln 2 (ln 2 as the sum of two floats), e^x = 2^n (1 + r p(r)); the error of the polynomial is
 * 2^-28.2. */
AGO_INLINE AGO_FLOATS AGO_FN(exp)(AGO_FLOATS x) {
    x = AGO_FN(lesser)(AGO_FN(splat)(89.0f), AGO_FN(greater)(AGO_FN(splat)(-104.0f), x));
    const AGO_FLOATS t = AGO_STEP(x, AGO_FN(splat)(0x1.715476p+0f), AGO_EXP_MAGIC);
    const AGO_FLOATS n = t - AGO_FN(splat)(AGO_EXP_MAGIC);
    AGO_FLOATS r = AGO_FN(fma)(n, AGO_FN(splat)(-0x1.62e4p-1f), x);
    r = AGO_FN(fma)(n, AGO_FN(splat)(-0x1.7f7d1cp-20f), r);
    AGO_FLOATS p = AGO_FN(splat)(0x1.6a4154p-10f);
    p = AGO_STEP(p, r, 0x1.1239c6p-7f);
    p = AGO_STEP(p, r, 0x1.5558bcp-5f);
    p = AGO_STEP(p, r, 0x1.555492p-3f);
    p = AGO_STEP(p, r, 0x1.fffffcp-2f);
    p = AGO_STEP(p, r, 1.0f);
    p = AGO_STEP(p, r, 1.0f);
    return AGO_FN(scale)(p, t);
}

/* 2^x, as e^x without the product by ln 2. */
AGO_INLINE AGO_FLOATS AGO_FN(exp2)(AGO_FLOATS x) {
    x = AGO_FN(greater)(AGO_FN(splat)(-150.0f), x);
    x = AGO_FN(lesser)(AGO_FN(splat)(128.0f), x);
    const AGO_FLOATS t = x + AGO_FN(splat)(AGO_EXP_MAGIC);
    const AGO_FLOATS r = x - (t - AGO_FN(splat)(AGO_EXP_MAGIC));
    AGO_FLOATS p = AGO_FN(splat)(0x1.416b5p-13f);
    p = AGO_STEP(p, r, 0x1.5f082ep-10f);
    p = AGO_STEP(p, r, 0x1.3b2dep-7f);
    p = AGO_STEP(p, r, 0x1.c6af7cp-5f);
    p = AGO_STEP(p, r, 0x1.ebfbdcp-3f);
    p = AGO_STEP(p, r, 0x1.62e43p-1f);
    p = AGO_STEP(p, r, 1.0f);
    return AGO_FN(scale)(p, t);
}

/* Two of the factors that exp_near takes, the last ones. */
#define AGO_EXP_FACTORS 0x1.2ab8c4p+0f, 0x1.1061bep-7f

/* e^r for |r| <= 0.347, to 2^-23.1: 1 + r + r^2 q(r) for a cubic q. Where the addend of a multiply-add is
 * overwritten, a constant one costs a copy: there q is a product of factors whose sums begin with r or r^2. */
AGO_INLINE AGO_FLOATS AGO_FN(exp_near)(AGO_FLOATS r, AGO_FACTORS k) {
#if AGO_OVERWRITES_ADDEND
    const AGO_FLOATS square = r * r;
    const AGO_FLOATS linear = r + AGO_FN(fixed)(0x1.efb3e2p+1f);
    const AGO_FLOATS rest = AGO_FACTOR_FMA(r, k, 2, square + AGO_FN(fixed)(0x1.f1051cp+3f));
    const AGO_FLOATS factors = square * linear * rest;
    return AGO_FACTOR_FMA(factors, k, 3, r + AGO_FN(splat)(1.0f));
#else
    (void)k;
    AGO_FLOATS p = AGO_FN(splat)(0x1.1063b6p-7f);
    p = AGO_STEP(p, r, 0x1.572becp-5f);
    p = AGO_STEP(p, r, 0x1.5557bp-3f);
    p = AGO_STEP(p, r, 0x1.fffdf8p-2f);
    p = AGO_STEP(p, r, 1.0f);
    return AGO_STEP(p, r, 1.0f);
#endif
}

/* e^x for x <= 88; 0 below -87.68, where n is -127, of which no bit is left in the exponent. The rounding of
 * ln 2 to one float puts e^x wrong by n 2^-29. */
AGO_INLINE AGO_FLOATS AGO_FN(decay)(AGO_FLOATS x) {
    const AGO_FACTORS k = AGO_FN(factors)(0x1.715476p+0f, -0x1.62e43p-1f, AGO_EXP_FACTORS);
    const AGO_FLOATS magic = AGO_FN(fixed)(AGO_SMALL_MAGIC);
    x = AGO_FN(greater)(AGO_FN(fixed)(-88.0f), x);
    const AGO_FLOATS t = AGO_FACTOR_FMA(x, k, 0, magic);
    const AGO_FLOATS r = AGO_FACTOR_FMA(t - magic, k, 1, x);
    return AGO_FN(exp_near)(r, k) * AGO_FN(floats)(AGO_FN(bits)(t) << 23);
}

/* x / (1 + z) for z = e^-x, which is infinite where it would be 2^128 and more: the result is then -0. Above
 * 87 z changes nothing. */
AGO_INLINE AGO_FLOATS AGO_FN(silu)(AGO_FLOATS x) {
    const AGO_FACTORS k = AGO_FN(factors)(-0x1.715476p+0f, 0x1.62e43p-1f, AGO_EXP_FACTORS);
    const AGO_FLOATS magic = AGO_FN(fixed)(AGO_SMALL_MAGIC);
    const AGO_FLOATS w = AGO_FN(greater)(AGO_FN(splat)(-88.5f), AGO_FN(lesser)(AGO_FN(splat)(87.0f), x));
    const AGO_FLOATS t = AGO_FACTOR_FMA(w, k, 0, magic);
    const AGO_FLOATS r = -AGO_FACTOR_FMA(t - magic, k, 1, w);
    const AGO_FLOATS power = AGO_FN(floats)(AGO_FN(bits)(t) << 23);
    return x / AGO_FN(fma)(AGO_FN(exp_near)(r, k), power, AGO_FN(splat)(1.0f));
}

/* 1 / (1 + e^-x), from z = e^-|x| <= 1 so that nothing overflows and small results keep their digits. The
 * factor 2^n of z is 2^(n + 64), which is never denormal, times 2^-64. */
AGO_INLINE AGO_FLOATS AGO_FN(sigmoid)(AGO_FLOATS x) {
    const AGO_FLOATS low = AGO_FN(greater)(AGO_FN(splat)(-104.0f), -AGO_FN(abs)(x));
    const AGO_FLOATS t = AGO_STEP(low, AGO_FN(splat)(0x1.715476p+0f), AGO_SMALL_MAGIC + 64.0f);
    const AGO_FLOATS n = t - AGO_FN(splat)(AGO_SMALL_MAGIC + 64.0f);
    AGO_FLOATS r = AGO_FN(fma)(n, AGO_FN(splat)(-0x1.62e4p-1f), low);
    r = AGO_FN(fma)(n, AGO_FN(splat)(-0x1.7f7d1cp-20f), r);
    const AGO_FLOATS power = AGO_FN(floats)(AGO_FN(bits)(t) << 23);
    const AGO_FLOATS near = AGO_FN(exp_near)(r, AGO_FN(factors)(0.0f, 0.0f, AGO_EXP_FACTORS));
    const AGO_FLOATS z = near * power * AGO_FN(splat)(0x1p-64f);
    const AGO_FLOATS one = AGO_FN(splat)(1.0f);
    return AGO_FN(choose)(x < AGO_FN(splat)(0.0f), z, one) / (one + z);
}

/* log(x). With x = 2^e m, m in [2/3, 4/3) and f = m - 1: e ln 2 + f - f^2 / 2 + f^3 p(f). */
AGO_INLINE AGO_FLOATS AGO_FN(log)(AGO_FLOATS x) {
    const AGO_FLOATS zero = AGO_FN(splat)(0.0f);
    const AGO_FLOATS shift = AGO_FN(choose)(x < AGO_FN(splat)(0x1p-126f), AGO_FN(splat)(24.0f), zero);
    const AGO_FLOATS normal = AGO_FN(choose)(x < AGO_FN(splat)(0x1p-126f), x * AGO_FN(splat)(0x1p24f), x);
    const AGO_UNSIGNED bits = AGO_FN(bits)(normal);
    const AGO_SIGNED e = (AGO_SIGNED)(bits - 0x3f2aaaabu) >> 23; /* 0x3f2aaaab is 2/3 */
    const AGO_FLOATS f = AGO_FN(floats)(bits - ((AGO_UNSIGNED)e << 23)) - AGO_FN(splat)(1.0f);
    const AGO_FLOATS exponent = AGO_FN(to_float)(e) - shift;
    AGO_FLOATS p = AGO_FN(splat)(-0x1.07c51p-3f);
    p = AGO_STEP(p, f, 0x1.1e6d18p-3f);
    p = AGO_STEP(p, f, -0x1.f33276p-4f);
    p = AGO_STEP(p, f, 0x1.1ed55ap-3f);
    p = AGO_STEP(p, f, -0x1.559c68p-3f);
    p = AGO_STEP(p, f, 0x1.99d05p-3f);
    p = AGO_STEP(p, f, -0x1.fffefap-3f);
    p = AGO_STEP(p, f, 0x1.555506p-2f);
    p = AGO_STEP(p, f, -0.5f);
    AGO_FLOATS y = AGO_FN(fma)(exponent, AGO_FN(splat)(0x1.7f7d1cp-20f), p * (f * f)) + f;
    y = AGO_FN(fma)(exponent, AGO_FN(splat)(0x1.62e4p-1f), y);
    y = AGO_FN(choose)(x < AGO_FN(splat)(__builtin_inff()), y, x); /* infinity and NaN are their own */
    y = AGO_FN(choose)(x == zero, AGO_FN(splat)(-__builtin_inff()), y);
    return AGO_FN(choose)(x < zero, AGO_FN(splat)(__builtin_nanf("")), y);
}

/* tanh(x) = -d / (2 + d) with d = e^-2|x| - 1, which keeps the digits of small x: with n and r as in exp,
 * d = 2^n (e^r - 1) + (2^n - 1). Beyond 10 the result rounds to 1. */
AGO_INLINE AGO_FLOATS AGO_FN(tanh)(AGO_FLOATS x) {
    const AGO_FLOATS one = AGO_FN(splat)(1.0f);
    const AGO_FLOATS w = AGO_FN(splat)(-2.0f) * AGO_FN(lesser)(AGO_FN(splat)(10.0f), AGO_FN(abs)(x));
    /* n + 127 in the low bits, so that a shift makes 2^n of it */
    const AGO_FLOATS t = AGO_STEP(w, AGO_FN(splat)(0x1.715476p+0f), AGO_SMALL_MAGIC);
    const AGO_FLOATS n = t - AGO_FN(splat)(AGO_SMALL_MAGIC);
    const AGO_FLOATS power = AGO_FN(floats)(AGO_FN(bits)(t) << 23);
    AGO_FLOATS r = AGO_FN(fma)(n, AGO_FN(splat)(-0x1.62e4p-1f), w);
    r = AGO_FN(fma)(n, AGO_FN(splat)(-0x1.7f7d1cp-20f), r);
    AGO_FLOATS p = AGO_FN(splat)(0x1.6b8d84p-10f);
    p = AGO_STEP(p, r, 0x1.1226bap-7f);
    p = AGO_STEP(p, r, 0x1.5557p-5f);
    p = AGO_STEP(p, r, 0x1.5554b2p-3f);
    p = AGO_STEP(p, r, 0x1.fffffep-2f);
    p = AGO_FN(fma)(p, r * r, r);
    const AGO_FLOATS d = AGO_FN(fma)(power, p, power - one);
    return AGO_FN(with_sign)(-d / (d + AGO_FN(splat)(2.0f)), x);
}

/* erf(x): x p(x^2) / q(x^2) for |x| < 1.75, a polynomial around 2.84 up to 3.92, where it is exactly 1, so
 * that 1 + erf(-inf) is 0. (A quotient alone collects more than four units of rounding errors there.) */
AGO_INLINE AGO_FLOATS AGO_FN(erf)(AGO_FLOATS x) {
    const AGO_FLOATS a = AGO_FN(lesser)(AGO_FN(splat)(3.92f), AGO_FN(abs)(x));
    const AGO_FLOATS u = a * a, w = a - AGO_FN(splat)(2.84f);
    AGO_FLOATS p = AGO_FN(splat)(0x1.dcad4ep-16f);
    p = AGO_STEP(p, u, -0x1.7d401cp-12f);
    p = AGO_STEP(p, u, 0x1.19f4b2p-5f);
    p = AGO_STEP(p, u, 0x1.913df8p-4f);
    p = AGO_STEP(p, u, 0x1.20dd76p+0f);
    AGO_FLOATS q = AGO_FN(splat)(0x1.477382p-8f);
    q = AGO_STEP(q, u, 0x1.20f758p-4f);
    q = AGO_STEP(q, u, 0x1.ae3b66p-2f);
    q = AGO_STEP(q, u, 1.0f);
    AGO_FLOATS tail = AGO_FN(splat)(0x1.48a63ap-15f);
    tail = AGO_STEP(tail, w, -0x1.159e2ep-14f);
    tail = AGO_STEP(tail, w, -0x1.0b0f9ap-13f);
    tail = AGO_STEP(tail, w, 0x1.3bef3p-11f);
    tail = AGO_STEP(tail, w, -0x1.4e120ep-10f);
    tail = AGO_STEP(tail, w, 0x1.ff579p-10f);
    tail = AGO_STEP(tail, w, -0x1.20dd98p-9f);
    tail = AGO_STEP(tail, w, 0x1.d56056p-10f);
    tail = AGO_STEP(tail, w, -0x1.07d9fp-10f);
    tail = AGO_STEP(tail, w, 0x1.73a65ep-12f);
    tail = AGO_STEP(tail, w, 0x1.fff84p-1f);
    return AGO_FN(with_sign)(AGO_FN(choose)(a > AGO_FN(splat)(1.75f), tail, a * p / q), x);
}

/* x P for the normal distribution P(x) = (1 + erf(x / sqrt 2)) / 2. P(-|x|) is p(|x|)^-8 within 3e-8, which the
 * eighth power's rounding makes 3e-7: the error belongs to x, of which a negative one leaves little. */
AGO_INLINE AGO_FLOATS AGO_FN(gelu)(AGO_FLOATS x) {
    const AGO_FLOATS a = AGO_FN(abs)(x), one = AGO_FN(splat)(1.0f);
    AGO_FLOATS p = AGO_FN(splat)(0x1.59d30ap-19f);
    p = AGO_STEP(p, a, -0x1.7421dap-17f);
    p = AGO_STEP(p, a, 0x1.33cbf2p-14f);
    p = AGO_STEP(p, a, 0x1.a2047p-13f);
    p = AGO_STEP(p, a, 0x1.fc11f6p-11f);
    p = AGO_STEP(p, a, 0x1.35495ep-7f);
    p = AGO_STEP(p, a, 0x1.8fed56p-5f);
    p = AGO_STEP(p, a, 0x1.bd7d12p-4f);
    p = AGO_STEP(p, a, 0x1.172b84p+0f);
    p *= p;
    p *= p;
    const AGO_FLOATS rest = one / (p * p);
    return x * AGO_FN(choose)(x < AGO_FN(splat)(0.0f), rest, one - rest);
}

#undef AGO_STEP
#undef AGO_EXP_FACTORS

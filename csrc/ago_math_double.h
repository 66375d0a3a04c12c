/*
 * The rarer functions, of single floats, by float64 arithmetic: their float64 results are good to 2^-38 or
 * better, so that the rounding to float32 is nearly all of the error.
 *
 * Each ago_NAME_f64 takes what its comment says and no more; each ago_NAME_f32 takes every float.
 */

#define AGO_SCALAR AGO_UNUSED AGO_NOINLINE static

#define AGO_PI 3.141592653589793
#define AGO_LN2 0.6931471805599453

AGO_INLINE uint64_t ago_bits_f64(double v) {
    uint64_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}

AGO_INLINE double ago_from_bits_f64(uint64_t bits) {
    double v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

/* Square root; NaN below 0. */
AGO_INLINE double ago_sqrt_f64(double x) {
#if defined(__x86_64__) || defined(__aarch64__)
    return __builtin_sqrt(x); /* one instruction */
#else
    if (!(x > 0.0) || x > 0x1p1000) {
        return x == 0.0 || x > 0.0 ? x : __builtin_nan("");
    }
    double y = ago_from_bits_f64((ago_bits_f64(x) >> 1) + (0x3ffull << 51)); /* within 6 % */
    for (int step = 0; step < 5; ++step) {
        y = 0.5 * (y + x / y);
    }
    return y;
#endif
}

/* e^x; arguments beyond +-500 count as +-500. */
AGO_INLINE double ago_exp_f64(double x) {
    x = x < -500.0 ? -500.0 : x > 500.0 ? 500.0 : x;
    const double t = x * (1.0 / AGO_LN2) + 0x1.8p52; /* the nearest integer in its low bits */
    const double n = t - 0x1.8p52;
    const double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
    double p = 2.7484988642080484e-06;
    p = p * r + 2.4884311070403012e-05;
    p = p * r + 0.0001984159051196301;
    p = p * r + 0.0013888802208866732;
    p = p * r + 0.008333333006563956;
    p = p * r + 0.04166666703632725;
    p = p * r + 0.16666666667819913;
    p = p * r + 0.49999999999450645;
    p = p * r + 0.9999999999998929;
    p = p * r + 1.0000000000000129;
    return p * ago_from_bits_f64((ago_bits_f64(t) << 52) + (1023ull << 52));
}

/* log(x) for normal, positive, finite x: x = 2^e m, m in [sqrt(1/2), sqrt(2)), s = (m - 1) / (m + 1). */
AGO_INLINE double ago_log_f64(double x) {
    const uint64_t bits = ago_bits_f64(x);
    const int64_t e = (int64_t)(bits - 0x3fe6a09e667f3bcdull) >> 52; /* of sqrt(1/2) */
    const double m = ago_from_bits_f64(bits - ((uint64_t)e << 52));
    const double s = (m - 1.0) / (m + 1.0), u = s * s;
    double p = 0.1685361196111626;
    p = p * u + 0.18120547308540835;
    p = p * u + 0.22223480416974484;
    p = p * u + 0.2857141530907104;
    p = p * u + 0.4000000006680577;
    p = p * u + 0.6666666666653922;
    p = p * u + 2.0000000000000013;
    return (double)e * AGO_LN2 + s * p;
}

/* sin(r) for |r| <= pi/4. */
AGO_INLINE double ago_sin_f64(double r) {
    const double u = r * r;
    double p = -2.4756124837230635e-08;
    p = p * u + 2.7555266137195905e-06;
    p = p * u + -0.00019841263272232998;
    p = p * u + 0.008333333323832274;
    p = p * u + -0.16666666666616523;
    return r * (p * u + 0.9999999999999959);
}

/* cos(r) for |r| <= pi/4. */
AGO_INLINE double ago_cos_f64(double r) {
    const double u = r * r;
    double p = -2.7172734849998065e-07;
    p = p * u + 2.4798919201031414e-05;
    p = p * u + -0.0013888880348506443;
    p = p * u + 0.0416666665430539;
    p = p * u + -0.4999999999934559;
    return p * u + 0.9999999999999437;
}

/* atan(x) for all x but NaN. Above 1 by 1/x, above tan(pi/8) by (x - 1) / (x + 1). */
AGO_INLINE double ago_atan_f64(double x) {
    const double a = x < 0.0 ? -x : x;
    const double b = a > 1.0 ? 1.0 / a : a;
    const int middle = b > 0.41421356237309503;
    const double c = middle ? (b - 1.0) / (b + 1.0) : b, u = c * c;
    double p = 0.03072239192327279;
    p = p * u + -0.05878707088981918;
    p = p * u + 0.07564899559632862;
    p = p * u + -0.09078569345115842;
    p = p * u + 0.1111039960294398;
    p = p * u + -0.14285691073090281;
    p = p * u + 0.1999999961911951;
    p = p * u + -0.333333333309224;
    p = p * u + 0.9999999999999749;
    const double small = (middle ? AGO_PI / 4 : 0.0) + c * p;
    const double angle = a > 1.0 ? AGO_PI / 2 - small : small;
    return x < 0.0 ? -angle : angle;
}

/*
 * The quadrant of a float and what is left of it: x = q pi/2 + r with |r| <= pi/4 (and a little), q mod 4.
 * Up to 2^20 pi/2 is subtracted as the sum of two doubles, the first of 33 bits, so that its multiples are
 * exact. Above, by Payne and Hanek: x = m 2^e with an integer m of 24 bits, and of 2/pi only the 96 bits
 * from place e on matter: those in front add multiples of 4 to the quotient, those behind are too small.
 */
AGO_INLINE double ago_quadrant_f64(float x, int *quadrant) {
    if (ago_abs_f32(x) < 0x1p20f) {
        const double t = (double)x * (2.0 / AGO_PI) + 0x1.8p52;
        const double n = t - 0x1.8p52;
        *quadrant = (int)(ago_bits_f64(t) & 3u);
        return ((double)x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34;
    }
    static const uint32_t two_over_pi[] = {/* 2/pi in binary, the first 256 places */
                                           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                           0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
    const uint32_t bits = ago_bits_f32(x);
    const uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    const uint32_t e = ((bits >> 23) & 0xffu) - 150u; /* from -3 to 104 */
    /* Places from e - 1 on, the first of weight 2 in the quotient: m places each 2^(e - place). */
    const uint32_t first = e + 30u, word = first >> 5, offset = first & 31u;
    uint32_t part[3];
    for (uint32_t k = 0; k < 3; ++k) {
        const uint64_t high = word + k == 0 ? 0 : two_over_pi[word + k - 1];
        const uint64_t low = two_over_pi[word + k];
        part[k] = (uint32_t)(((high << 32 | low) << offset) >> 32);
    }
    /* The quotient modulo 4 in units of 2^-62. */
    const uint64_t quotient = ((m * part[0]) << 32) + m * part[1] + ((m * part[2]) >> 32);
    const uint64_t nearest = (quotient + (1ull << 61)) >> 62;
    double r = (double)(int64_t)(quotient - (nearest << 62)) * (0x1p-62 * AGO_PI / 2);
    *quadrant = (int)nearest;
    if (x < 0.0f) {
        *quadrant = (int)(-nearest & 3u);
        r = -r;
    }
    return r;
}

/* Whether x is infinite or NaN. */
AGO_INLINE int ago_is_special_f32(float x) {
    return !(ago_abs_f32(x) < __builtin_inff());
}

AGO_SCALAR float ago_sin_f32(float x) {
    if (ago_is_special_f32(x) || x == 0.0f) {
        return x == 0.0f ? x : x - x;
    }
    int quadrant;
    const double r = ago_quadrant_f64(x, &quadrant);
    const double y = quadrant & 1 ? ago_cos_f64(r) : ago_sin_f64(r);
    return (float)(quadrant & 2 ? -y : y);
}

AGO_SCALAR float ago_cos_f32(float x) {
    if (ago_is_special_f32(x)) {
        return x - x;
    }
    int quadrant;
    const double r = ago_quadrant_f64(x, &quadrant);
    const double y = quadrant & 1 ? ago_sin_f64(r) : ago_cos_f64(r);
    return (float)((quadrant + 1) & 2 ? -y : y);
}

AGO_SCALAR float ago_tan_f32(float x) {
    if (ago_is_special_f32(x) || x == 0.0f) {
        return x == 0.0f ? x : x - x;
    }
    int quadrant;
    const double r = ago_quadrant_f64(x, &quadrant);
    const double s = ago_sin_f64(r), c = ago_cos_f64(r);
    return (float)(quadrant & 1 ? -c / s : s / c);
}

AGO_SCALAR float ago_atan_f32(float x) {
    return x == 0.0f || x != x ? x : (float)ago_atan_f64(x);
}

/* NaN outside [-1, 1]. */
AGO_SCALAR float ago_asin_f32(float x) {
    const double d = x, root = ago_sqrt_f64((1.0 - d) * (1.0 + d));
    if (x == 0.0f || root != root) {
        return x == 0.0f ? x : __builtin_nanf("");
    }
    return (float)ago_atan_f64(d / root);
}

/* NaN outside [-1, 1]. At -1 the ratio is infinite, and half the angle pi/2. */
AGO_SCALAR float ago_acos_f32(float x) {
    const double d = x;
    if (!(d >= -1.0 && d <= 1.0)) {
        return __builtin_nanf("");
    }
    return (float)(2.0 * ago_atan_f64(ago_sqrt_f64((1.0 - d) / (1.0 + d))));
}

AGO_SCALAR float ago_sinh_f32(float x) {
    const double d = x, u = d * d;
    if (ago_abs_f32(x) < 1.0f) {
        double p = 2.5538294708138398e-08;
        p = p * u + 2.7551832661454334e-06;
        p = p * u + 0.00019841298335769586;
        p = p * u + 0.008333333266481793;
        p = p * u + 0.16666666667240063;
        return (float)(d * (p * u + 0.9999999999999206));
    }
    const double e = ago_exp_f64(d);
    return (float)(0.5 * (e - 1.0 / e));
}

AGO_SCALAR float ago_cosh_f32(float x) {
    const double e = ago_exp_f64(x);
    return (float)(0.5 * (e + 1.0 / e));
}

AGO_SCALAR float ago_asinh_f32(float x) {
    const double a = ago_abs_f32(x), u = a * a;
    if (ago_is_special_f32(x)) {
        return x;
    }
    double y = a * (1.0 - u * (1.0 / 6 - u * (3.0 / 40))); /* the logarithm would cancel */
    if (a > 0x1p-6) {
        y = ago_log_f64(a + ago_sqrt_f64(u + 1.0));
    }
    return ago_with_sign_f32((float)y, x);
}

AGO_SCALAR float ago_acosh_f32(float x) {
    const double t = (double)x - 1.0;
    if (!(x >= 1.0f) || ago_is_special_f32(x)) {
        return x > 1.0f ? x : __builtin_nanf("");
    }
    return (float)ago_log_f64(1.0 + (t + ago_sqrt_f64(t * (t + 2.0))));
}

AGO_SCALAR float ago_atanh_f32(float x) {
    const double a = ago_abs_f32(x), u = a * a;
    if (!(a < 1.0)) {
        return a == 1.0 ? ago_with_sign_f32(__builtin_inff(), x) : __builtin_nanf("");
    }
    double y = a * (1.0 + u * (1.0 / 3 + u * (1.0 / 5 + u * (1.0 / 7))));
    if (a > 0x1p-6) {
        y = 0.5 * ago_log_f64((1.0 + a) / (1.0 - a));
    }
    return ago_with_sign_f32((float)y, x);
}

/* 0 if y is no integer, 1 if it is odd, 2 if it is even (or infinite). */
AGO_INLINE int ago_parity_f32(float y) {
    if (!(ago_abs_f32(y) < 0x1p24f)) {
        return 2;
    }
    const int32_t whole = (int32_t)y;
    return (float)whole != y ? 0 : whole & 1 ? 1 : 2;
}

/* x^y as C99's Annex F has it: pow(x, 0) and pow(1, y) are 1 for NaN too. */
AGO_SCALAR float ago_pow_f32(float x, float y) {
    const float inf = __builtin_inff(), a = ago_abs_f32(x);
    if (x == 1.0f || y == 0.0f || (x == -1.0f && ago_abs_f32(y) == inf)) {
        return 1.0f;
    }
    if (x != x || y != y) {
        return x + y;
    }
    const int parity = ago_parity_f32(y);
    if (x < 0.0f && a < inf && parity == 0) {
        return __builtin_nanf("");
    }
    float power;
    if (a == 0.0f || a == inf) {
        power = (a == 0.0f) == (y < 0.0f) ? inf : 0.0f;
    } else {
        power = (float)ago_exp_f64((double)y * ago_log_f64(a));
    }
    return parity == 1 ? ago_with_sign_f32(power, x) : power;
}

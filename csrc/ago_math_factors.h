/* Constants where multiply-adds take no single lanes, and compilers know best. Included once a layer. */

typedef struct {
    float k[4];
} AGO_FN(factor_set);

#define AGO_FACTORS AGO_FN(factor_set)
#define AGO_FACTOR_FMA(x, set, i, c) AGO_FN(fma)(x, AGO_FN(splat)((set).k[i]), c)

AGO_INLINE AGO_FACTORS AGO_FN(factors)(float a, float b, float c, float d) {
    const AGO_FACTORS set = {{a, b, c, d}};
    return set;
}

AGO_INLINE AGO_FLOATS AGO_FN(fixed)(float c) {
    return AGO_FN(splat)(c);
}

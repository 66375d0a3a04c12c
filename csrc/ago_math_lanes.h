/* The float64 functions for the vectors of the layer AGO_SUFFIX, lane by lane. Included once a layer. */

#define AGO_LANES (int)(sizeof(AGO_FLOATS) / sizeof(float))

#define AGO_EACH_LANE(name)                                   \
    AGO_INLINE AGO_FLOATS AGO_FN(name)(AGO_FLOATS x) {        \
        for (int lane = 0; lane < AGO_LANES; ++lane) {        \
            x[lane] = AGO_JOIN(ago_, name, f32)(x[lane]);     \
        }                                                     \
        return x;                                             \
    }

#define AGO_EACH_PAIR(name)                                             \
    AGO_INLINE AGO_FLOATS AGO_FN(name)(AGO_FLOATS x, AGO_FLOATS y) {    \
        for (int lane = 0; lane < AGO_LANES; ++lane) {                  \
            x[lane] = AGO_JOIN(ago_, name, f32)(x[lane], y[lane]);      \
        }                                                               \
        return x;                                                       \
    }

AGO_EACH_LANE(sin)
AGO_EACH_LANE(cos)
AGO_EACH_LANE(tan)
AGO_EACH_LANE(asin)
AGO_EACH_LANE(acos)
AGO_EACH_LANE(atan)
AGO_EACH_LANE(sinh)
AGO_EACH_LANE(cosh)
AGO_EACH_LANE(asinh)
AGO_EACH_LANE(acosh)
AGO_EACH_LANE(atanh)
AGO_EACH_PAIR(pow)

#undef AGO_EACH_LANE
#undef AGO_EACH_PAIR
#undef AGO_LANES

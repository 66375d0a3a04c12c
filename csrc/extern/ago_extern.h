/*
 * What the extern functions share: index arithmetic without libm.
 *
 * An extern function computes a whole operator that is no loop nest. It takes a pointer to its
 * constants, then the arrays it reads, those it writes, and scratch; all are dense, row-major and
 * apart from each other. None touches memory outside of them, whatever the numbers in them are.
 */
#ifndef AGO_EXTERN_H
#define AGO_EXTERN_H

#include "ago_runtime.h"

#define AGO_MAX_RANK 8

/* `value` within [low, high]; `low` for NaN. */
AGO_INLINE double ago_clamp(double value, double low, double high) {
    const double above = value > low ? value : low;
    return above < high ? above : high;
}

/* The largest integer that is not above `value`, whose magnitude is below 2^62. */
AGO_INLINE int64_t ago_floor(double value) {
    const int64_t truncated = (int64_t)value;
    return truncated - ((double)truncated > value);
}

/* The nearest integer, the even one of two, of a number of magnitude below 2^51. */
AGO_INLINE double ago_round_even(double value) {
    const double magic = 6755399441055744.0; /* 1.5 * 2^52: its unit in the last place is 1 */
    return (value + magic) - magic;
}

#endif /* AGO_EXTERN_H */

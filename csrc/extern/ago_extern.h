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

/* Element types of arrays that come as void pointers. */
enum { AGO_F32, AGO_I64, AGO_I32, AGO_I16, AGO_I8, AGO_U8, AGO_BOOL };

/* Element `position` of an array, as an index; floats are rounded towards 0, NaN is 0. */
AGO_INLINE int64_t ago_index_at(const void *array, int64_t position, int32_t type) {
    switch (type) {
    case AGO_I64:
        return ((const int64_t *)array)[position];
    case AGO_I32:
        return ((const int32_t *)array)[position];
    case AGO_I16:
        return ((const int16_t *)array)[position];
    case AGO_I8:
        return ((const int8_t *)array)[position];
    case AGO_U8:
    case AGO_BOOL:
        return ((const uint8_t *)array)[position];
    default: {
        const double value = (double)((const float *)array)[position];
        return value == value ? (int64_t)ago_clamp(value, -4503599627370496.0, 4503599627370496.0) : 0;
    }
    }
}

/* An index that may count from the end, as one from the start; -1 if it is out of range. */
AGO_INLINE int64_t ago_wrap(int64_t index, int64_t extent) {
    const int64_t wrapped = index < 0 ? index + extent : index;
    return wrapped >= 0 && wrapped < extent ? wrapped : -1;
}

/* An index that may count from the end, as one from the start; the nearest one if out of range. */
AGO_INLINE int64_t ago_wrap_clamped(int64_t index, int64_t extent) {
    const int64_t wrapped = index < 0 ? index + extent : index;
    return wrapped < 0 ? 0 : wrapped < extent ? wrapped : extent - 1;
}

/* memcpy, which needs no call for single elements. */
AGO_INLINE void ago_copy(void *to, const void *from, int64_t bytes) {
#if defined(__GNUC__) || defined(__clang__)
    switch (bytes) {
    case 1:
        __builtin_memcpy(to, from, 1);
        break;
    case 4:
        __builtin_memcpy(to, from, 4);
        break;
    case 8:
        __builtin_memcpy(to, from, 8);
        break;
    default:
        __builtin_memcpy(to, from, (size_t)bytes);
    }
#else
    for (int64_t i = 0; i < bytes; ++i) {
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    }
#endif
}

/* Moves `position` to the next one in row-major order; 0 behind the last. */
AGO_INLINE int ago_next(int64_t *position, const int64_t *shape, int64_t rank) {
    for (int64_t axis = rank - 1; axis >= 0; --axis) {
        if (++position[axis] < shape[axis]) {
            return 1;
        }
        position[axis] = 0;
    }
    return 0;
}

#endif /* AGO_EXTERN_H */

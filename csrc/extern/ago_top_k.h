/* TopK, ArgMax and ArgMin: the order of elements along an axis. NaN is greater than any number. */
#ifndef AGO_TOP_K_H
#define AGO_TOP_K_H

#include "ago_extern.h"

typedef struct {
    int64_t outer;  /* positions before the axis */
    int64_t extent; /* of the axis */
    int64_t inner;  /* positions behind it */
    int64_t k;
    int32_t largest; /* the greatest first, else the least */
    int32_t type;    /* of the elements */
} ago_top_k_args;

/*
 * The first k elements of x[outer][extent][inner] along the axis in order, the first of equal ones
 * first, and their indices; `scratch` has 2 * k elements.
 */
AGO_HIDDEN void ago_top_k(const ago_top_k_args *args, const void *x, void *values, int64_t *indices,
                          int64_t *scratch);

typedef struct {
    int64_t outer;
    int64_t extent;
    int64_t inner;
    int32_t largest;     /* the index of the greatest element, else of the least; of NaN if there is one */
    int32_t select_last; /* the last of equal elements, else the first */
    int32_t type;        /* of the elements */
} ago_arg_max_args;

/* The index of an extreme element of x[outer][extent][inner] along the axis. */
AGO_HIDDEN void ago_arg_max(const ago_arg_max_args *args, const void *x, int64_t *indices);

#endif /* AGO_TOP_K_H */

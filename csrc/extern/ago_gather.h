/* Gather, GatherElements and GatherND: elements at places that are data. */
#ifndef AGO_GATHER_H
#define AGO_GATHER_H

#include "ago_extern.h"

/* An index may count from the end; one that is out of range reads the nearest element. */

typedef struct {
    int64_t outer;   /* positions before the axis */
    int64_t extent;  /* of the axis */
    int64_t count;   /* indices */
    int64_t bytes;   /* of what lies behind the axis at one position */
    int32_t indices; /* their element type */
} ago_gather_args;

/* y[outer][count][bytes] = x[outer][indices[count]][bytes] */
AGO_HIDDEN void ago_gather(const ago_gather_args *args, const void *x, const void *indices, void *y);

typedef struct {
    int64_t rank;
    int64_t axis;
    int64_t shape[AGO_MAX_RANK];   /* of the indices */
    int64_t strides[AGO_MAX_RANK]; /* of x, elements */
    int64_t extent;                /* of x along the axis */
    int64_t bytes;                 /* of an element */
    int32_t indices;               /* their element type */
} ago_gather_elements_args;

/* y[p] = x[p with the index at p in the place of the axis] */
AGO_HIDDEN void ago_gather_elements(const ago_gather_elements_args *args, const void *x,
                                    const void *indices, void *y);

typedef struct {
    int64_t batches;
    int64_t tuples;                /* a batch */
    int64_t depth;                 /* indices in a tuple */
    int64_t extents[AGO_MAX_RANK]; /* of x along the axes that a tuple indexes */
    int64_t bytes;                 /* of what a tuple selects */
    int32_t indices;               /* their element type */
} ago_gather_nd_args;

/* y[batches][tuples][bytes] = x[batches][indices[batches][tuples][0], ...][bytes] */
AGO_HIDDEN void ago_gather_nd(const ago_gather_nd_args *args, const void *x, const void *indices,
                              void *y);

#endif /* AGO_GATHER_H */

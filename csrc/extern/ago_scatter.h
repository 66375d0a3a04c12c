/* ScatterElements and ScatterND: elements stored at places that are data. */
#ifndef AGO_SCATTER_H
#define AGO_SCATTER_H

#include "ago_extern.h"

/* An index may count from the end; an update whose index is out of range is left out. Updates of one
 * place are applied in order. */

enum { AGO_SCATTER_NONE, AGO_SCATTER_ADD, AGO_SCATTER_MUL, AGO_SCATTER_MAX, AGO_SCATTER_MIN };

typedef struct {
    int64_t size; /* elements of x */
    int64_t rank;
    int64_t axis;
    int64_t shape[AGO_MAX_RANK];   /* of the indices and updates */
    int64_t strides[AGO_MAX_RANK]; /* of x, elements */
    int64_t extent;                /* of x along the axis */
    int64_t bytes;                 /* of an element */
    int32_t type;                  /* of an element */
    int32_t indices;               /* their element type */
    int32_t reduction;
} ago_scatter_elements_args;

/* y = x, then y[p with the index at p in the place of the axis] = updates[p] */
AGO_HIDDEN void ago_scatter_elements(const ago_scatter_elements_args *args, const void *x,
                                     const void *indices, const void *updates, void *y);

typedef struct {
    int64_t size; /* elements of x */
    int64_t tuples;
    int64_t depth;                 /* indices in a tuple */
    int64_t extents[AGO_MAX_RANK]; /* of x along the axes that a tuple indexes */
    int64_t slice;                 /* elements that a tuple selects */
    int64_t bytes;                 /* of an element */
    int32_t type;                  /* of an element */
    int32_t indices;               /* their element type */
    int32_t reduction;
} ago_scatter_nd_args;

/* y = x, then y[indices[tuples][0], ...][slice] = updates[tuples][slice] */
AGO_HIDDEN void ago_scatter_nd(const ago_scatter_nd_args *args, const void *x, const void *indices,
                               const void *updates, void *y);

#endif /* AGO_SCATTER_H */

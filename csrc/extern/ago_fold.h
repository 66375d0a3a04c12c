/* MaxUnpool and Col2Im: maps put together from pooled elements and from blocks. */
#ifndef AGO_FOLD_H
#define AGO_FOLD_H

#include "ago_extern.h"

#define AGO_FOLD_RANK 3

typedef struct {
    int64_t planes; /* batch times channels */
    int64_t rank;
    int64_t count;                   /* elements of x in a plane */
    int64_t pooled[AGO_FOLD_RANK];   /* extents of the map that the indices count in */
    int64_t extents[AGO_FOLD_RANK];  /* extents of y, at least those */
} ago_max_unpool_args;

/*
 * y[planes][extents...] is 0 but for the elements x[planes][count], each at its index, which counts
 * through all planes of the pooled map. What is out of range is left out.
 */
AGO_HIDDEN void ago_max_unpool(const ago_max_unpool_args *args, const float *x,
                               const int64_t *indices, float *y);

typedef struct {
    int64_t planes; /* batch times channels */
    int64_t rank;
    int64_t image[AGO_FOLD_RANK];
    int64_t block[AGO_FOLD_RANK];
    int64_t counts[AGO_FOLD_RANK]; /* blocks along each axis */
    int64_t strides[AGO_FOLD_RANK];
    int64_t dilations[AGO_FOLD_RANK];
    int64_t pads[AGO_FOLD_RANK]; /* before each axis */
} ago_col2im_args;

/* y[planes][image...]: the sum of all blocks of x[planes][block...][counts...], each at its place. */
AGO_HIDDEN void ago_col2im(const ago_col2im_args *args, const float *x, float *y);

#endif /* AGO_FOLD_H */

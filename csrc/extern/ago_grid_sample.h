/* GridSample: an image read at the places that a grid gives. */
#ifndef AGO_GRID_SAMPLE_H
#define AGO_GRID_SAMPLE_H

#include "ago_extern.h"

enum { AGO_GRID_NEAREST, AGO_GRID_LINEAR, AGO_GRID_CUBIC };
enum { AGO_GRID_ZEROS, AGO_GRID_BORDER, AGO_GRID_REFLECTION };

typedef struct {
    int64_t batch;
    int64_t channels;
    int64_t rank;       /* spatial axes, 1 to 3 */
    int64_t extents[3]; /* of the image, outermost first */
    int64_t points;     /* of the grid, an image */
    int32_t mode;
    int32_t padding;
    int32_t align_corners; /* -1 and 1 are the centres of the first and last pixel */
} ago_grid_sample_args;

/*
 * x[batch][channels][extents...], grid[batch][points][rank] with the innermost axis first, and
 * y[batch][channels][points]. A coordinate that is NaN counts as -1; those beyond 2^30 pixels as
 * 2^30.
 */
AGO_HIDDEN void ago_grid_sample(const ago_grid_sample_args *args, const float *x, const float *grid,
                                float *y);

#endif /* AGO_GRID_SAMPLE_H */

/* Det: determinants of square matrices. */
#ifndef AGO_DET_H
#define AGO_DET_H

#include "ago_extern.h"

typedef struct {
    int64_t matrices;
    int64_t size;
} ago_det_args;

/* y[matrices] from x[matrices][size][size]; `scratch` has size * size elements. */
AGO_HIDDEN void ago_det(const ago_det_args *args, const float *x, float *y, double *scratch);

#endif /* AGO_DET_H */

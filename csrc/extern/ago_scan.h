/* CumSum and CumProd: every partial sum or product along an axis. */
#ifndef AGO_SCAN_H
#define AGO_SCAN_H

#include "ago_extern.h"

typedef struct {
    int64_t outer;  /* positions before the axis */
    int64_t extent; /* of the axis */
    int64_t inner;  /* positions behind it */
    int32_t multiply;
    int32_t exclusive; /* an element does not count for its own result */
    int32_t reverse;   /* from the end of the axis on */
    int32_t type;      /* AGO_F32, AGO_I64 or AGO_I32 */
} ago_scan_args;

/* y[outer][extent][inner] from x of the same shape; floats accumulate in double, integers wrap. */
AGO_HIDDEN void ago_scan(const ago_scan_args *args, const void *x, void *y);

#endif /* AGO_SCAN_H */

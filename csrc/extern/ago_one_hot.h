/* OneHot: one of two values, by an index. */
#ifndef AGO_ONE_HOT_H
#define AGO_ONE_HOT_H

#include "ago_extern.h"

typedef struct {
    int64_t outer;   /* indices before the new axis */
    int64_t depth;   /* of the new axis */
    int64_t inner;   /* indices behind it */
    int64_t bytes;   /* of an element of y */
    int32_t indices; /* their element type */
} ago_one_hot_args;

/*
 * y[outer][depth][inner] is values[1] where the position along `depth` is the index, else values[0]. An
 * index may count from the end; one out of range is nowhere.
 */
AGO_HIDDEN void ago_one_hot(const ago_one_hot_args *args, const void *indices,
                            const void *values, void *y);

#endif /* AGO_ONE_HOT_H */

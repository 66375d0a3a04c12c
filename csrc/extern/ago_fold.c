#include "ago_fold.h"

static int64_t product(const int64_t *extents, int64_t rank) {
    int64_t size = 1;
    for (int64_t axis = 0; axis < rank; ++axis) {
        size *= extents[axis];
    }
    return size;
}

static void clear(float *y, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        y[i] = 0.0f;
    }
}

void ago_max_unpool(const ago_max_unpool_args *args, const float *x, const int64_t *indices,
                    float *y) {
    const int64_t size = product(args->extents, args->rank);
    const int64_t pooled = product(args->pooled, args->rank);
    clear(y, args->planes * size);
    for (int64_t i = 0; i < args->planes * args->count; ++i) {
        if (indices[i] < 0 || indices[i] >= args->planes * pooled) {
            continue;
        }
        int64_t rest = indices[i] % pooled, place = 0, stride = 1;
        for (int64_t axis = args->rank - 1; axis >= 0; --axis) {
            place += rest % args->pooled[axis] * stride;
            rest /= args->pooled[axis];
            stride *= args->extents[axis];
        }
        y[indices[i] / pooled * size + place] = x[i];
    }
}

void ago_col2im(const ago_col2im_args *args, const float *x, float *y) {
    const int64_t rank = args->rank, size = product(args->image, rank);
    clear(y, args->planes * size);
    for (int64_t plane = 0; plane < args->planes; ++plane) {
        int64_t tap[AGO_FOLD_RANK] = {0};
        do {
            int64_t number[AGO_FOLD_RANK] = {0};
            do {
                int64_t place = 0;
                int inside = 1;
                for (int64_t axis = 0; axis < rank; ++axis) {
                    const int64_t at = number[axis] * args->strides[axis] - args->pads[axis] +
                                       tap[axis] * args->dilations[axis];
                    inside = inside && at >= 0 && at < args->image[axis];
                    place = place * args->image[axis] + at;
                }
                if (inside) {
                    y[plane * size + place] += *x;
                }
                ++x;
            } while (ago_next(number, args->counts, rank));
        } while (ago_next(tap, args->block, rank));
    }
}

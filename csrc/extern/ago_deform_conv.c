/* The bent windows of a block of positions become rows of a matrix, which meets the weights at once. */
#include "ago_deform_conv.h"

#include "ago_products.h"

/* The four pixels around a place; a weight is 0 where there is no pixel. */
typedef struct {
    int64_t offset[4];
    float weight[4];
} corners;

static corners corners_at(const ago_deform_conv_args *args, double y, double x) {
    corners found = {{0}, {0}};
    if (!(y > -1.0 && y < (double)args->height && x > -1.0 && x < (double)args->width)) {
        return found;
    }
    const int64_t low_y = ago_floor(y), low_x = ago_floor(x);
    const double part_y = y - (double)low_y, part_x = x - (double)low_x;
    for (int k = 0; k < 4; ++k) {
        const int64_t row = low_y + k / 2, column = low_x + k % 2;
        if (row >= 0 && row < args->height && column >= 0 && column < args->width) {
            found.offset[k] = row * args->width + column;
            found.weight[k] = (float)((k / 2 ? part_y : 1.0 - part_y) * (k % 2 ? part_x : 1.0 - part_x));
        }
    }
    return found;
}

/* The window at output position `at` of an image: `to[channels][taps]`. */
static void gather_window(const ago_deform_conv_args *args, const float *x, const float *offsets,
                          const float *mask, int64_t at, float *to) {
    const int64_t taps = args->kernel[0] * args->kernel[1], size = args->out_height * args->out_width;
    const int64_t share = args->channels / args->offset_groups;
    const int64_t top = at / args->out_width * args->strides[0] - args->pads[0];
    const int64_t left = at % args->out_width * args->strides[1] - args->pads[1];
    for (int64_t group = 0; group < args->offset_groups; ++group) {
        for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t number = group * taps + tap;
            const int64_t row = top + tap / args->kernel[1] * args->dilations[0];
            const int64_t column = left + tap % args->kernel[1] * args->dilations[1];
            const corners around =
                corners_at(args, (double)row + (double)offsets[2 * number * size + at],
                           (double)column + (double)offsets[(2 * number + 1) * size + at]);
            const float scale = mask == NULL ? 1.0f : mask[number * size + at];
            for (int64_t channel = group * share; channel < (group + 1) * share; ++channel) {
                const float *plane = x + channel * args->height * args->width;
                float sum = 0.0f;
                for (int k = 0; k < 4; ++k) {
                    sum += around.weight[k] == 0.0f ? 0.0f : around.weight[k] * plane[around.offset[k]];
                }
                to[channel * taps + tap] = scale * sum;
            }
        }
    }
}

void ago_deform_conv(const ago_deform_conv_args *args, const float *x, const float *w,
                     const float *offsets, const float *bias, const float *mask, float *y,
                     float *scratch) {
    const int64_t taps = args->kernel[0] * args->kernel[1], size = args->out_height * args->out_width;
    const int64_t depth = args->channels / args->groups * taps, filters = args->filters / args->groups;
    float *const windows = scratch, *const sums = scratch + AGO_DEFORM_BLOCK * args->channels * taps;
    for (int64_t start = 0; start < args->batch * size; start += AGO_DEFORM_BLOCK) {
        const int64_t left = args->batch * size - start;
        const int64_t count = left < AGO_DEFORM_BLOCK ? left : AGO_DEFORM_BLOCK;
        for (int64_t k = 0; k < count; ++k) {
            const int64_t image = (start + k) / size, at = (start + k) % size;
            const int64_t number = image * args->offset_groups * taps * size;
            gather_window(args, x + image * args->channels * args->height * args->width,
                          offsets + 2 * number, mask == NULL ? NULL : mask + number, at,
                          windows + k * args->channels * taps);
            for (int64_t filter = 0; filter < args->filters; ++filter) {
                sums[k * args->filters + filter] = bias == NULL ? 0.0f : bias[filter];
            }
        }
        for (int64_t group = 0; group < args->groups; ++group) {
            const float *rows[AGO_DEFORM_BLOCK];
            for (int64_t k = 0; k < count; ++k) {
                rows[k] = windows + k * args->channels * taps + group * depth;
            }
            ago_add_products(rows, count, w + group * filters * depth, filters, depth,
                             sums + group * filters, args->filters);
        }
        for (int64_t k = 0; k < count; ++k) {
            const int64_t image = (start + k) / size, at = (start + k) % size;
            for (int64_t filter = 0; filter < args->filters; ++filter) {
                y[(image * args->filters + filter) * size + at] = sums[k * args->filters + filter];
            }
        }
    }
}

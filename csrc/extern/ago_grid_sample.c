/*
 * Each point of the grid becomes a list of pixels and weights, which all channels share: a block of
 * points at a time, so that a channel is read and written in one piece. Coordinates
 * are double, so that a pixel is chosen as the definition chooses it.
 */
#include "ago_grid_sample.h"

#define FARTHEST 1073741824.0
#define MAX_ALONG 4 /* pixels along one axis: cubic */
#define MAX_PIXELS 64
#define BLOCK 16 /* points: 12 KiB of pixels */

/* The pixels along one axis; an index below 0 reads a zero. */
typedef struct {
    int64_t count;
    int64_t index[MAX_ALONG];
    double weight[MAX_ALONG];
} taps;

/* All pixels of a point: offsets in one channel. */
typedef struct {
    int64_t count;
    int64_t offset[MAX_PIXELS];
    float weight[MAX_PIXELS];
} pixels;

/* From [-1, 1] to pixels. */
static double to_pixels(double position, int64_t extent, int32_t align_corners) {
    const double length = (double)extent;
    const double place = align_corners ? (position + 1.0) / 2.0 * (length - 1.0)
                                       : ((position + 1.0) * length - 1.0) / 2.0;
    return ago_clamp(place, -FARTHEST, FARTHEST);
}

/* `place` mirrored at both ends until it is within [low, high]. */
static double reflect(double place, double low, double high) {
    const double range = high - low;
    if (range <= 0.0) {
        return low;
    }
    const double beyond = place < low ? low - place : place - high;
    const int64_t turns = (int64_t)(beyond / range);
    const double rest = beyond - (double)turns * range;
    const int from_low = (place < low) == (turns % 2 == 0);
    return ago_clamp(from_low ? low + rest : high - rest, low, high);
}

/* Where `place` is read: beyond the borders, what the padding makes of it. */
static double into_borders(double place, int64_t extent, const ago_grid_sample_args *args) {
    const double last = (double)(extent - 1), edge = args->align_corners ? 0.0 : 0.5;
    if (args->padding == AGO_GRID_ZEROS || (place >= -edge && place <= last + edge)) {
        return place;
    }
    return args->padding == AGO_GRID_BORDER ? ago_clamp(place, 0.0, last)
                                            : reflect(place, -edge, last + edge);
}

/* The pixel that stands for number `index`, or -1 for a zero. */
static int64_t pixel(int64_t index, int64_t extent, const ago_grid_sample_args *args) {
    if (args->padding == AGO_GRID_ZEROS) {
        return index >= 0 && index < extent ? index : -1;
    }
    const double place = into_borders((double)index, extent, args);
    return (int64_t)ago_clamp(place, 0.0, (double)(extent - 1));
}

/* Keys' cubic convolution with a = -0.75 for the pixels at -1, 0, 1 and 2, `t` behind pixel 0. */
static void cubic_weights(double t, double *weight) {
    const double a = -0.75;
    for (int side = 0; side < 2; ++side) {
        const double near = side == 0 ? t : 1.0 - t, far = near + 1.0;
        weight[side == 0 ? 0 : 3] = ((a * far - 5.0 * a) * far + 8.0 * a) * far - 4.0 * a;
        weight[side == 0 ? 1 : 2] = ((a + 2.0) * near - (a + 3.0)) * near * near + 1.0;
    }
}

static void taps_along(double position, int64_t extent, const ago_grid_sample_args *args,
                       taps *found) {
    double place = to_pixels(position != position ? -1.0 : position, extent, args->align_corners);
    if (args->mode == AGO_GRID_NEAREST) {
        place = into_borders(ago_round_even(place), extent, args);
        found->count = 1;
        found->index[0] = pixel((int64_t)place, extent, args);
        found->weight[0] = 1.0;
        return;
    }
    place = into_borders(place, extent, args);
    const int64_t below = ago_floor(place);
    const double part = place - (double)below;
    int64_t first = below;
    if (args->mode == AGO_GRID_LINEAR) {
        found->count = 2;
        found->weight[0] = 1.0 - part;
        found->weight[1] = part;
    } else {
        found->count = 4;
        cubic_weights(part, found->weight);
        first = below - 1;
    }
    for (int64_t k = 0; k < found->count; ++k) {
        found->index[k] = pixel(first + k, extent, args);
    }
}

/* The products of the pixels along each axis. */
static void gather_pixels(const ago_grid_sample_args *args, const float *position, pixels *all) {
    all->count = 1;
    all->offset[0] = 0;
    double weights[MAX_PIXELS] = {1.0};
    for (int64_t axis = 0; axis < args->rank; ++axis) {
        taps along;
        taps_along((double)position[args->rank - 1 - axis], args->extents[axis], args, &along);
        pixels next;
        double next_weights[MAX_PIXELS];
        next.count = 0;
        for (int64_t k = 0; k < all->count; ++k) {
            for (int64_t tap = 0; tap < along.count; ++tap) {
                if (along.index[tap] >= 0) {
                    next.offset[next.count] = all->offset[k] * args->extents[axis] + along.index[tap];
                    next_weights[next.count++] = weights[k] * along.weight[tap];
                }
            }
        }
        all->count = next.count;
        for (int64_t k = 0; k < next.count; ++k) {
            all->offset[k] = next.offset[k];
            weights[k] = next_weights[k];
        }
    }
    for (int64_t k = 0; k < all->count; ++k) {
        all->weight[k] = (float)weights[k];
    }
}

static float weighted_sum(const pixels *of, const float *plane) {
    float sum = 0.0f;
    for (int64_t k = 0; k < of->count; ++k) {
        sum += of->weight[k] * plane[of->offset[k]];
    }
    return sum;
}

void ago_grid_sample(const ago_grid_sample_args *args, const float *x, const float *grid,
                     float *y) {
    int64_t size = 1;
    for (int64_t axis = 0; axis < args->rank; ++axis) {
        size *= args->extents[axis];
    }
    for (int64_t image = 0; image < args->batch; ++image) {
        for (int64_t start = 0; start < args->points; start += BLOCK) {
            const int64_t left = args->points - start, count = left < BLOCK ? left : BLOCK;
            pixels all[BLOCK];
            for (int64_t i = 0; i < count; ++i) {
                const float *position = grid + (image * args->points + start + i) * args->rank;
                gather_pixels(args, position, &all[i]);
            }
            for (int64_t channel = 0; channel < args->channels; ++channel) {
                const int64_t plane = image * args->channels + channel;
                for (int64_t i = 0; i < count; ++i) {
                    y[plane * args->points + start + i] = weighted_sum(&all[i], x + plane * size);
                }
            }
        }
    }
}

/* Places are double, so that the pixels of a sample are those of the definition. */
#include "ago_roi_align.h"

#define MOST_SAMPLES 1024.0

/* A region on one axis. */
typedef struct {
    double start;
    double bin; /* length of one bin */
    int64_t samples;
} side;

/* Two neighbouring pixels on one axis; both weights are 0 outside of the image. */
typedef struct {
    int64_t low, high;
    double low_weight, high_weight;
} pair;

static side side_of(double from, double to, int64_t bins, const ago_roi_align_args *args) {
    const double shift = args->half_pixel ? 0.5 : 0.0, scale = (double)args->scale;
    const double start = from * scale - shift;
    double length = to * scale - shift - start;
    if (!args->half_pixel && !(length >= 1.0)) {
        length = 1.0;
    }
    const double bin = length / (double)bins;
    int64_t samples = args->samples;
    if (samples <= 0) {
        const double wanted = ago_clamp(bin, 0.0, MOST_SAMPLES);
        samples = (int64_t)wanted + ((double)(int64_t)wanted < wanted);
    }
    return (side){start, bin, samples};
}

static pair pair_at(const side *of, int64_t bin, int64_t sample, int64_t extent) {
    const double steps = (double)of->samples;
    double place = of->start + (double)bin * of->bin + ((double)sample + 0.5) * of->bin / steps;
    if (!(place >= -1.0 && place <= (double)extent)) {
        return (pair){0, 0, 0.0, 0.0};
    }
    place = ago_clamp(place, 0.0, (double)(extent - 1));
    const int64_t low = (int64_t)place, high = low + 1 < extent ? low + 1 : low;
    const double part = place - (double)low;
    return (pair){low, high, 1.0 - part, part};
}

static float pool(const ago_roi_align_args *args, const float *plane, const side *rows,
                  const side *columns, int64_t row, int64_t column) {
    double total = 0.0;
    for (int64_t i = 0; i < rows->samples; ++i) {
        const pair y = pair_at(rows, row, i, args->height);
        const float *low = plane + y.low * args->width, *high = plane + y.high * args->width;
        for (int64_t j = 0; j < columns->samples; ++j) {
            const pair x = pair_at(columns, column, j, args->width);
            const double corner[4] = {
                y.low_weight * x.low_weight * (double)low[x.low],
                y.low_weight * x.high_weight * (double)low[x.high],
                y.high_weight * x.low_weight * (double)high[x.low],
                y.high_weight * x.high_weight * (double)high[x.high],
            };
            if (!args->maximum) {
                total += (corner[0] + corner[1]) + (corner[2] + corner[3]);
                continue;
            }
            double most = corner[0];
            for (int k = 1; k < 4; ++k) {
                most = corner[k] > most ? corner[k] : most;
            }
            total = (i == 0 && j == 0) || most > total ? most : total;
        }
    }
    const int64_t count = rows->samples * columns->samples;
    return (float)(args->maximum || count == 0 ? total : total / (double)count);
}

void ago_roi_align(const ago_roi_align_args *args, const float *x, const float *rois,
                   const void *images, float *y) {
    for (int64_t roi = 0; roi < args->rois; ++roi) {
        const float *box = rois + 4 * roi;
        const side columns = side_of((double)box[0], (double)box[2], args->out_width, args);
        const side rows = side_of((double)box[1], (double)box[3], args->out_height, args);
        const int64_t given = ago_index_at(images, roi, args->indices);
        const int64_t image = given < 0 ? 0 : given < args->batch ? given : args->batch - 1;
        for (int64_t channel = 0; channel < args->channels; ++channel) {
            const float *plane =
                x + (image * args->channels + channel) * args->height * args->width;
            for (int64_t row = 0; row < args->out_height; ++row) {
                for (int64_t column = 0; column < args->out_width; ++column) {
                    *y++ = pool(args, plane, &rows, &columns, row, column);
                }
            }
        }
    }
}

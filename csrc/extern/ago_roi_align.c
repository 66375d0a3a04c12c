/*
 * Places are double, so that the pixels of a sample are those of the definition; a block of channels
 * shares them.
 */
#include "ago_roi_align.h"

#define MOST_SAMPLES 1024.0
#define CHANNELS 32

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

static double larger(double a, double b) {
    return a > b ? a : b;
}

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

/* The samples of one bin, for `count` neighbouring channels. */
static void pool(const ago_roi_align_args *args, const float *planes, int64_t count, const side *rows,
                 const side *columns, int64_t row, int64_t column, double *total) {
    const int64_t size = args->height * args->width;
    for (int64_t channel = 0; channel < count; ++channel) {
        total[channel] = 0.0;
    }
    for (int64_t sample = 0; sample < rows->samples * columns->samples; ++sample) {
        const pair y = pair_at(rows, row, sample / columns->samples, args->height);
        const pair x = pair_at(columns, column, sample % columns->samples, args->width);
        const double low_low = y.low_weight * x.low_weight, low_high = y.low_weight * x.high_weight;
        const double high_low = y.high_weight * x.low_weight, high_high = y.high_weight * x.high_weight;
        for (int64_t channel = 0; channel < count; ++channel) {
            const float *low = planes + channel * size + y.low * args->width;
            const float *high = planes + channel * size + y.high * args->width;
            const double a = low_low * (double)low[x.low], b = low_high * (double)low[x.high];
            const double c = high_low * (double)high[x.low], d = high_high * (double)high[x.high];
            if (args->maximum) {
                const double most = larger(larger(a, b), larger(c, d));
                total[channel] = sample == 0 ? most : larger(total[channel], most);
            } else {
                total[channel] += (a + b) + (c + d);
            }
        }
    }
}

/* One region of some neighbouring channels. */
static void align(const ago_roi_align_args *args, const float *planes, int64_t count, const side *rows,
                  const side *columns, float *y) {
    const int64_t bins = args->out_height * args->out_width;
    const int64_t samples = rows->samples * columns->samples;
    const double divisor = args->maximum || samples == 0 ? 1.0 : (double)samples;
    for (int64_t bin = 0; bin < bins; ++bin) {
        double total[CHANNELS];
        pool(args, planes, count, rows, columns, bin / args->out_width, bin % args->out_width, total);
        for (int64_t channel = 0; channel < count; ++channel) {
            y[channel * bins + bin] = (float)(total[channel] / divisor);
        }
    }
}

void ago_roi_align(const ago_roi_align_args *args, const float *x, const float *rois,
                   const void *images, float *y) {
    const int64_t size = args->height * args->width, bins = args->out_height * args->out_width;
    for (int64_t roi = 0; roi < args->rois; ++roi) {
        const float *box = rois + 4 * roi;
        const side columns = side_of((double)box[0], (double)box[2], args->out_width, args);
        const side rows = side_of((double)box[1], (double)box[3], args->out_height, args);
        const int64_t given = ago_index_at(images, roi, args->indices);
        const int64_t image = given < 0 ? 0 : given < args->batch ? given : args->batch - 1;
        for (int64_t first = 0; first < args->channels; first += CHANNELS) {
            const int64_t left = args->channels - first, count = left < CHANNELS ? left : CHANNELS;
            align(args, x + (image * args->channels + first) * size, count, &rows, &columns,
                  y + (roi * args->channels + first) * bins);
        }
    }
}

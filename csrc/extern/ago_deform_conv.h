/* DeformConv: a convolution whose window is bent by offsets that are data. */
#ifndef AGO_DEFORM_CONV_H
#define AGO_DEFORM_CONV_H

#include "ago_extern.h"

/* Output positions that share the weights that are read. */
#define AGO_DEFORM_BLOCK 16

typedef struct {
    int64_t batch;
    int64_t channels;
    int64_t height;
    int64_t width;
    int64_t filters;
    int64_t groups;
    int64_t offset_groups;
    int64_t kernel[2];
    int64_t strides[2];
    int64_t dilations[2];
    int64_t pads[2]; /* before each axis */
    int64_t out_height;
    int64_t out_width;
} ago_deform_conv_args;

/*
 * x[batch][channels][height][width], w[filters][channels / groups][kernel...], offsets[batch]
 * [offset_groups][kernel...][2][out_height][out_width] in pixels along y and x, bias[filters] or null,
 * mask[batch][offset_groups][kernel...][out_height][out_width] or null, y[batch][filters][out_height]
 * [out_width]. Outside of the image is 0; so is a place that is NaN. `scratch` has AGO_DEFORM_BLOCK *
 * (channels * taps + filters) elements.
 */
AGO_HIDDEN void ago_deform_conv(const ago_deform_conv_args *args, const float *x, const float *w,
                                const float *offsets, const float *bias, const float *mask, float *y,
                                float *scratch);

#endif /* AGO_DEFORM_CONV_H */

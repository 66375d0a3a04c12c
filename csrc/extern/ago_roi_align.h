/* RoiAlign: regions of an image, resampled to one size. */
#ifndef AGO_ROI_ALIGN_H
#define AGO_ROI_ALIGN_H

#include "ago_extern.h"

typedef struct {
    int64_t batch;
    int64_t channels;
    int64_t height;
    int64_t width;
    int64_t rois;
    int64_t out_height;
    int64_t out_width;
    int64_t samples;   /* along each axis of a bin; 0 for as many as pixels, at most 1024 */
    float scale;       /* from the coordinates of a region to pixels */
    int32_t maximum;   /* the greatest of the samples, else their mean */
    int32_t half_pixel; /* the centre of the first pixel is at 0.5 */
    int32_t indices;   /* element type of the numbers of the images */
} ago_roi_align_args;

/*
 * x[batch][channels][height][width], rois[rois][4] as x, y, x, y, the image of each, and
 * y[rois][channels][out_height][out_width]. A number of an image that is out of range is clamped.
 */
AGO_HIDDEN void ago_roi_align(const ago_roi_align_args *args, const float *x, const float *rois,
                              const void *images, float *y);

#endif /* AGO_ROI_ALIGN_H */

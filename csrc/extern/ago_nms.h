/* NonMaxSuppression: the best boxes that do not overlap better ones. */
#ifndef AGO_NMS_H
#define AGO_NMS_H

#include "ago_extern.h"

typedef struct {
    int64_t batch;
    int64_t classes;
    int64_t boxes;
    int64_t rows;           /* of the result */
    int32_t center_format;  /* boxes are [x centre, y centre, width, height], else two corners */
} ago_nms_args;

/*
 * boxes[batch][boxes][4] with corners [y, x, y, x], scores[batch][classes][boxes]; the most boxes a
 * class, the greatest overlap and the least score, each of which may be null: 0, 0 and no bound.
 * selected[rows][3] are batch, class and box, batch by batch and class by class with falling scores; equal
 * ones in the order of the boxes. Rows behind the last selected box are -1; what does not fit is left
 * out. `scratch` has 2 * boxes elements.
 */
AGO_HIDDEN void ago_nms(const ago_nms_args *args, const float *boxes, const float *scores,
                        const int64_t *most, const float *overlap, const float *least,
                        int64_t *selected, int64_t *scratch);

#endif /* AGO_NMS_H */

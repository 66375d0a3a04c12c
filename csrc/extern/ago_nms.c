#include "ago_nms.h"

typedef struct {
    float low_y, low_x, high_y, high_x;
} corners;

static corners corners_of(const float *box, int32_t center_format) {
    if (center_format) {
        const float x = box[0], y = box[1], half_x = box[2] / 2.0f, half_y = box[3] / 2.0f;
        return (corners){y - half_y, x - half_x, y + half_y, x + half_x};
    }
    const float a = box[0], b = box[1], c = box[2], d = box[3];
    return (corners){a < c ? a : c, b < d ? b : d, a < c ? c : a, b < d ? d : b};
}

static float area_of(corners box) {
    return (box.high_y - box.low_y) * (box.high_x - box.low_x);
}

/* Whether the area that two boxes share is more than `most` of the area that they cover. */
static int overlaps(corners a, corners b, float most) {
    const float low_y = a.low_y > b.low_y ? a.low_y : b.low_y;
    const float low_x = a.low_x > b.low_x ? a.low_x : b.low_x;
    const float high_y = a.high_y < b.high_y ? a.high_y : b.high_y;
    const float high_x = a.high_x < b.high_x ? a.high_x : b.high_x;
    const float height = high_y > low_y ? high_y - low_y : 0.0f;
    const float width = high_x > low_x ? high_x - low_x : 0.0f;
    const float shared = height * width, covered = area_of(a) + area_of(b) - shared;
    return covered > 0.0f && shared > 0.0f && shared / covered > most;
}

static int before(const float *scores, int64_t a, int64_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
}

static void sink(const float *scores, int64_t *heap, int64_t count, int64_t root) {
    for (int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && before(scores, heap[child], heap[child + 1])) {
            ++child;
        }
        if (!before(scores, heap[root], heap[child])) {
            return;
        }
        const int64_t moved = heap[root];
        heap[root] = heap[child];
        heap[child] = moved;
        root = child;
    }
}

/* Indices of the scores above `least`, the best first; returns how many. */
static int64_t rank(const float *scores, int64_t count, const float *least, int64_t *order) {
    int64_t found = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (scores[i] == scores[i] && (least == NULL || scores[i] > *least)) {
            order[found++] = i;
        }
    }
    for (int64_t root = found / 2 - 1; root >= 0; --root) {
        sink(scores, order, found, root);
    }
    for (int64_t end = found - 1; end > 0; --end) {
        const int64_t last = order[0];
        order[0] = order[end];
        order[end] = last;
        sink(scores, order, end, 0);
    }
    return found;
}

/* Keeps the boxes in `order` that overlap no kept one too much; returns how many. */
static int64_t keep(const ago_nms_args *args, const float *boxes, const int64_t *order, int64_t count,
                    int64_t most, float overlap, int64_t *kept) {
    int64_t number = 0;
    for (int64_t i = 0; i < count && number < most; ++i) {
        const corners box = corners_of(boxes + 4 * order[i], args->center_format);
        int free = 1;
        for (int64_t k = 0; k < number && free; ++k) {
            free = !overlaps(box, corners_of(boxes + 4 * kept[k], args->center_format), overlap);
        }
        if (free) {
            kept[number++] = order[i];
        }
    }
    return number;
}

void ago_nms(const ago_nms_args *args, const float *boxes, const float *scores, const int64_t *most,
             const float *overlap, const float *least, int64_t *selected, int64_t *scratch) {
    int64_t *const order = scratch, *const kept = scratch + args->boxes, row = 0;
    for (int64_t number = 0; number < args->batch * args->classes; ++number) {
        const int64_t image = number / args->classes;
        const int64_t count = rank(scores + number * args->boxes, args->boxes, least, order);
        const int64_t found = keep(args, boxes + image * args->boxes * 4, order, count,
                                   most == NULL ? 0 : *most, overlap == NULL ? 0.0f : *overlap, kept);
        for (int64_t k = 0; k < found && row < args->rows; ++k, ++row) {
            selected[3 * row] = image;
            selected[3 * row + 1] = number % args->classes;
            selected[3 * row + 2] = kept[k];
        }
    }
    for (int64_t i = 3 * row; i < 3 * args->rows; ++i) {
        selected[i] = -1;
    }
}

#include "ago_gather.h"

void ago_gather(const ago_gather_args *args, const void *x, const void *indices, void *y) {
    char *to = y;
    for (int64_t outer = 0; outer < args->outer; ++outer) {
        const char *from = (const char *)x + outer * args->extent * args->bytes;
        for (int64_t k = 0; k < args->count; ++k, to += args->bytes) {
            const int64_t index = ago_index_at(indices, k, args->indices);
            ago_copy(to, from + ago_wrap_clamped(index, args->extent) * args->bytes, args->bytes);
        }
    }
}

void ago_gather_elements(const ago_gather_elements_args *args, const void *x, const void *indices,
                         void *y) {
    int64_t position[AGO_MAX_RANK] = {0}, number = 0;
    do {
        const int64_t index = ago_index_at(indices, number, args->indices);
        int64_t place = ago_wrap_clamped(index, args->extent) * args->strides[args->axis];
        for (int64_t axis = 0; axis < args->rank; ++axis) {
            place += axis == args->axis ? 0 : position[axis] * args->strides[axis];
        }
        ago_copy((char *)y + number * args->bytes, (const char *)x + place * args->bytes, args->bytes);
        ++number;
    } while (ago_next(position, args->shape, args->rank));
}

void ago_gather_nd(const ago_gather_nd_args *args, const void *x, const void *indices, void *y) {
    int64_t size = 1;
    for (int64_t k = 0; k < args->depth; ++k) {
        size *= args->extents[k];
    }
    char *to = y;
    for (int64_t tuple = 0; tuple < args->batches * args->tuples; ++tuple, to += args->bytes) {
        int64_t place = tuple / args->tuples * size, stride = size;
        for (int64_t k = 0; k < args->depth; ++k) {
            const int64_t index = ago_index_at(indices, tuple * args->depth + k, args->indices);
            stride /= args->extents[k];
            place += ago_wrap_clamped(index, args->extents[k]) * stride;
        }
        ago_copy(to, (const char *)x + place * args->bytes, args->bytes);
    }
}

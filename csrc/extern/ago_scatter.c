/* A reduction is a function of its own for each element type, chosen once a call. */
#include "ago_scatter.h"

typedef void combine_function(void *to, const void *from, int64_t count, int32_t reduction);

/* Sums and products of integers wrap around, in the unsigned type; NaN passes through both extremes. */
#define DEFINE_COMBINE(name, type, wide)                                                          \
    static void name(void *to, const void *from, int64_t count, int32_t reduction) {              \
        type *y = to;                                                                             \
        const type *x = from;                                                                     \
        for (int64_t i = 0; i < count; ++i) {                                                     \
            const type a = y[i], b = x[i];                                                        \
            switch (reduction) {                                                                  \
            case AGO_SCATTER_ADD:                                                                 \
                y[i] = (type)((wide)a + (wide)b);                                                 \
                break;                                                                            \
            case AGO_SCATTER_MUL:                                                                 \
                y[i] = (type)((wide)a * (wide)b);                                                 \
                break;                                                                            \
            case AGO_SCATTER_MAX:                                                                 \
                y[i] = a > b || a != a ? a : b;                                                   \
                break;                                                                            \
            case AGO_SCATTER_MIN:                                                                 \
                y[i] = a < b || a != a ? a : b;                                                   \
                break;                                                                            \
            default:                                                                              \
                y[i] = b;                                                                         \
            }                                                                                     \
        }                                                                                         \
    }

DEFINE_COMBINE(combine_f32, float, float)
DEFINE_COMBINE(combine_i64, int64_t, uint64_t)
DEFINE_COMBINE(combine_i32, int32_t, uint32_t)
DEFINE_COMBINE(combine_i16, int16_t, uint32_t)
DEFINE_COMBINE(combine_i8, int8_t, uint32_t)
DEFINE_COMBINE(combine_u8, uint8_t, uint32_t)

static combine_function *combine_of(int32_t type) {
    switch (type) {
    case AGO_F32:
        return combine_f32;
    case AGO_I64:
        return combine_i64;
    case AGO_I32:
        return combine_i32;
    case AGO_I16:
        return combine_i16;
    case AGO_I8:
        return combine_i8;
    default:
        return combine_u8;
    }
}

void ago_scatter_elements(const ago_scatter_elements_args *args, const void *x, const void *indices,
                          const void *updates, void *y) {
    combine_function *const combine = combine_of(args->type);
    int64_t position[AGO_MAX_RANK] = {0}, number = 0;
    ago_copy(y, x, args->size * args->bytes);
    do {
        const int64_t index =
            ago_wrap(ago_index_at(indices, number, args->indices), args->extent);
        int64_t place = index * args->strides[args->axis];
        for (int64_t axis = 0; axis < args->rank; ++axis) {
            place += axis == args->axis ? 0 : position[axis] * args->strides[axis];
        }
        if (index >= 0) {
            combine((char *)y + place * args->bytes, (const char *)updates + number * args->bytes, 1,
                    args->reduction);
        }
        ++number;
    } while (ago_next(position, args->shape, args->rank));
}

void ago_scatter_nd(const ago_scatter_nd_args *args, const void *x, const void *indices,
                    const void *updates, void *y) {
    combine_function *const combine = combine_of(args->type);
    ago_copy(y, x, args->size * args->bytes);
    for (int64_t tuple = 0; tuple < args->tuples; ++tuple) {
        int64_t place = 0;
        int inside = 1;
        for (int64_t k = 0; k < args->depth; ++k) {
            const int64_t given = ago_index_at(indices, tuple * args->depth + k, args->indices);
            const int64_t index = ago_wrap(given, args->extents[k]);
            inside = inside && index >= 0;
            place = place * args->extents[k] + (index < 0 ? 0 : index);
        }
        if (inside) {
            combine((char *)y + place * args->slice * args->bytes,
                    (const char *)updates + tuple * args->slice * args->bytes, args->slice,
                    args->reduction);
        }
    }
}

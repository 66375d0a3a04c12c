/*
 * TopK keeps the best k indices so far in a heap whose root is the worst of them, and sorts it in the
 * end. ArgMax walks the axis for a block of neighbouring lines at once, so that it reads rows.
 */
#include "ago_top_k.h"

#define BLOCK 64

/* One line along the axis. */
typedef struct {
    const void *x;
    int64_t stride;
    int32_t largest;
    int32_t type;
} line;

/* Negative if a comes before b by value, positive if behind, 0 if equal. */
static int compare_floats(float a, float b, int32_t largest) {
    const int nan_a = a != a, nan_b = b != b;
    const int less = nan_a != nan_b ? nan_b : a < b;
    const int more = nan_a != nan_b ? nan_a : a > b;
    return largest ? less - more : more - less;
}

static int compare(const line *of, int64_t a, int64_t b) {
    if (of->type == AGO_F32) {
        const float *x = of->x;
        return compare_floats(x[a * of->stride], x[b * of->stride], of->largest);
    }
    const int64_t left = ago_index_at(of->x, a * of->stride, of->type);
    const int64_t right = ago_index_at(of->x, b * of->stride, of->type);
    return of->largest ? (left < right) - (left > right) : (left > right) - (left < right);
}

static int before(const line *of, int64_t a, int64_t b) {
    const int order = compare(of, a, b);
    return order < 0 || (order == 0 && a < b);
}

/* Lets heap[root] sink until none of its children comes behind it. */
static void sink(const line *of, int64_t *heap, int64_t count, int64_t root) {
    for (int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && before(of, heap[child], heap[child + 1])) {
            ++child;
        }
        if (!before(of, heap[root], heap[child])) {
            return;
        }
        const int64_t moved = heap[root];
        heap[root] = heap[child];
        heap[child] = moved;
        root = child;
    }
}

/* The first `k` indices of a line in order. */
static void select_line(const line *of, int64_t extent, int64_t *best, int64_t k) {
    for (int64_t i = 0; i < k; ++i) {
        best[i] = i;
    }
    for (int64_t root = k / 2 - 1; root >= 0; --root) {
        sink(of, best, k, root);
    }
    for (int64_t i = k; i < extent; ++i) {
        if (before(of, i, best[0])) {
            best[0] = i;
            sink(of, best, k, 0);
        }
    }
    for (int64_t end = k - 1; end > 0; --end) {
        const int64_t last = best[0];
        best[0] = best[end];
        best[end] = last;
        sink(of, best, end, 0);
    }
}

static int64_t bytes_of(int32_t type) {
    switch (type) {
    case AGO_I64:
        return 8;
    case AGO_F32:
    case AGO_I32:
        return 4;
    case AGO_I16:
        return 2;
    default:
        return 1;
    }
}

void ago_top_k(const ago_top_k_args *args, const void *x, void *values, int64_t *indices,
               int64_t *scratch) {
    const int64_t bytes = bytes_of(args->type);
    for (int64_t number = 0; args->k > 0 && number < args->outer * args->inner; ++number) {
        const int64_t outer = number / args->inner, inner = number % args->inner;
        const char *from = (const char *)x + (outer * args->extent * args->inner + inner) * bytes;
        const line of = {from, args->inner, args->largest, args->type};
        select_line(&of, args->extent, scratch, args->k);
        for (int64_t i = 0; i < args->k; ++i) {
            const int64_t to = (outer * args->k + i) * args->inner + inner;
            ago_copy((char *)values + to * bytes, from + scratch[i] * args->inner * bytes, bytes);
            indices[to] = scratch[i];
        }
    }
}

/* Elements as doubles would lose integers above 2^53, so each type has a loop of its own. */
#define DEFINE_ARG_MAX(name, type)                                                                \
    static void name(const ago_arg_max_args *args, const type *x, int64_t count, int64_t *index) { \
        type best[BLOCK];                                                                         \
        for (int64_t j = 0; j < count; ++j) {                                                     \
            best[j] = x[j];                                                                       \
            index[j] = 0;                                                                         \
        }                                                                                         \
        for (int64_t i = 1; i < args->extent; ++i) {                                              \
            const type *row = x + i * args->inner;                                                \
            for (int64_t j = 0; j < count; ++j) {                                                 \
                const type a = row[j], b = best[j];                                               \
                const int beats = b == b && (a != a || (args->largest ? a > b : a < b));          \
                const int ties = args->select_last && (a == b || (a != a && b != b));             \
                best[j] = beats ? a : b;                                                          \
                index[j] = beats || ties ? i : index[j];                                          \
            }                                                                                     \
        }                                                                                         \
    }

DEFINE_ARG_MAX(arg_max_f32, float)
DEFINE_ARG_MAX(arg_max_i64, int64_t)
DEFINE_ARG_MAX(arg_max_i32, int32_t)
DEFINE_ARG_MAX(arg_max_i16, int16_t)
DEFINE_ARG_MAX(arg_max_i8, int8_t)
DEFINE_ARG_MAX(arg_max_u8, uint8_t)

void ago_arg_max(const ago_arg_max_args *args, const void *x, int64_t *indices) {
    for (int64_t outer = 0; outer < args->outer; ++outer) {
        for (int64_t start = 0; start < args->inner; start += BLOCK) {
            const int64_t left = args->inner - start, count = left < BLOCK ? left : BLOCK;
            const int64_t from = outer * args->extent * args->inner + start;
            int64_t *to = indices + outer * args->inner + start;
            switch (args->type) {
            case AGO_F32:
                arg_max_f32(args, (const float *)x + from, count, to);
                break;
            case AGO_I64:
                arg_max_i64(args, (const int64_t *)x + from, count, to);
                break;
            case AGO_I32:
                arg_max_i32(args, (const int32_t *)x + from, count, to);
                break;
            case AGO_I16:
                arg_max_i16(args, (const int16_t *)x + from, count, to);
                break;
            case AGO_I8:
                arg_max_i8(args, (const int8_t *)x + from, count, to);
                break;
            default:
                arg_max_u8(args, (const uint8_t *)x + from, count, to);
            }
        }
    }
}

/*
 * TopK keeps the best k elements so far in a heap whose root is the worst of them, and sorts it in the
 * end. ArgMax walks the axis for a block of neighbouring lines at once, so that it reads rows.
 */
#include "ago_top_k.h"

#define BLOCK 64

/* An element on the way: a greater key comes first, and of equal ones the lower index. */
typedef struct {
    int64_t key;
    int64_t index;
} entry;

/* A number whose order is that of the elements, NaN above all, or the opposite order. */
AGO_INLINE int64_t key_of(const void *x, int64_t position, int32_t type, int32_t largest) {
    int64_t key;
    if (type == AGO_F32) {
        const float value = ((const float *)x)[position] + 0.0f; /* -0 becomes 0 */
        int32_t bits;
        ago_copy(&bits, &value, 4);
        key = value != value ? INT32_MAX : bits < 0 ? bits ^ INT32_MAX : bits;
    } else {
        key = ago_index_at(x, position, type);
    }
    return largest ? key : ~key;
}

static int before(entry a, entry b) {
    return a.key > b.key || (a.key == b.key && a.index < b.index);
}

/* Lets heap[root] sink until none of its children comes behind it. */
static void sink(entry *heap, int64_t count, int64_t root) {
    const entry moved = heap[root];
    for (int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        child += child + 1 < count && before(heap[child], heap[child + 1]);
        if (!before(moved, heap[child])) {
            break;
        }
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = moved;
}

/* The first `k` elements of a line in order. */
static void select_line(const ago_top_k_args *args, const void *x, entry *best) {
    const int64_t k = args->k;
    for (int64_t i = 0; i < k; ++i) {
        best[i] = (entry){key_of(x, i * args->inner, args->type, args->largest), i};
    }
    for (int64_t root = k / 2 - 1; root >= 0; --root) {
        sink(best, k, root);
    }
    for (int64_t i = k; i < args->extent; ++i) {
        const entry next = {key_of(x, i * args->inner, args->type, args->largest), i};
        if (next.key > best[0].key) {
            best[0] = next;
            sink(best, k, 0);
        }
    }
    for (int64_t end = k - 1; end > 0; --end) {
        const entry last = best[0];
        best[0] = best[end];
        best[end] = last;
        sink(best, end, 0);
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
    entry *const best = (entry *)(void *)scratch;
    for (int64_t number = 0; args->k > 0 && number < args->outer * args->inner; ++number) {
        const int64_t outer = number / args->inner, inner = number % args->inner;
        const char *from = (const char *)x + (outer * args->extent * args->inner + inner) * bytes;
        select_line(args, from, best);
        for (int64_t i = 0; i < args->k; ++i) {
            const int64_t to = (outer * args->k + i) * args->inner + inner;
            ago_copy((char *)values + to * bytes, from + best[i].index * args->inner * bytes, bytes);
            indices[to] = best[i].index;
        }
    }
}

/* Elements as doubles would lose integers above 2^53, so each type has a loop of its own. */
#define DEFINE_ARG_MAX(name, type)                                                                \
    static void name(const ago_arg_max_args *args, const type *x, int64_t count, int32_t *index) { \
        const int32_t largest = args->largest, last = args->select_last;                          \
        type best[BLOCK];                                                                         \
        for (int64_t j = 0; j < count; ++j) {                                                     \
            best[j] = x[j];                                                                       \
            index[j] = 0;                                                                         \
        }                                                                                         \
        for (int32_t i = 1; i < args->extent; ++i) {                                              \
            const type *row = x + i * args->inner;                                                \
            for (int64_t j = 0; j < count; ++j) {                                                 \
                const type a = row[j], b = best[j];                                               \
                const int nan_a = a != a, nan_b = b != b;                                         \
                const int beats = (nan_a | (largest ? a > b : a < b)) & !nan_b;                   \
                const int ties = last & ((a == b) | (nan_a & nan_b));                             \
                best[j] = beats ? a : b;                                                          \
                index[j] = beats | ties ? i : index[j];                                           \
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
            int32_t found[BLOCK];
            switch (args->type) {
            case AGO_F32:
                arg_max_f32(args, (const float *)x + from, count, found);
                break;
            case AGO_I64:
                arg_max_i64(args, (const int64_t *)x + from, count, found);
                break;
            case AGO_I32:
                arg_max_i32(args, (const int32_t *)x + from, count, found);
                break;
            case AGO_I16:
                arg_max_i16(args, (const int16_t *)x + from, count, found);
                break;
            case AGO_I8:
                arg_max_i8(args, (const int8_t *)x + from, count, found);
                break;
            default:
                arg_max_u8(args, (const uint8_t *)x + from, count, found);
            }
            for (int64_t j = 0; j < count; ++j) {
                indices[outer * args->inner + start + j] = found[j];
            }
        }
    }
}

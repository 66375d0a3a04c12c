#include "ago_one_hot.h"

void ago_one_hot(const ago_one_hot_args *args, const void *indices, const void *values,
                 void *y) {
    const char *off = values, *on = off + args->bytes;
    char *to = y;
    for (int64_t outer = 0; outer < args->outer; ++outer) {
        for (int64_t position = 0; position < args->depth; ++position) {
            for (int64_t inner = 0; inner < args->inner; ++inner, to += args->bytes) {
                const int64_t number = outer * args->inner + inner;
                const int64_t index = ago_index_at(indices, number, args->indices);
                const int hot = ago_wrap(index, args->depth) == position;
                ago_copy(to, hot ? on : off, args->bytes);
            }
        }
    }
}

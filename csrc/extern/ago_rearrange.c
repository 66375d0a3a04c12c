#include "ago_rearrange.h"

void ago_reverse_sequence(const ago_reverse_sequence_args *args, const void *x, const void *lengths,
                          void *y) {
    for (int64_t row = 0; row < args->batch; ++row) {
        const int64_t given = ago_index_at(lengths, row, args->lengths);
        const int64_t length = given < 0 ? 0 : given < args->steps ? given : args->steps;
        for (int64_t step = 0; step < args->steps; ++step) {
            const int64_t from = step < length ? length - 1 - step : step;
            const int64_t a = args->batch_first ? row * args->steps + step : step * args->batch + row;
            const int64_t b = args->batch_first ? row * args->steps + from : from * args->batch + row;
            ago_copy((char *)y + a * args->bytes, (const char *)x + b * args->bytes, args->bytes);
        }
    }
}

void ago_trilu(const ago_trilu_args *args, const void *x, const void *diagonal, void *y) {
    static const uint64_t zero = 0;
    const int64_t given = ago_index_at(diagonal, 0, args->diagonal);
    const int64_t least = -args->rows, most = args->columns; /* beyond them nothing changes */
    const int64_t k = given < least ? least : given > most ? most : given;
    int64_t at = 0;
    for (int64_t number = 0; number < args->matrices * args->rows; ++number) {
        const int64_t row = number % args->rows;
        for (int64_t column = 0; column < args->columns; ++column, at += args->bytes) {
            const int kept = args->upper ? column >= row + k : column <= row + k;
            const void *from = kept ? (const void *)((const char *)x + at) : (const void *)&zero;
            ago_copy((char *)y + at, from, args->bytes);
        }
    }
}

/*
 * Inner products of rows, for externs that contain a matrix product.
 *
 * The order of each sum is fixed: lane k % AGO_LANES of the depth, then the lanes one after another,
 * then what is left over.
 */
#ifndef AGO_PRODUCTS_H
#define AGO_PRODUCTS_H

#include "ago_extern.h"

#if defined(__GNUC__) || defined(__clang__)
#define AGO_LANES 8
typedef float ago_lanes __attribute__((vector_size(32), aligned(4), may_alias));
#define AGO_LANE(vector, lane) ((vector)[lane])
#else
#define AGO_LANES 1
typedef float ago_lanes;
#define AGO_LANE(vector, lane) (vector)
#endif

#if defined(__clang__) && defined(__has_builtin) && (defined(__FMA__) || defined(__aarch64__))
#if __has_builtin(__builtin_elementwise_fma)
#define AGO_MULTIPLY_ADD(a, b, c) __builtin_elementwise_fma(a, b, c)
#endif
#endif
#ifndef AGO_MULTIPLY_ADD
#define AGO_MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* Rows and columns of a tile: 12 sums, or 6 of a single row, hide the latency of the additions. */
#define AGO_TILE_ROWS 4
#define AGO_TILE_COLUMNS 6

/* One tile of `ago_add_products`; `rows` and `columns` are constants. */
AGO_INLINE void ago_add_products_tile(const float *const *a, int rows, const float *b, int columns,
                                      int64_t depth, float *c, int64_t stride) {
    const int64_t whole = depth / AGO_LANES * AGO_LANES;
    ago_lanes sums[AGO_TILE_ROWS][AGO_TILE_COLUMNS] = {{{0}}};
    for (int64_t k = 0; k < whole; k += AGO_LANES) {
        for (int row = 0; row < rows; ++row) {
            const ago_lanes left = *(const ago_lanes *)(const void *)(a[row] + k);
            for (int column = 0; column < columns; ++column) {
                const ago_lanes right = *(const ago_lanes *)(const void *)(b + column * depth + k);
                sums[row][column] = AGO_MULTIPLY_ADD(left, right, sums[row][column]);
            }
        }
    }
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            float sum = 0.0f;
            for (int lane = 0; lane < AGO_LANES; ++lane) {
                sum += AGO_LANE(sums[row][column], lane);
            }
            for (int64_t k = whole; k < depth; ++k) {
                sum += a[row][k] * b[column * depth + k];
            }
            c[row * stride + column] += sum;
        }
    }
}

/* c[r * stride + j] += sum over k of a[r][k] * b[j * depth + k], for all rows r and columns j. */
AGO_INLINE void ago_add_products(const float *const *a, int64_t rows, const float *b,
                                 int64_t columns, int64_t depth, float *c, int64_t stride) {
    const int64_t tiled = rows / AGO_TILE_ROWS * AGO_TILE_ROWS;
    int64_t column = 0;
    for (; column + AGO_TILE_COLUMNS <= columns; column += AGO_TILE_COLUMNS) {
        const float *block = b + column * depth; /* a few rows of b serve all of a */
        for (int64_t row = 0; row < tiled; row += AGO_TILE_ROWS) {
            float *to = c + row * stride + column;
            ago_add_products_tile(a + row, AGO_TILE_ROWS, block, 3, depth, to, stride);
            ago_add_products_tile(a + row, AGO_TILE_ROWS, block + 3 * depth, 3, depth, to + 3, stride);
        }
        for (int64_t row = tiled; row < rows; ++row) {
            ago_add_products_tile(a + row, 1, block, AGO_TILE_COLUMNS, depth,
                                  c + row * stride + column, stride);
        }
    }
    for (; column < columns; ++column) {
        for (int64_t row = 0; row < rows; ++row) {
            ago_add_products_tile(a + row, 1, b + column * depth, 1, depth,
                                  c + row * stride + column, stride);
        }
    }
}

#endif /* AGO_PRODUCTS_H */

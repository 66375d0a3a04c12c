/* Gaussian elimination in double; the pivot is the largest element of its column. */
#include "ago_det.h"

static double magnitude(double value) {
    return value < 0.0 ? -value : value;
}

static void swap_rows(double *matrix, int64_t size, int64_t a, int64_t b) {
    for (int64_t j = 0; j < size; ++j) {
        const double moved = matrix[a * size + j];
        matrix[a * size + j] = matrix[b * size + j];
        matrix[b * size + j] = moved;
    }
}

static double determinant(double *matrix, int64_t size) {
    double result = 1.0;
    for (int64_t k = 0; k < size; ++k) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < size; ++i) {
            if (magnitude(matrix[i * size + k]) > magnitude(matrix[pivot * size + k])) {
                pivot = i;
            }
        }
        if (pivot != k) {
            swap_rows(matrix, size, k, pivot);
            result = -result;
        }
        const double first = matrix[k * size + k];
        result *= first;
        if (first == 0.0) {
            return result;
        }
        for (int64_t i = k + 1; i < size; ++i) {
            const double factor = matrix[i * size + k] / first;
            for (int64_t j = k + 1; j < size; ++j) {
                matrix[i * size + j] -= factor * matrix[k * size + j];
            }
        }
    }
    return result;
}

void ago_det(const ago_det_args *args, const float *x, float *y, double *scratch) {
    const int64_t count = args->size * args->size;
    for (int64_t number = 0; number < args->matrices; ++number) {
        for (int64_t i = 0; i < count; ++i) {
            scratch[i] = (double)x[number * count + i];
        }
        y[number] = (float)determinant(scratch, args->size);
    }
}

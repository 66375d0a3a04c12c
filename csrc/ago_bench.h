/*
 * What the benchmark program (ago_bench_main.c) knows of the model it is linked with. The build
 * writes one file that defines `ago_bench`.
 */
#ifndef AGO_BENCH_H
#define AGO_BENCH_H

#include "ago_runtime.h"

/* One input or output: a dense array, of float32 where `floats` is 1. */
typedef struct {
    const char *name;
    size_t bytes;
    int32_t floats;
} ago_bench_tensor;

typedef struct {
    const char *name;
    int32_t (*init)(ago_context *context, const void *weights, size_t weights_bytes,
                    void *workspace, size_t workspace_bytes);
    int32_t (*run)(const ago_context *context, const void *const *inputs, void *const *outputs);
    int32_t (*step)(const ago_context *context, int32_t index, const void *const *inputs,
                    void *const *outputs);
    int32_t step_count;
    const char *(*error_text)(int32_t code);
    const ago_bench_tensor *inputs;
    size_t input_count;
    const ago_bench_tensor *outputs;
    size_t output_count;
    const void *weights; /* embedded, or NULL: then --weights FILE is required */
    size_t weights_bytes;
    size_t workspace_bytes;
} ago_bench_model;

extern const ago_bench_model ago_bench;

#endif /* AGO_BENCH_H */

"""A model written by hand in the form the code generator emits: y = relu(W x + b), in two steps."""

from __future__ import annotations

import numpy as np

from ago.runtime.artifact import Artifact, TensorInfo
from ago.target import Target

ROWS, COLUMNS = 5, 7
FINGERPRINT = 12345

_HEADER = """\
#ifndef SMALL_H
#define SMALL_H
#include "ago_model.h"
#define SMALL_WEIGHTS_BYTES 384
#define SMALL_WORKSPACE_BYTES 64
#define SMALL_STEPS 2
#define SMALL_ALIGNMENT 64
#define SMALL_INPUTS 1
#define SMALL_OUTPUTS 1
#define SMALL_INPUT_0_NAME "x"
#define SMALL_INPUT_0_BYTES 28
#define SMALL_OUTPUT_0_NAME "y"
#define SMALL_OUTPUT_0_BYTES 20
extern AGO_EXPORT const unsigned char small_weights[];
AGO_EXPORT int32_t small_init(ago_context *context, const void *weights, size_t weights_bytes,
                              void *workspace, size_t workspace_bytes);
AGO_EXPORT int32_t small_run(const ago_context *context, const void *const *inputs,
                             void *const *outputs);
AGO_EXPORT int32_t small_step(const ago_context *context, int32_t index,
                              const void *const *inputs, void *const *outputs);
AGO_EXPORT int32_t small_set_pool(ago_context *context, const ago_pool *pool);
AGO_EXPORT const char *small_error_text(int32_t code);
extern AGO_HIDDEN const uint64_t small_cpu;
AGO_HIDDEN void small_affine(const float *x, const float *weights, float *sums);
#endif
"""

_AFFINE = """\
#include "small.h"

const uint64_t small_cpu = AGO_CPU_FEATURES;

/* weights: b[5] padded to 16 floats, then W[5][7] */
void small_affine(const float *x, const float *weights, float *sums) {
    for (int32_t row = 0; row < 5; ++row) {
        float sum = weights[row];
        for (int32_t column = 0; column < 7; ++column) {
            sum = sum + weights[16 + 7 * row + column] * x[column];
        }
        sums[row] = sum;
    }
}
"""

_MAIN = """\
#include "small.h"

static const uint8_t element_bytes[] = {4, 4};
static const ago_model model = {
    FINGERPRINT, SMALL_WEIGHTS_BYTES, SMALL_WORKSPACE_BYTES, &small_cpu, 1, 1, element_bytes,
};

int32_t small_init(ago_context *context, const void *weights, size_t weights_bytes,
                   void *workspace, size_t workspace_bytes) {
    return ago_init(&model, context, weights, weights_bytes, workspace, workspace_bytes);
}

int32_t small_set_pool(ago_context *context, const ago_pool *pool) {
    return ago_set_pool(&model, context, pool);
}

const char *small_error_text(int32_t code) {
    return ago_error_text(code);
}

int32_t small_step(const ago_context *context, int32_t index, const void *const *inputs,
                   void *const *outputs) {
    const int32_t code = ago_check(&model, context, inputs, outputs);
    if (code != AGO_OK) {
        return code;
    }
    const void *weights = context->weights;
    void *workspace = context->workspace;
    float *sums = workspace;
    float *y = outputs[0];
    struct block { float values[5]; } copy;
    switch (index) {
    case 0:
        small_affine(inputs[0], weights, sums);
        return AGO_OK;
    case 1:
        copy = *(const struct block *)workspace; /* becomes a call of memcpy without optimisation */
        for (int32_t i = 0; i < 5; ++i) {
            y[i] = copy.values[i] < 0.0f ? 0.0f : copy.values[i];
        }
        return AGO_OK;
    default:
        return AGO_ERROR_STEP;
    }
}

int32_t small_run(const ago_context *context, const void *const *inputs, void *const *outputs) {
    for (int32_t index = 0; index < SMALL_STEPS; ++index) {
        int32_t code = small_step(context, index, inputs, outputs);
        if (code != AGO_OK) {
            return code;
        }
    }
    return AGO_OK;
}
""".replace("FINGERPRINT", str(FINGERPRINT))


def small_artifact(target: Target) -> Artifact:
    """The model with small-integer weights, so that float32 results are exact."""
    bias, matrix = parameters()
    blob = np.zeros(80, np.float32)
    blob[:ROWS] = bias
    blob[16 : 16 + ROWS * COLUMNS] = matrix.ravel()
    return Artifact(
        name="small",
        sources={"small.h": _HEADER, "small_affine.c": _AFFINE, "small.c": _MAIN},
        weights=blob.tobytes(),
        workspace_bytes=64,
        inputs=(TensorInfo("x", (1, COLUMNS)),),
        outputs=(TensorInfo("y", (1, ROWS)),),
        target=target,
        steps=("affine", "relu"),
        fingerprint=FINGERPRINT,
    )


def parameters() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    bias = rng.integers(-4, 5, ROWS).astype(np.float32)
    return bias, rng.integers(-4, 5, (ROWS, COLUMNS)).astype(np.float32)


def some_input() -> np.ndarray:
    return np.arange(-3, COLUMNS - 3, dtype=np.float32).reshape(1, COLUMNS)


def expected(x: np.ndarray) -> np.ndarray:
    bias, matrix = parameters()
    return np.maximum(x @ matrix.T + bias, 0)

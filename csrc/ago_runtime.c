/*
 * The checks of ago_model.h. Compiled without the target's own flags, so that it runs on any CPU of
 * the architecture and can say what the CPU lacks.
 */
#include "ago_model.h"

#if defined(__GNUC__) || defined(__clang__)
typedef uint64_t __attribute__((may_alias)) weights_word;
#else
typedef uint64_t weights_word;
#endif

static int is_aligned(const void *pointer, uintptr_t bytes) {
    return ((uintptr_t)pointer & (bytes - 1)) == 0;
}

/* The hash of ago_weights_header, as four sums side by side; `count` is a multiple of 4. */
static uint64_t hash_of(const weights_word *words, size_t count) {
    const uint64_t p = AGO_WEIGHTS_PRIME, p2 = p * p, p3 = p2 * p, p4 = p2 * p2;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i < count; i += 4) {
        a = a * p4 + words[i];
        b = b * p4 + words[i + 1];
        c = c * p4 + words[i + 2];
        d = d * p4 + words[i + 3];
    }
    return a * p3 + b * p2 + c * p + d;
}

static int32_t check_weights(const ago_model *model, const void *weights, size_t bytes) {
    const weights_word *words = (const weights_word *)weights; /* an ago_weights_header first */
    const size_t header = sizeof(ago_weights_header) / sizeof *words;
    if (bytes != model->weights_bytes) {
        return AGO_ERROR_WEIGHTS_SIZE;
    }
    if (bytes == 0) {
        return AGO_OK;
    }
    if (weights == NULL) {
        return AGO_ERROR_NULL;
    }
    if (!is_aligned(weights, AGO_ALIGNMENT)) {
        return AGO_ERROR_ALIGNMENT;
    }
    if (words[0] != AGO_WEIGHTS_MAGIC) {
        return AGO_ERROR_WEIGHTS_MAGIC;
    }
    if (words[2] != model->fingerprint) {
        return AGO_ERROR_WEIGHTS_MODEL;
    }
    if (words[1] != bytes) {
        return AGO_ERROR_WEIGHTS_SIZE;
    }
    for (size_t i = 4; i < header; ++i) {
        if (words[i] != 0) {
            return AGO_ERROR_WEIGHTS_HASH;
        }
    }
    return words[3] == hash_of(words + header, bytes / sizeof *words - header)
               ? AGO_OK
               : AGO_ERROR_WEIGHTS_HASH;
}

static int32_t check_workspace(const ago_model *model, const void *workspace, size_t bytes) {
    if (bytes < model->workspace_bytes) {
        return AGO_ERROR_WORKSPACE;
    }
    if (model->workspace_bytes == 0) {
        return AGO_OK;
    }
    if (workspace == NULL) {
        return AGO_ERROR_NULL;
    }
    return is_aligned(workspace, AGO_ALIGNMENT) ? AGO_OK : AGO_ERROR_ALIGNMENT;
}

int32_t ago_init(const ago_model *model, ago_context *context, const void *weights,
                 size_t weights_bytes, void *workspace, size_t workspace_bytes) {
    if (context == NULL) {
        return AGO_ERROR_NULL;
    }
    if (!is_aligned(context, sizeof(void *))) {
        return AGO_ERROR_ALIGNMENT;
    }
    context->model = 0;
    if (ago_cpu_lacks(*model->features) != 0) {
        return AGO_ERROR_CPU;
    }
    int32_t code = check_workspace(model, workspace, workspace_bytes);
    if (code == AGO_OK) {
        code = check_weights(model, weights, weights_bytes);
    }
    if (code != AGO_OK) {
        return code;
    }
    context->weights =
        weights_bytes == 0 ? weights : (const char *)weights + sizeof(ago_weights_header);
    context->workspace = workspace;
    context->pool = NULL;
    context->model = model->fingerprint;
    return AGO_OK;
}

static int32_t check_context(const ago_model *model, const ago_context *context) {
    if (context == NULL) {
        return AGO_ERROR_NULL;
    }
    if (!is_aligned(context, sizeof(void *))) {
        return AGO_ERROR_ALIGNMENT;
    }
    return context->model == model->fingerprint ? AGO_OK : AGO_ERROR_CONTEXT;
}

static int32_t check_array(const void *array, uintptr_t element_bytes) {
    if (array == NULL) {
        return AGO_ERROR_NULL;
    }
    return is_aligned(array, element_bytes) ? AGO_OK : AGO_ERROR_ALIGNMENT;
}

int32_t ago_check(const ago_model *model, const ago_context *context, const void *const *inputs,
                  void *const *outputs) {
    int32_t code = check_context(model, context);
    if (code == AGO_OK && model->inputs > 0) {
        code = check_array((const void *)inputs, sizeof *inputs);
    }
    if (code == AGO_OK && model->outputs > 0) {
        code = check_array((const void *)outputs, sizeof *outputs);
    }
    for (int32_t i = 0; code == AGO_OK && i < model->inputs; ++i) {
        code = check_array(inputs[i], model->element_bytes[i]);
    }
    for (int32_t i = 0; code == AGO_OK && i < model->outputs; ++i) {
        code = check_array(outputs[i], model->element_bytes[model->inputs + i]);
    }
    return code;
}

int32_t ago_set_pool(const ago_model *model, ago_context *context, const ago_pool *pool) {
    int32_t code = check_context(model, context);
    if (code == AGO_OK && pool != NULL && (pool->thread_count == NULL || pool->run == NULL)) {
        code = AGO_ERROR_NULL;
    }
    if (code == AGO_OK) {
        context->pool = pool;
    }
    return code;
}

const char *ago_error_text(int32_t code) {
    switch (code) {
    case AGO_OK:
        return "no error";
    case AGO_ERROR_NULL:
        return "a required pointer is null";
    case AGO_ERROR_ALIGNMENT:
        return "an address is not aligned: weights and workspace to 64 bytes, arrays to their "
               "elements";
    case AGO_ERROR_STEP:
        return "no step has this index";
    case AGO_ERROR_CONTEXT:
        return "the context was not initialised by this model";
    case AGO_ERROR_WORKSPACE:
        return "the workspace is too small";
    case AGO_ERROR_WEIGHTS_SIZE:
        return "the weights have the wrong size";
    case AGO_ERROR_WEIGHTS_MAGIC:
        return "the weights do not begin as a file of weights does";
    case AGO_ERROR_WEIGHTS_MODEL:
        return "the weights belong to another model or another compilation of it";
    case AGO_ERROR_WEIGHTS_HASH:
        return "the weights are damaged";
    case AGO_ERROR_CPU:
        return "this CPU lacks instructions that the model was compiled for";
    default:
        return "unknown error";
    }
}

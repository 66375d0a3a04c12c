/* Calls one step of a compiled model many times, so that the call from Python does not count. */
#include "ago_runtime.h"

typedef int32_t (*ago_step)(const ago_context *context, int32_t index, const void *const *inputs,
                            void *const *outputs);

/* Returns the first error code, or AGO_OK. */
AGO_EXPORT int32_t ago_repeat(ago_step step, int64_t times, const ago_context *context,
                              int32_t index, const void *const *inputs, void *const *outputs) {
    int32_t code = AGO_OK;
    for (int64_t i = 0; i < times && code == AGO_OK; ++i) {
        code = step(context, index, inputs, outputs);
    }
    return code;
}

/*
 * Contexts in several threads at once, over one set of weights, each with a pool of its own or with
 * none: the results are those of one thread alone, under ThreadSanitizer.
 *
 *   threads WEIGHTS
 */
#define _POSIX_C_SOURCE 200809L

#include "ago_pool.h"
#include "little.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CALLERS = 3, RUNS = 40 };

static AGO_ALIGNED(LITTLE_ALIGNMENT) unsigned char weights[LITTLE_WEIGHTS_BYTES];
static AGO_ALIGNED(LITTLE_ALIGNMENT) unsigned char workspaces[CALLERS + 1][LITTLE_WORKSPACE_BYTES];
static float expected[CALLERS][LITTLE_OUTPUT_0_ELEMENTS];

typedef struct {
    int number;
    ago_pool *pool;
    int failures;
} caller;

/* Runs the model on an input that depends on the caller. */
static int32_t infer(int number, unsigned char *workspace, ago_pool *pool, float *first) {
    float image[LITTLE_INPUT_0_ELEMENTS], second[LITTLE_OUTPUT_1_ELEMENTS];
    const void *inputs[] = {image};
    void *outputs[] = {first, second};
    ago_context net;
    for (size_t i = 0; i < LITTLE_INPUT_0_ELEMENTS; ++i) {
        image[i] = (float)((i * (size_t)(number + 1)) % 7) - 3.0f;
    }
    int32_t code =
        little_init(&net, weights, LITTLE_WEIGHTS_BYTES, workspace, LITTLE_WORKSPACE_BYTES);
    if (code == AGO_OK) {
        code = little_set_pool(&net, pool);
    }
    return code == AGO_OK ? little_run(&net, inputs, outputs) : code;
}

/* Two pools of the caller's own, on the calling thread: one takes the chunks backwards, the other
 * says that it has one thread, and is not asked to run anything. `self` counts the runs. */
static void run_backwards(void *self, void (*task)(void *data, int32_t chunk), void *data,
                          int32_t chunks) {
    for (*(int *)self += chunks > 1; chunks > 0; --chunks) {
        task(data, chunks - 1);
    }
}

static int32_t four(void *self) { return (void)self, 4; }

static int32_t one(void *self) { return (void)self, 1; }

static void *call(void *argument) {
    caller *self = argument;
    float first[LITTLE_OUTPUT_0_ELEMENTS];
    for (int run = 0; run < RUNS; ++run) {
        memset(first, 0xff, sizeof first);
        self->failures += infer(self->number, workspaces[self->number], self->pool, first) != AGO_OK;
        self->failures += memcmp(first, expected[self->number], sizeof first) != 0;
    }
    return NULL;
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    pthread_t threads[CALLERS];
    caller callers[CALLERS];
    int failures = 0;
    if (file == NULL || fread(weights, sizeof weights, 1, file) != 1) {
        return 2;
    }
    fclose(file);
    for (int k = 0; k < CALLERS; ++k) {
        failures += infer(k, workspaces[CALLERS], NULL, expected[k]) != AGO_OK;
        callers[k] = (caller){k, k == 0 ? NULL : ago_pool_create(k + 1, NULL), 0};
    }
    failures += memcmp(expected[0], expected[1], sizeof expected[0]) == 0;
    int used = 0, unused = 0;
    float first[LITTLE_OUTPUT_0_ELEMENTS];
    ago_pool own = {&used, four, run_backwards}, small = {&unused, one, run_backwards};
    failures += infer(1, workspaces[CALLERS], &own, first) != AGO_OK;
    failures += used == 0 || memcmp(first, expected[1], sizeof first) != 0;
    failures += infer(2, workspaces[CALLERS], &small, first) != AGO_OK;
    failures += unused != 0 || memcmp(first, expected[2], sizeof first) != 0;
    ago_pool without_run = {NULL, four, NULL}, without_count = {NULL, NULL, run_backwards};
    failures += infer(0, workspaces[CALLERS], &without_run, first) != AGO_ERROR_NULL;
    failures += infer(0, workspaces[CALLERS], &without_count, first) != AGO_ERROR_NULL;
    for (int k = 0; k < CALLERS; ++k) {
        failures += pthread_create(&threads[k], NULL, call, &callers[k]) != 0;
    }
    for (int k = 0; k < CALLERS; ++k) {
        pthread_join(threads[k], NULL);
        failures += callers[k].failures;
        ago_pool_destroy(callers[k].pool);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}

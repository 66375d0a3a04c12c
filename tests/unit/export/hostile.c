/*
 * What careless or hostile callers do to an exported model. Each misuse must give its error code and
 * touch nothing else, under AddressSanitizer and UndefinedBehaviorSanitizer.
 *
 *   hostile WEIGHTS ROUNDS
 */
#define _POSIX_C_SOURCE 200809L

#include "little.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int32_t code, int32_t wanted, const char *call) {
    if (code != wanted) {
        printf("%s gave %d, expected %d\n", call, (int)code, (int)wanted);
        ++failures;
    }
}

#define EXPECT(call, wanted) expect(call, wanted, #call)

/* Memory of exactly this size, so that a byte too far is found. */
static unsigned char *exactly(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, LITTLE_ALIGNMENT, bytes) != 0) {
        exit(2);
    }
    return memory;
}

static unsigned char *load(const char *path) {
    unsigned char *weights = exactly(LITTLE_WEIGHTS_BYTES);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(weights, 1, LITTLE_WEIGHTS_BYTES, file) != LITTLE_WEIGHTS_BYTES) {
        exit(2);
    }
    fclose(file);
    return weights;
}

static float image[LITTLE_INPUT_0_ELEMENTS + 1], first[LITTLE_OUTPUT_0_ELEMENTS + 1];
static float second[LITTLE_OUTPUT_1_ELEMENTS + 1];

static void misuse_init(const unsigned char *weights, unsigned char *workspace) {
    const size_t size = LITTLE_WEIGHTS_BYTES, room = LITTLE_WORKSPACE_BYTES;
    unsigned char *moved = exactly(size + LITTLE_ALIGNMENT), raw[sizeof(ago_context) + 8];
    ago_context net;
    EXPECT(little_init(NULL, weights, size, workspace, room), AGO_ERROR_NULL);
    EXPECT(little_init((ago_context *)(void *)(raw + 1 + ((size_t)raw & 1)), weights, size,
                       workspace, room),
           AGO_ERROR_ALIGNMENT);
    EXPECT(little_init(&net, NULL, size, workspace, room), AGO_ERROR_NULL);
    EXPECT(little_init(&net, weights, size, NULL, room), AGO_ERROR_NULL);
    EXPECT(little_init(&net, weights, 0, workspace, room), AGO_ERROR_WEIGHTS_SIZE);
    EXPECT(little_init(&net, weights, size - 1, workspace, room), AGO_ERROR_WEIGHTS_SIZE);
    EXPECT(little_init(&net, weights, size + 1, workspace, room), AGO_ERROR_WEIGHTS_SIZE);
    EXPECT(little_init(&net, weights, SIZE_MAX, workspace, room), AGO_ERROR_WEIGHTS_SIZE);
    EXPECT(little_init(&net, weights, size, workspace, room - 1), AGO_ERROR_WORKSPACE);
    EXPECT(little_init(&net, weights, size, workspace, 0), AGO_ERROR_WORKSPACE);
    EXPECT(little_init(&net, weights, size, workspace + 32, room), AGO_ERROR_ALIGNMENT);
    for (size_t by = 1; by < LITTLE_ALIGNMENT; ++by) {
        memcpy(moved + by, weights, size);
        EXPECT(little_init(&net, moved + by, size, workspace, room), AGO_ERROR_ALIGNMENT);
    }
    /* After an error there is no context, even where there was one before. */
    EXPECT(little_init(&net, weights, size, workspace, room), AGO_OK);
    EXPECT(little_init(&net, NULL, size, workspace, room), AGO_ERROR_NULL);
    EXPECT(little_run(&net, NULL, NULL), AGO_ERROR_CONTEXT);
    free(moved);
}

static void misuse_header(const unsigned char *weights, unsigned char *workspace) {
    static const int32_t wanted[] = {AGO_ERROR_WEIGHTS_MAGIC, AGO_ERROR_WEIGHTS_SIZE,
                                     AGO_ERROR_WEIGHTS_MODEL, AGO_ERROR_WEIGHTS_HASH};
    unsigned char *copy = exactly(LITTLE_WEIGHTS_BYTES);
    ago_context net;
    for (size_t at = 0; at < 64; ++at) {
        memcpy(copy, weights, LITTLE_WEIGHTS_BYTES);
        copy[at] ^= 0x40;
        EXPECT(little_init(&net, copy, LITTLE_WEIGHTS_BYTES, workspace, LITTLE_WORKSPACE_BYTES),
               wanted[at / 8 < 3 ? at / 8 : 3]);
    }
    free(copy);
}

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

/* Weights that were cut, or changed in a few places: never accepted, never read beyond their end. */
static void fuzz(const unsigned char *weights, unsigned char *workspace, int rounds) {
    uint64_t state = 1;
    ago_context net;
    for (int round = 0; round < rounds; ++round) {
        const int cut = draw(&state, 4) == 0;
        const size_t size = cut ? draw(&state, LITTLE_WEIGHTS_BYTES) : LITTLE_WEIGHTS_BYTES;
        unsigned char *copy = exactly(size + (size == 0));
        memcpy(copy, weights, size);
        for (uint32_t left = draw(&state, 4) + 1; left > 0 && size > 0; --left) {
            copy[draw(&state, (uint32_t)size)] ^= (unsigned char)(draw(&state, 255) + 1);
        }
        const int same = size == LITTLE_WEIGHTS_BYTES && memcmp(copy, weights, size) == 0;
        const int32_t code =
            little_init(&net, copy, size, workspace, LITTLE_WORKSPACE_BYTES);
        if ((code == AGO_OK) != same) {
            printf("round %d: damaged weights gave %d\n", round, (int)code);
            ++failures;
        }
        free(copy);
    }
}

static void misuse_run(const ago_context *net) {
    const void *inputs[] = {image}, *no_input[] = {NULL}, *odd[] = {(char *)image + 1};
    void *outputs[] = {first, second}, *one_output[] = {first, NULL};
    void *odd_output[] = {first, (char *)second + 2};
    ago_context zeros, ones, other = *net;
    memset(&zeros, 0, sizeof zeros);
    memset(&ones, 0xff, sizeof ones);
    ++other.model;
    EXPECT(little_run(NULL, inputs, outputs), AGO_ERROR_NULL);
    EXPECT(little_run(&zeros, inputs, outputs), AGO_ERROR_CONTEXT);
    EXPECT(little_run(&ones, inputs, outputs), AGO_ERROR_CONTEXT);
    EXPECT(little_run(&other, inputs, outputs), AGO_ERROR_CONTEXT);
    EXPECT(little_run(net, NULL, outputs), AGO_ERROR_NULL);
    EXPECT(little_run(net, inputs, NULL), AGO_ERROR_NULL);
    EXPECT(little_run(net, no_input, outputs), AGO_ERROR_NULL);
    EXPECT(little_run(net, inputs, one_output), AGO_ERROR_NULL);
    EXPECT(little_run(net, odd, outputs), AGO_ERROR_ALIGNMENT);
    EXPECT(little_run(net, inputs, odd_output), AGO_ERROR_ALIGNMENT);
    EXPECT(little_step(net, -1, inputs, outputs), AGO_ERROR_STEP);
    EXPECT(little_step(net, LITTLE_STEPS, inputs, outputs), AGO_ERROR_STEP);
    EXPECT(little_step(net, INT32_MIN, inputs, outputs), AGO_ERROR_STEP);
    EXPECT(little_step(net, INT32_MAX, inputs, outputs), AGO_ERROR_STEP);
    EXPECT(little_step(&zeros, 0, inputs, outputs), AGO_ERROR_CONTEXT);
    EXPECT(little_set_pool(NULL, NULL), AGO_ERROR_NULL);
    EXPECT(little_set_pool(&zeros, NULL), AGO_ERROR_CONTEXT);
    for (int32_t code = -3; code < 20; ++code) {
        const char *text = little_error_text(code);
        if (text == NULL || (strcmp(text, "unknown error") == 0) != (code < 0 || code > 10)) {
            printf("text of %d\n", (int)code);
            ++failures;
        }
    }
}

int main(int argc, char **argv) {
    const void *inputs[] = {image};
    void *outputs[] = {first, second};
    if (argc != 3) {
        return 2;
    }
    unsigned char *weights = load(argv[1]), *workspace = exactly(LITTLE_WORKSPACE_BYTES);
    float before[LITTLE_OUTPUT_1_ELEMENTS];
    ago_context net;
    misuse_init(weights, workspace);
    misuse_header(weights, workspace);
    fuzz(weights, workspace, atoi(argv[2]));
    EXPECT(little_init(&net, weights, LITTLE_WEIGHTS_BYTES, workspace, LITTLE_WORKSPACE_BYTES),
           AGO_OK);
    for (size_t i = 0; i < LITTLE_INPUT_0_ELEMENTS; ++i) {
        image[i] = (float)(i % 7) - 3.0f;
    }
    EXPECT(little_run(&net, inputs, outputs), AGO_OK);
    memcpy(before, second, sizeof before);
    misuse_run(&net);
    EXPECT(little_run(&net, inputs, outputs), AGO_OK);
    failures += memcmp(before, second, sizeof before) != 0;
    free(workspace);
    free(weights);
    printf("%d failures\n", failures);
    return failures != 0;
}

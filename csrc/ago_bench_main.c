/*
 * A benchmark program for one compiled model:
 *
 *   bench [--weights FILE] [--input FILE]... [--output FILE]... [--runs N] [--warmup W]
 *         [--passes N]
 *
 * Files hold raw little-endian elements in row-major order; the k-th --input or --output belongs to
 * the model's k-th input or output. Without --input the inputs are a fixed pseudo-random pattern in
 * [-1, 1). With --passes all steps of the model are timed so often, one after the other, and for
 * each a JSON object with its fastest time is printed. The last line printed is one JSON object with
 * the times of a run in milliseconds; early_ms and late_ms are the fastest of the first and the last
 * quarter of the runs: a device that became hot was faster at first.
 *
 * Exit codes: 0 done, 1 a file or memory problem, 2 wrong usage, 3 the model refused to run.
 * Needs no libc: the operating system is behind ago_sys.h.
 */
#include "ago_bench.h"
#include "ago_program.h"
#include "ago_runtime.h"
#include "ago_sys.h"

enum { EXIT_MODEL = 3, MAX_RUNS = 1000000 };

static const char usage[] =
    "usage: bench [--weights FILE] [--input FILE]... [--output FILE]... [--runs N] [--warmup W] "
    "[--passes N]";

typedef struct {
    const char *weights;  /* NULL: those inside the program */
    const char **inputs;  /* input_given file names */
    size_t input_given;
    const char **outputs; /* output_given file names */
    size_t output_given;
    size_t runs;
    size_t warmup;
    size_t passes;
} options;

/* Adds `, "name": <milliseconds with six decimals>`. */
static void add_time(line *to, const char *name, uint64_t nanoseconds) {
    add_text(to, ", \"");
    add_text(to, name);
    add_text(to, "\": ");
    add_number(to, nanoseconds / 1000000, 1);
    add_text(to, ".");
    add_number(to, nanoseconds % 1000000, 6);
}

static void add_count(line *to, const char *name, uint64_t value) {
    add_text(to, ", \"");
    add_text(to, name);
    add_text(to, "\": ");
    add_number(to, value, 1);
}

/* Fills an input with values in [-1, 1) that depend on `seed` alone: a 64-bit linear congruential
 * generator (Knuth's MMIX constants), of which the upper 24 bits are used. */
static void fill_pattern(float *values, size_t count, uint64_t seed) {
    uint64_t state = seed;
    for (size_t i = 0; i < count; ++i) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = (float)(state >> 40) * (1.0f / 8388608.0f) - 1.0f;
    }
}

static options parse_options(int argc, char **argv) {
    options given = {NULL, NULL, 0, NULL, 0, 10, 1, 0};
    given.inputs = allocate((size_t)argc * sizeof *given.inputs);
    given.outputs = allocate((size_t)argc * sizeof *given.outputs);
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i];
        if (i + 1 == argc) {
            fail(EXIT_USAGE, usage, "");
        }
        const char *value = argv[i + 1];
        if (is_equal(name, "--weights")) {
            given.weights = value;
        } else if (is_equal(name, "--input")) {
            given.inputs[given.input_given++] = value;
        } else if (is_equal(name, "--output")) {
            given.outputs[given.output_given++] = value;
        } else if (is_equal(name, "--runs")) {
            given.runs = parse_count(value, 1, MAX_RUNS);
        } else if (is_equal(name, "--warmup")) {
            given.warmup = parse_count(value, 0, MAX_RUNS);
        } else if (is_equal(name, "--passes")) {
            given.passes = parse_count(value, 0, MAX_RUNS);
        } else {
            fail(EXIT_USAGE, "unknown option ", name);
        }
    }
    return given;
}

static const void *load_weights(const options *given) {
    if (given->weights == NULL && ago_bench.weights == NULL && ago_bench.weights_bytes > 0) {
        fail(EXIT_USAGE, "this program has no weights inside: give --weights FILE", "");
    }
    if (given->weights == NULL) {
        return ago_bench.weights;
    }
    void *weights = allocate(ago_bench.weights_bytes);
    read_file(given->weights, weights, ago_bench.weights_bytes);
    return weights;
}

static const void **load_inputs(const options *given) {
    if (given->input_given != 0 && given->input_given != ago_bench.input_count) {
        fail(EXIT_USAGE, "give one --input for every input of the model, or none", "");
    }
    const void **inputs = allocate(ago_bench.input_count * sizeof *inputs);
    for (size_t i = 0; i < ago_bench.input_count; ++i) {
        const size_t bytes = ago_bench.inputs[i].bytes;
        void *values = allocate(bytes);
        if (given->input_given != 0) {
            read_file(given->inputs[i], values, bytes);
        } else if (ago_bench.inputs[i].floats) {
            fill_pattern(values, bytes / sizeof(float), i); /* other types stay 0 */
        }
        inputs[i] = values;
    }
    return inputs;
}

static void **make_outputs(const options *given) {
    if (given->output_given > ago_bench.output_count) {
        fail(EXIT_USAGE, "more --output files than the model has outputs", "");
    }
    void **outputs = allocate(ago_bench.output_count * sizeof *outputs);
    for (size_t i = 0; i < ago_bench.output_count; ++i) {
        outputs[i] = allocate(ago_bench.outputs[i].bytes);
    }
    return outputs;
}

static void check(int32_t code) {
    if (code != AGO_OK) {
        fail(EXIT_MODEL, "the model refused to run: ", ago_bench.error_text(code));
    }
}

/* Runs the model once and returns the time it took in nanoseconds. */
static uint64_t timed_run(const ago_context *context, const void *const *inputs,
                          void *const *outputs) {
    const uint64_t start = ago_sys_nanoseconds();
    const int32_t code = ago_bench.run(context, inputs, outputs);
    const uint64_t stop = ago_sys_nanoseconds();
    check(code);
    return stop - start;
}

/* Times each step, all steps in each pass, and prints the fastest time of each. */
static void time_steps(const ago_context *context, const void *const *inputs, void *const *outputs,
                       size_t passes) {
    const size_t count = (size_t)ago_bench.step_count;
    uint64_t *fastest = allocate(count * sizeof *fastest);
    for (size_t pass = 0; pass < passes; ++pass) {
        for (size_t i = 0; i < count; ++i) {
            const uint64_t start = ago_sys_nanoseconds();
            const int32_t code = ago_bench.step(context, (int32_t)i, inputs, outputs);
            const uint64_t time = ago_sys_nanoseconds() - start;
            check(code);
            fastest[i] = pass == 0 || time < fastest[i] ? time : fastest[i];
        }
    }
    for (size_t i = 0; passes > 0 && i < count; ++i) {
        line out = {.length = 0};
        add_text(&out, "{\"step\": ");
        add_number(&out, i, 1);
        add_time(&out, "min_ms", fastest[i]);
        add_text(&out, "}\n");
        write_all(AGO_SYS_STDOUT, out.text, out.length);
    }
}

static uint64_t least(const uint64_t *values, size_t count) {
    uint64_t found = values[0];
    for (size_t i = 1; i < count; ++i) {
        found = values[i] < found ? values[i] : found;
    }
    return found;
}

/* Sorts ascending, by Shell's method: no recursion and no extra memory for up to MAX_RUNS times. */
static void sort(uint64_t *values, size_t count) {
    for (size_t gap = count / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < count; ++i) {
            const uint64_t value = values[i];
            size_t slot = i;
            for (; slot >= gap && values[slot - gap] > value; slot -= gap) {
                values[slot] = values[slot - gap];
            }
            values[slot] = value;
        }
    }
}

static void report(uint64_t *times, size_t runs) {
    const size_t quarter = (runs + 3) / 4;
    const uint64_t early = least(times, quarter);
    const uint64_t late = least(times + runs - quarter, quarter);
    uint64_t sum = 0;
    for (size_t i = 0; i < runs; ++i) {
        sum += times[i];
    }
    sort(times, runs);
    line out = {.length = 0};
    add_text(&out, "{\"model\": \"");
    add_text(&out, ago_bench.name);
    add_text(&out, "\"");
    add_count(&out, "runs", runs);
    add_time(&out, "min_ms", times[0]);
    add_time(&out, "median_ms", (times[(runs - 1) / 2] + times[runs / 2]) / 2);
    add_time(&out, "mean_ms", sum / runs);
    add_time(&out, "early_ms", early);
    add_time(&out, "late_ms", late);
    add_count(&out, "workspace_bytes", ago_bench.workspace_bytes);
    add_count(&out, "weights_bytes", ago_bench.weights_bytes);
    add_text(&out, "}\n");
    write_all(AGO_SYS_STDOUT, out.text, out.length);
}

int main(int argc, char **argv) {
    const options given = parse_options(argc, argv);
    const void *weights = load_weights(&given);
    const void **inputs = load_inputs(&given);
    void **outputs = make_outputs(&given);
    void *workspace = allocate(ago_bench.workspace_bytes);
    uint64_t *times = allocate(given.runs * sizeof *times);
    ago_context context;

    check(ago_bench.init(&context, weights, ago_bench.weights_bytes, workspace,
                         ago_bench.workspace_bytes));
    for (size_t i = 0; i < given.warmup; ++i) {
        timed_run(&context, inputs, outputs);
    }
    for (size_t i = 0; i < given.runs; ++i) {
        times[i] = timed_run(&context, inputs, outputs);
    }
    for (size_t i = 0; i < given.output_given; ++i) {
        write_file(given.outputs[i], outputs[i], ago_bench.outputs[i].bytes);
    }
    time_steps(&context, inputs, outputs, given.passes);
    report(times, given.runs);
    return 0;
}

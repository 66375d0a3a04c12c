/*
 * A program that checks and times candidates of one workload:
 *
 *   trial --data FILE [--limit MS] [--budget MS] [--total MS] [--rounds N] [--tolerance N]
 *         [--memory BYTES] [--skip K]... [--cpu N] [--output FILE]
 *
 * Every candidate is first called once in a process of its own, and what it computed is compared
 * with what the data say. Those that agree are then timed side by side, in another process: of two
 * calls in a row the second is timed, so that no candidate pays for the cache that another left
 * behind. A call that takes longer than --limit is ended by an alarm. These processes get no more
 * than --memory beyond the data and the program itself. A process that dies costs the
 * candidate that was running and no other: a new one goes on. Timing ends when each candidate's
 * fastest time was seen again and again, or after the --budget; one that is far from the best is
 * timed a few times only.
 *
 * A line {"begin": K} is printed before candidate K is called, so that whoever loses this program
 * knows which one ran, and can --skip it. At the end, one line of JSON for each candidate tells how it ended, the
 * signal that ended it, the most memory that its process had in use, the largest error over the largest value in parts of 1e9 (more than the
 * --tolerance is wrong), and its times in nanoseconds. With --output the first candidate runs once
 * and writes its outputs to the file.
 *
 * Exit codes: 0 done, 1 a file or memory problem, 2 wrong usage. Ends itself after --total.
 */
#include "ago_program.h"
#include "ago_trial.h"

enum {
    MAX_ROUNDS = 64,
    FEW_ROUNDS = 4,        /* for a candidate that is far from the best */
    SETTLED_TIMES = 4,     /* so many times within 1 % of the fastest settle it */
    MAX_MILLISECONDS = 86400000,
    BATCH_NANOSECONDS = 50000, /* short calls are timed many at once */
    MAX_REPEATS = 256,
    MAX_ARGUMENTS = 256,
    CHILD_MEMORY = 10 /* exit code of a child process without memory for the arena */
};

#define MAX_MEMORY ((size_t)1 << 46)
#define OWN_MEMORY ((size_t)16 << 20) /* the program, its stack, and what is lost to alignment */

#define MAX_ERROR UINT64_C(1000000000000) /* 1000 times the largest value */

/* How a candidate ended. */
enum { WAITING = 0, AGREES, WRONG, DIED, NO_MEMORY, SKIPPED };
static const char *const state_names[] = {"waiting", "ok", "wrong", "died", "memory", "skipped"};

/* What the processes tell each other about one candidate, in memory that they share. */
typedef struct {
    int state;
    int signal;
    uint64_t peak;
    uint64_t error;
    size_t rounds;
    uint64_t times[MAX_ROUNDS];
} result;

typedef struct {
    size_t current; /* the candidate that runs now */
    size_t round;   /* the next round of timing */
    size_t turn;    /* the next turn in it */
    result results[];
} board;

typedef struct {
    const char *data;
    const char *output;
    size_t limit;
    size_t budget;
    size_t total;
    size_t rounds;
    size_t tolerance;
    size_t memory; /* 0 for any */
    int *skipped; /* 1 for each candidate to skip */
} options;

static options parse_options(int argc, char **argv) {
    options given = {NULL, NULL, 5000, 10000, 600000, 24, 100000, 0, NULL};
    given.skipped = allocate(ago_trials.count * sizeof *given.skipped);
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i];
        if (i + 1 == argc) {
            fail(EXIT_USAGE, "no value for ", name);
        }
        const char *value = argv[i + 1];
        if (is_equal(name, "--data")) {
            given.data = value;
        } else if (is_equal(name, "--output")) {
            given.output = value;
        } else if (is_equal(name, "--limit")) {
            given.limit = parse_count(value, 1, MAX_MILLISECONDS);
        } else if (is_equal(name, "--budget")) {
            given.budget = parse_count(value, 1, MAX_MILLISECONDS);
        } else if (is_equal(name, "--tolerance")) {
            given.tolerance = parse_count(value, 0, MAX_ERROR);
        } else if (is_equal(name, "--memory")) {
            given.memory = parse_count(value, 0, MAX_MEMORY);
        } else if (is_equal(name, "--total")) {
            given.total = parse_count(value, 1, MAX_MILLISECONDS);
        } else if (is_equal(name, "--rounds")) {
            given.rounds = parse_count(value, 1, MAX_ROUNDS);
        } else if (is_equal(name, "--skip")) {
            given.skipped[parse_count(value, 0, ago_trials.count - 1)] = 1;
        } else if (is_equal(name, "--cpu")) {
            ago_sys_pin(parse_count(value, 0, 1023)); /* where it cannot be, anywhere */
        } else {
            fail(EXIT_USAGE, "unknown option ", name);
        }
    }
    if (given.data == NULL) {
        fail(EXIT_USAGE, "give --data FILE", "");
    }
    return given;
}

/* Puts a candidate's operands into the arena, and their addresses into `arguments`. */
static void place_operands(const ago_trial_candidate *candidate, const char *data, char *arena,
                           void **arguments) {
    for (size_t i = 0; i < candidate->operand_count; ++i) {
        const ago_trial_operand *operand = candidate->operands + i;
        arguments[i] = arena + operand->place;
        if (operand->source == AGO_TRIAL_NONE) {
            __builtin_memset(arguments[i], 0xff, operand->bytes);
        } else {
            __builtin_memcpy(arguments[i], data + operand->source, operand->bytes);
        }
    }
}

static double element(const char *bytes, size_t index, int32_t compare) {
    if (compare == AGO_TRIAL_F64) {
        double value;
        __builtin_memcpy(&value, bytes + index * sizeof value, sizeof value);
        return value;
    }
    float value;
    __builtin_memcpy(&value, bytes + index * sizeof value, sizeof value);
    return (double)value;
}

/* Whether nobody wrote an element: the reference leaves what its nest does not cover, such as the
 * last channels of a buffer whose rows are whole vectors, and there a candidate may do as it likes. */
static int is_unwritten(const char *bytes, size_t index, int32_t compare) {
    for (int32_t i = 0; i < compare; ++i) {
        if ((unsigned char)bytes[index * (size_t)compare + (size_t)i] != 0xff) {
            return 0;
        }
    }
    return 1;
}

static int is_finite(double value) { return value - value == 0.0; }

/* The largest difference over the largest value, in parts of 1e9. */
static uint64_t float_error(const char *got, const char *wanted, size_t bytes, int32_t compare) {
    double scale = 0.0;
    double worst = 0.0;
    for (size_t i = 0; i < bytes / (size_t)compare; ++i) {
        const double have = element(got, i, compare);
        const double want = element(wanted, i, compare);
        if (is_unwritten(wanted, i, compare)) {
            continue;
        }
        if (!is_finite(want) || !is_finite(have)) {
            if (have != want && !(have != have && want != want)) {
                return MAX_ERROR;
            }
            continue;
        }
        scale = want > scale ? want : -want > scale ? -want : scale;
        const double off = have > want ? have - want : want - have;
        worst = off > worst ? off : worst;
    }
    const double share = scale > 0.0 ? worst / scale : worst;
    return share < 1000.0 ? (uint64_t)(share * 1e9) : MAX_ERROR;
}

static int are_same(const char *got, const char *wanted, size_t bytes) {
    size_t i = 0;
    while (i < bytes && got[i] == wanted[i]) {
        ++i;
    }
    return i == bytes;
}

/* The error of the worst output. */
static uint64_t find_error(const ago_trial_candidate *candidate, const char *data,
                           void *const *arguments) {
    uint64_t worst = 0;
    for (size_t i = 0; i < candidate->operand_count; ++i) {
        const ago_trial_operand *operand = candidate->operands + i;
        if (operand->expected == AGO_TRIAL_NONE) {
            continue;
        }
        const char *wanted = data + operand->expected;
        uint64_t error = 0;
        if (operand->compare != AGO_TRIAL_EXACT) {
            error = float_error(arguments[i], wanted, operand->bytes, operand->compare);
        } else if (!are_same(arguments[i], wanted, operand->bytes)) {
            error = MAX_ERROR;
        }
        worst = error > worst ? error : worst;
    }
    return worst;
}

/* Tells which candidate is called next. */
static void begin(size_t which, board *shared) {
    line out = {.length = 0};
    add_text(&out, "{\"begin\": ");
    add_number(&out, which, 1);
    add_text(&out, "}\n");
    write_all(AGO_SYS_STDOUT, out.text, out.length);
    shared->current = which;
}

/* In a process of its own: calls a candidate once and compares. */
static void check(size_t which, const options *given, const char *data, result *to) {
    void *arguments[MAX_ARGUMENTS];
    const ago_trial_candidate *candidate = ago_trials.candidates + which;
    char *arena = ago_sys_allocate(ago_trials.arena_bytes);
    if (arena == NULL) {
        ago_sys_exit(CHILD_MEMORY);
    }
    place_operands(candidate, data, arena, arguments);
    ago_sys_alarm(given->limit);
    candidate->run(arguments);
    ago_sys_alarm(0);
    to->error = find_error(candidate, data, arguments);
    to->state = to->error <= given->tolerance ? AGREES : WRONG;
}

/* Nanoseconds of one call on the CPU: where others take turns on it, theirs is not counted. */
static uint64_t timed_calls(const ago_trial_candidate *candidate, void *const *arguments,
                            size_t repeats) {
    const uint64_t start = ago_sys_thread_nanoseconds();
    for (size_t i = 0; i < repeats; ++i) {
        candidate->run(arguments);
    }
    return (ago_sys_thread_nanoseconds() - start) / repeats;
}

static uint64_t fastest(const result *of) {
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < of->rounds; ++i) {
        best = of->times[i] < best ? of->times[i] : best;
    }
    return best;
}

/* Whether a candidate's fastest time was seen often enough. */
static int is_settled(const result *of) {
    const uint64_t own = fastest(of);
    size_t near = 0;
    for (size_t i = 0; i < of->rounds; ++i) {
        near += of->times[i] <= own + own / 100;
    }
    return near >= SETTLED_TIMES;
}

/* Whether a candidate is so far from the best of all that no more rounds are spent on it. */
static int is_far(const result *of, uint64_t best) {
    return of->rounds >= FEW_ROUNDS && fastest(of) > best + best / 4;
}

static uint64_t best_of_all(const board *shared) {
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < ago_trials.count; ++i) {
        const uint64_t own = fastest(shared->results + i);
        best = shared->results[i].state == AGREES && own < best ? own : best;
    }
    return best;
}

static int all_settled(const board *shared, uint64_t best) {
    int settled = 1;
    for (size_t i = 0; i < ago_trials.count; ++i) {
        const result *of = shared->results + i;
        settled &= of->state != AGREES || is_far(of, best) || is_settled(of);
    }
    return settled;
}

static void time_once(size_t which, const options *given, const char *data, char *arena,
                      board *shared) {
    void *arguments[MAX_ARGUMENTS];
    const ago_trial_candidate *candidate = ago_trials.candidates + which;
    result *to = shared->results + which;
    begin(which, shared);
    place_operands(candidate, data, arena, arguments);
    ago_sys_alarm(2 * given->limit);
    const uint64_t first = timed_calls(candidate, arguments, 1);
    const size_t repeats = (size_t)(BATCH_NANOSECONDS / (first + 1)) + 1;
    const uint64_t time =
        timed_calls(candidate, arguments, repeats < MAX_REPEATS ? repeats : MAX_REPEATS);
    ago_sys_alarm(0);
    to->times[to->rounds++] = time;
}

/* In a process of its own: times the candidates until all are settled, from where the last process
 * stopped. Each round times all of them, in rotating order: a candidate that were done earlier than
 * the others would keep the times of a slow moment that the others outlast. */
static void time_all(const options *given, const char *data, board *shared) {
    char *arena = ago_sys_allocate(ago_trials.arena_bytes);
    if (arena == NULL) {
        ago_sys_exit(CHILD_MEMORY);
    }
    const uint64_t end = ago_sys_nanoseconds() + given->budget * UINT64_C(1000000);
    for (; shared->round < given->rounds; ++shared->round, shared->turn = 0) {
        const uint64_t best = best_of_all(shared);
        const int late = shared->round >= FEW_ROUNDS && ago_sys_nanoseconds() > end;
        if (late || all_settled(shared, best)) {
            return;
        }
        while (shared->turn < ago_trials.count) {
            const size_t which = (shared->turn + shared->round) % ago_trials.count;
            ++shared->turn;
            result *to = shared->results + which;
            if (to->state == AGREES && !is_far(to, best)) {
                time_once(which, given, data, arena, shared);
            }
        }
    }
}

/* Waits for a child; marks the candidate that it died in. Returns whether it ended well. */
static int wait_for(int child, board *shared) {
    int code = 0;
    uint64_t peak = 0;
    const int signal = ago_sys_wait(child, &code, &peak);
    if (signal == 0 && code == 0) {
        return 1;
    }
    result *to = shared->results + shared->current;
    to->state = code == CHILD_MEMORY ? NO_MEMORY : DIED;
    to->signal = signal;
    to->peak = peak;
    return 0;
}

static int start_process(const options *given) {
    const int child = ago_sys_fork();
    if (child < 0) {
        fail(EXIT_IO, "cannot start a process", "");
    }
    if (child == 0 && given->memory > 0) {
        ago_sys_limit_memory(given->memory + ago_trials.data_bytes + OWN_MEMORY);
    }
    return child;
}

static void check_all(const options *given, const char *data, board *shared) {
    for (size_t i = 0; i < ago_trials.count; ++i) {
        if (given->skipped[i]) {
            shared->results[i].state = SKIPPED;
            continue;
        }
        begin(i, shared);
        const int child = start_process(given);
        if (child == 0) {
            check(i, given, data, shared->results + i);
            ago_sys_exit(0);
        }
        wait_for(child, shared);
    }
}

static void time_survivors(const options *given, const char *data, board *shared) {
    for (int ended = 0; !ended;) {
        shared->current = 0;
        const int child = start_process(given);
        if (child == 0) {
            time_all(given, data, shared);
            ago_sys_exit(0);
        }
        ended = wait_for(child, shared);
    }
}

static void report(const result *of) {
    line out = {.length = 0};
    add_text(&out, "{\"state\": \"");
    add_text(&out, state_names[of->state]);
    add_text(&out, "\", \"signal\": ");
    add_number(&out, (uint64_t)of->signal, 1);
    add_text(&out, ", \"peak\": ");
    add_number(&out, of->peak, 1);
    add_text(&out, ", \"error\": ");
    add_number(&out, of->error, 1);
    add_text(&out, ", \"times\": [");
    for (size_t i = 0; i < of->rounds; ++i) {
        add_text(&out, i > 0 ? ", " : "");
        add_number(&out, of->times[i], 1);
    }
    add_text(&out, "]}\n");
    write_all(AGO_SYS_STDOUT, out.text, out.length);
}

/* Calls the first candidate once and writes what it is compared in. */
static void write_outputs(const options *given, const char *data) {
    void *arguments[MAX_ARGUMENTS];
    const ago_trial_candidate *candidate = ago_trials.candidates;
    place_operands(candidate, data, allocate(ago_trials.arena_bytes), arguments);
    candidate->run(arguments);
    const int file = ago_sys_open(given->output, 1);
    for (size_t i = 0; i < candidate->operand_count; ++i) {
        const ago_trial_operand *operand = candidate->operands + i;
        if (operand->expected != AGO_TRIAL_NONE &&
            write_all(file, arguments[i], operand->bytes) != 0) {
            fail(EXIT_IO, "cannot write ", given->output);
        }
    }
    if (ago_sys_close(file) != 0) {
        fail(EXIT_IO, "cannot write ", given->output);
    }
}

int main(int argc, char **argv) {
    const options given = parse_options(argc, argv);
    ago_sys_alarm(given.total);
    char *data = allocate(ago_trials.data_bytes);
    read_file(given.data, data, ago_trials.data_bytes);
    if (given.output != NULL) {
        write_outputs(&given, data);
        return 0;
    }
    board *shared = ago_sys_share(sizeof *shared + ago_trials.count * sizeof *shared->results);
    if (shared == NULL) {
        fail(EXIT_IO, "out of memory", "");
    }
    check_all(&given, data, shared);
    time_survivors(&given, data, shared);
    for (size_t i = 0; i < ago_trials.count; ++i) {
        report(shared->results + i);
    }
    return 0;
}

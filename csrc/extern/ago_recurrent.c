/*
 * One driver walks the directions and steps for all three cells. The share of x in the gates is
 * computed for `chunk` steps at once, so that w is read once for all of them; the share of the state has
 * to follow step by step.
 */
#include "ago_recurrent.h"

#include "ago_math.h"
#include "ago_products.h"

#define MAX_ROWS 64 /* steps times batch of a chunk, or a part of a larger batch */

/* What a cell needs for one step of the whole batch in one direction. */
typedef struct {
    const ago_recurrent_args *args;
    int64_t gates;
    const int32_t *kinds;
    const float *alpha, *beta;
    const float *r;         /* [gates * hidden][hidden] */
    const float *r_bias;    /* [gates * hidden], or null */
    const float *peepholes; /* [3 * hidden], or null */
    float *h, *c, *extra;   /* [batch][hidden] */
} ago_cell;

/* The arrays of a call, as ago_recurrent.h describes them. */
typedef struct {
    const float *x, *w, *r, *b;
    const int32_t *lengths;
    const float *h, *c, *p;
    float *y, *last_h, *last_c, *scratch;
} arrays;

typedef void step_function(const ago_cell *cell, float *gates, int64_t row);

static float activation(int32_t kind, float alpha, float beta, float x) {
    switch (kind) {
    case AGO_ACTIVATION_RELU:
        return x < 0.0f ? 0.0f : x;
    case AGO_ACTIVATION_TANH:
        return ago_tanh_f32(x);
    case AGO_ACTIVATION_SIGMOID:
        return ago_sigmoid_f32(x);
    case AGO_ACTIVATION_AFFINE:
        return alpha * x + beta;
    case AGO_ACTIVATION_LEAKYRELU:
        return x < 0.0f ? alpha * x : x;
    case AGO_ACTIVATION_THRESHOLDEDRELU:
        return x <= alpha ? 0.0f : x;
    case AGO_ACTIVATION_SCALEDTANH:
        return alpha * ago_tanh_f32(beta * x);
    case AGO_ACTIVATION_HARDSIGMOID: {
        const float y = alpha * x + beta;
        return y < 0.0f ? 0.0f : y > 1.0f ? 1.0f : y;
    }
    case AGO_ACTIVATION_ELU:
        return x < 0.0f ? alpha * (ago_exp_f32(x) - 1.0f) : x;
    case AGO_ACTIVATION_SOFTSIGN:
        return x / (1.0f + (x < 0.0f ? -x : x));
    default: { /* softplus */
        const float size = x < 0.0f ? -x : x;
        return (x < 0.0f ? 0.0f : x) + ago_log_f32(1.0f + ago_exp_f32(-size));
    }
    }
}

/* to[i] = activation number `which` of from[i], after clipping. */
static void activate(const ago_cell *cell, int which, const float *from, float *to) {
    const int32_t kind = cell->kinds[which];
    const float alpha = cell->alpha[which], beta = cell->beta[which], bound = cell->args->clip;
    for (int64_t i = 0; i < cell->args->hidden; ++i) {
        const float x = from[i];
        to[i] = x > bound ? bound : x < -bound ? -bound : x;
    }
    switch (kind) { /* the two usual ones in loops of their own, for vectors */
    case AGO_ACTIVATION_SIGMOID:
        for (int64_t i = 0; i < cell->args->hidden; ++i) {
            to[i] = ago_sigmoid_f32(to[i]);
        }
        break;
    case AGO_ACTIVATION_TANH:
        for (int64_t i = 0; i < cell->args->hidden; ++i) {
            to[i] = ago_tanh_f32(to[i]);
        }
        break;
    default:
        for (int64_t i = 0; i < cell->args->hidden; ++i) {
            to[i] = activation(kind, alpha, beta, to[i]);
        }
    }
}

static void add_scaled(float *to, const float *scale, const float *from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] += scale[i] * from[i];
    }
}

static void rnn_step(const ago_cell *cell, float *gates, int64_t row) {
    activate(cell, 0, gates, cell->h + row * cell->args->hidden);
}

static void lstm_step(const ago_cell *cell, float *gates, int64_t row) {
    const int64_t size = cell->args->hidden;
    float *in = gates, *out = gates + size, *forget = gates + 2 * size, *new = gates + 3 * size;
    float *h = cell->h + row * size, *c = cell->c + row * size;
    if (cell->peepholes != NULL) {
        add_scaled(in, cell->peepholes, c, size);
        add_scaled(forget, cell->peepholes + 2 * size, c, size);
    }
    activate(cell, 0, in, in);
    activate(cell, 0, forget, forget);
    activate(cell, 1, new, new);
    for (int64_t i = 0; i < size; ++i) {
        const float kept = cell->args->coupled ? 1.0f - in[i] : forget[i];
        c[i] = kept * c[i] + in[i] * new[i];
    }
    if (cell->peepholes != NULL) {
        add_scaled(out, cell->peepholes + size, c, size);
    }
    activate(cell, 0, out, out);
    activate(cell, 2, c, h);
    for (int64_t i = 0; i < size; ++i) {
        h[i] *= out[i];
    }
}

static void gru_step(const ago_cell *cell, float *gates, int64_t row) {
    const int64_t size = cell->args->hidden;
    float *update = gates, *reset = gates + size, *new = gates + 2 * size;
    float *h = cell->h + row * size, *extra = cell->extra + row * size;
    const float *r = cell->r + 2 * size * size, *const rows[1] = {extra};
    activate(cell, 0, update, update);
    activate(cell, 0, reset, reset);
    if (cell->args->linear_before_reset) { /* `extra` holds the product of the state */
        add_scaled(new, reset, extra, size);
    } else {
        for (int64_t i = 0; i < size; ++i) {
            extra[i] = reset[i] * h[i];
        }
        ago_add_products(rows, 1, r, size, size, new, size);
    }
    activate(cell, 1, new, new);
    for (int64_t i = 0; i < size; ++i) {
        h[i] = (1.0f - update[i]) * new[i] + update[i] * h[i];
    }
}

/* `ago_add_products` of rows that lie `spacing` elements apart. */
static void add_product(const float *a, int64_t spacing, int64_t rows, const float *b,
                        int64_t columns, int64_t depth, float *c, int64_t stride) {
    const float *list[MAX_ROWS];
    for (int64_t start = 0; start < rows; start += MAX_ROWS) {
        const int64_t count = rows - start < MAX_ROWS ? rows - start : MAX_ROWS;
        for (int64_t row = 0; row < count; ++row) {
            list[row] = a + (start + row) * spacing;
        }
        ago_add_products(list, count, b, columns, depth, c + start * stride, stride);
    }
}

/* The state's share of all gates, for the whole batch. */
static void add_state(const ago_cell *cell, float *gates) {
    const ago_recurrent_args *args = cell->args;
    const int64_t size = args->hidden, width = cell->gates * size;
    const int gru = cell->gates == 3;
    add_product(cell->h, size, args->batch, cell->r, gru ? 2 * size : width, size, gates, width);
    if (!gru || !args->linear_before_reset) {
        return;
    }
    for (int64_t i = 0; i < args->batch * size; ++i) {
        cell->extra[i] = cell->r_bias == NULL ? 0.0f : cell->r_bias[2 * size + i % size];
    }
    add_product(cell->h, size, args->batch, cell->r + 2 * size * size, size, size, cell->extra, size);
}

/* How many steps sequence `row` has. */
static int64_t length_of(const ago_recurrent_args *args, const int32_t *lengths, int64_t row) {
    if (lengths == NULL) {
        return args->steps;
    }
    const int64_t length = lengths[row];
    return length < 0 ? 0 : length > args->steps ? args->steps : length;
}

/* Sum of the biases, except that of the state which a GRU scales. */
static float bias_of(const ago_cell *cell, const float *biases, int64_t i) {
    if (biases == NULL) {
        return 0.0f;
    }
    const int scaled = cell->gates == 3 && cell->args->linear_before_reset;
    const int apart = scaled && i >= 2 * cell->args->hidden;
    return biases[i] + (apart ? 0.0f : cell->r_bias[i]);
}

/* The share of x and the biases in the gates of `count` steps from `first` on. */
static void start_gates(const ago_cell *cell, const float *x, const float *w, const float *biases,
                        const int32_t *lengths, int backwards, int64_t first, int64_t count,
                        float *gates) {
    const ago_recurrent_args *args = cell->args;
    const int64_t width = cell->gates * args->hidden, rows = count * args->batch;
    const float *list[MAX_ROWS];
    for (int64_t start = 0; start < rows; start += MAX_ROWS) {
        const int64_t some = rows - start < MAX_ROWS ? rows - start : MAX_ROWS;
        for (int64_t row = 0; row < some; ++row) {
            const int64_t sequence = (start + row) % args->batch;
            const int64_t step = first + (start + row) / args->batch;
            const int64_t length = length_of(args, lengths, sequence);
            const int64_t at = backwards && step < length ? length - 1 - step : step;
            list[row] = x + (args->batch_first ? sequence * args->steps + at
                                               : at * args->batch + sequence) * args->input;
            for (int64_t i = 0; i < width; ++i) {
                gates[(start + row) * width + i] = bias_of(cell, biases, i);
            }
        }
        ago_add_products(list, some, w, width, args->input, gates + start * width, width);
    }
}

/* Where a state begins, in an array of states. */
static int64_t state_at(const ago_recurrent_args *args, int64_t direction, int64_t row) {
    return (args->batch_first ? row * args->directions + direction
                              : direction * args->batch + row) * args->hidden;
}

static void load_states(const ago_recurrent_args *args, int64_t direction, const float *from,
                        float *to) {
    for (int64_t i = 0; i < args->batch * args->hidden; ++i) {
        const int64_t at = state_at(args, direction, i / args->hidden) + i % args->hidden;
        to[i] = from == NULL ? 0.0f : from[at];
    }
}

static void save_states(const ago_recurrent_args *args, int64_t direction, const float *from,
                        float *to) {
    for (int64_t i = 0; to != NULL && i < args->batch * args->hidden; ++i) {
        to[state_at(args, direction, i / args->hidden) + i % args->hidden] = from[i];
    }
}

/* One step of the whole batch; a sequence that has ended leaves its state and writes zeros. */
static void advance(const ago_cell *cell, step_function *step, const int32_t *lengths,
                    int64_t direction, int backwards, int64_t number, float *gates, float *y) {
    const ago_recurrent_args *args = cell->args;
    const int64_t size = args->hidden;
    add_state(cell, gates);
    for (int64_t row = 0; row < args->batch; ++row) {
        const int64_t length = length_of(args, lengths, row);
        const int inside = number < length;
        const int64_t at = backwards && inside ? length - 1 - number : number;
        if (inside) {
            step(cell, gates + row * cell->gates * size, row);
        }
        const int64_t place = args->batch_first ? (row * args->steps + at) * args->directions + direction
                                                : (at * args->directions + direction) * args->batch + row;
        for (int64_t i = 0; i < size; ++i) {
            y[place * size + i] = inside ? cell->h[row * size + i] : 0.0f;
        }
    }
}

static void run(const ago_recurrent_args *args, step_function *step, int64_t gates, int64_t activations,
                const arrays *with) {
    const int64_t size = args->hidden, width = gates * size, states = args->batch * size;
    float *const all_gates = with->scratch + 3 * states;
    for (int64_t direction = 0; direction < args->directions; ++direction) {
        const float *biases = with->b == NULL ? NULL : with->b + direction * 2 * width;
        const float *w = with->w + direction * width * args->input;
        const int backwards = direction == 1 || args->backwards;
        const ago_cell cell = {
            .args = args,
            .gates = gates,
            .kinds = args->kinds + direction * activations,
            .alpha = args->alpha + direction * activations,
            .beta = args->beta + direction * activations,
            .r = with->r + direction * width * size,
            .r_bias = biases == NULL ? NULL : biases + width,
            .peepholes = with->p == NULL ? NULL : with->p + direction * 3 * size,
            .h = with->scratch,
            .c = with->scratch + states,
            .extra = with->scratch + 2 * states,
        };
        load_states(args, direction, with->h, cell.h);
        load_states(args, direction, with->c, cell.c);
        for (int64_t first = 0; first < args->steps; first += args->chunk) {
            const int64_t left = args->steps - first;
            const int64_t count = left < args->chunk ? left : args->chunk;
            start_gates(&cell, with->x, w, biases, with->lengths, backwards, first, count, all_gates);
            for (int64_t k = 0; k < count; ++k) {
                advance(&cell, step, with->lengths, direction, backwards, first + k,
                        all_gates + k * args->batch * width, with->y);
            }
        }
        save_states(args, direction, cell.h, with->last_h);
        save_states(args, direction, cell.c, with->last_c);
    }
}

void ago_rnn(const ago_recurrent_args *args, const float *x, const float *w, const float *r,
             const float *b, const int32_t *lengths, const float *h, float *y, float *last_h,
             float *scratch) {
    run(args, rnn_step, 1, 1,
        &(arrays){x, w, r, b, lengths, h, NULL, NULL, y, last_h, NULL, scratch});
}

void ago_gru(const ago_recurrent_args *args, const float *x, const float *w, const float *r,
             const float *b, const int32_t *lengths, const float *h, float *y, float *last_h,
             float *scratch) {
    run(args, gru_step, 3, 2,
        &(arrays){x, w, r, b, lengths, h, NULL, NULL, y, last_h, NULL, scratch});
}

void ago_lstm(const ago_recurrent_args *args, const float *x, const float *w, const float *r,
              const float *b, const int32_t *lengths, const float *h, const float *c, const float *p,
              float *y, float *last_h, float *last_c, float *scratch) {
    run(args, lstm_step, 4, 3, &(arrays){x, w, r, b, lengths, h, c, p, y, last_h, last_c, scratch});
}

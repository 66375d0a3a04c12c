/* RNN, GRU and LSTM: recurrences over the steps of a sequence. */
#ifndef AGO_RECURRENT_H
#define AGO_RECURRENT_H

#include "ago_extern.h"

enum {
    AGO_ACTIVATION_RELU,
    AGO_ACTIVATION_TANH,
    AGO_ACTIVATION_SIGMOID,
    AGO_ACTIVATION_AFFINE,
    AGO_ACTIVATION_LEAKYRELU,
    AGO_ACTIVATION_THRESHOLDEDRELU,
    AGO_ACTIVATION_SCALEDTANH,
    AGO_ACTIVATION_HARDSIGMOID,
    AGO_ACTIVATION_ELU,
    AGO_ACTIVATION_SOFTSIGN,
    AGO_ACTIVATION_SOFTPLUS
};

typedef struct {
    int64_t steps;
    int64_t batch;
    int64_t input;      /* elements of x at one step */
    int64_t hidden;     /* elements of the state */
    int64_t directions; /* 1 or 2 */
    int64_t chunk;      /* steps whose share of x is computed together */
    int32_t backwards;  /* the first direction is from the last step to the first */
    int32_t batch_first; /* x, y and the states have the batch as their outermost axis */
    int32_t kinds[6];   /* activations of the first direction, then of the second */
    float alpha[6];
    float beta[6];
    float clip;                  /* bound of what an activation is applied to; infinite for none */
    int32_t coupled;             /* LSTM: the forget gate is 1 - the input gate */
    int32_t linear_before_reset; /* GRU: the reset gate scales what the state was multiplied to */
} ago_recurrent_args;

/*
 * x[steps][batch][input], w[directions][gates * hidden][input], r[directions][gates * hidden][hidden],
 * biases b[directions][2 * gates * hidden] of w and then r, lengths[batch], states h and
 * c[directions][batch][hidden], peepholes p[directions][3 * hidden]. Results: y[steps][directions]
 * [batch][hidden], and the last states. All but x, w and r may be null. A sequence that is shorter than
 * `steps` leaves zeros behind its end; lengths below 0 count as 0, above `steps` as `steps`.
 * `scratch` has (chunk * gates + 3) * batch * hidden elements. Gates lie in ONNX's order:
 * z r h and i o f c.
 */
AGO_HIDDEN void ago_rnn(const ago_recurrent_args *args, const float *x, const float *w,
                        const float *r, const float *b, const int32_t *lengths, const float *h,
                        float *y, float *last_h, float *scratch);
AGO_HIDDEN void ago_gru(const ago_recurrent_args *args, const float *x, const float *w,
                        const float *r, const float *b, const int32_t *lengths, const float *h,
                        float *y, float *last_h, float *scratch);
AGO_HIDDEN void ago_lstm(const ago_recurrent_args *args, const float *x, const float *w,
                         const float *r, const float *b, const int32_t *lengths, const float *h,
                         const float *c, const float *p, float *y, float *last_h, float *last_c,
                         float *scratch);

#endif /* AGO_RECURRENT_H */

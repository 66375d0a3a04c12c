/* ReverseSequence and Trilu with run-time parameters. */
#ifndef AGO_REARRANGE_H
#define AGO_REARRANGE_H

#include "ago_extern.h"

typedef struct {
    int64_t steps;
    int64_t batch;
    int64_t bytes;       /* of one step of one sequence */
    int32_t batch_first; /* x is [batch][steps], else [steps][batch] */
    int32_t lengths;     /* their element type */
} ago_reverse_sequence_args;

/* Each sequence with its first lengths[batch] steps in the opposite order. */
AGO_HIDDEN void ago_reverse_sequence(const ago_reverse_sequence_args *args, const void *x,
                                     const void *lengths, void *y);

typedef struct {
    int64_t matrices;
    int64_t rows;
    int64_t columns;
    int64_t bytes;    /* of an element */
    int32_t upper;    /* keep the diagonal and what is right of it, else what is left of it */
    int32_t diagonal; /* element type of the number of the diagonal */
} ago_trilu_args;

/* x[matrices][rows][columns] with zeros on one side of diagonal number diagonal[0]. */
AGO_HIDDEN void ago_trilu(const ago_trilu_args *args, const void *x, const void *diagonal, void *y);

#endif /* AGO_REARRANGE_H */

/*
 * What the trial program (ago_trial_main.c) knows of the candidates it is linked with. The build
 * writes one file that defines `ago_trials`.
 */
#ifndef AGO_TRIAL_H
#define AGO_TRIAL_H

#include <stddef.h>
#include <stdint.h>

#define AGO_TRIAL_NONE SIZE_MAX

/* How an element is compared: by its bytes, or as a float. */
enum { AGO_TRIAL_EXACT = 0, AGO_TRIAL_F32 = 4, AGO_TRIAL_F64 = 8 };

/* One argument of a candidate. All candidates of a program work in the same memory, the arena. */
typedef struct {
    size_t place;    /* offset in the arena, a multiple of AGO_ALIGNMENT */
    size_t bytes;
    size_t source;   /* offset in the data of what is put there first, or AGO_TRIAL_NONE: NaNs */
    size_t expected; /* offset in the data of what must be there afterwards, or AGO_TRIAL_NONE */
    int32_t compare;
} ago_trial_operand;

typedef struct {
    void (*run)(void *const *arguments);
    const ago_trial_operand *operands;
    size_t operand_count;
} ago_trial_candidate;

typedef struct {
    const ago_trial_candidate *candidates;
    size_t count;
    size_t arena_bytes;
    size_t data_bytes;
} ago_trial_set;

extern const ago_trial_set ago_trials;

#endif /* AGO_TRIAL_H */

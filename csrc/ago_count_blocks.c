/*
 * Counts the instructions an emulated AArch64 program executes: a block hook for unicorn, compiled
 * for the host because one call of Python a block would be a thousand times slower.
 *
 * Every AArch64 instruction is 4 bytes, and unicorn calls the hook with each basic block it enters.
 * A block is entered only at its beginning and, short of a fault, left only at its end. So how often
 * each instruction ran is the running sum of the changes noted at the beginnings and after the ends.
 */
#include "ago_runtime.h"

typedef struct {
    uint64_t instructions; /* executed so far */
    uint64_t blocks;       /* entered so far */
    int64_t *changes;      /* one for each instruction of a range, and one more; or NULL */
    uint64_t start;        /* address of the range */
    uint64_t count;        /* its instructions */
} ago_block_counter;

/* unicorn's uc_cb_hookcode_t; `user_data` is an ago_block_counter. */
AGO_EXPORT void ago_count_block(void *engine, uint64_t address, uint32_t size, void *user_data);

void ago_count_block(void *engine, uint64_t address, uint32_t size, void *user_data) {
    ago_block_counter *counter = user_data;
    (void)engine;
    counter->instructions += size / 4;
    counter->blocks += 1;
    uint64_t first = (address - counter->start) / 4;
    uint64_t after = first + size / 4;
    if (counter->changes != NULL && address >= counter->start && after <= counter->count) {
        counter->changes[first] += 1;
        counter->changes[after] -= 1;
    }
}

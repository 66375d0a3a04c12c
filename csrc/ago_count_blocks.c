/*
 * Counts the instructions an emulated AArch64 program executes: a block hook for unicorn, compiled
 * for the host because one call of Python a block would be a thousand times slower.
 *
 * Every AArch64 instruction is 4 bytes, and unicorn calls the hook with each basic block it enters.
 * A block is entered only at its beginning and, short of a fault, left only at its end.
 */
#include "ago_runtime.h"

typedef struct {
    uint64_t instructions; /* executed so far */
    uint64_t blocks;       /* entered so far */
} ago_block_counter;

/* unicorn's uc_cb_hookcode_t; `user_data` is an ago_block_counter. */
AGO_EXPORT void ago_count_block(void *engine, uint64_t address, uint32_t size, void *user_data);

void ago_count_block(void *engine, uint64_t address, uint32_t size, void *user_data) {
    ago_block_counter *counter = user_data;
    (void)engine;
    (void)address;
    counter->instructions += size / 4;
    counter->blocks += 1;
}

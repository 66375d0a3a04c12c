/*
 * memset, memcpy and memmove for libraries that link no libc.
 *
 * Compilers emit calls to these three even for freestanding code (a struct copy, a loop that clears
 * an array). Hidden visibility binds the calls of one library to its own copies: they neither
 * replace nor depend on the host program's. Must be compiled with -ffreestanding, or the compiler
 * may turn the loops below back into calls of the very functions they implement.
 */
#include "ago_runtime.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns") /* gcc may do it even when freestanding */
#endif

#if defined(__cplusplus)
#define MEM_HIDDEN /* C++ compilers know them already, and that they are visible */
#else
#define MEM_HIDDEN AGO_HIDDEN
#endif

AGO_C_BEGIN

MEM_HIDDEN void *memset(void *destination, int value, size_t count);
MEM_HIDDEN void *memcpy(void *AGO_RESTRICT destination, const void *AGO_RESTRICT source,
                        size_t count);
MEM_HIDDEN void *memmove(void *destination, const void *source, size_t count);

AGO_C_END

/* An unaligned 64-bit word that may alias anything. */
#if defined(__GNUC__) || defined(__clang__)
typedef uint64_t AGO_ALIGNED(1) __attribute__((may_alias)) ago_word;
#else
typedef unsigned char ago_word;
#endif

void *memset(void *destination, int value, size_t count) {
    unsigned char *to = (unsigned char *)destination;
    const ago_word word = (ago_word)(UINT64_C(0x0101010101010101) * (unsigned char)value);
    while (count >= sizeof(ago_word)) {
        *(ago_word *)(void *)to = word;
        to += sizeof(ago_word);
        count -= sizeof(ago_word);
    }
    while (count-- > 0) {
        *to++ = (unsigned char)value;
    }
    return destination;
}

void *memcpy(void *AGO_RESTRICT destination, const void *AGO_RESTRICT source, size_t count) {
    unsigned char *to = (unsigned char *)destination;
    const unsigned char *from = (const unsigned char *)source;
    while (count >= sizeof(ago_word)) {
        *(ago_word *)(void *)to = *(const ago_word *)(const void *)from;
        to += sizeof(ago_word);
        from += sizeof(ago_word);
        count -= sizeof(ago_word);
    }
    while (count-- > 0) {
        *to++ = *from++;
    }
    return destination;
}

void *memmove(void *destination, const void *source, size_t count) {
    unsigned char *to = (unsigned char *)destination;
    const unsigned char *from = (const unsigned char *)source;
    if ((uintptr_t)to - (uintptr_t)from >= count) {
        return memcpy(destination, source, count); /* no byte is overwritten before it is read */
    }
    while (count-- > 0) {
        to[count] = from[count];
    }
    return destination;
}

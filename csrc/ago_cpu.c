/*
 * Which instructions this CPU has: ago_cpu_lacks of ago_model.h. Compiled without the target's own
 * flags.
 *
 * x86-64 says it itself (CPUID leaves 1, 7 and 0x80000001; XGETBV for what the operating system
 * saves). On AArch64 Linux says it in the auxiliary vector, which comes from libc where the process
 * has one, else from /proc/self/auxv by system calls. Elsewhere every CPU that runs the system has
 * what is asked for, or nothing is known.
 */
#include "ago_model.h"

#if defined(__x86_64__)

enum { EAX, EBX, ECX, EDX };

static void cpuid(uint32_t leaf, uint32_t registers[4]) {
    __asm__ volatile("cpuid"
                     : "=a"(registers[EAX]), "=b"(registers[EBX]), "=c"(registers[ECX]),
                       "=d"(registers[EDX])
                     : "a"(leaf), "c"(0));
}

/* The register states that the operating system saves; 0 where it does not say. */
static uint32_t saved_states(uint32_t leaf1_ecx) {
    uint32_t low = 0, high = 0;
    if ((leaf1_ecx >> 27 & 1) != 0) { /* OSXSAVE */
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    }
    return low;
}

static int has_all(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

static uint64_t features_of_this_cpu(void) {
    const uint32_t sse_avx = 0x6, opmask_zmm = 0xe0;
    const uint32_t fma_movbe_avx_f16c = 1u << 12 | 1u << 22 | 1u << 28 | 1u << 29;
    const uint32_t ssse3_sse41_sse42_popcnt = 1u << 9 | 1u << 19 | 1u << 20 | 1u << 23;
    const uint32_t bmi1_avx2_bmi2 = 1u << 3 | 1u << 5 | 1u << 8, lzcnt = 1u << 5;
    const uint32_t avx512_f_dq_cd_bw_vl = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    uint32_t first[4], leaf1[4], leaf7[4] = {0, 0, 0, 0}, extended[4];
    uint64_t found = 0;
    cpuid(0, first);
    cpuid(1, leaf1);
    if (first[EAX] >= 7) {
        cpuid(7, leaf7);
    }
    cpuid(0x80000001u, extended);
    const uint32_t states = saved_states(leaf1[ECX]);
    if (has_all(leaf1[ECX], ssse3_sse41_sse42_popcnt)) {
        found |= AGO_CPU_SSE4;
    }
    if (has_all(states, sse_avx) && has_all(leaf1[ECX], 1u << 28)) {
        found |= AGO_CPU_AVX;
        if (has_all(leaf1[ECX], fma_movbe_avx_f16c) && has_all(leaf7[EBX], bmi1_avx2_bmi2) &&
            has_all(extended[ECX], lzcnt)) {
            found |= AGO_CPU_AVX2;
        }
        if (has_all(states, opmask_zmm) && has_all(leaf7[EBX], avx512_f_dq_cd_bw_vl)) {
            found |= AGO_CPU_AVX512;
        }
    }
    return found;
}

#elif defined(__aarch64__) && defined(__linux__)

enum { AT_HWCAP_KEY = 16, SYS_OPENAT = 56, SYS_CLOSE = 57, SYS_READ = 63, AT_CURRENT = -100 };

/* libc's, if there is one in this process. */
extern AGO_EXPORT unsigned long getauxval(unsigned long key) __attribute__((weak));

static long system_call(long number, long a, long b, long c) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = 0;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory", "cc");
    return x0;
}

/* HWCAP of the auxiliary vector; -1, which is all features, where it cannot be read. */
static unsigned long hardware_capabilities(void) {
    unsigned long pair[2] = {0, 0}, found = ~0ul; /* key, value */
    if (getauxval != NULL) {
        return getauxval(AT_HWCAP_KEY);
    }
    const long file = system_call(SYS_OPENAT, AT_CURRENT, (long)"/proc/self/auxv", 0);
    while (file >= 0 && found == ~0ul &&
           system_call(SYS_READ, file, (long)pair, sizeof pair) == (long)sizeof pair) {
        if (pair[0] == AT_HWCAP_KEY) {
            found = pair[1];
        }
    }
    if (file >= 0) {
        system_call(SYS_CLOSE, file, 0, 0);
    }
    return found;
}

/* Bits of HWCAP: arch/arm64/include/uapi/asm/hwcap.h of Linux. */
static uint64_t features_of_this_cpu(void) {
    const unsigned long bits = hardware_capabilities();
    uint64_t found = 0;
    found |= (bits >> 8 & 1) != 0 ? AGO_CPU_ATOMICS : 0;
    found |= (bits >> 9 & bits >> 10 & 1) != 0 ? AGO_CPU_FP16 : 0;
    found |= (bits >> 12 & 1) != 0 ? AGO_CPU_RDM : 0;
    found |= (bits >> 17 & 1) != 0 ? AGO_CPU_SHA3 : 0;
    found |= (bits >> 20 & 1) != 0 ? AGO_CPU_DOTPROD : 0;
    found |= (bits >> 22 & 1) != 0 ? AGO_CPU_SVE : 0;
    return found;
}

#else

static uint64_t features_of_this_cpu(void) { return ~UINT64_C(0); }

#endif

uint64_t ago_cpu_lacks(uint64_t features) {
    return features == 0 ? 0 : features & ~features_of_this_cpu();
}

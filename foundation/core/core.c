/* The library as one translation unit, which compilers optimise as a whole. */
#if defined(_WIN32)
#define KNEE_API __declspec(dllexport)
#elif defined(__GNUC__)
#define KNEE_API __attribute__((visibility("default")))
#endif
#include "fields.h"

#include "vectors.h"
#include "patches.c"
#include "spring_laws.c"
#include "bearing.c"
#include "gradients.c"
#include "batches.c"
#include "loads.c"
#include "layer_compliance.c"
#include "measures.c"
#include "overlaps.c"
#include "local_fits.c"

#include "sums.c"
#include "functions.c"
#include "correlations.c"
#include "regressor.c"
#include "line.c"
#include "jets.c"
#include "compartment.c"
#include "posterior.c"
#include "likelihood.c"
#include "fields.c"
#include "ligaments.c"
#include "equations.c"
#include "rosenbrock.c"

/* How much of the builds the processor can run: 0 plain, 1 AVX2, 2 AVX-512. The runtime of zig does
   not know it, so that the processor is asked for its instructions and for the registers it saves. */
KNEE_API int knee_level(void);
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

#define FIRST 0x38401000u   /* FMA, MOVBE, OSXSAVE, AVX, F16C */
#define AVX2 0x128u         /* BMI1, AVX2, BMI2 */
#define AVX512 0xd0030000u  /* F, DQ, CD, BW, VL */
#define LZCNT 0x20u

int knee_level(void)
{
    unsigned a, b, c, d, instructions, saved;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & FIRST) != FIRST)
        return 0;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & LZCNT))
        return 0;
    if (!__get_cpuid_count(7, 0, &a, &instructions, &c, &d) || (instructions & AVX2) != AVX2)
        return 0;
    __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    if ((saved & 0x6) != 0x6)
        return 0;
    return (instructions & AVX512) == AVX512 && (saved & 0xe6) == 0xe6 ? 2 : 1;
}
#else
int knee_level(void)
{
    return 0;
}
#endif

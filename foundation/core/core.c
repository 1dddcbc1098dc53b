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
#include "lattice.c"
#include "coupled.c"

#include "sums.c"
#include "functions.c"
#include "regressor.c"
#include "line.c"
#include "jets.c"
#include "compartment.c"
#include "posterior.c"
#include "fields.c"

/* How much of the builds the processor can run: 0 plain, 1 AVX2, 2 AVX-512. */
KNEE_API int knee_level(void);
int knee_level(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
        && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
        return 1;
#endif
    return 0;
}

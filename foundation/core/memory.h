/* Scratch memory, which callers own. */
#ifndef MEMORY_INCLUDED
#define MEMORY_INCLUDED

#include <stddef.h>
#include <string.h>

#include "lanes.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* Numbers for n, filled up to whole eights. */
INLINE ptrdiff_t wide(ptrdiff_t n)
{
    return (n + 7) / 8 * 8;
}

/* Take memory for `count` numbers from the scratch memory. */
INLINE double *take(double **scratch, ptrdiff_t count)
{
    double *const mine = *scratch;
    *scratch += wide(count);
    return mine;
}

INLINE int *take_whole(double **scratch, ptrdiff_t count)
{
    return (int *)take(scratch, (count + 1) / 2);
}

INLINE unsigned char *take_bytes(double **scratch, ptrdiff_t count)
{
    return (unsigned char *)take(scratch, (count + 7) / 8);
}

INLINE void clear(ptrdiff_t count, double *numbers)
{
    memset(numbers, 0, (size_t)count * sizeof *numbers);
}

#endif

/* Eight doubles side by side, in one, two or four vectors of the processor, or in none. */
#ifndef LANES_INCLUDED
#define LANES_INCLUDED

#if defined(__GNUC__) && defined(__AVX512F__)
#include <immintrin.h>
#define BYTES 64
#define SPREAD(s) ((block)_mm512_set1_pd(s))
#define MADD(x, y, z) ((block)_mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(z)))
#define EACH(of) {of(a)}
#elif defined(__GNUC__) && defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define BYTES 32
#define SPREAD(s) ((block)_mm256_set1_pd(s))
#define MADD(x, y, z) ((block)_mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(z)))
#define EACH(of) {of(a), of(b)}
#elif defined(__GNUC__)
#define BYTES 16
#define SPREAD(s) ((block){s, s})
#define MADD(x, y, z) ((x) * (y) + (z))
#define EACH(of) {of(a), of(b), of(c), of(d)}
#else
#define BYTES 8
#define SPREAD(s) (s)
#define MADD(x, y, z) ((x) * (y) + (z))
#define EACH(of) {of(a), of(b), of(c), of(d), of(e), of(f), of(g), of(h)}
#endif

#if BYTES > 8
typedef double block __attribute__((vector_size(BYTES)));
typedef double stored __attribute__((vector_size(BYTES), aligned(8), may_alias));
#else
typedef double block;
typedef double stored;
#endif

#if BYTES == 64
typedef struct { block a; } eight;
#elif BYTES == 32
typedef struct { block a, b; } eight;
#elif BYTES == 16
typedef struct { block a, b, c, d; } eight;
#else
typedef struct { block a, b, c, d, e, f, g, h; } eight;
#endif

enum { at_a, at_b, at_c, at_d, at_e, at_f, at_g, at_h };

static inline eight load8(const double *from)
{
#define OF(p) ((const stored *)from)[at_##p]
    const eight row = EACH(OF);
#undef OF
    return row;
}

static inline void store8(double *to, eight row)
{
    stored *const all = (stored *)to;
    all[at_a] = row.a;
#if BYTES < 64
    all[at_b] = row.b;
#endif
#if BYTES < 32
    all[at_c] = row.c;
    all[at_d] = row.d;
#endif
#if BYTES < 16
    all[at_e] = row.e;
    all[at_f] = row.f;
    all[at_g] = row.g;
    all[at_h] = row.h;
#endif
}

static inline eight spread8(double s)
{
#define OF(p) SPREAD(s)
    const eight row = EACH(OF);
#undef OF
    return row;
}

static inline eight add8(eight x, eight y)
{
#define OF(p) x.p + y.p
    const eight row = EACH(OF);
#undef OF
    return row;
}

/* x s */
static inline eight scale8(eight x, double s)
{
#define OF(p) x.p * SPREAD(s)
    const eight row = EACH(OF);
#undef OF
    return row;
}

/* x s + z */
static inline eight madd8(eight x, double s, eight z)
{
#define OF(p) MADD(x.p, SPREAD(s), z.p)
    const eight row = EACH(OF);
#undef OF
    return row;
}

/* x y + z, lane by lane */
static inline eight dot8(eight x, eight y, eight z)
{
#define OF(p) MADD(x.p, y.p, z.p)
    const eight row = EACH(OF);
#undef OF
    return row;
}

static inline double total8(const double *v)
{
    const double a = v[0] + v[4], b = v[1] + v[5], c = v[2] + v[6], d = v[3] + v[7];
    return (a + c) + (b + d);
}

/* a b + c of numbers, rounded once where the processor does */
#if defined(__FMA__) || defined(__AVX512F__)
#define FUSED(a, b, c) __builtin_fma(a, b, c)
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif

#endif

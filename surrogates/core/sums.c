/* Weighted sums, six at a time: their number is written out, so that compilers keep them in registers. */
#include "memory.h"

enum { SUMS = 6 };

/* Number of sums that go together when n are left to do. */
static int together(int n)
{
    const int rounds = (n + SUMS - 1) / SUMS;
    return (n + rounds - 1) / rounds;
}

/* Call a function with the number n <= SUMS: `few` with 1 or 2. */
#define WRITTEN_OUT(n, few, many, ...) \
    switch (n) { \
    case 1: few(1, __VA_ARGS__); break; \
    case 2: few(2, __VA_ARGS__); break; \
    case 3: many(3, __VA_ARGS__); break; \
    case 4: many(4, __VA_ARGS__); break; \
    case 5: many(5, __VA_ARGS__); break; \
    default: many(SUMS, __VA_ARGS__); \
    }

INLINE void rows_of(const int n, int count, const double *row, int across, const double *weights,
                    int stride, double *sums, int between)
{
    eight s[SUMS];
    int t, k;
    for (k = 0; k < n; k++)
        s[k] = load8(sums + k * between);
    for (t = 0; t < count; t++, row += across) {
        const eight r = load8(row);
        for (k = 0; k < n; k++)
            s[k] = madd8(r, weights[k * stride + t], s[k]);
    }
    for (k = 0; k < n; k++)
        store8(sums + k * between, s[k]);
}

/* One or two sums, in several parts, which do not wait for one another. */
INLINE void few_rows_of(const int n, int count, const double *row, int across,
                        const double *weights, int stride, double *sums, int between)
{
    eight s[2][4];
    int t, k, i;
    for (k = 0; k < n; k++) {
        s[k][0] = load8(sums + k * between);
        s[k][1] = s[k][2] = s[k][3] = spread8(0.0);
    }
    for (t = 0; t + 4 <= count; t += 4, row += 4 * across)
        for (i = 0; i < 4; i++) {
            const eight r = load8(row + i * across);
            for (k = 0; k < n; k++)
                s[k][i] = madd8(r, weights[k * stride + t + i], s[k][i]);
        }
    for (; t < count; t++, row += across)
        for (k = 0; k < n; k++)
            s[k][0] = madd8(load8(row), weights[k * stride + t], s[k][0]);
    for (k = 0; k < n; k++)
        store8(sums + k * between, add8(add8(s[k][0], s[k][1]), add8(s[k][2], s[k][3])));
}

/* Add `count` rows of eight numbers, `across` apart, times weights to n sums of eight, `between`
   apart; the weights of a sum follow one another, and those of the next sum are `stride` further. */
static void add_rows(int count, const double *rows, int across, int n, const double *weights,
                     int stride, double *sums, int between)
{
    while (n > 0) {
        const int own = together(n);
        WRITTEN_OUT(own, few_rows_of, rows_of, count, rows, across, weights, stride, sums, between);
        weights += own * stride;
        sums += own * between;
        n -= own;
    }
}

INLINE void products_of(const int n, int count, const double *shared, const double *others,
                        int stride, double *sums, int between)
{
    eight s[SUMS];
    int i, k;
    for (k = 0; k < n; k++)
        s[k] = load8(sums + k * between);
    for (i = 0; i < count; i += 8) {
        const eight v = load8(shared + i);
        for (k = 0; k < n; k++)
            s[k] = dot8(v, load8(others + k * stride + i), s[k]);
    }
    for (k = 0; k < n; k++)
        store8(sums + k * between, s[k]);
}

/* Add the products of `count` numbers (whole eights) with n lists, `stride` apart, to n sums of eight
   lanes, `between` apart. */
static void add_products(int count, const double *shared, int n, const double *lists, int stride,
                         double *sums, int between)
{
    while (n > 0) {
        const int own = together(n);
        WRITTEN_OUT(own, products_of, products_of, count, shared, lists, stride, sums, between);
        lists += (ptrdiff_t)own * stride;
        sums += own * between;
        n -= own;
    }
}

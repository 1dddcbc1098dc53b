/* Weighted sums, several at a time: their number is written out, so that compilers keep them in
   registers, of which there are 32 or 16. */
#include "memory.h"

enum { SUMS = BYTES == 64 ? 7 : 6 };

/* Number of sums that go together when n are left to do. */
static int together(int n)
{
    const int rounds = (n + SUMS - 1) / SUMS;
    return (n + rounds - 1) / rounds;
}

/* Call a function of a number n <= SUMS of sums. */
#define WRITTEN_OUT(function, n, ...) \
    switch (n) { \
    case 1: function(1, __VA_ARGS__); break; \
    case 2: function(2, __VA_ARGS__); break; \
    case 3: function(3, __VA_ARGS__); break; \
    case 4: function(4, __VA_ARGS__); break; \
    case 5: function(5, __VA_ARGS__); break; \
    case 6: function(6, __VA_ARGS__); break; \
    default: function(SUMS, __VA_ARGS__); \
    }

/* One to SUMS sums of some groups of eight numbers. */
INLINE void rows_of(const int n, const int groups, int count, const double *row, int across,
                    const double *weights, int stride, double *sums, int between)
{
    eight s[SUMS];
    int t, k, g;
    for (k = 0; k < n; k++)
        for (g = 0; g < groups; g++)
            s[k * groups + g] = load8(sums + k * between + 8 * g);
    for (t = 0; t < count; t++, row += across)
        for (g = 0; g < groups; g++) {
            const eight r = load8(row + 8 * g);
            for (k = 0; k < n; k++)
                s[k * groups + g] = madd8(r, weights[k * stride + t], s[k * groups + g]);
        }
    for (k = 0; k < n; k++)
        for (g = 0; g < groups; g++)
            store8(sums + k * between + 8 * g, s[k * groups + g]);
}

/* Add `count` rows of `breadth` numbers (whole eights), `across` apart, times weights to n such sums,
   `between` apart; the weights of a sum follow one another, and those of the next sum are `stride`
   further. Of one or two sums several eights go together, or the sums would wait for one another. */
static void add_rows(int count, int breadth, const double *rows, int across, int n,
                     const double *weights, int stride, double *sums, int between)
{
    while (n > 0) {
        const int own = together(n);
        int lane = 0;
        for (; own == 1 && lane + 32 <= breadth; lane += 32)
            rows_of(1, 4, count, rows + lane, across, weights, stride, sums + lane, between);
        for (; own == 2 && lane + 16 <= breadth; lane += 16)
            rows_of(2, 2, count, rows + lane, across, weights, stride, sums + lane, between);
        for (; lane < breadth; lane += 8) {
            const double *row = rows + lane;
            double *sum = sums + lane;
            WRITTEN_OUT(rows_of, own, 1, count, row, across, weights, stride, sum, between);
        }
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
        WRITTEN_OUT(products_of, own, count, shared, lists, stride, sums, between);
        lists += (ptrdiff_t)own * stride;
        sums += own * between;
        n -= own;
    }
}

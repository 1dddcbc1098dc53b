/* Weighted sums, six at a time: their number is written out, so that compilers keep them in registers. */
#include "memory.h"

enum { SUMS = 6 };

/* Number of sums that go together when n are left to do. */
static int together(int n)
{
    const int rounds = (n + SUMS - 1) / SUMS;
    return (n + rounds - 1) / rounds;
}

INLINE void rows_of(const int n, int count, const double *row, int across, const double *weights,
                    int stride, double *sums, int between)
{
    eight s0 = load8(sums), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
    int t;
    if (n > 1) s1 = load8(sums + between);
    if (n > 2) s2 = load8(sums + 2 * between);
    if (n > 3) s3 = load8(sums + 3 * between);
    if (n > 4) s4 = load8(sums + 4 * between);
    if (n > 5) s5 = load8(sums + 5 * between);
    for (t = 0; t < count; t++, row += across) {
        const eight r = load8(row);
        s0 = madd8(r, weights[t], s0);
        if (n > 1) s1 = madd8(r, weights[stride + t], s1);
        if (n > 2) s2 = madd8(r, weights[2 * stride + t], s2);
        if (n > 3) s3 = madd8(r, weights[3 * stride + t], s3);
        if (n > 4) s4 = madd8(r, weights[4 * stride + t], s4);
        if (n > 5) s5 = madd8(r, weights[5 * stride + t], s5);
    }
    store8(sums, s0);
    if (n > 1) store8(sums + between, s1);
    if (n > 2) store8(sums + 2 * between, s2);
    if (n > 3) store8(sums + 3 * between, s3);
    if (n > 4) store8(sums + 4 * between, s4);
    if (n > 5) store8(sums + 5 * between, s5);
}

/* One or two sums, in several parts, which do not wait for one another. */
INLINE void few_rows_of(const int n, int count, const double *row, int across,
                        const double *weights, int stride, double *sums, int between)
{
    eight s0 = load8(sums), s1 = spread8(0.0), s2 = s1, s3 = s1, q0 = s1, q1 = s1, q2 = s1, q3 = s1;
    const double *others = weights + stride;
    int t;
    if (n > 1) q0 = load8(sums + between);
    for (t = 0; t + 4 <= count; t += 4, row += 4 * across) {
        const eight r0 = load8(row), r1 = load8(row + across), r2 = load8(row + 2 * across);
        const eight r3 = load8(row + 3 * across);
        s0 = madd8(r0, weights[t], s0);
        s1 = madd8(r1, weights[t + 1], s1);
        s2 = madd8(r2, weights[t + 2], s2);
        s3 = madd8(r3, weights[t + 3], s3);
        if (n > 1) {
            q0 = madd8(r0, others[t], q0);
            q1 = madd8(r1, others[t + 1], q1);
            q2 = madd8(r2, others[t + 2], q2);
            q3 = madd8(r3, others[t + 3], q3);
        }
    }
    for (; t < count; t++, row += across) {
        s0 = madd8(load8(row), weights[t], s0);
        if (n > 1) q0 = madd8(load8(row), others[t], q0);
    }
    store8(sums, add8(add8(s0, s1), add8(s2, s3)));
    if (n > 1) store8(sums + between, add8(add8(q0, q1), add8(q2, q3)));
}

/* Add `count` rows of eight numbers, `across` apart, times weights to n sums of eight, `between`
   apart; the weights of a sum follow one another, and those of the next sum are `stride` further. */
static void add_rows(int count, const double *rows, int across, int n, const double *weights,
                     int stride, double *sums, int between)
{
    while (n > 0) {
        const int own = together(n);
        switch (own) {
        case 1: few_rows_of(1, count, rows, across, weights, stride, sums, between); break;
        case 2: few_rows_of(2, count, rows, across, weights, stride, sums, between); break;
        case 3: rows_of(3, count, rows, across, weights, stride, sums, between); break;
        case 4: rows_of(4, count, rows, across, weights, stride, sums, between); break;
        case 5: rows_of(5, count, rows, across, weights, stride, sums, between); break;
        default: rows_of(6, count, rows, across, weights, stride, sums, between);
        }
        weights += own * stride;
        sums += own * between;
        n -= own;
    }
}

INLINE void products_of(const int n, int count, const double *shared, const double *others,
                        int stride, double *sums, int between)
{
    eight s0 = load8(sums), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
    int i;
    if (n > 1) s1 = load8(sums + between);
    if (n > 2) s2 = load8(sums + 2 * between);
    if (n > 3) s3 = load8(sums + 3 * between);
    if (n > 4) s4 = load8(sums + 4 * between);
    if (n > 5) s5 = load8(sums + 5 * between);
    for (i = 0; i < count; i += 8, others += 8) {
        const eight v = load8(shared + i);
        s0 = dot8(v, load8(others), s0);
        if (n > 1) s1 = dot8(v, load8(others + stride), s1);
        if (n > 2) s2 = dot8(v, load8(others + 2 * stride), s2);
        if (n > 3) s3 = dot8(v, load8(others + 3 * stride), s3);
        if (n > 4) s4 = dot8(v, load8(others + 4 * stride), s4);
        if (n > 5) s5 = dot8(v, load8(others + 5 * stride), s5);
    }
    store8(sums, s0);
    if (n > 1) store8(sums + between, s1);
    if (n > 2) store8(sums + 2 * between, s2);
    if (n > 3) store8(sums + 3 * between, s3);
    if (n > 4) store8(sums + 4 * between, s4);
    if (n > 5) store8(sums + 5 * between, s5);
}

/* Add the products of `count` numbers (whole eights) with n lists, `stride` apart, to n sums of eight
   lanes, `between` apart. */
static void add_products(int count, const double *shared, int n, const double *lists, int stride,
                         double *sums, int between)
{
    while (n > 0) {
        const int own = together(n);
        switch (own) {
        case 1: products_of(1, count, shared, lists, stride, sums, between); break;
        case 2: products_of(2, count, shared, lists, stride, sums, between); break;
        case 3: products_of(3, count, shared, lists, stride, sums, between); break;
        case 4: products_of(4, count, shared, lists, stride, sums, between); break;
        case 5: products_of(5, count, shared, lists, stride, sums, between); break;
        default: products_of(6, count, shared, lists, stride, sums, between);
        }
        lists += (ptrdiff_t)own * stride;
        sums += own * between;
        n -= own;
    }
}

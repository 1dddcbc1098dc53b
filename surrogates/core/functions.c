/* Exponential and hyperbolic tangent of many numbers, to a few units in the last place: loops that
   compilers turn into vector instructions. */
#include <math.h>
#include <string.h>

/* exp(r) - 1 for |r| <= log(2) / 2, by Taylor's series in pairs, which do not wait for one another. */
INLINE double less_one(double r)
{
    const double r2 = r * r, r4 = r2 * r2;
    const double p2 = FUSED(1.0 / 6.0, r, 0.5), p4 = FUSED(1.0 / 120.0, r, 1.0 / 24.0);
    const double p6 = FUSED(1.0 / 5040.0, r, 1.0 / 720.0);
    const double p8 = FUSED(1.0 / 362880.0, r, 1.0 / 40320.0);
    const double p10 = FUSED(1.0 / 39916800.0, r, 1.0 / 3628800.0);
    const double p12 = FUSED(1.0 / 6227020800.0, r, 1.0 / 479001600.0);
    const double low = FUSED(p4, r2, p2), middle = FUSED(p8, r2, p6), high = FUSED(p12, r2, p10);
    return FUSED(FUSED(FUSED(high, r4, middle), r4, low), r2, r);
}

#define ROUNDING 6755399441055744.0 /* 1.5 * 2^52: a sum has the nearest integer in its last bits */
#define PER_LOG2 1.44269504088896340736
#define LOG2_HIGH 6.93147180369123816490e-01 /* zeros behind it: exact products with an integer */
#define LOG2_LOW 1.90821492927058770002e-10

/* 2^k of ROUNDING + k */
INLINE double power_of_two(double shifted)
{
    unsigned long long bits;
    double power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* Multiply values by exp(-exponent), exponents >= 0. */
static void decay(int count, const double *restrict exponents, double *restrict values)
{
    int i;
    for (i = 0; i < count; i++) {
        const double v = exponents[i] < 760.0 ? exponents[i] : 760.0; /* exp(-760) is 0 */
        const double shifted = FUSED(v, -PER_LOG2, ROUNDING), k = shifted - ROUNDING;
        const double part = less_one(-FUSED(k, LOG2_LOW, FUSED(k, LOG2_HIGH, v)));
        /* 2^(k + 128) 2^-128, as 2^k itself may be too small for a normal number */
        const double scale = power_of_two(shifted + 128.0);
        values[i] *= FUSED(part, scale, scale) * 2.938735877055718769922e-39;
    }
}

/* Replace numbers by their tanh: q / (q + 2) of q = exp(2 |v|) - 1, which keeps small numbers exact. */
static void tangent(int count, double *restrict numbers)
{
    int i;
    for (i = 0; i < count; i++) {
        const double v = numbers[i], size = fabs(v), held = size < 20.0 ? size : 20.0;
        const double shifted = FUSED(2.0 * held, PER_LOG2, ROUNDING), k = shifted - ROUNDING;
        const double part = less_one(FUSED(k, -LOG2_LOW, FUSED(k, -LOG2_HIGH, 2.0 * held)));
        const double scale = power_of_two(shifted), q = FUSED(part, scale, scale - 1.0);
        numbers[i] = copysign(q / (q + 2.0), v);
    }
}

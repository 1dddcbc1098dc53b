/* if points */
/* Of the correlations factor * exp(-exponent) of a group of points along one input: add to the
   exponents, multiply the factors, set the derivatives over themselves. Compilers turn loops over
   a group into vector instructions. */
static void surrogate_correlate(int kind, double here, const double *restrict places,
                                double *restrict exponents, double *restrict factors,
                                double *restrict steeps)
{
    const double root = kind == 1 ? 2.23606797749978969641 : 1.73205080756887729353;
    const double square = kind == 1 ? 1.0 / 3.0 : 0.0;
    const double level = kind == 1 ? 5.0 / 3.0 : 3.0, rise = kind == 1 ? 5.0 / 3.0 : 0.0;
    int i;
    if (kind == 0) {
        for (i = 0; i < SURROGATE_LANES; i++) {
            const double u = here - places[i];
            exponents[i] += 0.5 * u * u;
            steeps[i] = -u;
        }
        return;
    }
    for (i = 0; i < SURROGATE_LANES; i++) {
        const double u = here - places[i], a = root * fabs(u), own = 1.0 + a + square * a * a;
        exponents[i] += a;
        factors[i] *= own;
        steeps[i] = -u * (level + rise * a) / own;
    }
}

/* end */
/* if points networks */
/* Multiply a group of values by exp(-exponent), exponents >= 0: exp(-v) = 2^k exp(r), |r| < log(2) / 2,
   by Taylor's series. A sum with 1.5 * 2^52 rounds to an integer and has it in its last bits. */
static void surrogate_decay(const double *restrict exponents, double *restrict values)
{
    const double shift = 6755399441055744.0;
    double held[SURROGATE_LANES], series[SURROGATE_LANES];
    union {
        double number[SURROGATE_LANES];
        unsigned long long bits[SURROGATE_LANES];
    } scale;
    int i;
    for (i = 0; i < SURROGATE_LANES; i++)
        held[i] = exponents[i] < 760.0 ? exponents[i] : 760.0; /* exp(-760) is 0 */
    for (i = 0; i < SURROGATE_LANES; i++) {
        const double v = held[i];
        const double shifted = shift - v * 1.44269504088896340736, k = shifted - shift;
        const double r = -((v + k * 6.93147180369123816490e-01) + k * 1.90821492927058770002e-10);
        /* in pairs, which do not wait for one another */
        const double r2 = r * r, r4 = r2 * r2;
        const double p0 = (1.0 / 6.0 * r + 0.5) * r2 + (r + 1.0);
        const double p4 = (1.0 / 5040.0 * r + 1.0 / 720.0) * r2 + (1.0 / 120.0 * r + 1.0 / 24.0);
        const double p8 = (1.0 / 39916800.0 * r + 1.0 / 3628800.0) * r2
                          + (1.0 / 362880.0 * r + 1.0 / 40320.0);
        const double p12 = 1.0 / 6227020800.0 * r + 1.0 / 479001600.0;
        series[i] = (p12 * r4 + p8) * (r4 * r4) + (p4 * r4 + p0);
        scale.number[i] = shifted + 128.0;
    }
    /* 2^(k + 128) 2^-128, since 2^k itself may be too small for a double */
    for (i = 0; i < SURROGATE_LANES; i++)
        scale.bits[i] = (scale.bits[i] << 52) + 0x3FF0000000000000ULL;
    for (i = 0; i < SURROGATE_LANES; i++)
        values[i] *= series[i] * scale.number[i] * 2.938735877055718769922e-39;
}

/* end */
/* if points */
/* Fill where an input lies among the places of the points. */
static void surrogate_shear_inputs(const surrogate_regressor *r, const double *z, double *here)
{
    double first = z[0];
    int j;
    for (j = 1; j < r->inputs; j++) {
        first += r->shear[j] * z[j];
        here[j] = z[j] * r->rates[j];
    }
    here[0] = first * r->rates[0];
}

/* Add the values of a group of points, times their weights, and these times their derivatives. */
static void surrogate_add_lanes(int d, const double *restrict values,
                                const double *restrict weights,
                                double (*restrict steep)[SURROGATE_LANES],
                                double (*restrict lanes)[SURROGATE_LANES])
{
    double weighted[SURROGATE_LANES];
    int i, j;
    for (i = 0; i < SURROGATE_LANES; i++) {
        weighted[i] = values[i] * weights[i];
        lanes[SURROGATE_VALUE][i] += weighted[i];
    }
    for (j = 0; j < d; j++)
        for (i = 0; i < SURROGATE_LANES; i++)
            lanes[j][i] += weighted[i] * steep[j][i];
}

static double surrogate_total(const double *lanes)
{
    double sums[SURROGATE_LANES / 2];
    int i, half = SURROGATE_LANES / 2;
    for (i = 0; i < half; i++)
        sums[i] = lanes[i] + lanes[i + half];
    while (half /= 2)
        for (i = 0; i < half; i++)
            sums[i] += sums[i + half];
    return sums[0];
}

static void surrogate_add_points(const surrogate_regressor *r, int outputs, const double *z,
                                 double *sums)
{
    const int d = r->inputs;
    double lanes[SURROGATE_OUTPUTS * SURROGATE_ROW][SURROGATE_LANES];
    double here[SURROGATE_ROW] = {0.0}, steep[SURROGATE_ROW][SURROGATE_LANES];
    int g, i, j, k;
    surrogate_shear_inputs(r, z, here);
    for (k = 0; k < outputs * SURROGATE_ROW; k++)
        for (i = 0; i < SURROGATE_LANES; i++)
            lanes[k][i] = 0.0;
    for (g = 0; g < r->groups; g++) {
        const double *places = r->places + g * d * SURROGATE_LANES;
        double exponents[SURROGATE_LANES] = {0.0}, values[SURROGATE_LANES];
        for (i = 0; i < SURROGATE_LANES; i++)
            values[i] = 1.0;
        for (j = 0; j < d; j++)
            surrogate_correlate(r->kinds[j], here[j], places + j * SURROGATE_LANES, exponents,
                                values, steep[j]);
        surrogate_decay(exponents, values);
        for (k = 0; k < outputs; k++)
            surrogate_add_lanes(d, values,
                                r->point_weights + (g * r->outputs + k) * SURROGATE_LANES, steep,
                                lanes + k * SURROGATE_ROW);
    }
    for (k = 0; k < outputs; k++) {
        const double first = surrogate_total(lanes[k * SURROGATE_ROW]) * r->rates[0];
        double *sum = sums + k * SURROGATE_ROW;
        sum[SURROGATE_VALUE] += surrogate_total(lanes[k * SURROGATE_ROW + SURROGATE_VALUE]);
        sum[0] += first;
        for (j = 1; j < d; j++)
            sum[j] += surrogate_total(lanes[k * SURROGATE_ROW + j]) * r->rates[j]
                      + r->shear[j] * first;
    }
}

/* end */

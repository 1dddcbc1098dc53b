/* Correlations between points, and what the likelihood of Kriging needs of their derivatives. Points
   are divided by the lengths, and given one input after the other. */

/* Scale of a distance u: exp(-u^2 / 2); (1 + s + s^2 / 3) exp(-s), s = sqrt(5) u; (1 + s) exp(-s),
   s = sqrt(3) u (Rasmussen & Williams 2006, Eq. 4.9 and 4.17). */
static double scale_of(int kind)
{
    return kind == 0 ? sqrt(0.5) : sqrt(kind == 1 ? 5.0 : 3.0);
}

/* Fill the correlations of the first of points (inputs x rows) with the first `count` of other points
   (inputs x columns). */
static void correlate_points(int inputs, const int *kinds, ptrdiff_t rows, const double *point,
                             ptrdiff_t columns, const double *points, int count, double *values)
{
    double exponents[GROUP];
    int i, j;
    for (i = 0; i < count; i++) {
        exponents[i] = 0.0;
        values[i] = 1.0;
    }
    for (j = 0; j < inputs; j++) {
        const double *at = points + j * columns, here = point[j * rows], scale = scale_of(kinds[j]);
        const double third = kinds[j] == 1 ? 1.0 / 3.0 : 0.0;
        if (kinds[j] == 0)
            for (i = 0; i < count; i++) {
                const double s = scale * (here - at[i]);
                exponents[i] += s * s;
            }
        else
            for (i = 0; i < count; i++) {
                const double s = scale * fabs(here - at[i]);
                exponents[i] += s;
                values[i] *= 1.0 + s + third * s * s;
            }
    }
    decay(count, exponents, values);
}

void fill_correlation_matrix(int inputs, const int *kinds, ptrdiff_t rows, const double *first,
                             ptrdiff_t columns, const double *second, int lower, double *matrix)
{
    ptrdiff_t i, k;
    for (i = 0; i < rows; i++, matrix += columns) {
        const ptrdiff_t end = lower ? i : columns;
        for (k = 0; k < end; k += GROUP)
            correlate_points(inputs, kinds, rows, first + i, columns, second + k,
                             (int)(end - k < GROUP ? end - k : GROUP), matrix + k);
    }
}

/* Derivative of the logarithm of a correlation by the difference v of an input. */
static double logarithmic_slope(int kind, double v)
{
    double s;
    if (kind == 0)
        return -v;
    s = scale_of(kind) * fabs(v);
    return kind == 1 ? -5.0 * v * (1.0 + s) / (3.0 + s * (3.0 + s)) : -3.0 * v / (1.0 + s);
}

void fill_point_gradient(int inputs, const int *kinds, ptrdiff_t count, const double *points,
                         const double *correlation, const double *weights, double *gradient)
{
    ptrdiff_t i, k;
    int j, lane;
    for (k = 0; k < inputs * count; k++)
        gradient[k] = 0.0;
    for (i = 0; i < count; i++)
        for (j = 0; j < inputs; j++) {
            const double *at = points + j * count, *c = correlation + i * count, *w = weights + i * count;
            double *own = gradient + j * count, lanes[8] = {0.0}, total = 0.0;
            for (k = 0; k + 8 <= i; k += 8)
                for (lane = 0; lane < 8; lane++) {
                    const ptrdiff_t l = k + lane;
                    const double g = 2.0 * w[l] * c[l] * logarithmic_slope(kinds[j], at[i] - at[l]);
                    own[l] -= g;
                    lanes[lane] += g;
                }
            for (; k < i; k++) {
                const double g = 2.0 * w[k] * c[k] * logarithmic_slope(kinds[j], at[i] - at[k]);
                own[k] -= g;
                total += g;
            }
            own[i] += total + total8(lanes);
        }
}

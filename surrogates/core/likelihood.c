/* Correlations between points, and what the likelihood of Kriging needs of their derivatives. Points are
   times their rates, and given one input after the other. */

void fill_correlation_matrix(int inputs, const int *kinds, ptrdiff_t rows, const double *first,
                             ptrdiff_t columns, const double *second, int lower, double *matrix)
{
    double exponents[GROUP];
    ptrdiff_t i, k;
    int j;
    for (i = 0; i < rows; i++, matrix += columns) {
        const ptrdiff_t end = lower ? i : columns;
        for (k = 0; k < end; k += GROUP) {
            const int count = (int)(end - k < GROUP ? end - k : GROUP);
            for (j = 0; j < count; j++) {
                exponents[j] = 0.0;
                matrix[k + j] = 1.0;
            }
            for (j = 0; j < inputs; j++)
                correlate(kinds[j], first[j * rows + i], count, second + j * columns + k, exponents,
                          matrix + k);
            close_features(kinds[0], count, exponents, matrix + k);
        }
    }
}

void fill_point_gradient(int inputs, const int *kinds, ptrdiff_t points, const double *places,
                         const double *correlation, const double *weights, double *gradient)
{
    double steep[GROUP], lanes[8];
    ptrdiff_t i, k;
    int j, l;
    for (k = 0; k < inputs * points; k++)
        gradient[k] = 0.0;
    for (i = 0; i < points; i++, correlation += points, weights += points)
        for (j = 0; j < inputs; j++) {
            const double *at = places + j * points;
            double *own = gradient + j * points;
            for (l = 0; l < 8; l++)
                lanes[l] = 0.0;
            for (k = 0; k < i; k += GROUP) {
                const int count = (int)(i - k < GROUP ? i - k : GROUP);
                steepen(kinds[j], at[i], count, at + k, 0, steep);
                for (l = 0; l < count; l++) {
                    steep[l] *= 2.0 * weights[k + l] * correlation[k + l];
                    own[k + l] -= steep[l];
                }
                for (; l % 8; l++)
                    steep[l] = 0.0;
                for (l -= 8; l >= 0; l -= 8)
                    store8(lanes, add8(load8(lanes), load8(steep + l)));
            }
            own[i] += total8(lanes);
        }
}

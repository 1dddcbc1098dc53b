/* Normal equations of local quadratic fits to the points of a surface. */

void local_fit_sums(int count, const int *vertex, const int *near, const vector3 *points,
                    const vector3 *normals, const vector3 *first, const vector3 *second,
                    const double *shares, double radius, double least_cosine, double *sums)
{
    int k, row, column;
    for (k = 0; k < count; k++) {
        const int i = vertex[k], j = near[k];
        const vector3 away = times(1.0 / radius, minus(points[j], points[i]));
        const double x = dot_product(away, first[i]), y = dot_product(away, second[i]);
        const double fading = most(0.0, 1.0 - dot_product(away, away));
        /* The factor makes the norm of the coefficients independent of the tangents' direction. */
        const double basis[7] = {1.0, x, y, x * x, sqrt(2.0) * x * y, y * y,
                                 dot_product(away, normals[i])};
        double *const out = sums + 42 * (ptrdiff_t)i;
        if (!(dot_product(normals[i], normals[j]) > least_cosine))
            continue;
        for (row = 0; row < 6; row++) {
            const double weighted = fading * fading * shares[j] * basis[row];
            for (column = 0; column < 7; column++)
                out[7 * row + column] = FUSED(weighted, basis[column], out[7 * row + column]);
        }
    }
}

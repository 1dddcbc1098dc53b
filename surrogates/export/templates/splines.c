/* Splines of the sheared first input times polynomials: on a piece between two knots a polynomial
   whose weights are blended, the sums of the terms' weights for four splines times the values of
   the splines. */
enum { SURROGATE_ORDER = 4 };

/* Return the first of the four splines at z; fill their values, first and second derivatives. */
static int surrogate_splines_at(const surrogate_regressor *r, const double *z,
                                double (*blends)[SURROGATE_ORDER])
{
    double w = 0.0, t;
    const double *c;
    int low = 0, high = r->pieces, j, s;
    for (j = 0; j < r->inputs - 1; j++)
        w += r->along[j] * z[j];
    while (high - low > 1) { /* the first and the last piece go on beyond the knots */
        const int middle = (low + high) / 2;
        if (w >= r->knots[middle])
            low = middle;
        else
            high = middle;
    }
    t = w - r->knots[low];
    c = r->splines + low * SURROGATE_ORDER * SURROGATE_ORDER;
    for (s = 0; s < SURROGATE_ORDER; s++, c++) {
        blends[0][s] = c[0] + t * (c[4] + t * (c[8] + t * c[12]));
        blends[1][s] = c[4] + t * (2.0 * c[8] + t * 3.0 * c[12]);
        blends[2][s] = 2.0 * c[8] + t * 6.0 * c[12];
    }
    return low;
}

/* Return a regressor of the terms alone with blended weights of the first outputs: by the splines,
   and, up to `orders` in all, by their derivatives, as further outputs. */
static surrogate_regressor surrogate_blend(const surrogate_regressor *r, int outputs, int orders,
                                           const double *z, double *weights)
{
    surrogate_regressor blended = *r;
    double blends[3][SURROGATE_ORDER];
    const int terms = r->terms, first = surrogate_splines_at(r, z, blends) * terms;
    int i, k, t;
    blended.features = terms;
    blended.weights = weights;
    for (i = 0; i < orders; i++)
        for (k = 0; k < outputs; k++, weights += terms) {
            const double *own = r->weights + k * r->features + first, *blend = blends[i];
            for (t = 0; t < terms; t++)
                weights[t] = blend[0] * own[t] + blend[1] * own[t + terms]
                             + blend[2] * own[t + 2 * terms] + blend[3] * own[t + 3 * terms];
        }
    return blended;
}

static void surrogate_add_splines(const surrogate_regressor *r, int outputs, const double *z,
                                  double *sums)
{
    double weights[2 * SURROGATE_OUTPUTS * SURROGATE_TERMS];
    double found[2 * SURROGATE_OUTPUTS * SURROGATE_ROW] = {0.0};
    const surrogate_regressor blended = surrogate_blend(r, outputs, 2, z, weights);
    int k, j;
    surrogate_add_terms(&blended, 2 * outputs, z, found);
    for (k = 0; k < outputs; k++) {
        const double slope = found[(outputs + k) * SURROGATE_ROW + SURROGATE_VALUE];
        for (j = 0; j < SURROGATE_ROW; j++)
            sums[k * SURROGATE_ROW + j] += found[k * SURROGATE_ROW + j];
        for (j = 0; j < r->inputs; j++)
            sums[k * SURROGATE_ROW + j] += slope * r->along[j];
    }
}


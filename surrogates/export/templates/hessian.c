/* Add the second derivatives of each kind of feature by z (inputs x inputs), first output. */
static void surrogate_bend_terms(const surrogate_regressor *r, const double *z, double *hessian)
{
    const int d = r->inputs;
    double table[SURROGATE_VALUE][SURROGATE_DEGREES][3];
    int used[SURROGATE_VALUE], t, a, b, i, count;
    for (a = 0; a < d; a++)
        surrogate_fill_basis(z[a], a == 0 ? r->wave : 0.0, table[a]);
    for (t = 0; t < r->terms; t++) {
        const int *degrees = r->exponents + t * d;
        for (count = i = 0; i < d; i++)
            if (degrees[i])
                used[count++] = i;
        for (a = 0; a < count; a++)
            for (b = 0; b < count; b++) {
                double product = r->weights[t * r->outputs];
                for (i = 0; i < count; i++)
                    product *= table[used[i]][degrees[used[i]]][(i == a) + (i == b)];
                hessian[used[a] * d + used[b]] += product;
            }
    }
}

/* if points */
/* Return the second derivative of a correlation over itself less the square of the first. */
static double surrogate_turn(int kind, double u, double steep)
{
    const double a = (kind == 1 ? 2.23606797749978969641 : 1.73205080756887729353) * fabs(u);
    if (kind == 0)
        return -1.0;
    if (kind == 1)
        return 5.0 / 3.0 * (a * a - a - 1.0) / (1.0 + a + a * a / 3.0) - steep * steep;
    return 3.0 * (a - 1.0) / (1.0 + a) - steep * steep;
}

/* Add the second derivatives of a correlation whose derivatives over itself are `by`, and what
   `turn` is along each input before the shear. */
static void surrogate_bend_point(const surrogate_regressor *r, double weight, double *by,
                                 const double *turn, double *hessian)
{
    const int d = r->inputs;
    int a, b;
    for (a = 1; a < d; a++)
        by[a] += r->shear[a] * by[0];
    for (a = 0; a < d; a++)
        for (b = 0; b < d; b++) {
            const double shears = (a ? r->shear[a] : 1.0) * (b ? r->shear[b] : 1.0);
            const double own = shears * turn[0] + (a == b && a > 0 ? turn[a] : 0.0);
            hessian[a * d + b] += weight * (by[a] * by[b] + own);
        }
}

static void surrogate_bend_points(const surrogate_regressor *r, const double *z, double *hessian)
{
    const int d = r->inputs;
    double here[SURROGATE_ROW] = {0.0}, steep[SURROGATE_ROW][SURROGATE_LANES];
    double by[SURROGATE_ROW], turn[SURROGATE_ROW];
    int g, i, j;
    surrogate_shear_inputs(r, z, here);
    for (g = 0; g < r->groups; g++) {
        const double *places = r->places + g * d * SURROGATE_LANES;
        double exponents[SURROGATE_LANES] = {0.0}, weights[SURROGATE_LANES];
        for (i = 0; i < SURROGATE_LANES; i++)
            weights[i] = r->point_weights[g * r->outputs * SURROGATE_LANES + i];
        for (j = 0; j < d; j++)
            surrogate_correlate(r->kinds[j], here[j], places + j * SURROGATE_LANES, exponents,
                                weights, steep[j]);
        surrogate_decay(exponents, weights);
        for (i = 0; i < SURROGATE_LANES; i++) {
            for (j = 0; j < d; j++) {
                const double u = here[j] - places[j * SURROGATE_LANES + i], rate = r->rates[j];
                by[j] = steep[j][i] * rate;
                turn[j] = surrogate_turn(r->kinds[j], u, steep[j][i]) * rate * rate;
            }
            surrogate_bend_point(r, weights[i], by, turn, hessian);
        }
    }
}

/* end */
/* if networks */
static void surrogate_bend_networks(const surrogate_regressor *r, const double *z, double *hessian)
{
    const int d = r->inputs, h = r->units;
    double rows[SURROGATE_UNITS][SURROGATE_ROW], row[SURROGATE_ROW], back[SURROGATE_UNITS];
    const double *weights = r->weights + r->terms * r->outputs;
    int net, unit, u, a, b;
    for (net = 0; net < r->nets; net++) {
        const double *inner = r->inner + net * d * h;
        surrogate_inner(r, net, z, rows);
        for (u = 0; u < h; u++)
            back[u] = 0.0;
        for (unit = 0; unit < h; unit++, weights += r->outputs) {
            const double *hidden = r->hidden + (net * h + unit) * h;
            double t, slope;
            surrogate_outer(r, net, unit, rows, row);
            t = row[SURROGATE_VALUE];
            slope = 1.0 - t * t;
            if (!(slope > 0.0))
                continue;
            for (a = 0; a < d; a++)
                for (b = 0; b < d; b++)
                    hessian[a * d + b] -= weights[0] * 2.0 * t / slope * row[a] * row[b];
            for (u = 0; u < h; u++)
                back[u] += weights[0] * slope * hidden[u];
        }
        for (u = 0; u < h; u++) {
            const double t = rows[u][SURROGATE_VALUE], factor = -2.0 * t * (1.0 - t * t) * back[u];
            for (a = 0; a < d; a++)
                for (b = 0; b < d; b++)
                    hessian[a * d + b] += factor * inner[a * h + u] * inner[b * h + u];
        }
    }
}

/* end */
/* Fill the second derivatives (inputs x inputs) of the first output at x. */
static void surrogate_hessian_of(const surrogate_regressor *r, const double *x, double *hessian)
{
    const int d = r->inputs;
    double z[SURROGATE_ROW] = {0.0};
    int a, b;
    surrogate_scale_inputs(r, d, x, z);
    for (a = 0; a < d * d; a++)
        hessian[a] = 0.0;
    surrogate_bend_terms(r, z, hessian);
    /* if points */
    if (r->groups)
        surrogate_bend_points(r, z, hessian);
    /* end */
    /* if networks */
    surrogate_bend_networks(r, z, hessian);
    /* end */
    for (a = 0; a < d; a++)
        for (b = 0; b < d; b++)
            hessian[a * d + b] *= r->y_scale[0] / (r->x_scale[a] * r->x_scale[b]);
}

/* Second derivatives are kept as sums over features, for inputs a >= b in the row that
   surrogate_pair tells; a row is that of the outputs, at most six. */
enum { SURROGATE_PAIRS = 28 };

static int surrogate_pair(int a, int b)
{
    return a * (a + 1) / 2 + b;
}

/* Fill the weights of a feature in the outputs. */
static void surrogate_weights_of(const surrogate_regressor *r, int outputs, int feature,
                                 double *weights)
{
    int k;
    for (k = 0; k < outputs; k++)
        weights[k] = r->weights[k * r->features + feature];
    for (; k < SURROGATE_ROW; k++)
        weights[k] = 0.0;
}

/* Add a number times the weights of the outputs. */
static void surrogate_add_weighted(double value, const double *restrict weights,
                                   double *restrict sums)
{
    int k;
    for (k = 0; k < SURROGATE_ROW; k++)
        sums[k] += value * weights[k];
}

/* Add the second derivatives of the terms by z. */
static void surrogate_bend_terms(const surrogate_regressor *r, int outputs, const double *z,
                                 double (*sums)[SURROGATE_ROW])
{
    const int d = r->inputs;
    double table[SURROGATE_VALUE][SURROGATE_DEGREES][3];
    double weights[SURROGATE_ROW];
    const double *factors[SURROGATE_VALUE];
    int used[SURROGATE_VALUE], t, a, b, i, count;
    for (a = 0; a < d; a++)
        surrogate_fill_basis(z[a], a == 0 ? r->wave : 0.0, table[a]);
    for (t = 0; t < r->terms; t++) {
        const int *own = r->factors + 3 * t;
        for (count = 0; own[2]; own = r->factors + 3 * own[0]) { /* the highest input first */
            used[count] = own[1];
            factors[count++] = table[own[1]][own[2]];
        }
        surrogate_weights_of(r, outputs, t, weights);
        for (a = 0; a < count; a++)
            for (b = a; b < count; b++) {
                double product = 1.0;
                for (i = 0; i < count; i++)
                    product *= factors[i][(i == a) + (i == b)];
                surrogate_add_weighted(product, weights, sums[surrogate_pair(used[a], used[b])]);
            }
    }
}

/* if splines */
/* Add the second derivatives of the terms, those of the splines, and mixed ones. */
static void surrogate_bend_splines(const surrogate_regressor *r, int outputs, const double *z,
                                   double (*sums)[SURROGATE_ROW])
{
    const double *along = r->along;
    double weights[3 * SURROGATE_BENT * SURROGATE_TERMS];
    double found[3 * SURROGATE_BENT * SURROGATE_ROW] = {0.0};
    const surrogate_regressor blended = surrogate_blend(r, outputs, 3, z, weights);
    int a, b, k;
    surrogate_bend_terms(&blended, outputs, z, sums);
    surrogate_add_terms(&blended, 3 * outputs, z, found);
    for (k = 0; k < outputs; k++) {
        const double *slopes = found + (outputs + k) * SURROGATE_ROW;
        const double bend = slopes[outputs * SURROGATE_ROW + SURROGATE_VALUE];
        for (a = 0; a < r->inputs; a++)
            for (b = 0; b <= a; b++)
                sums[surrogate_pair(a, b)][k] += slopes[a] * along[b] + slopes[b] * along[a]
                                                 + bend * along[a] * along[b];
    }
}

/* end */
/* if points */
/* Fill the second derivatives of a group's correlations over themselves, along one input, less
   the squares of the first, `steep`. */
static void surrogate_turn(int kind, double here, const double *restrict places,
                           const double *restrict steep, double *restrict turn)
{
    const double root = kind == 1 ? 2.23606797749978969641 : 1.73205080756887729353;
    int i;
    if (kind == 0)
        for (i = 0; i < SURROGATE_LANES; i++)
            turn[i] = -1.0;
    else if (kind == 1)
        for (i = 0; i < SURROGATE_LANES; i++) {
            const double a = root * fabs(here - places[i]), square = a * a;
            turn[i] = 5.0 / 3.0 * (square - a - 1.0) / (1.0 + a + square / 3.0)
                      - steep[i] * steep[i];
        }
    else
        for (i = 0; i < SURROGATE_LANES; i++) {
            const double a = root * fabs(here - places[i]);
            turn[i] = 3.0 * (a - 1.0) / (1.0 + a) - steep[i] * steep[i];
        }
}

/* Fill the second derivatives of a group's correlations by their places. */
static void surrogate_square(int d, const double *restrict values,
                             double (*restrict steep)[SURROGATE_LANES],
                             double (*restrict turn)[SURROGATE_LANES],
                             double (*restrict squares)[SURROGATE_LANES])
{
    int a, b, i;
    for (a = 0; a < d; a++) {
        double (*row)[SURROGATE_LANES] = squares + surrogate_pair(a, 0);
        double weighted[SURROGATE_LANES];
        for (i = 0; i < SURROGATE_LANES; i++)
            weighted[i] = values[i] * steep[a][i];
        for (b = 0; b <= a; b++)
            for (i = 0; i < SURROGATE_LANES; i++)
                row[b][i] = weighted[i] * steep[b][i];
        for (i = 0; i < SURROGATE_LANES; i++)
            row[a][i] += values[i] * turn[a][i];
    }
}

static void surrogate_add_squares(int pairs, const double *restrict weights,
                                  double (*restrict squares)[SURROGATE_LANES],
                                  double (*restrict lanes)[SURROGATE_LANES])
{
    int p, i;
    for (p = 0; p < pairs; p++)
        for (i = 0; i < SURROGATE_LANES; i++)
            lanes[p][i] += weights[i] * squares[p][i];
}

/* Add second derivatives by sheared places (`lanes`, of the output k) as those by z. */
static void surrogate_unshear(const surrogate_regressor *r, int k,
                              double (*lanes)[SURROGATE_LANES], double (*sums)[SURROGATE_ROW])
{
    const int d = r->inputs;
    double first[SURROGATE_ROW];
    int a, b;
    for (a = 0; a < d; a++)
        first[a] = surrogate_total(lanes[surrogate_pair(a, 0)]) * r->rates[a] * r->rates[0];
    for (a = 0; a < d; a++)
        for (b = 0; b <= a; b++) {
            const double own = surrogate_total(lanes[surrogate_pair(a, b)]) * r->rates[a];
            const double by_a = a ? r->shear[a] : 0.0, by_b = b ? r->shear[b] : 0.0;
            sums[surrogate_pair(a, b)][k] += own * r->rates[b] + by_a * first[b] + by_b * first[a]
                                             + by_a * by_b * first[0];
        }
}

static void surrogate_bend_points(const surrogate_regressor *r, int outputs, const double *z,
                                  double (*sums)[SURROGATE_ROW])
{
    const int d = r->inputs, pairs = d * (d + 1) / 2;
    double lanes[SURROGATE_BENT * SURROGATE_PAIRS][SURROGATE_LANES];
    double squares[SURROGATE_PAIRS][SURROGATE_LANES], turn[SURROGATE_ROW][SURROGATE_LANES];
    double here[SURROGATE_ROW] = {0.0}, steep[SURROGATE_ROW][SURROGATE_LANES];
    int g, i, j, k;
    surrogate_shear_inputs(r, z, here);
    for (k = 0; k < outputs * pairs; k++)
        for (i = 0; i < SURROGATE_LANES; i++)
            lanes[k][i] = 0.0;
    for (g = 0; g < r->groups; g++) {
        const double *places = r->places + g * d * SURROGATE_LANES;
        const double *weights = r->point_weights + g * r->outputs * SURROGATE_LANES;
        double exponents[SURROGATE_LANES] = {0.0}, values[SURROGATE_LANES];
        for (i = 0; i < SURROGATE_LANES; i++)
            values[i] = 1.0;
        for (j = 0; j < d; j++) {
            const double *own = places + j * SURROGATE_LANES;
            surrogate_correlate(r->kinds[j], here[j], own, exponents, values, steep[j]);
            surrogate_turn(r->kinds[j], here[j], own, steep[j], turn[j]);
        }
        surrogate_decay(exponents, values);
        surrogate_square(d, values, steep, turn, squares);
        for (k = 0; k < outputs; k++)
            surrogate_add_squares(pairs, weights + k * SURROGATE_LANES, squares, lanes + k * pairs);
    }
    for (k = 0; k < outputs; k++)
        surrogate_unshear(r, k, lanes + k * pairs, sums);
}

/* end */
/* if networks */
/* Add the square of a row, times a weight for each output. */
static void surrogate_add_row(int d, const double *row, const double *weights,
                              double (*sums)[SURROGATE_ROW])
{
    const volatile int kept = SURROGATE_ROW; /* as in surrogate_add */
    const int stride = kept;
    double *sum = sums[0];
    int a, b;
    for (a = 0; a < d; a++)
        for (b = 0; b <= a; b++, sum += stride)
            surrogate_add_weighted(row[a] * row[b], weights, sum);
}

/* Add the second derivatives of the outer units' tanh; fill what the slopes of each outer unit's
   argument are weighted with in each output. */
static void surrogate_bend_outer(const surrogate_regressor *r, int outputs, int net,
                                 double (*outer)[SURROGATE_UNITS],
                                 double (*back)[SURROGATE_ROW], double (*sums)[SURROGATE_ROW])
{
    double row[SURROGATE_ROW], weights[SURROGATE_ROW];
    int u, j, k;
    for (u = 0; u < r->units; u++) {
        const double t = outer[SURROGATE_VALUE][u], slope = 1.0 - t * t;
        surrogate_weights_of(r, outputs, r->features - (r->nets - net) * r->units + u, weights);
        for (k = 0; k < SURROGATE_ROW; k++)
            back[u][k] = weights[k] * slope;
        if (!(slope > 0.0))
            continue;
        /* tanh'' = -2 t (1 - t^2), and the rows are slopes: (1 - t^2) times the argument's */
        for (k = 0; k < SURROGATE_ROW; k++)
            weights[k] *= -2.0 * t / slope;
        for (j = 0; j < r->inputs; j++)
            row[j] = outer[j][u];
        surrogate_add_row(r->inputs, row, weights, sums);
    }
}

/* Second derivatives of networks: through the outer tanh, and back to the inner ones. */
static void surrogate_bend_networks(const surrogate_regressor *r, int outputs, const double *z,
                                    double (*sums)[SURROGATE_ROW])
{
    const volatile int kept = SURROGATE_ROW; /* as in surrogate_add */
    const int d = r->inputs, h = r->units, stride = r->stride, across = kept;
    double inner[SURROGATE_ROW][SURROGATE_UNITS], outer[SURROGATE_ROW][SURROGATE_UNITS];
    double back[SURROGATE_UNITS][SURROGATE_ROW], factors[4][SURROGATE_ROW], row[SURROGATE_ROW];
    const double *hidden[4];
    int net, u, i, j, k;
    for (net = 0; net < r->nets; net++) {
        surrogate_inner(r, net, z, inner);
        surrogate_outer(r, net, inner, outer);
        surrogate_bend_outer(r, outputs, net, outer, back, sums);
        for (u = 0; u < h; u += 4) {
            for (i = 0; i < 4; i++)
                hidden[i] = r->hidden + (net * h + (u + i < h ? u + i : u)) * stride;
            surrogate_combine(h, across, back[0], back[0], hidden, factors);
            for (i = 0; i < 4 && u + i < h; i++) {
                const double t = inner[SURROGATE_VALUE][u + i];
                for (j = 0; j < d; j++)
                    row[j] = r->inner[(net * d + j) * stride + u + i];
                for (k = 0; k < SURROGATE_ROW; k++)
                    factors[i][k] *= -2.0 * t * (1.0 - t * t);
                surrogate_add_row(d, row, factors[i], sums);
            }
        }
    }
}

/* end */
/* Fill the second derivatives (outputs x inputs x inputs) of the first outputs, at most six, at x. */
static void surrogate_hessians_of(const surrogate_regressor *r, int outputs, const double *x,
                                  double *hessians)
{
    const int d = r->inputs;
    double z[SURROGATE_ROW] = {0.0}, sums[SURROGATE_PAIRS][SURROGATE_ROW];
    int a, b, k;
    surrogate_scale_inputs(r, d, x, z);
    for (a = 0; a < SURROGATE_PAIRS; a++)
        for (k = 0; k < SURROGATE_ROW; k++)
            sums[a][k] = 0.0;
    /* if splines */
    if (r->pieces)
        surrogate_bend_splines(r, outputs, z, sums);
    else
    /* end */
    surrogate_bend_terms(r, outputs, z, sums);
    /* if points */
    if (r->groups)
        surrogate_bend_points(r, outputs, z, sums);
    /* end */
    /* if networks */
    surrogate_bend_networks(r, outputs, z, sums);
    /* end */
    for (k = 0; k < outputs; k++)
        for (a = 0; a < d; a++)
            for (b = 0; b < d; b++) {
                const int pair = a > b ? surrogate_pair(a, b) : surrogate_pair(b, a);
                hessians[(k * d + a) * d + b] = sums[pair][k] * r->y_scale[k]
                                                / (r->x_scale[a] * r->x_scale[b]);
            }
}

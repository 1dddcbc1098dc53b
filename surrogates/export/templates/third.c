/* Third derivatives of the first output of a regressor of six inputs, which the second derivatives
   of an energy's loads take. */

/* Add a derivative by inputs a >= b >= c in every order of them. */
static void surrogate_spread(int a, int b, int c, double value, double (*thirds)[6][6])
{
    thirds[a][b][c] += value;
    if (b != c) {
        thirds[a][c][b] += value;
        thirds[c][a][b] += value;
    }
    if (a != b) {
        thirds[b][a][c] += value;
        thirds[b][c][a] += value;
    }
    if (a != b && b != c)
        thirds[c][b][a] += value;
}

/* Fill the third derivatives of the functions of `surrogate_fill_basis`. */
static void surrogate_third_basis(double wave, double (*table)[3], double *out)
{
    int e;
    for (e = 0; e < SURROGATE_DEGREES; e++) {
        const double turns = wave * ((e + 1) / 2), odd = 2.0 * e - 1.0;
        if (wave > 0.0)
            out[e] = -turns * turns * table[e][1];
        else
            out[e] = e > 0 ? (e > 1 ? out[e - 2] : 0.0) + odd * table[e - 1][2] : 0.0;
    }
}

static void surrogate_third_terms(const surrogate_regressor *r, const double *z,
                                  double (*thirds)[6][6])
{
    double table[6][SURROGATE_DEGREES][3], turn[6][SURROGATE_DEGREES];
    const double *factors[6];
    double last[6];
    int used[6], t, a, b, c, i, count;
    for (a = 0; a < 6; a++) {
        surrogate_fill_basis(z[a], a == 0 ? r->wave : 0.0, table[a]);
        surrogate_third_basis(a == 0 ? r->wave : 0.0, table[a], turn[a]);
    }
    for (t = 0; t < r->terms; t++) {
        const int *own = r->factors + 3 * t;
        for (count = 0; own[2]; own = r->factors + 3 * own[0]) { /* the highest input first */
            used[count] = own[1];
            last[count] = turn[own[1]][own[2]];
            factors[count++] = table[own[1]][own[2]];
        }
        for (a = 0; a < count; a++)
            for (b = a; b < count; b++)
                for (c = b; c < count; c++) {
                    double product = r->weights[t];
                    for (i = 0; i < count; i++) {
                        const int order = (i == a) + (i == b) + (i == c);
                        product *= order == 3 ? last[i] : factors[i][order];
                    }
                    surrogate_spread(used[a], used[b], used[c], product, thirds);
                }
    }
}

/* if points */
/* Return the third derivative of a correlation over itself, along one input. */
static double surrogate_third_correlation(int kind, double u)
{
    const double root = kind == 1 ? 2.23606797749978969641 : 1.73205080756887729353;
    const double a = root * fabs(u), sign = u < 0.0 ? -1.0 : 1.0;
    if (kind == 0)
        return u * (3.0 - u * u);
    if (kind == 1)
        return sign * 5.0 * root * a * (3.0 - a) / (3.0 + 3.0 * a + a * a);
    return sign * 3.0 * root * (2.0 - a) / (1.0 + a);
}

/* Add one point's derivatives by its place: g g g, the second derivatives less their squares on pairs
   of equal inputs, and the rest on triples, each times the weighted correlation. */
static void surrogate_third_point(double weighted, const double *steep, const double *turn,
                                  const double *third, double (*thirds)[6][6])
{
    int a, b, c;
    for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
            for (c = 0; c < 6; c++) {
                double sum = steep[a] * steep[b] * steep[c];
                sum += a == b ? turn[a] * steep[c] : 0.0;
                sum += a == c ? turn[a] * steep[b] : 0.0;
                sum += b == c ? turn[b] * steep[a] : 0.0;
                sum += a == b && b == c ? third[a] : 0.0;
                thirds[a][b][c] += weighted * sum;
            }
}

/* Turn derivatives by sheared places into those by z, and add them. */
static void surrogate_unshear_third(const surrogate_regressor *r, double (*own)[6][6],
                                    double (*thirds)[6][6])
{
    int a, b, c;
    for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
            for (c = 0; c < 6; c++)
                own[a][b][c] *= r->rates[a] * r->rates[b] * r->rates[c];
    for (a = 1; a < 6; a++)
        for (b = 0; b < 6; b++)
            for (c = 0; c < 6; c++)
                own[a][b][c] += r->shear[a] * own[0][b][c];
    for (a = 0; a < 6; a++)
        for (b = 1; b < 6; b++)
            for (c = 0; c < 6; c++)
                own[a][b][c] += r->shear[b] * own[a][0][c];
    for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
            for (c = 0; c < 6; c++)
                thirds[a][b][c] += own[a][b][c] + (c ? r->shear[c] * own[a][b][0] : 0.0);
}

static void surrogate_third_points(const surrogate_regressor *r, const double *z,
                                   double (*thirds)[6][6])
{
    double here[SURROGATE_ROW] = {0.0}, own[6][6][6] = {{{0.0}}};
    double steep[6][SURROGATE_LANES], turn[6][SURROGATE_LANES], g[6], e[6], third[6];
    int group, i, j;
    surrogate_shear_inputs(r, z, here);
    for (group = 0; group < r->groups; group++) {
        const double *places = r->places + group * 6 * SURROGATE_LANES;
        const double *weights = r->point_weights + group * r->outputs * SURROGATE_LANES;
        double exponents[SURROGATE_LANES] = {0.0}, values[SURROGATE_LANES];
        for (i = 0; i < SURROGATE_LANES; i++)
            values[i] = 1.0;
        for (j = 0; j < 6; j++) {
            const double *row = places + j * SURROGATE_LANES;
            surrogate_correlate(r->kinds[j], here[j], row, exponents, values, steep[j]);
            surrogate_turn(r->kinds[j], here[j], row, steep[j], turn[j]);
        }
        surrogate_decay(exponents, values);
        for (i = 0; i < SURROGATE_LANES; i++) {
            for (j = 0; j < 6; j++) {
                g[j] = steep[j][i];
                e[j] = turn[j][i];
                third[j] = surrogate_third_correlation(
                    r->kinds[j], here[j] - places[j * SURROGATE_LANES + i]);
                third[j] -= g[j] * (g[j] * g[j] + 3.0 * e[j]);
            }
            surrogate_third_point(weights[i] * values[i], g, e, third, own);
        }
    }
    surrogate_unshear_third(r, own, thirds);
}

/* end */
/* if networks */
/* Add tanh''' A A A + tanh'' (A A' + ...) of one outer unit, A its argument's slopes and A' its
   second derivatives, times a weight. */
static void surrogate_third_outer(double t, double weight, const double *slopes,
                                  double (*bends)[6], double (*thirds)[6][6])
{
    const double slope = weight * (1.0 - t * t), bend = -2.0 * t * slope;
    const double turn = slope * (6.0 * t * t - 2.0);
    int a, b, c;
    for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
            for (c = 0; c < 6; c++)
                thirds[a][b][c] += turn * slopes[a] * slopes[b] * slopes[c]
                                   + bend * (bends[a][b] * slopes[c] + bends[a][c] * slopes[b]
                                             + bends[b][c] * slopes[a]);
}

static void surrogate_third_networks(const surrogate_regressor *r, const double *z,
                                     double (*thirds)[6][6])
{
    const int h = r->units, stride = r->stride;
    double inner[SURROGATE_ROW][SURROGATE_UNITS], outer[SURROGATE_ROW][SURROGATE_UNITS];
    double back[SURROGATE_UNITS];
    int net, u, v, a, b, c;
    for (net = 0; net < r->nets; net++) {
        const double *own = r->inner + net * 6 * stride;
        surrogate_inner(r, net, z, inner);
        surrogate_outer(r, net, inner, outer);
        for (u = 0; u < h; u++)
            back[u] = 0.0;
        for (v = 0; v < h; v++) {
            const double t = outer[SURROGATE_VALUE][v];
            const double weight = r->weights[r->terms + net * h + v];
            const double *hidden = r->hidden + net * h * stride + v;
            double slopes[6] = {0.0}, bends[6][6] = {{0.0}};
            for (u = 0; u < h; u++) {
                const double s = inner[SURROGATE_VALUE][u], w = hidden[u * stride];
                const double bend = -2.0 * s * (1.0 - s * s) * w;
                back[u] += weight * (1.0 - t * t) * w;
                for (a = 0; a < 6; a++) {
                    slopes[a] += w * inner[a][u];
                    for (b = 0; b < 6; b++)
                        bends[a][b] += bend * own[a * stride + u] * own[b * stride + u];
                }
            }
            surrogate_third_outer(t, weight, slopes, bends, thirds);
        }
        for (u = 0; u < h; u++) {
            const double s = inner[SURROGATE_VALUE][u];
            const double turn = (1.0 - s * s) * (6.0 * s * s - 2.0) * back[u];
            for (a = 0; a < 6; a++)
                for (b = 0; b < 6; b++)
                    for (c = 0; c < 6; c++)
                        thirds[a][b][c] += turn * own[a * stride + u] * own[b * stride + u]
                                           * own[c * stride + u];
        }
    }
}

/* end */
/* Fill the third derivatives of the first output by the six inputs at x. */
static void surrogate_thirds_of(const surrogate_regressor *r, const double *x,
                                double (*thirds)[6][6])
{
    double z[SURROGATE_ROW] = {0.0};
    int a, b, c;
    surrogate_scale_inputs(r, 6, x, z);
    for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
            for (c = 0; c < 6; c++)
                thirds[a][b][c] = 0.0;
    surrogate_third_terms(r, z, thirds);
    /* if points */
    if (r->groups)
        surrogate_third_points(r, z, thirds);
    /* end */
    /* if networks */
    surrogate_third_networks(r, z, thirds);
    /* end */
    for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
            for (c = 0; c < 6; c++)
                thirds[a][b][c] *= r->y_scale[0] / (r->x_scale[a] * r->x_scale[b] * r->x_scale[c]);
}

/* A function of `inputs` inputs and `outputs` outputs: a weighted sum of features of
   z = (x - x_offset) / x_scale, one kind after the other: products of Legendre polynomials (of a
   Fourier series in the first input if wave > 0), correlations with points, and outer units of
   two-layer tanh networks. */
typedef struct {
    int inputs, outputs, terms, features;
    double wave;
    const double *x_offset, *x_scale, *y_offset, *y_scale;
    const int *factors;        /* terms x 3: an earlier term, times which input's which degree */
    const double *weights;     /* outputs x features: terms, then outer units */
    /* if points */
    int groups;                /* of eight points, the last filled up with weights of zero */
    const double *places;      /* groups x inputs x 8, sheared, in correlation lengths */
    const double *point_weights;/* groups x outputs x 8 */
    const double *rates;       /* inputs: one over the correlation length */
    const int *kinds;          /* inputs: 0 squared exponential, 1 Matern 5/2, 2 Matern 3/2 */
    const double *shear;       /* inputs: what each adds to the first, in correlations alone */
    /* end */
    /* if networks */
    int nets, units, stride;   /* the stride is that of units, filled up to eights with zeros */
    const double *inner;       /* nets x inputs x stride */
    const double *inner_bias;  /* nets x stride */
    const double *hidden;      /* nets x inner units x stride of outer units */
    const double *hidden_bias; /* nets x stride */
    /* end */
} surrogate_regressor;

/* Place of a value behind the derivatives by at most seven inputs. */
enum { SURROGATE_VALUE = 7, SURROGATE_ROW = 8, SURROGATE_LANES = 8 };

/* Fill values, first and second derivatives of the polynomials, or of the Fourier series, at z. */
static void surrogate_fill_basis(double z, double wave, double (*out)[3])
{
    int e, i;
    for (i = 0; i < 3; i++)
        out[0][i] = i == 0 ? 1.0 : 0.0;
    for (e = 1; e < SURROGATE_DEGREES; e++) {
        const double turns = wave * ((e + 1) / 2), odd = 2.0 * e - 1.0;
        if (wave > 0.0) {
            const double s = sin(turns * z), c = cos(turns * z);
            out[e][0] = e % 2 ? s : c;
            out[e][1] = turns * (e % 2 ? c : -s);
            out[e][2] = -turns * turns * out[e][0];
        } else {
            const double before = e > 1 ? out[e - 2][0] : 0.0;
            out[e][0] = (odd * z * out[e - 1][0] - (e - 1.0) * before) / e;
            for (i = 1; i < 3; i++)
                out[e][i] = (e > 1 ? out[e - 2][i] : 0.0) + odd * out[e - 1][i - 1];
        }
    }
}

static void surrogate_scale_inputs(const surrogate_regressor *r, int count, const double *x,
                                   double *z)
{
    int j;
    for (j = 0; j < count; j++)
        z[j] = (x[j] - r->x_offset[j]) / r->x_scale[j];
}

/* Fill four weighted sums of `count` rows of eight, two of some and two of other rows; compilers keep
   the sums in registers. */
static void surrogate_combine(int count, int stride, const double *restrict rows,
                              const double *restrict others, const double *const *weights,
                              double (*restrict sums)[SURROGATE_ROW])
{
    const double *restrict first = weights[0], *restrict second = weights[1];
    const double *restrict third = weights[2], *restrict fourth = weights[3];
    double a[SURROGATE_ROW] = {0.0}, b[SURROGATE_ROW] = {0.0};
    double c[SURROGATE_ROW] = {0.0}, d[SURROGATE_ROW] = {0.0};
    int t, j;
    for (t = 0; t < count; t++, rows += stride, others += stride) {
        for (j = 0; j < SURROGATE_ROW; j++)
            a[j] += rows[j] * first[t];
        for (j = 0; j < SURROGATE_ROW; j++)
            b[j] += rows[j] * second[t];
        for (j = 0; j < SURROGATE_ROW; j++)
            c[j] += others[j] * third[t];
        for (j = 0; j < SURROGATE_ROW; j++)
            d[j] += others[j] * fourth[t];
    }
    for (j = 0; j < SURROGATE_ROW; j++) {
        sums[0][j] = a[j];
        sums[1][j] = b[j];
        sums[2][j] = c[j];
        sums[3][j] = d[j];
    }
}

/* Add features from the place `first` on, with their gradients, to the first `outputs` outputs. */
static void surrogate_add(const surrogate_regressor *r, int outputs, int first, int count,
                          double (*rows)[SURROGATE_ROW], double *sums)
{
    /* kept from compilers, which otherwise work on one number of eight rows, not on one row */
    const volatile int kept = SURROGATE_ROW;
    const int stride = kept;
    double found[4][SURROGATE_ROW];
    const double *weights[4];
    int k, i, j;
    for (k = 0; k < outputs; k += 4) {
        for (i = 0; i < 4; i++)
            weights[i] = r->weights + (k + i < outputs ? k + i : k) * r->features + first;
        surrogate_combine(count, stride, rows[0], rows[0], weights, found);
        for (i = 0; i < 4 && k + i < outputs; i++)
            for (j = 0; j < SURROGATE_ROW; j++)
                sums[(k + i) * SURROGATE_ROW + j] += found[i][j];
    }
}

static void surrogate_add_terms(const surrogate_regressor *r, int outputs, const double *z,
                                double *sums)
{
    double table[SURROGATE_VALUE][SURROGATE_DEGREES][3], rows[SURROGATE_TERMS][SURROGATE_ROW];
    int t, j;
    for (j = 0; j < r->inputs; j++)
        surrogate_fill_basis(z[j], j == 0 ? r->wave : 0.0, table[j]);
    for (j = 0; j < SURROGATE_ROW; j++)
        rows[0][j] = j == SURROGATE_VALUE ? 1.0 : 0.0;
    for (t = 0; t < r->terms; t++) {
        const int *own = r->factors + 3 * t;
        const double *parent = rows[own[0]], *factor = table[own[1]][own[2]];
        const double slope = parent[SURROGATE_VALUE] * factor[1];
        for (j = 0; j < SURROGATE_ROW; j++)
            rows[t][j] = parent[j] * factor[0];
        if (own[2])
            rows[t][own[1]] = slope; /* an input that the parent lacks */
    }
    surrogate_add(r, outputs, 0, r->terms, rows, sums);
}

/* if points */
/* Of the correlations factor * exp(-exponent) of eight points along one input: add to the
   exponents, multiply the factors, set the derivatives over themselves. Compilers turn loops over
   eight into vector instructions. */
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
/* Multiply eight values by exp(-exponent), exponents >= 0: exp(-v) = 2^k exp(r), |r| < log(2) / 2,
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

/* Add eight points' values, times their weights, and these times their derivatives. */
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
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5]))
           + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
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
/* if networks */
/* Put numbers, in eights, through tanh: (1 - e) / (1 + e), e = exp(-2 |v|). */
static void surrogate_tanh(int count, double *restrict numbers)
{
    int u, i;
    for (u = 0; u < count; u += SURROGATE_LANES) {
        double twice[SURROGATE_LANES], e[SURROGATE_LANES];
        for (i = 0; i < SURROGATE_LANES; i++) {
            twice[i] = 2.0 * fabs(numbers[u + i]);
            e[i] = 1.0;
        }
        surrogate_decay(twice, e);
        for (i = 0; i < SURROGATE_LANES; i++)
            numbers[u + i] = copysign((1.0 - e[i]) / (1.0 + e[i]), numbers[u + i]);
    }
}

/* Fill the inner units of a network: tanh, and the slopes by z (inputs rows before SURROGATE_VALUE). */
static void surrogate_inner(const surrogate_regressor *r, int net, const double *z,
                            double (*columns)[SURROGATE_UNITS])
{
    const int d = r->inputs, stride = r->stride;
    const double *inner = r->inner + net * d * stride, *bias = r->inner_bias + net * stride;
    double *values = columns[SURROGATE_VALUE];
    int u, j;
    for (u = 0; u < stride; u++)
        values[u] = bias[u];
    for (j = 0; j < d; j++)
        for (u = 0; u < stride; u++)
            values[u] += inner[j * stride + u] * z[j];
    surrogate_tanh(stride, values);
    for (j = 0; j < d; j++)
        for (u = 0; u < stride; u++)
            columns[j][u] = (1.0 - values[u] * values[u]) * inner[j * stride + u];
    for (; j < SURROGATE_VALUE; j++)
        for (u = 0; u < stride; u++)
            columns[j][u] = 0.0;
}

/* Fill the outer units, as the inner ones. */
static void surrogate_outer(const surrogate_regressor *r, int net,
                            double (*inner)[SURROGATE_UNITS], double (*columns)[SURROGATE_UNITS])
{
    const int h = r->units, stride = r->stride;
    const double *hidden = r->hidden + net * h * stride, *bias = r->hidden_bias + net * stride;
    double *values = columns[SURROGATE_VALUE], sums[SURROGATE_ROW][SURROGATE_LANES];
    const double *weights[SURROGATE_ROW];
    int u, j, i;
    for (j = 0; j < SURROGATE_ROW; j++)
        weights[j] = inner[j];
    for (u = 0; u < stride; u += SURROGATE_LANES) {
        surrogate_combine(h, stride, hidden + u, hidden + u, weights, sums);
        surrogate_combine(h, stride, hidden + u, hidden + u, weights + 4, sums + 4);
        for (j = 0; j < SURROGATE_ROW; j++)
            for (i = 0; i < SURROGATE_LANES; i++)
                columns[j][u + i] = sums[j][i];
    }
    for (u = 0; u < stride; u++)
        values[u] += bias[u];
    surrogate_tanh(stride, values);
    for (j = 0; j < r->inputs; j++)
        for (u = 0; u < stride; u++)
            columns[j][u] *= 1.0 - values[u] * values[u];
}

static void surrogate_add_networks(const surrogate_regressor *r, int outputs, const double *z,
                                   double *sums)
{
    double inner[SURROGATE_ROW][SURROGATE_UNITS], outer[SURROGATE_ROW][SURROGATE_UNITS];
    double rows[SURROGATE_UNITS][SURROGATE_ROW];
    int net, u, j;
    for (net = 0; net < r->nets; net++) {
        surrogate_inner(r, net, z, inner);
        surrogate_outer(r, net, inner, outer);
        for (j = 0; j < SURROGATE_ROW; j++)
            for (u = 0; u < r->units; u++)
                rows[u][j] = outer[j][u];
        surrogate_add(r, outputs, r->terms + net * r->units, r->units, rows, sums);
    }
}

/* end */
/* Fill the first `outputs` outputs and their derivatives (outputs x inputs) at x. */
static void surrogate_evaluate_regressor(const surrogate_regressor *r, int outputs,
                                         const double *x, double *value, double *jacobian)
{
    double z[SURROGATE_ROW] = {0.0}, sums[SURROGATE_OUTPUTS * SURROGATE_ROW];
    const int d = r->inputs;
    int k, j;
    surrogate_scale_inputs(r, d, x, z);
    for (k = 0; k < outputs * SURROGATE_ROW; k++)
        sums[k] = 0.0;
    /* if points */
    if (r->groups)
        surrogate_add_points(r, outputs, z, sums);
    /* end */
    surrogate_add_terms(r, outputs, z, sums);
    /* if networks */
    surrogate_add_networks(r, outputs, z, sums);
    /* end */
    for (k = 0; k < outputs; k++) {
        const double *sum = sums + k * SURROGATE_ROW;
        value[k] = r->y_offset[k] + r->y_scale[k] * sum[SURROGATE_VALUE];
        for (j = 0; j < d; j++)
            jacobian[k * d + j] = r->y_scale[k] * sum[j] / r->x_scale[j];
    }
}

/* A function of `inputs` inputs and `outputs` outputs: a weighted sum of features of
   z = (x - x_offset) / x_scale, one kind after the other: products of Legendre polynomials (of a
   Fourier series in the first input if wave > 0), correlations with points, and outer units of
   two-layer tanh networks. */
typedef struct {
    int inputs, outputs, terms, features;
    double wave;
    const double *x_offset, *x_scale, *y_offset, *y_scale;
    const int *factors;        /* terms x 3: an earlier term, times which input's which degree */
    const double *weights;     /* outputs x features: terms, then, at the end, outer units */
    /* if points */
    int groups;                /* of SURROGATE_LANES points, the last filled up with weights of zero */
    const double *places;      /* groups x inputs x SURROGATE_LANES, sheared, in correlation lengths */
    const double *point_weights;/* groups x outputs x SURROGATE_LANES */
    const double *rates;       /* inputs: one over the correlation length */
    const int *kinds;          /* inputs: 0 squared exponential, 1 Matern 5/2, 2 Matern 3/2 */
    const double *shear;       /* inputs: what each adds to the first, in correlations alone */
    /* end */
    /* if networks */
    int nets, units, stride;   /* the stride is that of units, filled up to rows with zeros */
    const double *inner;       /* nets x inputs x stride */
    const double *inner_bias;  /* nets x stride */
    const double *hidden;      /* nets x inner units x stride of outer units */
    const double *hidden_bias; /* nets x stride */
    /* end */
    /* if splines */
    int pieces;                /* of cubic splines of the sheared first input, or 0: without splines;
                                  with splines, weights of the terms for one spline after the other */
    const double *along;       /* inputs: derivatives of the sheared first input */
    const double *knots;       /* pieces + 1: where the pieces end */
    const double *splines;     /* pieces x 4 powers, rising, x 4 splines that are not zero there */
    /* end */
} surrogate_regressor;

/* Of points, and place of a value behind the derivatives by the inputs. */
enum { SURROGATE_LANES = 32, SURROGATE_VALUE = SURROGATE_ROW - 1 };

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

/* Fill four weighted sums of `count` rows, two of some and two of other rows; compilers keep
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
    /* kept from compilers, which otherwise work on one number of many rows, not on one row */
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

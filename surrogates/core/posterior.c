/* Standard errors. For Kriging the variance of the posterior is the process variance times
   1 + nugget - |w|^2 + |e|^2 with w = L^-1 r and e = Q' w - Rq^-T h, where L L' are the points'
   correlations with the nugget, Q Rq = L^-1 H, and H and h the trend at the points and at the input
   (Sacks et al. 1989, Stat Sci 4:409-423, Eq. 9). */

static double dot(int count, const double *a, const double *b)
{
    double lanes[8] = {0.0};
    add_products(count, a, 1, b, 0, lanes, 8);
    return total8(lanes);
}

static double relative_variance(const regressor *r, const posterior *p, const double *x, double *scratch)
{
    const int n = wide(r->points);
    double *w = take(&scratch, n), *exponents = take(&scratch, n), explained, inflated = 0.0;
    features f = features_of(r, x, r->inputs, 0, scratch);
    double here[MOST_INPUTS];
    int i, j;
    f.column = take(&f.free, r->terms);
    shear_inputs(r, f.z, here);
    for (i = 0; i < n; i++)
        w[i] = 1.0;
    clear(n, exponents);
    correlate_inputs(r->kinds, here, 0, f.d, n, r->places, n, exponents, w);
    close_features(r->kinds[0], n, exponents, w);
    for (i = 0; i < n; i++) { /* numbers behind the row's own are zeros in the factor */
        const double known = i < r->points ? dot(wide(i), p->factor + (ptrdiff_t)i * n, w) : 0.0;
        w[i] = i < r->points ? (w[i] - known) / p->diagonal[i] : 0.0;
    }
    explained = dot(n, w, w);
    fill_column(&f);
    for (i = 0; i < r->terms; i++) { /* Rq' f = h, in the place of h */
        double side = f.column[i];
        for (j = 0; j < i; j++)
            side -= p->triangle[j * r->terms + i] * f.column[j];
        f.column[i] = side / p->triangle[i * r->terms + i];
        side = f.column[i] - dot(n, p->orthogonal + i * n, w);
        inflated += side * side;
    }
    return fmax(1.0 + p->nugget - explained + inflated, 0.0);
}

/* Exponential of Legendre polynomials of total degree 2 of the clipped inputs. */
static double modelled_error(const regressor *r, const double *weights, const double *x)
{
    const int d = r->inputs;
    double z[MOST_INPUTS], sum = weights[0];
    const double *pairs = weights + 1 + d;
    int i, j;
    for (i = 0; i < d; i++)
        z[i] = fmin(fmax(scaled_input(r, i, x[i]), -1.0), 1.0);
    for (i = 0; i < d; i++) {
        sum += weights[1 + i] * z[i];
        for (j = i; j < d; j++)
            sum += *pairs++ * (i == j ? 0.5 * (3.0 * z[i] * z[i] - 1.0) : z[i] * z[j]);
    }
    return exp(sum);
}

void regressor_errors(const regressor *r, const posterior *p, ptrdiff_t rows, const double *inputs,
                      double *errors, double *scratch)
{
    int k;
    for (; rows > 0; rows--, inputs += r->inputs) {
        const int kriging = !p->spread && r->points;
        const double relative = kriging ? relative_variance(r, p, inputs, scratch) : NAN;
        for (k = 0; k < r->outputs; k++)
            *errors++ = p->spread ? modelled_error(r, p->spreads + k * p->spread, inputs)
                                  : sqrt(relative * p->variance[k]);
    }
}

/* Features of the distance from a point: all that is particular to a kind (`CORRELATIONS` of
   correlations.py). With u_j the differences of the inputs times the rates, a feature is

       g(e_1(u_1) + ... + e_d(u_d)) f_1(u_1) ... f_d(u_d),

   and for the products of correlations g(e) = exp(-e): exp(-u^2); Matern 5/2, (1 + a + a^2 / 3) exp(-a)
   with a = |u| (Rasmussen & Williams 2006, Eq. 4.9 and 4.17). */

enum { SQUARED_EXPONENTIAL, MATERN_52 };
enum { GROUP = 64 }; /* points whose columns are in memory at a time, in the first-level cache */

/* Add e(u) along one input to the exponents, multiply the factors by f(u). */
static void correlate(int kind, double here, int count, const double *restrict places,
                      double *restrict exponents, double *restrict factors)
{
    int i;
    if (kind == SQUARED_EXPONENTIAL)
        for (i = 0; i < count; i++) {
            const double u = here - places[i];
            exponents[i] = FUSED(u, u, exponents[i]);
        }
    else
        for (i = 0; i < count; i++) {
            const double a = fabs(here - places[i]);
            exponents[i] += a;
            factors[i] *= FUSED(FUSED(a, 1.0 / 3.0, 1.0), a, 1.0);
        }
}

/* The same for the inputs from `first` up to `last`, of places (inputs x across). */
static void correlate_inputs(const int *kinds, const double *here, int first, int last,
                             ptrdiff_t across, const double *places, int count, double *exponents,
                             double *factors)
{
    int j;
    for (j = first; j < last; j++)
        correlate(kinds[j], here[j], count, places + j * across, exponents, factors);
}

/* Multiply the factors by g of the exponents. */
static void close_features(int kind, int count, const double *exponents, double *factors)
{
    (void)kind;
    decay(count, exponents, factors);
}

/* Fill the derivatives of the features by u along one input, over themselves. Those of products do not
   need the exponents. */
static void steepen(int kind, double here, int count, const double *restrict places,
                    const double *restrict exponents, double *restrict steep)
{
    int i;
    (void)exponents;
    if (kind == SQUARED_EXPONENTIAL)
        for (i = 0; i < count; i++)
            steep[i] = -2.0 * (here - places[i]);
    else
        for (i = 0; i < count; i++) {
            const double u = here - places[i], a = fabs(u);
            steep[i] = -u * (1.0 + a) / (3.0 + a * (3.0 + a));
        }
}

/* Second derivative by u of an input and of another, or the same one, over the feature, from its
   derivatives by either over itself. */
static double second(int kind, int same, double u, double steep, double other, double exponent)
{
    const double a = fabs(u);
    (void)exponent;
    if (!same)
        return steep * other;
    if (kind == SQUARED_EXPONENTIAL)
        return FUSED(steep, steep, -2.0);
    return (a * a - a - 1.0) / (3.0 + a * (3.0 + a));
}

/* A function of the six coordinates of a pose: its value, first and second derivatives. */
typedef struct {
    double value, slope[6], bend[6][6];
} surrogate_series;

/* Fill f(a) from f, its slope and its bend where a is; `out` may be a. */
static void surrogate_apply(surrogate_curve f, const surrogate_series *a, surrogate_series *out)
{
    double by[6];
    int i, j;
    for (i = 0; i < 6; i++)
        by[i] = a->slope[i];
    for (i = 0; i < 6; i++) {
        const double bend = f.bend * by[i];
        for (j = 0; j < 6; j++)
            out->bend[i][j] = f.slope * a->bend[i][j] + bend * by[j];
        out->slope[i] = f.slope * by[i];
    }
    out->value = f.value;
}

/* if inverted */
static void surrogate_add_series(double factor, const surrogate_series *a, surrogate_series *out)
{
    int i, j;
    out->value += factor * a->value;
    for (i = 0; i < 6; i++) {
        out->slope[i] += factor * a->slope[i];
        for (j = 0; j < 6; j++)
            out->bend[i][j] += factor * a->bend[i][j];
    }
}

static void surrogate_multiply(const surrogate_series *a, const surrogate_series *b,
                               surrogate_series *out)
{
    int i, j;
    out->value = a->value * b->value;
    for (i = 0; i < 6; i++) {
        out->slope[i] = a->value * b->slope[i] + b->value * a->slope[i];
        for (j = 0; j < 6; j++)
            out->bend[i][j] = a->value * b->bend[i][j] + b->value * a->bend[i][j]
                              + a->slope[i] * b->slope[j] + a->slope[j] * b->slope[i];
    }
}

/* end */
/* What is worked out of a pose on the way to the second derivatives of the wrench. */
typedef struct {
    double turns[9][3][3];        /* of u, the height and the point, by the three angles */
    double bends[6][36];          /* of the regressors' outputs, by their inputs */
    surrogate_series last;        /* the last input */
    surrogate_series parts[6];    /* the regressors' outputs */
    surrogate_series wrench[6];
} surrogate_second;

/* The first output of a regressor along its last input; what the others fix is kept. */
typedef struct {
    const surrogate_regressor *regressor;
    double coefficients[SURROGATE_DEGREES];
    /* if points */
    double first;                                   /* sheared first input, less the last's part */
    double base[SURROGATE_POINTS];                  /* weights times the fixed inputs' factors */
    /* end */
    /* if networks */
    double fixed[SURROGATE_NETS * SURROGATE_UNITS]; /* arguments of the inner units */
    /* end */
} surrogate_line;

static void surrogate_fix_terms(const double *z, surrogate_line *line)
{
    const surrogate_regressor *r = line->regressor;
    const int last = r->inputs - 1;
    double table[SURROGATE_VALUE][SURROGATE_DEGREES][3], values[SURROGATE_TERMS];
    int t, i;
    for (i = 0; i < last; i++)
        surrogate_fill_basis(z[i], i == 0 ? r->wave : 0.0, table[i]);
    for (i = 0; i < SURROGATE_DEGREES; i++)
        line->coefficients[i] = 0.0;
    values[0] = 1.0;
    for (t = 0; t < r->terms; t++) {
        const int *own = r->factors + 3 * t, fixed = own[1] < last || !own[2];
        values[t] = values[own[0]] * (own[2] && fixed ? table[own[1]][own[2]][0] : 1.0);
        line->coefficients[fixed ? 0 : own[2]] += values[t] * r->weights[t];
    }
}

/* if splines */
static void surrogate_fix_splines(const double *z, surrogate_line *line)
{
    const surrogate_regressor *r = line->regressor;
    double weights[SURROGATE_TERMS];
    const surrogate_regressor blended = surrogate_blend(r, 1, 1, z, weights);
    line->regressor = &blended;
    surrogate_fix_terms(z, line);
    line->regressor = r;
}

/* end */
/* if points */
static void surrogate_fix_points(double *z, surrogate_line *line)
{
    const surrogate_regressor *r = line->regressor;
    const int d = r->inputs, last = d - 1, begin = r->shear[last] != 0.0;
    double here[SURROGATE_ROW] = {0.0}, steep[SURROGATE_LANES];
    int g, i, j;
    z[last] = 0.0;
    surrogate_shear_inputs(r, z, here);
    line->first = here[0];
    for (g = 0; g < r->groups; g++) {
        const double *places = r->places + g * d * SURROGATE_LANES;
        double exponents[SURROGATE_LANES] = {0.0}, *base = line->base + g * SURROGATE_LANES;
        for (i = 0; i < SURROGATE_LANES; i++)
            base[i] = r->point_weights[g * r->outputs * SURROGATE_LANES + i];
        for (j = begin; j < last; j++)
            surrogate_correlate(r->kinds[j], here[j], places + j * SURROGATE_LANES, exponents,
                                base, steep);
        surrogate_decay(exponents, base);
    }
}

static void surrogate_points_on_line(const surrogate_line *line, double z, double *value,
                                     double *slope)
{
    const surrogate_regressor *r = line->regressor;
    const int d = r->inputs, last = d - 1, moved = r->shear[last] != 0.0;
    const double rate = r->rates[last], by_first = r->shear[last] * r->rates[0];
    double sums[SURROGATE_LANES] = {0.0}, slopes[SURROGATE_LANES] = {0.0};
    double steep[SURROGATE_LANES], more[SURROGATE_LANES] = {0.0};
    int g, i;
    for (g = 0; g < r->groups; g++) {
        const double *places = r->places + g * d * SURROGATE_LANES;
        double exponents[SURROGATE_LANES] = {0.0}, found[SURROGATE_LANES];
        for (i = 0; i < SURROGATE_LANES; i++)
            found[i] = line->base[g * SURROGATE_LANES + i];
        surrogate_correlate(r->kinds[last], z * rate, places + last * SURROGATE_LANES, exponents,
                            found, steep);
        if (moved)
            surrogate_correlate(r->kinds[0], line->first + by_first * z, places, exponents, found,
                                more);
        surrogate_decay(exponents, found);
        for (i = 0; i < SURROGATE_LANES; i++) {
            sums[i] += found[i];
            slopes[i] += found[i] * (steep[i] * rate + more[i] * by_first);
        }
    }
    *value += surrogate_total(sums);
    *slope += surrogate_total(slopes);
}

/* end */
/* if networks */
static void surrogate_fix_networks(const double *z, surrogate_line *line)
{
    const surrogate_regressor *r = line->regressor;
    const int d = r->inputs, stride = r->stride;
    int net, u, j;
    for (net = 0; net < r->nets; net++) {
        const double *inner = r->inner + net * d * stride;
        double *fixed = line->fixed + net * SURROGATE_UNITS;
        for (u = 0; u < stride; u++)
            fixed[u] = r->inner_bias[net * stride + u];
        for (j = 0; j < d - 1; j++)
            for (u = 0; u < stride; u++)
                fixed[u] += inner[j * stride + u] * z[j];
    }
}

static void surrogate_networks_on_line(const surrogate_line *line, double z, double *value,
                                       double *slope)
{
    const surrogate_regressor *r = line->regressor;
    const int d = r->inputs, h = r->units, stride = r->stride;
    const int half = h / 2, rest = h - half;
    const double *weights = r->weights + r->features - r->nets * r->units;
    double inner[2][SURROGATE_UNITS], outer[2][SURROGATE_UNITS], sums[4][SURROGATE_ROW];
    const double *const halves[4] = {inner[0], inner[1], inner[0] + rest, inner[1] + rest};
    int net, u, i;
    for (net = 0; net < r->nets; net++) {
        const double *by_last = r->inner + (net * d + d - 1) * stride;
        const double *hidden = r->hidden + net * h * stride, *bias = r->hidden_bias + net * stride;
        for (u = 0; u < stride; u++)
            inner[0][u] = line->fixed[net * SURROGATE_UNITS + u] + by_last[u] * z;
        surrogate_tanh(stride, inner[0]);
        for (u = 0; u < stride; u++)
            inner[1][u] = by_last[u] * (1.0 - inner[0][u] * inner[0][u]);
        for (u = 0; u < stride; u += SURROGATE_ROW) {
            surrogate_combine(half, stride, hidden + u, hidden + rest * stride + u, halves, sums);
            for (i = 0; i < SURROGATE_ROW; i++) {
                const double middle = half < rest ? hidden[half * stride + u + i] : 0.0;
                outer[0][u + i] = bias[u + i] + sums[0][i] + sums[2][i] + middle * inner[0][half];
                outer[1][u + i] = sums[1][i] + sums[3][i] + middle * inner[1][half];
            }
        }
        surrogate_tanh(stride, outer[0]);
        for (u = 0; u < h; u++, weights++) {
            const double t = outer[0][u];
            *value += *weights * t;
            *slope += *weights * (1.0 - t * t) * outer[1][u];
        }
    }
}

/* end */
/* Prepare the line through x, whose last input does not matter. */
static void surrogate_prepare_line(const surrogate_regressor *r, const double *x,
                                   surrogate_line *line)
{
    double z[SURROGATE_ROW] = {0.0};
    line->regressor = r;
    surrogate_scale_inputs(r, r->inputs - 1, x, z);
    /* if splines */
    if (r->pieces)
        surrogate_fix_splines(z, line);
    else
    /* end */
    surrogate_fix_terms(z, line);
    /* if points */
    if (r->groups)
        surrogate_fix_points(z, line);
    /* end */
    /* if networks */
    surrogate_fix_networks(z, line);
    /* end */
}

/* Return the first output where the last input is x; set its derivative. */
static double surrogate_on_line(const surrogate_line *line, double x, double *slope)
{
    const surrogate_regressor *r = line->regressor;
    const int last = r->inputs - 1;
    const double z = (x - r->x_offset[last]) / r->x_scale[last];
    double table[SURROGATE_DEGREES][3], value = 0.0;
    int e;
    *slope = 0.0;
    surrogate_fill_basis(z, last == 0 ? r->wave : 0.0, table);
    for (e = 0; e < SURROGATE_DEGREES; e++) {
        value += line->coefficients[e] * table[e][0];
        *slope += line->coefficients[e] * table[e][1];
    }
    /* if points */
    if (r->groups)
        surrogate_points_on_line(line, z, &value, slope);
    /* end */
    /* if networks */
    surrogate_networks_on_line(line, z, &value, slope);
    /* end */
    *slope *= r->y_scale[0] / r->x_scale[last];
    return r->y_offset[0] + r->y_scale[0] * value;
}

/* Return by how much the cubic over the output, through two points, differs from the tangent. */
static double surrogate_bend(double target, double x, double found, double slope, double before,
                             double output, double steep)
{
    const double apart = found - output, beyond = target - found, chord = (x - before) / apart;
    const double here = (1.0 / slope - chord) / apart, there = (chord - 1.0 / steep) / apart;
    return beyond * beyond * (here + (here - there) / apart * (target - output));
}

/* Find the last input, from `low` on, at which the first output, taken to fall, is `target`: by
   cubics of the last input over the output through the last two points, kept inside a bracket.
   Returns whether the output is above the target at `low`, where x otherwise stays. Beyond `high`
   the output goes on along its tangent, or, should that rise, its chord. */
static int surrogate_solve_line(const surrogate_line *line, double target, double low, double high,
                                double *x)
{
    const double range = high - low, last_step = SURROGATE_LINE_LAST_STEP * range;
    const double last_product = SURROGATE_LINE_LAST_PRODUCT * range * range;
    double here, found, touch, slope, fall, nearer, moved, before, output, steep, apart;
    int step, bracketed = 0;
    *x = low;
    touch = surrogate_on_line(line, low, &slope);
    if (!(target < touch))
        return 0;
    before = low;
    output = touch;
    steep = slope;
    here = slope < 0.0 ? low + (target - touch) / slope : 0.5 * (low + high);
    if (here > high)
        here = high;
    for (step = 0; step < SURROGATE_LINE_STEPS; step++) {
        found = surrogate_on_line(line, here, &slope);
        if (found <= target) {
            high = here;
            bracketed = 1;
        } else if (here >= high) {
            fall = slope < 0.0 ? slope : (found - touch) / range;
            if (!(fall < 0.0))
                fall = target - found;
            here = high + (target - found) / fall;
            break;
        } else {
            low = here;
        }
        nearer = low - range;
        apart = range;
        if (slope < 0.0 && step < SURROGATE_LINE_NEWTON_STEPS) {
            nearer = here - (found - target) / slope;
            if (steep < 0.0 && found != output) {
                nearer += surrogate_bend(target, here, found, slope, before, output, steep);
                apart = fabs(here - before);
            }
        }
        if (!(low <= nearer && nearer <= high)) {
            nearer = bracketed ? 0.5 * (low + high) : high;
            apart = range;
        }
        before = here;
        output = found;
        steep = slope;
        moved = fabs(nearer - here);
        here = nearer;
        if ((moved <= last_step || moved * apart <= last_product) && (bracketed || here < high))
            break;
    }
    *x = here;
    return 1;
}

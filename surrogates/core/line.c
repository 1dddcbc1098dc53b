/* The first output of a regressor along its last input, and its roots. What the other inputs fix is kept:
   polynomials become one of the last input, correlations keep its factor, networks its part. */

enum { LINE_STEPS = 90, NEWTON_STEPS = 30 }; /* all steps, with halvings, and those by slopes */
/* A step of this fraction of the range is the last: the next would be about its square. After a step
   by two points, the next would be about the square of the step times the distance of the points; at
   this product, over the square of the range, the step is the last, too. */
#define LINE_LAST_STEP 1e-8
#define LINE_LAST_PRODUCT 5e-8

typedef struct {
    const regressor *r;
    double *coefficients; /* degrees: of the polynomials of the last input */
    double *base;         /* w(points): weights times the other inputs' factors */
    double *exponents;    /* w(points): sums of the other inputs' exponents */
    double first;         /* sheared first input, less the last one's part */
    double *fixed;        /* nets x w(units): arguments of the inner units */
    double *free;
} line;

static void fix_terms(const features *f, line *l)
{
    const regressor *r = l->r;
    const int last = r->inputs - 1, n = wide(r->terms);
    double *free = f->free, *values = take(&free, n), *blended = take(&free, n), blends[3][4];
    const double *weights = r->term_weights;
    int t;
    if (r->pieces) {
        const int piece = splines_at(r, f->z, blends);
        blend_weights(r, 0, 1, piece, 1, blends, &blended);
        weights = blended;
    }
    clear(r->degrees, l->coefficients);
    for (t = 0; t < r->terms; t++) {
        const int *own = r->factors + 3 * t, fixed = own[1] < last || !own[2];
        values[t] = t ? values[own[0]] : 1.0;
        if (own[2] && fixed)
            values[t] *= f->table[own[2] * f->row + own[1]];
        l->coefficients[fixed ? 0 : own[2]] += values[t] * weights[t];
    }
}

static void fix_points(features *f, line *l)
{
    const regressor *r = l->r;
    const int last = r->inputs - 1, n = wide(r->points), moved = r->shear[last] != 0.0;
    double here[MOST_INPUTS];
    int i;
    f->z[last] = 0.0;
    shear_inputs(r, f->z, here);
    l->first = here[0];
    for (i = 0; i < n; i++)
        l->base[i] = r->point_weights[i];
    clear(n, l->exponents);
    /* the first input's distances may depend on the last */
    correlate_inputs(r->kinds, here, moved, last, n, r->places, n, l->exponents, l->base);
}

static void fix_networks(const features *f, line *l)
{
    const regressor *r = l->r;
    const int h = wide(r->units), d = r->inputs;
    int net, u, j;
    for (net = 0; net < r->nets; net++) {
        const double *inner = r->inner + net * d * h;
        double *fixed = l->fixed + net * h;
        for (u = 0; u < h; u++)
            fixed[u] = r->inner_bias[net * h + u];
        for (j = 0; j < d - 1; j++)
            for (u = 0; u < h; u++)
                fixed[u] = FUSED(inner[j * h + u], f->z[j], fixed[u]);
    }
}

/* Prepare the line through x, whose last number does not matter, in the scratch memory. */
static line line_through(const regressor *r, const double *x, double *scratch)
{
    features f;
    line l;
    l.r = r;
    l.first = 0.0;
    l.coefficients = take(&scratch, r->degrees);
    l.base = take(&scratch, r->points);
    l.exponents = take(&scratch, r->points);
    l.fixed = take(&scratch, r->nets * wide(r->units));
    l.free = scratch;
    f = features_of(r, x, r->inputs - 1, 0, scratch);
    fix_terms(&f, &l);
    if (r->points)
        fix_points(&f, &l);
    fix_networks(&f, &l);
    return l;
}

static double polynomial_on_line(const line *l, double z, double *slope)
{
    const regressor *r = l->r;
    const double *c = l->coefficients;
    double value = c[0], before = 1.0, here = z, steep_before = 0.0, steep = 1.0;
    int e;
    if (r->inputs == 1 && r->wave > 0.0) {
        for (e = 1; e < r->degrees; e++) {
            const double turns = r->wave * ((e + 1) / 2), s = sin(turns * z), q = cos(turns * z);
            value += c[e] * (e % 2 ? s : q);
            *slope += c[e] * turns * (e % 2 ? q : -s);
        }
        return value;
    }
    for (e = 1; e < r->degrees; e++) {
        const double odd = 2.0 * e + 1.0, after = (odd * z * here - e * before) / (e + 1.0);
        const double steeper = steep_before + odd * here;
        value += c[e] * here;
        *slope += c[e] * steep;
        before = here, here = after, steep_before = steep, steep = steeper;
    }
    return value;
}

static double points_on_line(const line *l, double z, double *slope)
{
    const regressor *r = l->r;
    const int last = r->inputs - 1, n = wide(r->points), moved = r->shear[last] != 0.0;
    const double here = z * r->rates[last], by_first = r->shear[last] * r->rates[0];
    const double first = l->first + by_first * z;
    double lanes[2][8] = {{0.0}};
    int begin, i, lane;
    for (begin = 0; begin < n; begin += GROUP) {
        const int count = n - begin < GROUP ? n - begin : GROUP;
        const double *places = r->places + begin, *along_last = places + last * n;
        double exponents[GROUP], found[GROUP], steep[GROUP], more[GROUP];
        for (i = 0; i < count; i++) {
            exponents[i] = l->exponents[begin + i];
            found[i] = l->base[begin + i];
        }
        correlate(r->kinds[last], here, count, along_last, exponents, found);
        if (moved)
            correlate(r->kinds[0], first, count, places, exponents, found);
        steepen(r->kinds[last], here, count, along_last, exponents, steep);
        for (i = 0; i < count; i++)
            steep[i] *= r->rates[last];
        if (moved) {
            steepen(r->kinds[0], first, count, places, exponents, more);
            for (i = 0; i < count; i++)
                steep[i] = FUSED(more[i], by_first, steep[i]);
        }
        close_features(r->kinds[last], count, exponents, found);
        for (i = 0; i < count; i += 8)
            for (lane = 0; lane < 8; lane++) {
                lanes[0][lane] += found[i + lane];
                lanes[1][lane] = FUSED(found[i + lane], steep[i + lane], lanes[1][lane]);
            }
    }
    *slope += total8(lanes[1]);
    return total8(lanes[0]);
}

static double networks_on_line(const line *l, double z, double *slope)
{
    const regressor *r = l->r;
    const int d = r->inputs, h = wide(r->units);
    double *free = l->free, *inner = take(&free, 2 * h), *outer = take(&free, 2 * h);
    double *lanes = take(&free, 16);
    int net, u;
    clear(16, lanes);
    for (net = 0; net < r->nets; net++) {
        const double *by_last = r->inner + (net * d + d - 1) * h, *fixed = l->fixed + net * h;
        for (u = 0; u < h; u++)
            inner[u] = FUSED(by_last[u], z, fixed[u]);
        tangent(h, inner);
        for (u = 0; u < h; u++)
            inner[h + u] = by_last[u] * (1.0 - inner[u] * inner[u]);
        fill_outer(r, net, 2, inner, outer);
        add_products(h, r->unit_weights + net * h, 2, outer, h, lanes, 8);
    }
    *slope += total8(lanes + 8);
    return total8(lanes);
}

/* Return the first output where the last input is x; fill its derivative. */
static double on_line(const line *l, double x, double *slope)
{
    const regressor *r = l->r;
    const int last = r->inputs - 1;
    const double z = scaled_input(r, last, x);
    double value;
    *slope = 0.0;
    value = polynomial_on_line(l, z, slope);
    if (r->points)
        value += points_on_line(l, z, slope);
    if (r->nets)
        value += networks_on_line(l, z, slope);
    *slope *= r->y_scale[0] / r->x_scale[last];
    return r->y_offset[0] + r->y_scale[0] * value;
}

/* Return by how much the cubic of the input over the output (Hermite), through two points, differs
   from the tangent; the parabola where the output does not fall at the point before. */
static double cubic(double target, double x, double found, double slope, double before,
                    double output, double steep)
{
    const double apart = found - output, beyond = target - found, chord = (x - before) / apart;
    const double here = (1.0 / slope - chord) / apart;
    const double there = steep < 0.0 ? (chord - 1.0 / steep) / apart : here;
    return beyond * beyond * (here + (here - there) / apart * (target - output));
}

/* Find the last input, from `low` on, at which the first output, taken to fall, is `target`: from the
   middle by cubics through the last two points, kept in a bracket. Returns whether the output is above
   the target somewhere, where it is not, x is `low`. Beyond `high` the output goes on along its
   tangent, or, should that rise, along its chord. */
static int solve_line(const line *l, double target, double low, double high, double *x)
{
    const double width = high - low, least = low;
    double here = 0.5 * (low + high), before = here, output = 0.0, steep = 0.0, slope;
    int step, touches = 0, bracketed = 0; /* whether the output is above the target, and below it */
    *x = low;
    for (step = 0; step < LINE_STEPS; step++) {
        const double found = on_line(l, here, &slope);
        double nearer = low - width, apart = width, moved;
        if (!(target < found)) {
            if (here == least)
                return 0;
            high = here;
            bracketed = 1;
        } else if (here >= high) {
            double fall = slope, unused;
            if (!(fall < 0.0))
                fall = (found - on_line(l, least, &unused)) / width;
            if (!(fall < 0.0))
                fall = target - found; /* neither falls: any fall will do */
            *x = high + (target - found) / fall;
            return 1;
        } else {
            low = here;
            touches = 1;
        }
        if (slope < 0.0 && step < NEWTON_STEPS) {
            nearer = here - (found - target) / slope;
            if (steep != 0.0 && found != output)
                nearer += cubic(target, here, found, slope, before, output, steep);
            if (steep < 0.0)
                apart = fabs(here - before);
        }
        if (!(low <= nearer && nearer <= high)) {
            /* Without a point above or below, the root may be before or beyond, or the output does not
               fall: ask the ends. */
            nearer = !touches ? low : !bracketed ? high : 0.5 * (low + high);
            apart = width;
        }
        before = here;
        output = found;
        steep = slope;
        moved = fabs(nearer - here);
        here = nearer;
        if ((moved <= LINE_LAST_STEP * width || moved * apart <= LINE_LAST_PRODUCT * width * width)
            && (bracketed || here < high) && (touches || here > low))
            break;
    }
    *x = here;
    return 1;
}

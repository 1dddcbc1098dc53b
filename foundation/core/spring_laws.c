/* Pressure of springs, and its smoothing at the edge of a patch. */

enum { LAYER_STEPS = 60 };

/* A value and its derivative. */
typedef struct {
    double value, slope;
} rate;

/* Pressure of a layer at a bearing indentation. */
static rate layer_pressure(int kind, double c, double exponent, double h, double depth)
{
    rate p = {0.0, 0.0};
    if (!(depth > 0.0))
        return p;
    if (kind == LOGARITHMIC) {
        const double strain = least(depth / h, STRAIN_LIMIT);
        p.slope = c / (h * (1.0 - strain));
        p.value = p.slope * (depth - strain * h) - c * log1p(-strain);
    } else if (exponent == 1.0) {
        p.value = c * depth;
        p.slope = c;
    } else {
        p.value = c * pow(depth, exponent);
        p.slope = exponent * p.value / depth;
    }
    return p;
}

/* Bearing indentation of a layer at a pressure > 0. */
static rate layer_indentation(int kind, double c, double exponent, double h, double pressure)
{
    rate d = {pressure / c, 1.0 / c};
    if (kind == LOGARITHMIC) {
        const double limit = -c * log1p(-STRAIN_LIMIT);
        if (pressure > limit) {
            d.slope = h * (1.0 - STRAIN_LIMIT) / c;
            d.value = STRAIN_LIMIT * h + d.slope * (pressure - limit);
        } else {
            d.value = -h * expm1(-pressure / c);
            d.slope = h * exp(-pressure / c) / c;
        }
    } else if (exponent != 1.0) {
        d.value = pow(pressure / c, 1.0 / exponent);
        d.slope = d.value / (exponent * pressure);
    }
    return d;
}

/* Energy per area of a layer: the integral of its pressure. */
static double layer_energy(int kind, double c, double exponent, double h, double depth)
{
    if (!(depth > 0.0))
        return 0.0;
    if (kind == LOGARITHMIC) {
        const double strain = least(depth / h, STRAIN_LIMIT), rest = 1.0 - strain;
        const double beyond = depth - strain * h;
        const rate p = layer_pressure(kind, c, exponent, h, strain * h);
        return c * h * (rest * log(rest) + strain) + (p.value + 0.5 * p.slope * beyond) * beyond;
    }
    if (exponent == 1.0)
        return 0.5 * c * depth * depth;
    return c * pow(depth, exponent + 1.0) / (exponent + 1.0);
}

#define LAYER(l, k, e) \
    (l)->kinds[k], (l)->coefficients[(ptrdiff_t)(k) * (l)->springs + (e)], (l)->exponents[k], \
        (l)->thicknesses[(ptrdiff_t)(k) * (l)->springs + (e)]

/* Layers in series share an indentation at equal pressure. At the deepest spring of a patch, the bearing
   indentation of a layer with an offset is d (1 - 1/f); the sum of the layers' offsets follows. */
typedef struct {
    rate pressure, offset;
} series;

static series series_pressure(const law *l, int e, double depth, int deepest)
{
    double high = INFINITY, low = 0.0, pressure;
    series found = {{0.0, 0.0}, {0.0, 0.0}};
    int step, k;
    if (!(depth > 0.0))
        return found;
    for (k = 0; k < l->layers; k++) {
        const double bearing = deepest ? 1.0 - l->offsets[k] : 1.0;
        high = least(high, layer_pressure(LAYER(l, k, e), depth * bearing).value);
    }
    pressure = high;
    for (step = 0; step < LAYER_STEPS && l->layers > 1; step++) {
        double excess = -depth, compliance = 0.0, next;
        for (k = 0; k < l->layers; k++) {
            const double bearing = deepest ? 1.0 - l->offsets[k] : 1.0;
            const rate d = layer_indentation(LAYER(l, k, e), pressure);
            excess += d.value / bearing;
            compliance += d.slope / bearing;
        }
        if (excess > 0.0)
            high = pressure;
        else
            low = pressure;
        next = pressure - excess / compliance;
        if (!(low <= next && next <= high))
            next = 0.5 * (low + high);
        const int done = fabs(next - pressure) <= 1e-15 * pressure;
        pressure = next;
        if (done)
            break;
    }
    /* An indentation may be so small that a steep power law underflows. */
    if (!(pressure > 0.0))
        return found;
    double compliance = 0.0;
    for (k = 0; k < l->layers; k++) {
        const double bearing = deepest ? 1.0 - l->offsets[k] : 1.0;
        const rate d = layer_indentation(LAYER(l, k, e), pressure);
        compliance += d.slope / bearing;
        if (deepest) {
            found.offset.value += l->offsets[k] * d.value / bearing;
            found.offset.slope += l->offsets[k] * d.slope / bearing;
        }
    }
    found.pressure.value = pressure;
    found.pressure.slope = 1.0 / compliance;
    found.offset.slope /= compliance;
    return found;
}

static rate spring_pressure(const law *l, int e, double depth)
{
    if (l->layers == 1)
        return layer_pressure(LAYER(l, 0, e), depth);
    return series_pressure(l, e, depth, 0).pressure;
}

/* Largest strain of a spring's layers. */
static double spring_strain(const law *l, int e, double depth)
{
    double strain = 0.0;
    int k;
    if (l->layers == 1 || depth <= 0.0)
        return depth / l->thicknesses[e];
    const double pressure = series_pressure(l, e, depth, 0).pressure.value;
    for (k = 0; k < l->layers && pressure > 0.0; k++)
        strain = most(strain, layer_indentation(LAYER(l, k, e), pressure).value
                                  / l->thicknesses[(ptrdiff_t)k * l->springs + e]);
    return strain;
}

/* Energy per area of a spring. */
static double spring_energy(const law *l, int e, double depth)
{
    double energy = 0.0;
    int k;
    if (l->layers == 1)
        return layer_energy(LAYER(l, 0, e), depth);
    const double pressure = series_pressure(l, e, depth, 0).pressure.value;
    for (k = 0; k < l->layers && pressure > 0.0; k++)
        energy += layer_energy(LAYER(l, k, e), layer_indentation(LAYER(l, k, e), pressure).value);
    return energy;
}

/* Whether the pressure is a coefficient times the bearing indentation. */
INLINE int is_linear(const law *l)
{
    return l->layers == 1 && l->kinds[0] == POWER && l->exponents[0] == 1.0;
}

void law_pressures(const law *l, int count, const double *indentation, int deepest, double largest,
                   double *pressure, double *energy)
{
    const double offset = largest > 0.0 ? series_pressure(l, deepest, largest, 1).offset.value : 0.0;
    int i;
    for (i = 0; i < count; i++) {
        pressure[i] = series_pressure(l, i, indentation[i] - offset, 0).pressure.value;
        if (energy)
            energy[i] = spring_energy(l, i, indentation[i] - offset);
    }
}

/* ---- edges (`foundation.elastic_foundation.springs`) */

/* The fraction T_0(t) beyond the edge, -1 <= t <= 1: the integral of the kernel. */
INLINE double edge_part(double t)
{
    const double square = t * t;
    return 0.5 + t * (1.40625 + square * (-1.5625 + square * 0.65625));
}

/* The smoothed ramp T_1(t), -1 <= t <= 1: the integral of edge_part. */
INLINE double edge_ramp(double t)
{
    const double square = t * t;
    return 0.078125 + 0.5 * t + square * (0.703125 + square * (-0.390625 + square * 0.109375));
}

/* The smoothed power T_m(t), t > -1. */
static rate edge_power(const law *l, double t)
{
    const double m = l->exponent;
    rate found = {t, 1.0};
    if (m == 1.0) {
        if (t < 1.0) {
            found.value = edge_ramp(t);
            found.slope = edge_part(t);
        }
    } else if (t < EDGE_END) {
        const double scale = l->pieces / (EDGE_END + 1.0), position = (t + 1.0) * scale;
        const int piece = (int)least(position, l->pieces - 1.0);
        const double x = position - piece;
        int k;
        found.value = found.slope = 0.0;
        for (k = 0; k < 6; k++) {
            found.slope = found.slope * x + found.value;
            found.value = found.value * x + l->edge[6 * piece + k];
        }
        found.slope *= scale;
    } else {
        /* The first terms of its series in 1/t. */
        const double fourth = -m * (m - 1.0) * (m - 2.0) * (m - 3.0) / 504.0 / (t * t * t * t);
        const double power = pow(t, m);
        found.value = power * (1.0 + fourth);
        found.slope = power / t * (m + (m - 4.0) * fourth);
    }
    return found;
}

/* Pressure smoothed over the indentations height + rise x, |x| <= 1, and its derivative by the rise: a
   point near the edge of the patch represents its surroundings, so that loads vary smoothly as the edge
   passes it. The leading term of the law is smoothed; the rest of the pressure is flat at the edge. */
static rate edge_pressure(const law *l, int e, double height, double rise, double *by_rise)
{
    const double m = l->exponent, lead = l->lead[e];
    const rate power = edge_power(l, height / rise);
    const double scale = m == 1.0 ? lead : lead * pow(rise, m - 1.0);
    rate mean = {scale * rise * power.value, scale * power.slope};
    *by_rise = scale * (m * power.value - height / rise * power.slope);
    if (height > 0.0 && (l->layers > 1 || l->kinds[0] != POWER)) {
        const rate p = spring_pressure(l, e, height);
        const double light = m == 1.0 ? 1.0 : pow(height, m - 1.0);
        mean.value += p.value - lead * height * light;
        mean.slope += p.slope - lead * m * light;
    }
    return mean;
}

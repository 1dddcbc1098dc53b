/* Pressure of a compartment's places at a pose (docs/theory.md, "Pressure fields"): their
   indentations, and the pressure of a continuous layer over the overlap. */

#define LIFTED -1.0
#define CLOSE 4e-5        /* the last Newton step [m] */
#define OUTSIDE 2e-4      /* distance from which a place counts as outside [m] */
#define STEEPEST_STEP 2e-3 /* largest step [m] */
#define LEAST_RISE 0.1
enum { FIELD_STEPS = 8 };

/* ---- indentations */

/* A place of the grid, the height of the femur over a place, and its gradient. */
typedef struct {
    int i, j; /* cell, -1 outside the grid */
    double height, slope[3];
} rise;

static void fill_cubics(double s, double *values, double *slopes)
{
    const double v = 1.0 - s;
    values[0] = v * v * v * (1.0 / 6.0);
    values[1] = (0.5 * s - 1.0) * s * s + 2.0 / 3.0;
    values[2] = (0.5 * v - 1.0) * v * v + 2.0 / 3.0;
    values[3] = s * s * s * (1.0 / 6.0);
    slopes[0] = -0.5 * v * v;
    slopes[1] = (1.5 * s - 2.0) * s;
    slopes[2] = (2.0 - 1.5 * v) * v;
    slopes[3] = 0.5 * s * s;
}

/* Height of the femur over a place relative to the centre, positive inside the femur; LIFTED where the
   surface is not known. t = 2 R tan(theta / 2), so that dt / d theta = 2 R / (1 + cos theta). */
static rise rise_at(const surface *f, double x, double y, double z)
{
    const double *frame = f->frame, per = frame[9], radius = frame[5];
    const double forward = x * frame[3] + y * frame[4], aside = y * frame[3] - x * frame[4];
    const double rho = sqrt(forward * forward + aside * aside);
    double half, along, across, a[4], b[4], da[4], db[4], by_t = 0.0, by_z = 0.0, around;
    double cosine, sine, ahead, left;
    rise found = {-1, -1, LIFTED, {0.0, 0.0, 0.0}};
    int k;
    if (!(rho + forward > 0.1 * rho))
        return found;
    half = 2.0 * radius / (rho + forward);
    along = (half * aside - frame[6]) * per;
    across = (z - frame[7]) * per;
    if (!(0.0 <= along && along < f->rows && 0.0 <= across && across < f->columns))
        return found;
    found.i = (int)along;
    found.j = (int)across;
    if (!f->known[found.i * f->columns + found.j])
        return found;
    cosine = forward / rho;
    sine = aside / rho;
    fill_cubics(along - found.i, a, da);
    fill_cubics(across - found.j, b, db);
    found.height = radius - rho;
    for (k = 0; k < 4; k++) {
        const double *c = f->spline + (found.i + k) * (f->columns + 3) + found.j;
        const double row = b[0] * c[0] + b[1] * c[1] + b[2] * c[2] + b[3] * c[3];
        found.height += a[k] * row;
        by_t += da[k] * row;
        by_z += a[k] * (db[0] * c[0] + db[1] * c[1] + db[2] * c[2] + db[3] * c[3]);
    }
    around = by_t * per * half;
    ahead = -cosine - around * sine;
    left = around * cosine - sine;
    found.slope[0] = ahead * frame[3] - left * frame[4];
    found.slope[1] = ahead * frame[4] + left * frame[3];
    found.slope[2] = by_z * per;
    return found;
}

/* Distance from a place against a normal to the exit from the femur, 0 or less outside: Newton's method
   from `depth` on. */
static double indentation(const surface *f, const double *at, const double *normal, double depth)
{
    int step;
    for (step = 0; step < FIELD_STEPS; step++) {
        const rise here = rise_at(f, at[0] - depth * normal[0], at[1] - depth * normal[1],
                                  at[2] - depth * normal[2]);
        double slope, move;
        if (here.height == LIFTED)
            return LIFTED;
        slope = here.slope[0] * normal[0] + here.slope[1] * normal[1] + here.slope[2] * normal[2];
        move = here.height / fmax(slope, LEAST_RISE);
        move = fmin(fmax(move, -STEEPEST_STEP), STEEPEST_STEP);
        depth += move;
        /* the error that is left is the square of the step times the curvature */
        if (fabs(move) <= CLOSE || depth <= -OUTSIDE)
            return depth;
    }
    return LIFTED;
}

/* Turn a vector of the tibial frame, less an origin, into the femoral frame, less another. */
static void turn_back(const double *rotation, const double *vector, const double *origin,
                      const double *centre, double *out)
{
    double v[3];
    int k;
    for (k = 0; k < 3; k++)
        v[k] = vector[k] - (origin ? origin[k] : 0.0);
    for (k = 0; k < 3; k++)
        out[k] = rotation[k] * v[0] + rotation[3 + k] * v[1] + rotation[6 + k] * v[2]
                 - (centre ? centre[k] : 0.0);
}

/* The outline's tangent plane over the middle of a ball, and the bound of the surface's distance from it
   within the ball, less than 0 where the femur is certainly above the ball; `kind` 0 or 2. */
static rise tangent_plane(const skin *k, const double *rotation, const double *translation,
                          const double *ball, int kind, double *error)
{
    const double size = ball[3], *limits;
    double at[3], normal[3], across, steep;
    rise found;
    turn_back(rotation, ball, translation, k->outline.frame, at);
    found = rise_at(&k->outline, at[0], at[1], at[2]);
    if (found.i < 0) {
        *error = -1.0;
        return found;
    }
    limits = k->limits + 4 * (found.i * k->outline.columns + found.j);
    if (found.height == LIFTED) {
        *error = limits[kind];
        return found;
    }
    *error = limits[kind] + limits[kind + 1] * size * size;
    /* The places of a ball lie near a plane: the slope along the plane and that across count apart. */
    turn_back(rotation, ball + 4, 0, 0, normal);
    across = found.slope[0] * normal[0] + found.slope[1] * normal[1] + found.slope[2] * normal[2];
    steep = found.slope[0] * found.slope[0] + found.slope[1] * found.slope[1]
            + found.slope[2] * found.slope[2] - across * across;
    if (found.height + sqrt(fmax(steep, 0.0)) * size + fabs(across) * ball[7] + *error < 0.0)
        *error = -1.0;
    return found;
}

/* Fill the indentations of `count` places in a ball; return the largest. */
static double fill_group(const skin *k, const double *rotation, const double *translation,
                         const double *ball, int count, const double *bed, double *depth)
{
    double by[3], error, largest = 0.0;
    const rise plane = tangent_plane(k, rotation, translation, ball, 0, &error);
    int i, c;
    for (c = 0; c < 3; c++)
        by[c] = rotation[3 * c] * plane.slope[0] + rotation[3 * c + 1] * plane.slope[1]
                + rotation[3 * c + 2] * plane.slope[2];
    for (i = 0; i < count; i++, bed += 7) {
        double at[3], normal[3], guess = 0.0;
        depth[i] = LIFTED;
        if (error < 0.0)
            continue;
        if (plane.height > LIFTED) {
            /* height of the tangent plane, and the most that the rest may add */
            const double height = plane.height + by[0] * (bed[0] - ball[0])
                                  + by[1] * (bed[1] - ball[1]) + by[2] * (bed[2] - ball[2]);
            depth[i] = height;
            if (height < -error)
                continue;
            guess = height / fmax(by[0] * bed[3] + by[1] * bed[4] + by[2] * bed[5], LEAST_RISE);
        }
        turn_back(rotation, bed, translation, k->condyle.frame, at);
        turn_back(rotation, bed + 3, 0, 0, normal);
        depth[i] = indentation(&k->condyle, at, normal, guess);
        largest = fmax(largest, depth[i]);
    }
    return largest;
}

double skin_indentations(const skin *k, const double *rotation, const double *translation,
                         double *depth)
{
    double largest = 0.0, error;
    int block, group, i;
    for (block = 0; BLOCK_PLACES * block < k->places; block++) {
        const int first = BLOCK_PLACES * block;
        const int end = first + BLOCK_PLACES < k->places ? first + BLOCK_PLACES : k->places;
        tangent_plane(k, rotation, translation, k->blocks + 8 * block, 2, &error);
        for (i = first; i < end; i++)
            depth[i] = LIFTED;
        for (i = first; i < end && !(error < 0.0); i += GROUP_PLACES) {
            const int count = i + GROUP_PLACES < end ? GROUP_PLACES : end - i;
            group = i / GROUP_PLACES;
            largest = fmax(largest, fill_group(k, rotation, translation, k->groups + 8 * group, count,
                                               k->bed + 7 * i, depth + i));
        }
    }
    return largest;
}

/* ---- springs */

void spring_pressures(int count, const double *depth, double largest, const double *constants,
                      const double *law, double *pressure)
{
    int i;
    for (i = 0; i < count; i++)
        pressure[i] = layer_pressure((int)constants[0], law[2 * i], constants[1], law[2 * i + 1],
                                     depth[i] - constants[2] * largest).value;
}

/* ---- layers */

/* Coordinates a, b of a place in a patch, over its width. */
static void place_in(const double *place, const double *frame, double *a, double *b)
{
    *b = place[2] - frame[1];
    *a = (place[0] - frame[0] - frame[4] * *b) / (PATCH_WIDTH * frame[2]);
    *b /= PATCH_WIDTH * frame[3];
}

int measure_overlap(int count, const double *depth, const double *bed, double *frame,
                    double *measures)
{
    static const int powers[9][2] = {{0, 3}, {1, 2}, {2, 1}, {3, 0}, {0, 4},
                                     {1, 3}, {2, 2}, {3, 1}, {4, 0}};
    double largest = 0.0, total = 0.0, x = 0.0, z = 0.0, xx = 0.0, xz = 0.0, zz = 0.0;
    int i, m;
    for (i = 0; i < count; i++)
        if (depth[i] > 0.0) {
            const double w = depth[i] * bed[7 * i + 6];
            largest = fmax(largest, depth[i]);
            total += w;
            x += w * bed[7 * i];
            z += w * bed[7 * i + 2];
        }
    if (!(total > 0.0))
        return 0;
    x /= total;
    z /= total;
    for (i = 0; i < count; i++)
        if (depth[i] > 0.0) {
            const double w = depth[i] * bed[7 * i + 6] / total;
            const double dx = bed[7 * i] - x, dz = bed[7 * i + 2] - z;
            xx += w * dx * dx;
            xz += w * dx * dz;
            zz += w * dz * dz;
        }
    if (!(zz > 0.0) || !(xx > xz * xz / zz * (1.0 + 1e-9)))
        return 0;
    frame[0] = x;
    frame[1] = z;
    frame[2] = sqrt(xx - xz * xz / zz);
    frame[3] = sqrt(zz);
    frame[4] = xz / zz;
    frame[5] = largest * sqrt(frame[2] * frame[3]);
    clear(MEASURES, measures);
    measures[0] = log(frame[2]);
    measures[1] = log(frame[3]);
    measures[2] = log(total / (largest * frame[2] * frame[3]));
    measures[12] = x;
    measures[13] = z;
    measures[14] = frame[4];
    for (i = 0; i < count; i++)
        if (depth[i] > 0.0) {
            const double w = depth[i] * bed[7 * i + 6] / total;
            double a[5] = {1.0}, b[5] = {1.0};
            place_in(bed + 7 * i, frame, a + 1, b + 1);
            for (m = 2; m < 5; m++) {
                a[m] = a[m - 1] * a[1];
                b[m] = b[m - 1] * b[1];
            }
            for (m = 0; m < 9; m++)
                measures[3 + m] += w * a[powers[m][0]] * b[powers[m][1]];
        }
    return 1;
}

/* Fill the terms of a patch: Kriging with a linear trend and Matern 5/2 correlations. Measures are
   held near those of the samples; the widths of lighter contact follow the trend further. */
static void fill_patch_terms(const layer *l, const double *measures, double *terms)
{
    double z[MEASURES];
    int d, k, n;
    for (k = 0; k < PATCH_TERMS; k++)
        terms[k] = l->weights[k];
    for (d = 0; d < MEASURES; d++) {
        z[d] = (measures[d] - l->scaling[d]) / l->scaling[MEASURES + d];
        z[d] = fmin(fmax(z[d], d < 2 ? -2.5 : -1.1), 1.1);
        for (k = 0; k < PATCH_TERMS; k++)
            terms[k] += z[d] * l->weights[PATCH_TERMS * (1 + d) + k];
        z[d] /= l->lengths[d];
    }
    for (n = 0; n < l->samples; n++) {
        const double *weights = l->weights + PATCH_TERMS * (1 + MEASURES + n);
        double radius = 0.0, factor = 1.0;
        for (d = 0; d < MEASURES; d++) {
            const double s = fabs(z[d] - l->points[d * l->samples + n]);
            radius += s;
            factor *= 1.0 + s + s * s * (1.0 / 3.0);
        }
        factor *= exp(-radius);
        for (k = 0; k < PATCH_TERMS; k++)
            terms[k] += factor * weights[k];
    }
}

static void fill_legendre(double x, double *values)
{
    int n;
    values[0] = 1.0;
    values[1] = x;
    for (n = 1; n < PATCH_DEGREE; n++)
        values[n + 1] = ((2 * n + 1) * x * values[n] - n * values[n - 1]) / (n + 1);
}

void layer_pressures(const layer *l, int count, const double *depth, const double *bed,
                     double *pressure)
{
    double frame[6], measures[MEASURES], terms[PATCH_TERMS], carried = 0.0, scaling;
    int i, k, m, j;
    clear(count, pressure);
    if (!measure_overlap(count, depth, bed, frame, measures))
        return;
    fill_patch_terms(l, measures, terms);
    for (i = 0; i < count; i++) {
        double a, b, first[PATCH_DEGREE + 1], second[PATCH_DEGREE + 1], bearing = 0.0;
        if (!(depth[i] > 0.0))
            continue;
        place_in(bed + 7 * i, frame, &a, &b);
        if (!(a * a + b * b < PATCH_REACH * PATCH_REACH))
            continue;
        fill_legendre(a / PATCH_SPAN, first);
        fill_legendre(b / PATCH_SPAN, second);
        for (m = 0, k = 0; m <= PATCH_DEGREE; m++)
            for (j = 0; j <= m; j++)
                bearing += terms[k++] * first[m - j] * second[j];
        if (bearing > 0.0) {
            pressure[i] = pow(bearing, l->exponent);
            carried += pressure[i] * bed[7 * i + 6];
        }
    }
    if (!(carried > 0.0))
        return;
    scaling = frame[5] * exp(terms[PATCH_TERMS - 1]) / carried;
    for (i = 0; i < count; i++)
        pressure[i] *= scaling;
}

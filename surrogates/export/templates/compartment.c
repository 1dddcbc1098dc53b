/* Five coordinates as a piecewise cubic over flexion: adduction, rotation, anterior, superior,
   lateral. */
typedef struct {
    int count;             /* of pieces */
    const double *flexion; /* count + 1: where the pieces end */
    const double *pieces;  /* 4 powers, falling, x count x 5 coordinates */
} surrogate_path;

/* What is worked out of a pose, on the way to the loads. */
typedef struct {
    double held[6], turn[6][6];      /* the pose held in the box; d(held)/d(pose) */
    double inputs[6], slopes[6][6];  /* of the regressors; by the pose, last that of the height */
    double height;                   /* of the condyle's point over its path */
    double gap;                      /* over the first contact, where this is told */
    double point[3], point_slopes[18];
    double out[12], gradient[72];    /* of the regressors */
} surrogate_state;

typedef struct surrogate_compartment surrogate_compartment;
struct surrogate_compartment {
    surrogate_path box, path;          /* that the box, and the condyle's point, are about */
    double box_centre[6], box_half[6];
    double condyle[3], middle[5], half[5], lever;
    double largest, degree, depth_middle, depth_half;
    double smoothing, fall;            /* width; of the first output by the last input beyond 1 */
    double limits[4]; /* of F_x / F_y, F_z / F_y and the peak pressure, and where lifted for certain */
    const surrogate_regressor *parts[3], *domain;
    int (*fill)(const surrogate_compartment *, surrogate_state *, double *, double (*)[6]);
    int (*bend)(const surrogate_compartment *, surrogate_state *, surrogate_second *);
};

static int surrogate_piece(const surrogate_path *path, double flexion)
{
    int piece = 0;
    while (piece < path->count - 1 && flexion >= path->flexion[piece + 1])
        piece++;
    return piece;
}

static void surrogate_path_at(const surrogate_path *path, double flexion, double *values,
                              double *slopes)
{
    const int piece = surrogate_piece(path, flexion), stride = 5 * path->count;
    const double t = flexion - path->flexion[piece];
    int k;
    for (k = 0; k < 5; k++) {
        const double *p = path->pieces + 5 * piece + k;
        const double a = p[0], b = p[stride], c = p[2 * stride];
        values[k] = ((a * t + b) * t + c) * t + p[3 * stride];
        slopes[k] = (3.0 * a * t + 2.0 * b) * t + c;
    }
}

/* Hold the pose in the box, the height over its path kept; fill x[0..4], the scaled variables, not
   held. Returns whether the pose was inside; unless it was, `turn` is filled. */
static int surrogate_hold(const surrogate_compartment *c, const double *pose, surrogate_state *s,
                          double *x)
{
    double value[5], slope[5], at[5], along[5];
    surrogate_curve clip;
    int inside, k, j, row = 0;
    surrogate_path_at(&c->box, pose[0], value, slope);
    x[0] = (pose[0] - c->box_centre[0]) / c->box_half[0];
    inside = fabs(x[0]) <= 1.0;
    for (k = 0; k < 6; k++)
        s->held[k] = pose[k];
    for (k = 0; k < 5; k++)
        if (k != 3) {
            row++;
            x[row] = (pose[k + 1] - value[k] - c->box_centre[row]) / c->box_half[row];
            inside = inside && fabs(x[row]) <= 1.0;
        }
    if (inside)
        return 1;
    clip = surrogate_clip(x[0], 1.0, c->smoothing);
    s->held[0] = c->box_centre[0] + c->box_half[0] * clip.value;
    for (k = 0; k < 6; k++)
        for (j = 0; j < 6; j++)
            s->turn[k][j] = 0.0;
    s->turn[0][0] = clip.slope;
    surrogate_path_at(&c->box, s->held[0], at, along);
    for (k = 0, row = 0; k < 5; k++) {
        double offset = pose[k + 1] - value[k], free = 1.0;
        if (k != 3) {
            row++;
            clip = surrogate_clip(x[row], 1.0, c->smoothing);
            free = clip.slope;
            offset = c->box_centre[row] + c->box_half[row] * clip.value;
        }
        s->held[k + 1] = at[k] + offset;
        s->turn[k + 1][0] = along[k] * s->turn[0][0] - free * slope[k];
        s->turn[k + 1][k + 1] = free;
    }
    return 0;
}

/* Fill the regressors' first five inputs, the height and the point, with their slopes. */
static void surrogate_condyle_variables(const surrogate_compartment *c, surrogate_state *s)
{
    double value[5], slope[5];
    int k, j;
    surrogate_condyle_point(s->held, c->condyle, s->point, s->point_slopes);
    surrogate_path_at(&c->path, s->held[0], value, slope);
    for (k = 0; k < 6; k++)
        for (j = 0; j < 6; j++)
            s->slopes[k][j] = 0.0;
    s->inputs[0] = (s->held[0] - c->middle[0]) / c->half[0];
    s->slopes[0][0] = 1.0 / c->half[0];
    for (k = 0; k < 2; k++) {
        s->inputs[1 + k] = (s->held[1 + k] - value[k] - c->middle[1 + k]) / c->half[1 + k];
        s->slopes[1 + k][0] = -slope[k] / c->half[1 + k];
        s->slopes[1 + k][1 + k] = 1.0 / c->half[1 + k];
    }
    for (k = 0; k < 3; k += 2) {
        const int row = k == 0 ? 3 : 4;
        s->inputs[row] = (s->point[k] - value[2 + k] - c->middle[row]) / c->half[row];
        for (j = 0; j < 6; j++)
            s->slopes[row][j] = s->point_slopes[6 * k + j] / c->half[row];
        s->slopes[row][0] -= slope[2 + k] / c->half[row];
    }
    for (j = 0; j < 6; j++)
        s->slopes[5][j] = s->point_slopes[6 + j];
    s->slopes[5][0] -= slope[3];
    s->height = s->point[1] - value[3];
}

/* Fill the first `count` outputs of all parts and their derivatives at the inputs. */
static void surrogate_evaluate_all(const surrogate_compartment *c, int count, surrogate_state *s)
{
    int i, at = 0;
    for (i = 0; i < 3 && c->parts[i] && at < count; i++) {
        const int rest = count - at, own = c->parts[i]->outputs;
        const int outputs = own < rest ? own : rest;
        surrogate_evaluate_regressor(c->parts[i], outputs, s->inputs, s->out + at,
                                     s->gradient + 6 * at);
        at += outputs;
    }
}

/* Turn the derivatives of the first six outputs by the inputs into those by the pose; `last` is
   the slope of the last input, `along` that of its clip. */
static void surrogate_chain(surrogate_state *s, const double *last, double along)
{
    int i, j, k;
    for (i = 0; i < 6; i++) {
        double *row = s->gradient + 6 * i, by[6];
        for (k = 0; k < 6; k++)
            by[k] = row[k];
        for (j = 0; j < 6; j++) {
            row[j] = by[5] * along * last[j];
            for (k = 0; k < 5; k++)
                row[j] += by[k] * s->slopes[k][j];
        }
    }
}

/* Return how far an answer extrapolates: at most 1 where the samples taught it. */
static double surrogate_extrapolation(const surrogate_compartment *c, const double *x,
                                      const double *loads, double gap)
{
    double found = 0.0, learnt, inputs[6], out[3], unused[18];
    const double axial = loads[1];
    int k;
    if (axial > 0.0) {
        found = fmax(fabs(loads[0]) / (c->limits[0] * axial),
                     fabs(loads[2]) / (c->limits[1] * axial));
        found = fmax(found, loads[7] / c->limits[2]);
    }
    if (!c->domain)
        return found;
    for (k = 0; k < 6; k++)
        inputs[k] = surrogate_clip(x[k], 1.0, 0.0).value;
    surrogate_evaluate_regressor(c->domain, 3, inputs, out, unused);
    learnt = fmax(1.0 + out[2], fmax(fabs(out[0]), fabs(out[1])));
    return fmax(found, learnt * (1.0 - fmin(gap / c->limits[3], 1.0)));
}

/* Fill loads, jacobian and scaled variables; return whether these are in the trained domain. */
static int surrogate_compartment_loads(const surrogate_compartment *c, const double *pose,
                                       double *loads, double (*jacobian)[6], double *x)
{
    surrogate_state s;
    int inside, k, j, i;
    for (k = 0; k < 12; k++)
        loads[k] = k < 9 ? 0.0 : NAN;
    for (k = 0; k < 6; k++)
        for (j = 0; j < 6; j++)
            jacobian[k][j] = 0.0;
    x[5] = -1.0;
    s.gap = 0.0;
    inside = surrogate_hold(c, pose, &s, x);
    surrogate_condyle_variables(c, &s);
    if (c->fill(c, &s, loads, jacobian)) {
        x[5] = sqrt(loads[1] > 0.0 ? loads[1] : 0.0) / c->box_half[5] - 1.0;
        for (k = 0; k < 6 && !inside; k++) {
            double row[6];
            for (j = 0; j < 6; j++)
                for (row[j] = 0.0, i = 0; i < 6; i++)
                    row[j] += jacobian[k][i] * s.turn[i][j];
            for (j = 0; j < 6; j++)
                jacobian[k][j] = row[j];
        }
    }
    for (k = 0, inside = isfinite(s.height); k < 6; k++)
        inside = inside && fabs(x[k]) <= 1.0 + SURROGATE_TOLERANCE;
    return inside && surrogate_extrapolation(c, x, loads, s.gap) <= 1.0 + SURROGATE_TOLERANCE;
}

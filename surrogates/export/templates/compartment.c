/* Five coordinates as a piecewise cubic over flexion: adduction, rotation, anterior, superior,
   lateral. */
typedef struct {
    int count;             /* of pieces */
    const double *flexion; /* count + 1: where the pieces end */
    /* if single */
    const double *pieces;  /* 4 powers, falling, x count x 5 coordinates */
    /* end */
    /* if designs */
    const surrogate_regressor *const *pieces; /* count, of the parameters: 4 powers, falling, x 5 */
    /* end */
} surrogate_path;

/* Slopes are by SURROGATE_INPUTS coordinates: those of the pose, and scaled parameters of a design,
   if there are any. The regressors have as many inputs: five of the condyle, the parameters, and the
   last one. A path changes with the flexion, and with the parameters. */
enum {
    SURROGATE_LAST = SURROGATE_INPUTS - 1,
    SURROGATE_PARAMETERS = SURROGATE_INPUTS - 6,
    SURROGATE_ALONG = SURROGATE_PARAMETERS + 1
};

/* What is worked out of a pose, on the way to the loads. */
typedef struct {
    double held[6], turn[6][SURROGATE_INPUTS]; /* the pose held in the box, with its slopes */
    double inputs[SURROGATE_INPUTS];           /* of the regressors */
    double slopes[6][SURROGATE_INPUTS];        /* of the first five inputs, and of the height */
    double height;                             /* of the condyle's point over its path */
    double gap;                                /* over the first contact, where this is told */
    double deep;                               /* the scaled height's fall, where it is an input */
    double point[3], point_slopes[3 * SURROGATE_INPUTS];
    double out[12], gradient[12 * SURROGATE_INPUTS]; /* of the regressors */
    /* if designs */
    double fall, fall_slopes[SURROGATE_INPUTS]; /* as of a single knee's compartment, by inputs */
    /* end */
} surrogate_state;

typedef struct surrogate_compartment surrogate_compartment;
struct surrogate_compartment {
    surrogate_path box, path;          /* that the box, and the condyle's point, are about */
    double box_centre[6], box_half[6];
    /* if single */
    double condyle[3];
    /* end */
    /* if designs */
    const surrogate_regressor *condyle; /* of the parameters */
    /* end */
    double middle[5], half[5], lever;
    double largest, degree, depth_middle, depth_half;
    /* if single */
    double smoothing, fall;            /* width; of the first output by the last input beyond 1 */
    /* end */
    /* if designs */
    double smoothing;
    /* end */
    double limits[4]; /* of F_x / F_y, F_z / F_y and the peak pressure, and where lifted for certain */
    const surrogate_regressor *parts[3], *domain;
    int (*fill)(const surrogate_compartment *, surrogate_state *, double *,
                double (*)[SURROGATE_INPUTS]);
    /* if single */
    int (*bend)(const surrogate_compartment *, surrogate_state *, surrogate_second *);
    /* end */
};

static int surrogate_piece(const surrogate_path *path, double flexion)
{
    int piece = 0;
    while (piece < path->count - 1 && flexion >= path->flexion[piece + 1])
        piece++;
    return piece;
}

/* if single */
/* Fill the coordinates at a flexion, and their slopes by the flexion. */
static void surrogate_path_at(const surrogate_path *path, const surrogate_state *s, double flexion,
                              double *values, double (*slopes)[SURROGATE_ALONG])
{
    const int piece = surrogate_piece(path, flexion), stride = 5 * path->count;
    const double t = flexion - path->flexion[piece];
    int k;
    (void)s;
    for (k = 0; k < 5; k++) {
        const double *p = path->pieces + 5 * piece + k;
        const double a = p[0], b = p[stride], c = p[2 * stride];
        values[k] = ((a * t + b) * t + c) * t + p[3 * stride];
        slopes[k][0] = (3.0 * a * t + 2.0 * b) * t + c;
    }
}

/* end */
/* if designs */
/* Fill the coordinates at a flexion, and their slopes by the flexion and the parameters. */
static void surrogate_path_at(const surrogate_path *path, const surrogate_state *s, double flexion,
                              double *values, double (*slopes)[SURROGATE_ALONG])
{
    const int piece = surrogate_piece(path, flexion);
    const double t = flexion - path->flexion[piece];
    double p[20], by[20][SURROGATE_PARAMETERS];
    int k, j, i;
    surrogate_evaluate_regressor(path->pieces[piece], 20, s->inputs + 5, p, by[0]);
    for (k = 0; k < 5; k++) {
        values[k] = ((p[k] * t + p[k + 5]) * t + p[k + 10]) * t + p[k + 15];
        slopes[k][0] = (3.0 * p[k] * t + 2.0 * p[k + 5]) * t + p[k + 10];
        for (j = 0; j < SURROGATE_PARAMETERS; j++) {
            double slope = 0.0;
            for (i = k; i < 20; i += 5)
                slope = slope * t + by[i][j];
            slopes[k][1 + j] = slope;
        }
    }
}

/* end */
/* Return where the path of the box is taken at a flexion of scaled x. */
static surrogate_curve surrogate_followed(const surrogate_compartment *c, double flexion, double x)
{
    surrogate_curve at = surrogate_clip(x, SURROGATE_FOLLOWED, c->smoothing);
    at.value = fabs(x) <= SURROGATE_FOLLOWED ? flexion : c->box_centre[0] + c->box_half[0] * at.value;
    at.bend /= c->box_half[0];
    return at;
}

/* Return the height over the path, held at SURROGATE_FARTHEST. */
static surrogate_curve surrogate_held_height(const surrogate_compartment *c, double offset)
{
    const double width = c->smoothing * SURROGATE_FARTHEST;
    surrogate_curve same = {0.0, 1.0, 0.0};
    same.value = offset;
    return fabs(offset) > SURROGATE_FARTHEST ? surrogate_clip(offset, SURROGATE_FARTHEST, width)
                                             : same;
}

/* Hold the pose in the box, the height over its path kept up to SURROGATE_FARTHEST; fill x[0..4], the
   scaled variables, not held, and x[5] with -1, or with a height that is not kept. Returns whether the
   pose was inside; unless it was, `turn` is filled. */
static int surrogate_hold(const surrogate_compartment *c, const double *pose, surrogate_state *s,
                          double *x)
{
    double value[5], slope[5][SURROGATE_ALONG], at[5], along[5][SURROGATE_ALONG];
    surrogate_curve clip, path;
    double lift;
    int inside, k, j, row = 0;
    x[0] = (pose[0] - c->box_centre[0]) / c->box_half[0];
    path = surrogate_followed(c, pose[0], x[0]);
    surrogate_path_at(&c->box, s, path.value, value, slope);
    lift = (pose[4] - value[3]) / SURROGATE_FARTHEST;
    x[5] = fabs(lift) <= 1.0 ? -1.0 : -lift;
    inside = fabs(x[0]) <= 1.0 && fabs(lift) <= 1.0;
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
        for (j = 0; j < SURROGATE_INPUTS; j++)
            s->turn[k][j] = 0.0;
    s->turn[0][0] = clip.slope;
    surrogate_path_at(&c->box, s, s->held[0], at, along);
    for (k = 0, row = 0; k < 5; k++) {
        double offset, free;
        if (k == 3) {
            clip = surrogate_held_height(c, pose[4] - value[3]);
            offset = clip.value;
        } else {
            row++;
            clip = surrogate_clip(x[row], 1.0, c->smoothing);
            offset = c->box_centre[row] + c->box_half[row] * clip.value;
        }
        free = clip.slope;
        s->held[k + 1] = at[k] + offset;
        s->turn[k + 1][0] = along[k][0] * s->turn[0][0] - free * slope[k][0] * path.slope;
        for (j = 1; j < SURROGATE_ALONG; j++)
            s->turn[k + 1][5 + j] = along[k][j] - free * slope[k][j];
        s->turn[k + 1][k + 1] = free;
    }
    return 0;
}

/* if designs */
/* Fill the point and its slopes, those by the parameters by the turned slopes of the centre. */
static void surrogate_point_of_design(const surrogate_compartment *c, surrogate_state *s)
{
    double turned[6] = {0.0}, centre[3], by[3][SURROGATE_PARAMETERS];
    double slopes[18], point[3], along[3];
    int k, j;
    surrogate_evaluate_regressor(c->condyle, 3, s->inputs + 5, centre, by[0]);
    surrogate_condyle_point(s->held, centre, s->point, slopes);
    for (k = 0; k < 3; k++) {
        turned[k] = s->held[k];
        for (j = 0; j < 6; j++)
            s->point_slopes[SURROGATE_INPUTS * k + j] = slopes[6 * k + j];
    }
    for (j = 0; j < SURROGATE_PARAMETERS; j++) {
        for (k = 0; k < 3; k++)
            along[k] = by[k][j];
        surrogate_condyle_point(turned, along, point, slopes);
        for (k = 0; k < 3; k++)
            s->point_slopes[SURROGATE_INPUTS * k + 6 + j] = point[k];
    }
}

/* end */
/* Subtract the slopes of a coordinate of a path from a row of slopes, over the range `half`. */
static void surrogate_less_path(const double *slope, double half, double *row)
{
    int j;
    row[0] -= slope[0] / half;
    for (j = 1; j < SURROGATE_ALONG; j++)
        row[5 + j] -= slope[j] / half;
}

/* Fill the regressors' first five inputs, the height and the point, with their slopes. */
static void surrogate_condyle_variables(const surrogate_compartment *c, surrogate_state *s)
{
    double value[5], slope[5][SURROGATE_ALONG];
    int k, j;
    /* if single */
    surrogate_condyle_point(s->held, c->condyle, s->point, s->point_slopes);
    /* end */
    /* if designs */
    surrogate_point_of_design(c, s);
    /* end */
    surrogate_path_at(&c->path, s, s->held[0], value, slope);
    for (k = 0; k < 6; k++)
        for (j = 0; j < SURROGATE_INPUTS; j++)
            s->slopes[k][j] = 0.0;
    s->inputs[0] = (s->held[0] - c->middle[0]) / c->half[0];
    s->slopes[0][0] = 1.0 / c->half[0];
    for (k = 0; k < 2; k++) {
        s->inputs[1 + k] = (s->held[1 + k] - value[k] - c->middle[1 + k]) / c->half[1 + k];
        surrogate_less_path(slope[k], c->half[1 + k], s->slopes[1 + k]);
        s->slopes[1 + k][1 + k] = 1.0 / c->half[1 + k];
    }
    for (k = 0; k < 3; k += 2) {
        const int row = k == 0 ? 3 : 4;
        s->inputs[row] = (s->point[k] - value[2 + k] - c->middle[row]) / c->half[row];
        for (j = 0; j < SURROGATE_INPUTS; j++)
            s->slopes[row][j] = s->point_slopes[SURROGATE_INPUTS * k + j] / c->half[row];
        surrogate_less_path(slope[2 + k], c->half[row], s->slopes[row]);
    }
    for (j = 0; j < SURROGATE_INPUTS; j++)
        s->slopes[5][j] = s->point_slopes[SURROGATE_INPUTS + j];
    surrogate_less_path(slope[3], 1.0, s->slopes[5]);
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
                                     s->gradient + SURROGATE_INPUTS * at);
        at += outputs;
    }
}

/* Turn the derivatives of the first SURROGATE_STEEP outputs by the inputs into those by the
   coordinates; `last` is the slope of the last input, `along` that of its clip. */
static void surrogate_chain(surrogate_state *s, const double *last, double along)
{
    int i, j, k;
    for (i = 0; i < SURROGATE_STEEP; i++) {
        double *row = s->gradient + SURROGATE_INPUTS * i, by[SURROGATE_INPUTS];
        for (k = 0; k < SURROGATE_INPUTS; k++)
            by[k] = row[k];
        for (j = 0; j < SURROGATE_INPUTS; j++) {
            row[j] = by[SURROGATE_LAST] * along * last[j];
            for (k = 0; k < 5; k++)
                row[j] += by[k] * s->slopes[k][j];
        }
        for (j = 6; j < SURROGATE_INPUTS; j++)
            row[j] += by[j - 1];
    }
}

/* Return how far an answer extrapolates: at most 1 where the samples taught it. */
static double surrogate_extrapolation(const surrogate_compartment *c, const surrogate_state *s,
                                      const double *x, const double *loads)
{
    double found = 0.0, learnt, inputs[SURROGATE_INPUTS], out[3], unused[3 * SURROGATE_INPUTS];
    const double axial = loads[1];
    int k;
    if (axial > 0.0) {
        found = fmax(fabs(loads[0]) / (c->limits[0] * axial),
                     fabs(loads[2]) / (c->limits[1] * axial));
        found = fmax(found, loads[7] / c->limits[2]);
    }
    if (!c->domain)
        return found;
    for (k = 0; k < 5; k++)
        inputs[k] = surrogate_clip(x[k], 1.0, 0.0).value;
    for (; k < SURROGATE_LAST; k++)
        inputs[k] = s->inputs[k];
    inputs[k] = surrogate_clip(x[5], 1.0, 0.0).value;
    surrogate_evaluate_regressor(c->domain, 3, inputs, out, unused);
    learnt = fmax(1.0 + out[2], fmax(fabs(out[0]), fabs(out[1])));
    return fmax(found, learnt * (1.0 - fmin(s->gap / c->limits[3], 1.0)));
}

/* Fill loads, slopes of SURROGATE_STEEP loads and scaled variables at coordinates; return whether
   these are in the trained domain. */
static int surrogate_compartment_loads(const surrogate_compartment *c, const double *pose,
                                       double *loads, double (*jacobian)[SURROGATE_INPUTS],
                                       double *x)
{
    surrogate_state s;
    int inside, touches, k, j, i;
    for (k = 0; k < 12; k++)
        loads[k] = k < 9 ? 0.0 : NAN;
    for (k = 0; k < SURROGATE_STEEP; k++)
        for (j = 0; j < SURROGATE_INPUTS; j++)
            jacobian[k][j] = 0.0;
    for (k = 5; k < SURROGATE_LAST; k++)
        s.inputs[k] = pose[k + 1];
    s.gap = 0.0;
    s.deep = -1.0;
    inside = surrogate_hold(c, pose, &s, x);
    surrogate_condyle_variables(c, &s);
    touches = c->fill(c, &s, loads, jacobian);
    if (touches && fabs(x[5]) <= 1.0) {
        x[5] = sqrt(loads[1] > 0.0 ? loads[1] : 0.0) / c->box_half[5] - 1.0;
        x[5] = s.deep > SURROGATE_REACH ? fmax(x[5], s.deep) : x[5];
    }
    if (touches || SURROGATE_STEEP > 6)
        for (k = 0; k < SURROGATE_STEEP && !inside; k++) {
            double row[SURROGATE_INPUTS];
            for (j = 0; j < SURROGATE_INPUTS; j++)
                for (row[j] = j < 6 ? 0.0 : jacobian[k][j], i = 0; i < 6; i++)
                    row[j] += jacobian[k][i] * s.turn[i][j];
            for (j = 0; j < SURROGATE_INPUTS; j++)
                jacobian[k][j] = row[j];
        }
    for (k = 0, inside = isfinite(s.height); k < 6; k++)
        inside = inside && fabs(x[k]) <= 1.0 + SURROGATE_TOLERANCE;
    return inside && surrogate_extrapolation(c, &s, x, loads) <= 1.0 + SURROGATE_TOLERANCE;
}

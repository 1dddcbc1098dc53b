/* if designs */
/* Fill the slopes of the centre of pressure from those of the outputs from `start` on. */
static void surrogate_slope_centre(const surrogate_compartment *c, const surrogate_state *s,
                                   int start, double (*jacobian)[SURROGATE_INPUTS])
{
    const double *gradient = s->gradient + SURROGATE_INPUTS * start;
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < SURROGATE_INPUTS; j++)
            jacobian[9 + i][j] = gradient[SURROGATE_INPUTS * i + j]
                                 + c->lever * s->point_slopes[SURROGATE_INPUTS * i + j];
}

/* end */
/* if inverted */
/* Fill the centre of pressure from the outputs from `start` on. */
static void surrogate_fill_centre(const surrogate_compartment *c, const surrogate_state *s,
                                  int start, double *loads)
{
    int k;
    for (k = 0; k < 3; k++)
        loads[9 + k] = s->out[start + k] + c->lever * s->point[k];
}

/* Fill area, pressures and centre of pressure from the outputs from `start` on. */
static void surrogate_fill_quantities(const surrogate_compartment *c, const surrogate_state *s,
                                      double root, double degree, int start, double *loads)
{
    const double stress = pow(root, degree - 1.0), *out = s->out + start;
    loads[6] = out[0] * root;
    loads[7] = out[1] * stress;
    loads[8] = out[2] * stress;
    surrogate_fill_centre(c, s, start + 3, loads);
}

/* if designs */
/* Fill the slopes of area, pressures and centre of pressure. */
static void surrogate_slope_quantities(const surrogate_compartment *c, const surrogate_state *s,
                                       surrogate_curve root, const double *root_slope,
                                       double (*jacobian)[SURROGATE_INPUTS])
{
    const double rest = c->degree - 1.0, stress = pow(root.value, rest);
    const double steep = root.value > 0.0 ? rest * pow(root.value, rest - 1.0) * root.slope : 0.0;
    int i, j;
    for (i = 6; i < 9; i++) {
        const double *gradient = s->gradient + SURROGATE_INPUTS * i;
        const double factor = i == 6 ? root.value : stress, by = i == 6 ? root.slope : steep;
        for (j = 0; j < SURROGATE_INPUTS; j++)
            jacobian[i][j] = gradient[j] * factor + s->out[i] * by * root_slope[j];
    }
    surrogate_slope_centre(c, s, 9, jacobian);
}

/* end */
/* Return the root of the axial load over the largest, up to that of SURROGATE_MOST_LOAD. */
static surrogate_curve surrogate_root(const surrogate_compartment *c, double place)
{
    surrogate_curve root = surrogate_positive_part(place, c->smoothing);
    if (root.value > 1.0) {
        const double most = pow(SURROGATE_MOST_LOAD, 1.0 / c->degree);
        const surrogate_curve held = surrogate_clip(root.value / most, 1.0, c->smoothing);
        root.value = root.value > most ? most * held.value : root.value;
        root.slope = held.slope;
        root.bend = held.bend / most;
    }
    return root;
}

/* Fill the loads from the root of the axial one, the ratios and the quantities; the derivatives
   of the root and of the ratios are by the coordinates. */
static void surrogate_fill_loads(const surrogate_compartment *c, const surrogate_state *s,
                                 double place, const double *root_slope, double *loads,
                                 double (*jacobian)[SURROGATE_INPUTS])
{
    const surrogate_curve root = surrogate_root(c, place);
    const double stress = pow(root.value, c->degree - 1.0);
    const double axial = c->largest * stress * root.value, *ratio = s->out + 1;
    const double steep = c->largest * c->degree * stress * root.slope;
    const double *gradient = s->gradient + SURROGATE_INPUTS, *point = s->point;
    const double *turn = s->point_slopes;
    int i, j;
    loads[0] = axial * ratio[0];
    loads[1] = axial;
    loads[2] = axial * ratio[1];
    for (j = 0; j < SURROGATE_INPUTS; j++) {
        const double slope = steep * root_slope[j];
        jacobian[0][j] = slope * ratio[0] + axial * gradient[j];
        jacobian[1][j] = slope;
        jacobian[2][j] = slope * ratio[1] + axial * gradient[SURROGATE_INPUTS + j];
        for (i = 2; i < 5; i++)
            jacobian[1 + i][j] = slope * ratio[i] + axial * gradient[SURROGATE_INPUTS * i + j];
    }
    /* M = M about the point + point x F */
    for (i = 0; i < 3; i++) {
        const int a = (i + 1) % 3, b = (i + 2) % 3;
        const double cross = point[a] * loads[b] - point[b] * loads[a];
        loads[3 + i] = axial * ratio[2 + i] + c->lever * cross;
        for (j = 0; j < SURROGATE_INPUTS; j++)
            jacobian[3 + i][j] += c->lever * (turn[SURROGATE_INPUTS * a + j] * loads[b]
                                              + point[a] * jacobian[b][j]
                                              - turn[SURROGATE_INPUTS * b + j] * loads[a]
                                              - point[b] * jacobian[a][j]);
    }
    surrogate_fill_quantities(c, s, root.value, c->degree, 6, loads);
    /* if designs */
    surrogate_slope_quantities(c, s, root, root_slope, jacobian);
    /* end */
}

/* Where the learnt height is the pose's: s, the last input of the regressors there, and the slope of
   the first part by it. */
typedef struct {
    double s, learnt;
    surrogate_curve last;
} surrogate_place;

/* Return the slope of the chord of the learnt height from first contact to `place`. */
static double surrogate_chord(const surrogate_regressor *r, const surrogate_state *s, double place)
{
    double slope;
    surrogate_line line;
    surrogate_prepare_line(r, s->inputs, &line);
    slope = (s->height - surrogate_on_line(&line, -1.0, &slope)) / (place + 1.0);
    return slope < SURROGATE_LEAST_SLOPE ? slope : SURROGATE_LEAST_SLOPE;
}

/* if designs */
/* Fill the mean fall of the first output by the last input, on the path, with its slopes. */
static void surrogate_fill_fall(const surrogate_compartment *c, surrogate_state *s)
{
    double at[SURROGATE_INPUTS] = {0.0}, low, high, by_low[SURROGATE_INPUTS];
    double by_high[SURROGATE_INPUTS];
    int j;
    for (j = 5; j < SURROGATE_LAST; j++)
        at[j] = s->inputs[j];
    at[SURROGATE_LAST] = -1.0;
    surrogate_evaluate_regressor(c->parts[0], 1, at, &low, by_low);
    at[SURROGATE_LAST] = 1.0;
    surrogate_evaluate_regressor(c->parts[0], 1, at, &high, by_high);
    s->fall = fmax(0.5 * (low - high), SURROGATE_LEAST_FALL);
    for (j = 0; j < SURROGATE_INPUTS; j++)
        s->fall_slopes[j] = s->fall > SURROGATE_LEAST_FALL ? 0.5 * (by_low[j] - by_high[j]) : 0.0;
}

/* end */
/* Return s beyond 1 where the height with smoothing, h(clip of s) - fall (s - clip of s), is the
   pose's: Newton's method in a bracket. */
static double surrogate_beyond(const surrogate_compartment *c, const surrogate_state *s,
                               double fall, const surrogate_line *line)
{
    const double width = c->smoothing;
    double low = 1.0, high = 1.0 + 2.0 * width, slope, miss, here, nearer;
    int step;
    here = 1.0 + width;
    here += (surrogate_on_line(line, here, &slope) - s->height) / fall;
    if (here >= high)
        return here;
    here = 0.5 * (low + high);
    for (step = 0; step < SURROGATE_MOST_STEPS; step++) {
        const surrogate_curve last = surrogate_last_input(here, width);
        miss = surrogate_on_line(line, last.value, &slope) - fall * (here - last.value) - s->height;
        slope = last.slope * slope - (1.0 - last.slope) * fall;
        if (miss > 0.0)
            low = here;
        else
            high = here;
        nearer = here - miss / slope;
        if (!(low <= nearer && nearer <= high))
            nearer = 0.5 * (low + high);
        slope = fabs(nearer - here);
        here = nearer;
        if (slope <= SURROGATE_LAST_STEP)
            break;
    }
    return here;
}

/* Find s; returns 0 out of contact, and then fills the gap. */
static int surrogate_find_place(const surrogate_compartment *c, surrogate_state *s, double *place)
{
    const double width = c->smoothing;
    double slope;
    surrogate_line line;
    surrogate_prepare_line(c->parts[0], s->inputs, &line);
    if (!surrogate_solve_line(&line, s->height, -1.0 - 2.0 * width, 1.0, place)) {
        s->gap = s->height - surrogate_on_line(&line, -1.0, &slope);
        return 0;
    }
    if (width > 0.0 && *place > 1.0) {
        /* if single */
        *place = surrogate_beyond(c, s, c->fall, &line);
        /* end */
        /* if designs */
        surrogate_fill_fall(c, s);
        *place = surrogate_beyond(c, s, s->fall, &line);
        /* end */
    }
    return 1;
}

/* Find s and evaluate the first `count` outputs there; fill the slope of s by the coordinates.
   Returns 0 out of contact. The slope of the height by s is made to fall. */
static int surrogate_at_height(const surrogate_compartment *c, surrogate_state *s, int count,
                               surrogate_place *place, double *slope)
{
    const int found = surrogate_find_place(c, s, &place->s);
    double *fall = s->gradient + SURROGATE_LAST;
    int j, k;
    if (!found && c->smoothing == 0.0)
        return 0;
    place->last = surrogate_last_input(place->s, c->smoothing);
    s->inputs[SURROGATE_LAST] = place->last.value;
    surrogate_evaluate_all(c, count, s);
    if (!found)
        return 0;
    place->learnt = *fall;
    /* if single */
    if (c->smoothing > 0.0)
        *fall = place->last.slope * *fall - (1.0 - place->last.slope) * c->fall;
    /* end */
    /* if designs */
    if (c->smoothing > 0.0 && place->s > 1.0)
        *fall = place->last.slope * *fall - (1.0 - place->last.slope) * s->fall;
    /* end */
    if (!(*fall < 0.0)) /* a point of rest: the chord from first contact falls */
        *fall = surrogate_chord(c->parts[0], s, place->s);
    for (j = 0; j < SURROGATE_INPUTS; j++) {
        slope[j] = s->slopes[5][j];
        for (k = 0; k < 5; k++)
            slope[j] -= s->gradient[k] * s->slopes[k][j];
        /* if designs */
        if (j > 5)
            slope[j] -= s->gradient[j - 1];
        if (j > 5 && c->smoothing > 0.0 && place->s > 1.0)
            slope[j] += (place->s - place->last.value) * s->fall_slopes[j - 1];
        /* end */
        slope[j] /= *fall;
    }
    return 1;
}

/* The learnt height over (u, s), s = 2 root - 1. */
static int surrogate_inverted(const surrogate_compartment *c, surrogate_state *s, double *loads,
                              double (*jacobian)[SURROGATE_INPUTS])
{
    double slope[SURROGATE_INPUTS] = {0.0}, root_slope[SURROGATE_INPUTS];
    surrogate_place place;
    int j;
    if (!surrogate_at_height(c, s, 12, &place, slope)) {
        if (c->smoothing > 0.0) {
            surrogate_fill_centre(c, s, 9, loads);
            /* if designs */
            surrogate_chain(s, slope, 0.0);
            surrogate_slope_centre(c, s, 9, jacobian);
            /* end */
        }
        return 0;
    }
    for (j = 0; j < SURROGATE_INPUTS; j++)
        root_slope[j] = 0.5 * slope[j];
    surrogate_chain(s, slope, place.last.slope);
    surrogate_fill_loads(c, s, 0.5 * (place.s + 1.0), root_slope, loads, jacobian);
    return 1;
}

/* end */
/* if direct */
/* Put the scaled height, held beyond the samples, into the last input; return its clip. */
static surrogate_curve surrogate_hold_height(const surrogate_compartment *c, surrogate_state *s)
{
    const double scaled = (s->height - c->depth_middle) / c->depth_half;
    const surrogate_curve last = surrogate_clip(scaled, SURROGATE_REACH, c->smoothing);
    s->inputs[SURROGATE_LAST] = last.value;
    s->deep = -scaled;
    return last;
}

/* Each load learnt over (u, height); held beyond the samples. */
static int surrogate_direct(const surrogate_compartment *c, surrogate_state *s, double *loads,
                            double (*jacobian)[SURROGATE_INPUTS])
{
    const surrogate_curve last = surrogate_hold_height(c, s);
    double slope[SURROGATE_INPUTS];
    int i, j;
    for (j = 0; j < SURROGATE_INPUTS; j++)
        slope[j] = s->slopes[5][j] / c->depth_half;
    surrogate_evaluate_all(c, 12, s);
    surrogate_chain(s, slope, last.slope);
    for (i = 0; i < 9; i++) {
        loads[i] = s->out[i];
        for (j = 0; j < SURROGATE_INPUTS && i < SURROGATE_STEEP; j++)
            jacobian[i][j] = s->gradient[SURROGATE_INPUTS * i + j];
    }
    /* if designs */
    surrogate_slope_centre(c, s, 9, jacobian);
    /* end */
    for (i = 9; i < 12; i++)
        loads[i] = s->out[i] + c->lever * s->point[i - 9];
    return 1;
}

/* end */

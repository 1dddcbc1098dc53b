/* if inverted energy root stiffness */
/* Fill area, pressures and centre of pressure from the outputs from `start` on. */
static void surrogate_fill_quantities(const surrogate_compartment *c, const surrogate_state *s,
                                      double root, double degree, int start, double *loads)
{
    const double stress = pow(root, degree - 1.0), *out = s->out + start;
    int k;
    loads[6] = out[0] * root;
    loads[7] = out[1] * stress;
    loads[8] = out[2] * stress;
    for (k = 0; k < 3; k++)
        loads[9 + k] = out[3 + k] + c->lever * s->point[k];
}

/* end */
/* if inverted root stiffness */
/* Fill the loads from the root of the axial one, the ratios and the quantities; the derivatives
   of the root and of the ratios are by the pose. */
static void surrogate_fill_loads(const surrogate_compartment *c, const surrogate_state *s,
                                 double root, const double *root_slope, double *loads,
                                 double (*jacobian)[6])
{
    const double axial = c->largest * pow(root, c->degree), *ratio = s->out + 1;
    const double steep = c->largest * c->degree * pow(root, c->degree - 1.0);
    const double *gradient = s->gradient + 6, *point = s->point, *turn = s->point_slopes;
    int i, j;
    loads[0] = axial * ratio[0];
    loads[1] = axial;
    loads[2] = axial * ratio[1];
    for (j = 0; j < 6; j++) {
        const double slope = steep * root_slope[j];
        jacobian[0][j] = slope * ratio[0] + axial * gradient[j];
        jacobian[1][j] = slope;
        jacobian[2][j] = slope * ratio[1] + axial * gradient[6 + j];
        for (i = 2; i < 5; i++)
            jacobian[1 + i][j] = slope * ratio[i] + axial * gradient[6 * i + j];
    }
    /* M = M about the point + point x F */
    for (i = 0; i < 3; i++) {
        const int a = (i + 1) % 3, b = (i + 2) % 3;
        const double cross = point[a] * loads[b] - point[b] * loads[a];
        loads[3 + i] = axial * ratio[2 + i] + c->lever * cross;
        for (j = 0; j < 6; j++)
            jacobian[3 + i][j] += c->lever * (turn[6 * a + j] * loads[b] + point[a] * jacobian[b][j]
                                              - turn[6 * b + j] * loads[a]
                                              - point[b] * jacobian[a][j]);
    }
    surrogate_fill_quantities(c, s, root, c->degree, 6, loads);
}

/* end */
/* if inverted energy */
/* Return the slope of the chord of the learnt height from first contact to `place`. */
static double surrogate_chord(const surrogate_regressor *r, const surrogate_state *s, double place)
{
    double slope;
    surrogate_line line;
    surrogate_prepare_line(r, s->inputs, &line);
    slope = (s->height - surrogate_on_line(&line, -1.0, &slope)) / (place + 1.0);
    return slope < -1e-12 ? slope : -1e-12;
}

/* Find s, the last input, at which the learnt height is the pose's, beyond 1 along the tangent;
   evaluate all parts there, or at 1; fill the slope of s by the pose. Returns 0 out of contact.
   The learnt height's slope by s is made to fall. */
static int surrogate_at_height(const surrogate_compartment *c, surrogate_state *s, double *place,
                               double *slope)
{
    int j, k;
    if (!surrogate_find_on_line(c->parts[0], s->height, -1.0, 1.0, s->inputs, &s->gap))
        return 0;
    *place = s->inputs[5];
    s->inputs[5] = *place < 1.0 ? *place : 1.0;
    surrogate_evaluate_all(c, s);
    if (!(s->gradient[5] < 0.0)) /* a point of rest: the chord from first contact falls */
        s->gradient[5] = surrogate_chord(c->parts[0], s, *place);
    for (j = 0; j < 6; j++) {
        slope[j] = s->slopes[5][j];
        for (k = 0; k < 5; k++)
            slope[j] -= s->gradient[k] * s->slopes[k][j];
        slope[j] /= s->gradient[5];
    }
    return 1;
}

/* end */
/* if inverted */
/* The learnt height over (u, s), s = 2 root - 1. */
static int surrogate_inverted(const surrogate_compartment *c, surrogate_state *s, double *loads,
                              double (*jacobian)[6])
{
    double place, slope[6], root_slope[6];
    int j;
    if (!surrogate_at_height(c, s, &place, slope))
        return 0;
    for (j = 0; j < 6; j++)
        root_slope[j] = 0.5 * slope[j];
    surrogate_chain(s, slope, place <= 1.0);
    surrogate_fill_loads(c, s, 0.5 * (place + 1.0), root_slope, loads, jacobian);
    return 1;
}

/* end */
/* if root stiffness */
/* Evaluate all parts at a depth or height, held within reach of the samples; turn its slope into
   that of the last input. Returns by how much the last input is beyond. */
static double surrogate_at_depth(const surrogate_compartment *c, surrogate_state *s, double level,
                                 double *slope)
{
    const double depth = (level - c->depth_middle) / c->depth_half;
    int j;
    s->inputs[5] = surrogate_clip(depth, 1.2);
    for (j = 0; j < 6; j++)
        slope[j] /= c->depth_half;
    surrogate_evaluate_all(c, s);
    return depth - s->inputs[5];
}

/* end */
/* if root */
/* The learnt root over (u, height); beyond the samples its tangent goes on, and falls. */
static int surrogate_root(const surrogate_compartment *c, surrogate_state *s, double *loads,
                          double (*jacobian)[6])
{
    double slope[6], root_slope[6], beyond, fall, root;
    int j;
    for (j = 0; j < 6; j++)
        slope[j] = s->slopes[5][j];
    beyond = surrogate_at_depth(c, s, s->height, slope);
    fall = s->gradient[5] < -0.1 ? s->gradient[5] : -0.1;
    root = s->out[0] + fall * beyond;
    if (!(root > 0.0))
        return 0;
    surrogate_chain(s, slope, beyond == 0.0);
    for (j = 0; j < 6; j++)
        root_slope[j] = s->gradient[j] + (beyond != 0.0 ? fall * slope[j] : 0.0);
    surrogate_fill_loads(c, s, root, root_slope, loads, jacobian);
    return 1;
}

/* end */
/* if stiffness */
/* The learnt logarithm of the secant stiffness over (u, depth below the reference height). */
static int surrogate_stiffness(const surrogate_compartment *c, surrogate_state *s, double *loads,
                               double (*jacobian)[6])
{
    double slope[6], root_slope[6], along[6], level, beyond, stiffness, root;
    int j, k;
    surrogate_evaluate_regressor(c->reference, 1, s->inputs, &level, along);
    level -= s->height;
    for (j = 0; j < 6; j++) {
        slope[j] = -s->slopes[5][j];
        for (k = 0; k < 5; k++)
            slope[j] += along[k] * s->slopes[k][j];
    }
    beyond = surrogate_at_depth(c, s, level, slope);
    stiffness = exp(s->out[0]) / c->depth_half;
    root = c->reference_root + stiffness * level;
    if (!(root > 0.0))
        return 0;
    surrogate_chain(s, slope, beyond == 0.0);
    for (j = 0; j < 6; j++)
        root_slope[j] = stiffness * (c->depth_half * slope[j] + level * s->gradient[j]);
    surrogate_fill_loads(c, s, root, root_slope, loads, jacobian);
    return 1;
}

/* end */
/* if power */
/* Each load, or its root with its sign, learnt over (u, height); held beyond the samples. */
static int surrogate_power(const surrogate_compartment *c, surrogate_state *s, double *loads,
                           double (*jacobian)[6])
{
    const double depth = (s->height - c->depth_middle) / c->depth_half;
    const int within = fabs(s->height - c->depth_middle) <= 1.2 * c->depth_half;
    double slope[6];
    int i, j;
    s->inputs[5] = surrogate_clip(depth, 1.2);
    for (j = 0; j < 6; j++)
        slope[j] = s->slopes[5][j] / c->depth_half;
    surrogate_evaluate_all(c, s);
    surrogate_chain(s, slope, within);
    for (i = 0; i < 9; i++) {
        const double size = fabs(s->out[i]), steep = c->degree * pow(size, c->degree - 1.0);
        loads[i] = copysign(pow(size, c->degree), s->out[i]);
        for (j = 0; j < 6 && i < 6; j++)
            jacobian[i][j] = steep * s->gradient[6 * i + j];
    }
    for (i = 9; i < 12; i++)
        loads[i] = s->out[i] + c->lever * s->point[i - 9];
    return 1;
}

/* end */

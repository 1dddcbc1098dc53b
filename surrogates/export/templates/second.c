/* Fill the second derivatives of the first six outputs of all parts by their inputs. */
static void surrogate_bend_all(const surrogate_compartment *c, const surrogate_state *s,
                               surrogate_second *h)
{
    int i, at = 0;
    for (i = 0; i < 3 && c->parts[i] && at < 6; i++) {
        const int rest = 6 - at, own = c->parts[i]->outputs, outputs = own < rest ? own : rest;
        surrogate_hessians_of(c->parts[i], outputs, s->inputs, h->bends[at]);
        at += outputs;
    }
}

/* Fill the series of a function of u and a last input from its value, slope and second derivatives
   by these inputs. */
static void surrogate_compose(const surrogate_state *s, const surrogate_second *h, double value,
                              const double *slope, const double *bend, surrogate_series *out)
{
    double row[6];
    int a, b, i, j;
    out->value = value;
    for (i = 0; i < 6; i++) {
        out->slope[i] = slope[5] * h->last.slope[i];
        for (j = 0; j < 6; j++)
            out->bend[i][j] = slope[5] * h->last.bend[i][j];
    }
    for (a = 0; a < 5; a++)
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++)
                out->bend[i][j] += slope[a] * h->turns[a][i][j];
    for (a = 0; a < 6; a++) {
        const double *by = a < 5 ? s->slopes[a] : h->last.slope;
        for (j = 0; j < 6; j++)
            row[j] = bend[a * 6 + 5] * h->last.slope[j];
        for (b = 0; b < 5; b++)
            for (j = 0; j < 6; j++)
                row[j] += bend[a * 6 + b] * s->slopes[b][j];
        for (i = 0; i < 6; i++)
            for (j = 0; j < 6; j++)
                out->bend[i][j] += by[i] * row[j];
        for (i = 0; i < 6 && a < 5; i++)
            out->slope[i] += slope[a] * by[i];
    }
}

/* Fill the series of the outputs from `first` on to the sixth. */
static void surrogate_compose_all(const surrogate_state *s, surrogate_second *h, int first)
{
    int i;
    for (i = first; i < 6; i++)
        surrogate_compose(s, h, s->out[i], s->gradient + 6 * i, h->bends[i], h->parts + i);
}

/* if inverted */
/* Fill the series of the wrench from that of the root of the axial load and the ratios over it;
   returns 0 out of contact. */
static int surrogate_bend_wrench(const surrogate_compartment *c, const surrogate_state *s,
                                 const surrogate_series *root, surrogate_second *h)
{
    const surrogate_curve part = surrogate_root(c, root->value);
    surrogate_series point[3], product, *wrench = h->wrench, *axial = h->wrench + 1;
    surrogate_curve power;
    double steep, change;
    int i, j, k;
    if (!(part.value > 0.0))
        return 0;
    steep = c->largest * c->degree * pow(part.value, c->degree - 1.0);
    change = (c->degree - 1.0) * steep / part.value;
    power.value = c->largest * pow(part.value, c->degree);
    power.slope = steep * part.slope;
    power.bend = change * part.slope * part.slope + steep * part.bend;
    surrogate_apply(power, root, axial);
    surrogate_multiply(axial, h->parts + 1, wrench);
    surrogate_multiply(axial, h->parts + 2, wrench + 2);
    for (k = 0; k < 3; k++) {
        point[k].value = s->point[k];
        for (i = 0; i < 6; i++) {
            point[k].slope[i] = s->point_slopes[6 * k + i];
            for (j = 0; j < 6; j++)
                point[k].bend[i][j] = i < 3 && j < 3 ? h->turns[6 + k][i][j] : 0.0;
        }
    }
    /* M = M about the point + point x F */
    for (i = 0; i < 3; i++) {
        const int a = (i + 1) % 3, b = (i + 2) % 3;
        surrogate_multiply(axial, h->parts + 3 + i, wrench + 3 + i);
        surrogate_multiply(point + a, wrench + b, &product);
        surrogate_add_series(c->lever, &product, wrench + 3 + i);
        surrogate_multiply(point + b, wrench + a, &product);
        surrogate_add_series(-c->lever, &product, wrench + 3 + i);
    }
    return 1;
}

static int surrogate_bend_inverted(const surrogate_compartment *c, surrogate_state *s,
                                   surrogate_second *h)
{
    surrogate_place place;
    surrogate_series root;
    int i, j;
    if (!surrogate_at_height(c, s, 6, &place, root.slope))
        return 0;
    surrogate_bend_all(c, s, h);
    surrogate_curvature(c, s, &place, root.slope, h->turns, h->bends[0], root.bend);
    surrogate_apply(place.last, &root, &h->last);
    surrogate_compose_all(s, h, 1);
    root.value = 0.5 * (place.s + 1.0);
    for (i = 0; i < 6; i++) {
        root.slope[i] *= 0.5;
        for (j = 0; j < 6; j++)
            root.bend[i][j] *= 0.5;
    }
    return surrogate_bend_wrench(c, s, &root, h);
}

/* end */
/* if direct */
static int surrogate_bend_direct(const surrogate_compartment *c, surrogate_state *s,
                                 surrogate_second *h)
{
    const double scale = 1.0 / c->depth_half;
    surrogate_series height;
    surrogate_curve last;
    int i, j;
    for (i = 0; i < 6; i++) {
        height.slope[i] = scale * s->slopes[5][i];
        for (j = 0; j < 6; j++)
            height.bend[i][j] = i < 3 && j < 3 ? scale * h->turns[5][i][j] : 0.0;
    }
    last = surrogate_hold_height(c, s);
    surrogate_evaluate_all(c, 6, s);
    surrogate_apply(last, &height, &h->last);
    surrogate_bend_all(c, s, h);
    surrogate_compose_all(s, h, 0);
    for (i = 0; i < 6; i++)
        h->wrench[i] = h->parts[i];
    return 1;
}

/* end */
/* Fill the second derivatives of the held pose by the pose: those of each coordinate by flexion, by
   flexion and itself, and by itself. */
static void surrogate_bend_held(const surrogate_compartment *c, const double *pose,
                                const surrogate_state *s, const double *x, double bends[6][3])
{
    const surrogate_curve first = surrogate_clip(x[0], 1.0, c->smoothing);
    const surrogate_curve path = surrogate_followed(c, pose[0], x[0]);
    const double turning = first.bend / c->box_half[0];
    double value[5], at[5], slope[5][SURROGATE_ALONG], along[5][SURROGATE_ALONG];
    int k, row = 0;
    surrogate_path_at(&c->box, s, path.value, value, slope);
    surrogate_path_at(&c->box, s, s->held[0], at, along);
    bends[0][0] = turning;
    bends[0][1] = bends[0][2] = 0.0;
    for (k = 0; k < 5; k++) {
        const double steep = slope[k][0] * path.slope;
        const surrogate_curve clip = k == 3 ? surrogate_held_height(c, pose[4] - value[3])
                                            : surrogate_clip(x[++row], 1.0, c->smoothing);
        const double own = clip.slope, bent = k == 3 ? clip.bend : clip.bend / c->box_half[row];
        double *bend = bends[k + 1];
        bend[0] = surrogate_path_bend(&c->box, s->held[0], k) * first.slope * first.slope
                  + along[k][0] * turning + bent * steep * steep - own * slope[k][0] * path.bend
                  - own * surrogate_path_bend(&c->box, path.value, k) * path.slope * path.slope;
        bend[1] = -bent * steep;
        bend[2] = bent;
    }
}

/* Turn second derivatives by the held pose into those by the pose. */
static void surrogate_release(const surrogate_state *s, const double *slope, double bends[6][3],
                              double (*hessian)[6])
{
    double rows[6][6];
    int i, j, k;
    for (i = 0; i < 6; i++)
        for (j = 0; j < 6; j++)
            for (rows[i][j] = 0.0, k = 0; k < 6; k++)
                rows[i][j] += hessian[i][k] * s->turn[k][j];
    for (i = 0; i < 6; i++)
        for (j = 0; j < 6; j++)
            for (hessian[i][j] = 0.0, k = 0; k < 6; k++)
                hessian[i][j] += s->turn[k][i] * rows[k][j];
    for (k = 0; k < 6; k++) {
        hessian[0][0] += slope[k] * bends[k][0];
        hessian[0][k] += slope[k] * bends[k][1];
        hessian[k][0] += slope[k] * bends[k][1];
        hessian[k][k] += slope[k] * bends[k][2];
    }
}

/* Fill the second derivatives of the wrench by the pose; zero out of contact. */
static void surrogate_compartment_hessian(const surrogate_compartment *c, const double *pose,
                                          double (*hessian)[6][6])
{
    double x[6], bends[6][3];
    surrogate_state s;
    surrogate_second h;
    int inside, touching, i, j, k;
    inside = surrogate_hold(c, pose, &s, x);
    surrogate_condyle_variables(c, &s);
    surrogate_fill_turns(c, s.held, h.turns);
    touching = c->bend(c, &s, &h);
    for (i = 0; i < 6; i++)
        for (j = 0; j < 6; j++)
            for (k = 0; k < 6; k++)
                hessian[i][j][k] = touching ? h.wrench[i].bend[j][k] : 0.0;
    if (inside || !touching)
        return;
    surrogate_bend_held(c, pose, &s, x, bends);
    for (i = 0; i < 6; i++)
        surrogate_release(&s, h.wrench[i].slope, bends, hessian[i]);
}

/* Pressure of springs over batches of LANES elements side by side. */

/* The elements of a batch are columns. */
typedef struct {
    int element[LANES], position[LANES];
    /* given: indentation of the nodes and its rate, their area vectors (the normal times the local
       area), places and areas; coefficient of a linear law, rise of the indentation over the element's
       size, and derivatives of the slope by the corners */
    double depth[6][LANES], rate[6][LANES], vector[6][3][LANES], place[6][3][LANES], size[6][LANES];
    double coefficient[LANES], rise[LANES], slopes[3][LANES];
    /* at a point of the rule: bearing indentation, area times weight, pressure and its derivatives */
    double field[LANES], area[LANES], pressure[LANES], by_field[LANES], by_rise[LANES];
    /* found: what the nodes bear, its derivatives by offset, slope and indentations, and the area borne
       */
    double bears[6][LANES], by_offset[6][LANES], by_slope[6][LANES], stiffness[6][6][LANES], borne[LANES];
    /* for the Jacobian: what a unit of pressure at the nodes adds to the wrench, and gradients */
    double arm[6][6][LANES], gradient[6][6][LANES];
    /* sums over all batches: wrench, load and its moment of place; Jacobian */
    double loads[10][LANES], jacobian[6][6][LANES];
} batch;

/* What a patch's integral needs. */
typedef struct {
    const search *s;
    const law *l;
    const dissipation *m;
    workspace *w;
    int conservative, jacobian, energy;
    double offset, offset_slope, centre[6]; /* of the patch, and the gradient of its largest indentation */
} integral;

/* Fill a batch with elements at positions of the active ones. Idle columns carry no area; a lumped
   element has the indentation of its centroid everywhere. */
static void fill_batch(const integral *g, const int *positions, int count, int cut, batch *a)
{
    const bed *const b = g->s->b;
    const workspace *const w = g->w;
    int i, j, k;
    if (count < LANES || b->nodes < 6) {
        memset(a->depth, 0, sizeof a->depth);
        memset(a->rate, 0, sizeof a->rate);
        memset(a->vector, 0, sizeof a->vector);
        memset(a->place, 0, sizeof a->place);
        for (i = count; i < LANES; i++) {
            a->coefficient[i] = a->rise[i] = 1.0;
            a->slopes[0][i] = a->slopes[1][i] = a->slopes[2][i] = 0.0;
        }
    }
    for (i = 0; i < count; i++) {
        const int position = positions[i], e = w->active[position], lumped = w->kind[position] == LUMPED;
        const int *const nodes = b->elements + (ptrdiff_t)e * b->nodes;
        const vector3 *const vectors = b->area_vectors + (ptrdiff_t)e * b->nodes;
        a->element[i] = e;
        a->position[i] = position;
        a->coefficient[i] = g->l->coefficients[e];
        for (j = 0; j < b->nodes; j++) {
            const int own = nodes[j], node = lumped ? b->centroid_first + e : own;
            a->depth[j][i] = w->depth[node];
            a->vector[j][0][i] = vectors[j].x;
            a->vector[j][1][i] = vectors[j].y;
            a->vector[j][2][i] = vectors[j].z;
            a->place[j][0][i] = b->points[own].x;
            a->place[j][1][i] = b->points[own].y;
            a->place[j][2][i] = b->points[own].z;
            if (g->m->moving) {
                double speed = 0.0;
                for (k = 0; k < 6; k++)
                    speed += w->gradient[6 * (ptrdiff_t)node + k] * g->m->twist[k];
                a->rate[j][i] = speed;
            }
        }
        if (cut) {
            double slopes[3];
            a->rise[i] = b->sizes[e] * field_slope(b, e, w->depth, slopes);
            for (k = 0; k < 3; k++)
                a->slopes[k][i] = b->sizes[e] * slopes[k];
        }
    }
    for (j = 0; j < 6; j++)
        for (i = 0; i < LANES; i++)
            a->size[j][i] = sqrt(dot3(a->vector[j][0][i], a->vector[j][1][i], a->vector[j][2][i],
                                      a->vector[j][0][i], a->vector[j][1][i], a->vector[j][2][i]));
}

/* Sum of six rows with the weights s0 to s5. */
#define WEIGHTED(row) \
    FUSED(s0, row[0][i], FUSED(s1, row[1][i], FUSED(s2, row[2][i], \
        FUSED(s3, row[3][i], FUSED(s4, row[4][i], s5 * row[5][i])))))

/* Bearing indentation and local area, times the weight, at a point of the rule. */
static void interpolate(const double *shape, int stride, double weight, double offset, batch *a)
{
    const double s0 = shape[0], s1 = shape[stride], s2 = shape[2 * stride], s3 = shape[3 * stride];
    const double s4 = shape[4 * stride], s5 = shape[5 * stride];
    int i;
    for (i = 0; i < LANES; i++) {
        a->field[i] = WEIGHTED(a->depth) - offset;
        a->area[i] = weight * WEIGHTED(a->size);
    }
}

/* Pressure of a linear law at a point. */
static void bear_linear(double radius, int smoothed, int cut, batch *a)
{
    int i;
    if (!cut) {
        for (i = 0; i < LANES; i++) {
            const double inside = a->field[i] > 0.0 ? 1.0 : 0.0, c = inside * a->coefficient[i];
            a->pressure[i] = c * a->field[i];
            a->by_field[i] = c;
            a->by_rise[i] = 0.0;
            a->borne[i] += inside * a->area[i];
        }
        return;
    }
    for (i = 0; i < LANES; i++) {
        const double rise = radius * a->rise[i], t = a->field[i] / rise, c = a->coefficient[i];
        const double within = least(most(t, -1.0), 1.0), part = edge_part(within);
        a->borne[i] += part * a->area[i];
        if (smoothed) {
            const double ramp = edge_ramp(within) + most(t - 1.0, 0.0);
            a->pressure[i] = c * rise * ramp;
            a->by_field[i] = c * part;
            a->by_rise[i] = c * radius * (ramp - t * part);
        } else {
            const double inside = t > 0.0 ? c : 0.0;
            a->pressure[i] = inside * a->field[i];
            a->by_field[i] = inside;
            a->by_rise[i] = 0.0;
        }
    }
}

/* Pressure of any law at a point. */
static void bear_any(const law *l, int count, double radius, int smoothed, int cut, batch *a)
{
    int i;
    for (i = 0; i < LANES; i++)
        a->pressure[i] = a->by_field[i] = a->by_rise[i] = 0.0;
    for (i = 0; i < count; i++) {
        const double bearing = a->field[i], rise = cut ? radius * a->rise[i] : 0.0;
        const int e = a->element[i];
        rate p = {0.0, 0.0};
        if (!(bearing > -rise))
            continue;
        a->borne[i] += (bearing < rise ? edge_part(bearing / rise) : 1.0) * a->area[i];
        if (smoothed && (bearing < rise || l->exponent != 1.0)) {
            double by_rise;
            p = edge_pressure(l, e, bearing, rise, &by_rise);
            a->by_rise[i] = radius * by_rise;
        } else if (bearing > 0.0) {
            p = spring_pressure(l, e, bearing);
        }
        a->pressure[i] = p.value;
        a->by_field[i] = p.slope;
    }
}

/* Add Coulomb friction of a point, smoothed below the transition speed; `limit` is the coefficient times
   the load of the point over the reference triangle. */
static void add_friction(const dissipation *m, const double *shape, int stride, double limit, int i,
                         const batch *a, sums *found)
{
    const vector3 speed = at_place(m->twist), turn = at_place(m->twist + 3);
    vector3 place = {0.0, 0.0, 0.0}, normal = place;
    double area = 0.0;
    int j;
    for (j = 0; j < 6; j++) {
        const double s = shape[j * stride], part = s * a->size[j][i];
        normal = shifted(normal, s, vector(a->vector[j][0][i], a->vector[j][1][i], a->vector[j][2][i]));
        place = shifted(place, part, vector(a->place[j][0][i], a->place[j][1][i], a->place[j][2][i]));
        area += part;
    }
    normal = times(1.0 / area, normal);
    place = times(1.0 / area, place);
    const vector3 v = plus(speed, cross_product(turn, place));
    const vector3 slip = shifted(v, -dot_product(v, normal), normal);
    const double size = sqrt(dot_product(slip, slip) + m->transition_speed * m->transition_speed);
    add_force(found->wrench, place, times(-limit * area / size, slip));
}

/* Damp the pressure at a point, and add its friction. */
static void dissipate(const integral *g, const double *shape, int stride, double weight, int count,
                      batch *a, sums *found)
{
    int i, j;
    for (i = 0; i < count; i++) {
        double speed = 0.0;
        for (j = 0; j < g->s->b->nodes; j++)
            speed += shape[j * stride] * a->rate[j][i];
        /* Hunt & Crossley (1975); the bed cannot pull. */
        a->pressure[i] *= most(0.0, 1.0 + g->m->damping * speed);
        found->peak = most(found->peak, a->pressure[i]);
        if (g->m->friction > 0.0 && a->pressure[i] > 0.0)
            add_friction(g->m, shape, stride, g->m->friction * a->pressure[i] * weight, i, a, found);
    }
}

/* Add the pressure at a point to the loads of the nodes, with derivatives. */
static void gather(const double *shape, int stride, double weight, int jacobian, batch *a)
{
    int i, j, k;
    for (j = 0; j < 6; j++) {
        const double share = weight * shape[j * stride];
        for (i = 0; i < LANES; i++)
            a->bears[j][i] = FUSED(share, a->pressure[i], a->bears[j][i]);
        if (!jacobian)
            continue;
        for (i = 0; i < LANES; i++) {
            a->by_offset[j][i] = FUSED(share, a->by_field[i], a->by_offset[j][i]);
            a->by_slope[j][i] = FUSED(share, a->by_rise[i], a->by_slope[j][i]);
        }
        /* The stiffness is symmetric until the slope enters. */
        for (k = 0; k <= j; k++) {
            const double both = share * shape[k * stride];
            for (i = 0; i < LANES; i++)
                a->stiffness[j][k][i] = FUSED(both, a->by_field[i], a->stiffness[j][k][i]);
        }
    }
}

/* Integrate the pressure of a batch against the shape functions of the nodes, over the reference
   triangle or, in the conservative form, over the area. */
static void bear(const integral *g, int count, int cut, batch *a, sums *found)
{
    const bed *const b = g->s->b;
    const double *const shape = cut ? b->cut_shape : b->whole_shape;
    const double *const weights = cut ? b->cut_weight : b->whole_weight;
    const int points = cut ? b->cut_points : b->whole_points, smoothed = cut && !g->conservative;
    int q, i, j, k;
    memset(a->bears, 0, sizeof a->bears);
    memset(a->borne, 0, sizeof a->borne);
    if (g->jacobian) {
        memset(a->by_offset, 0, sizeof a->by_offset);
        memset(a->by_slope, 0, sizeof a->by_slope);
        memset(a->stiffness, 0, sizeof a->stiffness);
    }
    for (q = 0; q < points; q++) {
        const double radius = cut ? b->cut_radius[q] : 0.0;
        interpolate(shape + q, points, weights[q], g->offset, a);
        if (is_linear(g->l))
            bear_linear(radius, smoothed, cut, a);
        else
            bear_any(g->l, count, radius, smoothed, cut, a);
        for (i = 0; i < count && g->energy; i++)
            if (a->field[i] > 0.0)
                found->energy += a->area[i] * spring_energy(g->l, a->element[i], a->field[i]);
        if (g->m->moving)
            dissipate(g, shape + q, points, weights[q], count, a, found);
        if (g->conservative)
            for (i = 0; i < LANES; i++) {
                a->pressure[i] *= a->area[i];
                a->by_field[i] *= a->area[i];
            }
        gather(shape + q, points, g->conservative ? 1.0 : weights[q], g->jacobian, a);
    }
    if (!g->jacobian)
        return;
    for (j = 0; j < 6; j++)
        for (k = 0; k < j; k++)
            memcpy(a->stiffness[k][j], a->stiffness[j][k], sizeof a->stiffness[j][k]);
    for (j = 0; j < b->nodes && smoothed; j++)
        for (k = 0; k < 3; k++)
            for (i = 0; i < LANES; i++)
                a->stiffness[j][k][i] += a->by_slope[j][i] * a->slopes[k][i];
}

/* Write what a unit of pressure at each node adds to the wrench: its area vector, and the moment of it.
   */
static void fill_arms(batch *a)
{
    int i, j;
    for (j = 0; j < 6; j++)
        for (i = 0; i < LANES; i++) {
            const double x = a->place[j][0][i], y = a->place[j][1][i], z = a->place[j][2][i];
            const double fx = a->vector[j][0][i], fy = a->vector[j][1][i], fz = a->vector[j][2][i];
            a->arm[j][0][i] = fx;
            a->arm[j][1][i] = fy;
            a->arm[j][2][i] = fz;
            a->arm[j][3][i] = y * fz - z * fy;
            a->arm[j][4][i] = z * fx - x * fz;
            a->arm[j][5][i] = x * fy - y * fx;
        }
}

/* Add the loads of a batch along the normals of its nodes. */
static void add_wrenches(int nodes, batch *a)
{
    int i, j, k;
    for (j = 0; j < nodes; j++) {
        for (k = 0; k < 6; k++)
            for (i = 0; i < LANES; i++)
                a->loads[k][i] = FUSED(a->bears[j][i], a->arm[j][k][i], a->loads[k][i]);
        for (i = 0; i < LANES; i++) {
            const double load = a->bears[j][i] * a->size[j][i];
            a->loads[6][i] += load;
            a->loads[7][i] = FUSED(load, a->place[j][0][i], a->loads[7][i]);
            a->loads[8][i] = FUSED(load, a->place[j][1][i], a->loads[8][i]);
            a->loads[9][i] = FUSED(load, a->place[j][2][i], a->loads[9][i]);
        }
    }
}

/* Add the load of a node as the gradient of its energy. */
static void add_conservative(const integral *g, int node, double load, sums *found)
{
    const double *const gradient = g->w->gradient + 6 * (ptrdiff_t)node;
    const vector3 at = g->s->b->points[node];
    int k;
    for (k = 0; k < 6; k++)
        found->wrench[k] -= load * gradient[k];
    found->carried += load;
    found->place[0] += load * at.x;
    found->place[1] += load * at.y;
    found->place[2] += load * at.z;
    g->w->force[node] += g->jacobian ? load : 0.0;
}

/* Add the Jacobian, and in the conservative form the loads, of an element of one spring. */
static void add_lumped(const integral *g, int i, const batch *a, sums *found, double *jacobian)
{
    const bed *const b = g->s->b;
    const int e = a->element[i], node = b->centroid_first + e;
    const double *const gradient = g->w->gradient + 6 * (ptrdiff_t)node;
    double side[6] = {0.0}, total = 0.0, slope = 0.0;
    int j, k;
    for (j = 0; j < b->nodes; j++) {
        total += a->bears[j][i];
        slope += g->jacobian ? a->by_offset[j][i] : 0.0;
        for (k = 0; k < 6 && g->jacobian; k++)
            side[k] += a->by_offset[j][i] * a->arm[j][k][i];
    }
    if (g->conservative) {
        add_conservative(g, node, total, found);
        for (k = 0; k < 6; k++)
            side[k] = -slope * gradient[k];
    }
    for (j = 0; j < 6 && g->jacobian; j++)
        for (k = 0; k < 6; k++)
            jacobian[6 * j + k] += side[j] * (gradient[k] - g->offset_slope * g->centre[k]);
}

/* Fill the gradients of a batch, and in the conservative form the arms; zero for lumped elements, which
   have no field, and idle columns. */
static void fill_gradients(const integral *g, int count, batch *a)
{
    const bed *const b = g->s->b;
    int i, j, k;
    for (i = 0; i < LANES; i++) {
        const int own = i < count && g->w->kind[a->position[i]] != LUMPED;
        const int *const nodes = own ? b->elements + (ptrdiff_t)a->element[i] * b->nodes : 0;
        for (j = 0; j < b->nodes; j++) {
            const double *const gradient = own ? g->w->gradient + 6 * (ptrdiff_t)nodes[j] : 0;
            for (k = 0; k < 6; k++) {
                a->gradient[j][k][i] = own ? gradient[k] : 0.0;
                if (!own)
                    a->arm[j][k][i] = 0.0;
                else if (g->conservative)
                    a->arm[j][k][i] = -gradient[k];
            }
        }
    }
}

/* Add a batch's part of the Jacobian: arm of node j, times stiffness j k, times gradient k. */
static void add_batch_stiffness(const integral *g, batch *a)
{
    const int nodes = g->s->b->nodes;
    double row[6][LANES];
    int i, j, k, c;
    for (j = 0; j < nodes; j++) {
        /* The derivative of what node j bears. */
        for (c = 0; c < 6; c++) {
            const double offset = -g->offset_slope * g->centre[c];
            for (i = 0; i < LANES; i++)
                row[c][i] = offset * a->by_offset[j][i];
            for (k = 0; k < nodes; k++)
                for (i = 0; i < LANES; i++)
                    row[c][i] = FUSED(a->stiffness[j][k][i], a->gradient[k][c][i], row[c][i]);
        }
        for (k = 0; k < 6; k++)
            for (c = 0; c < 6; c++)
                for (i = 0; i < LANES; i++)
                    a->jacobian[k][c][i] = FUSED(a->arm[j][k][i], row[c][i], a->jacobian[k][c][i]);
    }
}

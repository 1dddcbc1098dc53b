/* First and second derivatives of indentations by the femoral twist. */

/* Where a line leaves the femur: the point, the direction of the line, and the tangents of the patch, in
   the tibial frame, with their products and the determinant of these. */
typedef struct {
    vector3 at, n, u, v;
    double uu, uv, vv, det;
} footing;

INLINE footing footing_of(const search *s, const exit_place *e)
{
    const tangents t = tangents_of(s->f, e->facet, e->u, e->v);
    const vector3 u = to_tibia(&s->p, t.u), v = to_tibia(&s->p, t.v);
    const double uu = dot_product(u, u), uv = dot_product(u, v), vv = dot_product(v, v);
    const footing f = {shifted(e->point, -e->depth, e->normal), e->normal, u, v, uu, uv, vv,
                       uu * vv - uv * uv};
    return f;
}

/* Derivatives by a component of the twist: of the point along the line, of the same over the femur, and of
   (u, v) times the determinant; and the turn of the femur. */
typedef struct {
    vector3 moved, over, turn;
    double u, v;
} sliding;

INLINE sliding sliding_of(const footing *f, const double *gradient, int component)
{
    const vector3 slide = vector(component == 0, component == 1, component == 2);
    sliding r;
    r.turn = vector(component == 3, component == 4, component == 5);
    r.moved = times(-gradient[component], f->n);
    r.over = minus(minus(r.moved, slide), cross_product(r.turn, f->at));
    const double su = dot_product(r.over, f->u), sv = dot_product(r.over, f->v);
    r.u = f->vv * su - f->uv * sv;
    r.v = f->uu * sv - f->uv * su;
    return r;
}

/* The surface moves with velocity v + w x X at the point X on the line along n; along the line, the
   indentation changes by -(m . v + (X x m) . w) / (m . n), m being the femoral normal, of any length. */
static void write_gradient(vector3 m, vector3 n, vector3 at, double *gradient)
{
    const double scale = -1.0 / dot_product(m, n);
    const vector3 turn = cross_product(at, m);
    gradient[0] = scale * m.x;
    gradient[1] = scale * m.y;
    gradient[2] = scale * m.z;
    gradient[3] = scale * turn.x;
    gradient[4] = scale * turn.y;
    gradient[5] = scale * turn.z;
}

/* Add `scale` times its derivative by a component of the twist, which tilts the normal, to a column. */
INLINE void add_gradient_slope(vector3 m, const footing *f, vector3 tilt, vector3 moved, double scale,
                               double *column)
{
    const double along = dot_product(m, f->n), slant = dot_product(tilt, f->n) / (along * along);
    const vector3 turn = cross_product(f->at, m);
    const vector3 arm = plus(cross_product(moved, m), cross_product(f->at, tilt));
    column[0] += scale * (slant * m.x - tilt.x / along);
    column[6] += scale * (slant * m.y - tilt.y / along);
    column[12] += scale * (slant * m.z - tilt.z / along);
    column[18] += scale * (slant * turn.x - arm.x / along);
    column[24] += scale * (slant * turn.y - arm.y / along);
    column[30] += scale * (slant * turn.z - arm.z / along);
}

static void indentation_gradient(const search *s, const exit_place *e, double *gradient)
{
    write_gradient(to_tibia(&s->p, patch_normal(s->f, e->facet, e->u, e->v)), e->normal,
                   shifted(e->point, -e->depth, e->normal), gradient);
}

/* Add `scale` times the derivatives of a gradient by the twist to `out` (6 x 6). With the unit femoral
   normal m at the point x, x' = -d' n stays on the line, and the normal changes by m' = w x m + S (x' -
   v - w x x), S being the derivative of the normal over the femoral surface (its shape operator). */
static void add_hessian(const search *s, const exit_place *e, const double *gradient, double scale,
                        double *out)
{
    const footing f = footing_of(s, e);
    const vector3 *const a = s->f->patch + 6 * e->facet, none = {0.0, 0.0, 0.0};
    const vector3 k = s->f->curved ? to_tibia(&s->p, a[3]) : none;
    const vector3 l = s->f->curved ? to_tibia(&s->p, a[4]) : none;
    const vector3 h = s->f->curved ? to_tibia(&s->p, a[5]) : none;
    const vector3 whole = cross_product(f.u, f.v);
    const double size = length(whole);
    const vector3 m = times(1.0 / size, whole);
    int column;
    for (column = 0; column < 6; column++) {
        const sliding r = sliding_of(&f, gradient, column);
        const double du = r.u / f.det, dv = r.v / f.det;
        const vector3 by_u = shifted(times(2.0 * du, k), dv, l), by_v = shifted(times(du, l), 2.0 * dv, h);
        const vector3 bent = plus(cross_product(by_u, f.v), cross_product(f.u, by_v));
        const vector3 across = times(1.0 / size, shifted(bent, -dot_product(m, bent), m));
        const vector3 tilt = plus(across, cross_product(r.turn, m));
        add_gradient_slope(m, &f, tilt, r.moved, scale, out + column);
    }
}

/* Write the gradient of a node of press_nodes, whose length has a weight. */
static void pressed_gradient(const search *s, int node, workspace *w)
{
    double *const gradient = w->gradient + 6 * (ptrdiff_t)node;
    exit_place e = exit_of(s, w, node);
    const double cosine = e.depth >= 0.0 ? exit_cosine(s, &e) : 1.0;
    int k;
    if (cosine <= STEEP) {
        clear(6, gradient);
        return;
    }
    const rate weight = weight_of(cosine);
    e.depth /= weight.value;
    indentation_gradient(s, &e, gradient);
    if (cosine < LEVEL) {
        /* The first three components g have the length 1/cosine, so that dc = -c^3 g . dg. */
        double hessian[36] = {0.0};
        const vector3 g = at_place(gradient);
        const double factor = -e.depth * weight.slope * cosine * cosine * cosine;
        add_hessian(s, &e, gradient, 1.0, hessian);
        for (k = 0; k < 6; k++)
            gradient[k] = weight.value * gradient[k]
                          + factor * dot_product(g, vector(hessian[k], hessian[6 + k], hessian[12 + k]));
    }
}

/* Nodes that an active element is pressed at: one, the centroid, if it is one spring. */
INLINE int pressed_nodes(const bed *b, const workspace *w, int position)
{
    return w->kind[position] == LUMPED ? 1 : b->nodes;
}

INLINE int pressed_node(const bed *b, const workspace *w, int position, int j)
{
    const int e = w->active[position];
    return w->kind[position] == LUMPED ? b->centroid_first + e
                                       : b->elements[(ptrdiff_t)e * b->nodes + j];
}

/* Write the gradients of the nodes of the active elements. */
static void find_gradients(const search *s, int begin, int end, workspace *w)
{
    int i, j;
    for (i = begin; i < end; i++)
        for (j = 0; j < pressed_nodes(s->b, w, i); j++) {
            const int node = pressed_node(s->b, w, i, j);
            if (!w->dated[node]) {
                w->dated[node] = 1;
                pressed_gradient(s, node, w);
            }
        }
}

/* Add the part of the Hessian of the energy due to the rotation of the gradients, for the forces of the
   nodes, which become zero. */
static void add_curvature(const search *s, int begin, int end, workspace *w, double *jacobian)
{
    int i, j;
    for (i = begin; i < end; i++)
        for (j = 0; j < pressed_nodes(s->b, w, i); j++) {
            const int node = pressed_node(s->b, w, i, j);
            const exit_place e = exit_of(s, w, node);
            /* Of a steep side, the turn of the force with the weight would need third derivatives. */
            if (w->force[node] != 0.0 && exit_cosine(s, &e) >= LEVEL)
                add_hessian(s, &e, w->gradient + 6 * (ptrdiff_t)node, -w->force[node], jacobian);
            w->force[node] = 0.0;
        }
}

/* First and second derivatives of indentations by the femoral twist. */

/* The surface moves with velocity v + w x X at the point X on the line; along the line, the indentation
   changes by -(m . v + (X x m) . w) / (m . n), m being the femoral and n the tibial normal. */
static void indentation_gradient(const search *s, const exit_place *e, double *gradient)
{
    /* m needs no unit length here. */
    const vector3 m = to_tibia(&s->p, patch_normal(s->f, e->facet, e->u, e->v));
    const double scale = -1.0 / dot_product(m, e->normal);
    const vector3 turn = cross_product(shifted(e->point, -e->depth, e->normal), m);
    gradient[0] = scale * m.x;
    gradient[1] = scale * m.y;
    gradient[2] = scale * m.z;
    gradient[3] = scale * turn.x;
    gradient[4] = scale * turn.y;
    gradient[5] = scale * turn.z;
}

/* Add `scale` times the derivatives of a gradient by the twist to `out` (6 x 6). With the unit femoral
   normal m at the point x, x' = -d' n stays on the line, and the normal changes by m' = w x m + S (x' -
   v - w x x), S being the derivative of the normal over the femoral surface (its shape operator). */
static void add_hessian(const search *s, const exit_place *e, const double *gradient, double scale,
                        double *out)
{
    const tangents t = tangents_of(s->f, e->facet, e->u, e->v);
    const vector3 u = to_tibia(&s->p, t.u), v = to_tibia(&s->p, t.v), *const a = s->f->patch + 6 * e->facet;
    const vector3 none = {0.0, 0.0, 0.0}, n = e->normal;
    const vector3 k = s->f->curved ? to_tibia(&s->p, a[3]) : none;
    const vector3 l = s->f->curved ? to_tibia(&s->p, a[4]) : none;
    const vector3 h = s->f->curved ? to_tibia(&s->p, a[5]) : none;
    const vector3 whole = cross_product(u, v);
    const double size = length(whole), guu = dot_product(u, u), guv = dot_product(u, v);
    const double gvv = dot_product(v, v);
    const double det = guu * gvv - guv * guv;
    const vector3 m = times(1.0 / size, whole), x = shifted(e->point, -e->depth, n), p = cross_product(x, m);
    const double cosine = dot_product(m, n);
    int column;
    for (column = 0; column < 6; column++) {
        const vector3 slide = vector(column == 0, column == 1, column == 2);
        const vector3 turn = vector(column == 3, column == 4, column == 5);
        const vector3 moved = times(-gradient[column], n), held = cross_product(turn, x);
        const vector3 c = minus(minus(moved, slide), held);
        const double su = dot_product(c, u), sv = dot_product(c, v);
        const double du = (gvv * su - guv * sv) / det, dv = (guu * sv - guv * su) / det;
        const vector3 by_u = shifted(times(2.0 * du, k), dv, l), by_v = shifted(times(du, l), 2.0 * dv, h);
        const vector3 bent = plus(cross_product(by_u, v), cross_product(u, by_v));
        const vector3 across = times(1.0 / size, shifted(bent, -dot_product(m, bent), m));
        const vector3 tilt = plus(across, cross_product(turn, m));
        const double slant = dot_product(tilt, n) / (cosine * cosine);
        const vector3 arm = plus(cross_product(moved, m), cross_product(x, tilt));
        out[column] += scale * (slant * m.x - tilt.x / cosine);
        out[6 + column] += scale * (slant * m.y - tilt.y / cosine);
        out[12 + column] += scale * (slant * m.z - tilt.z / cosine);
        out[18 + column] += scale * (slant * p.x - arm.x / cosine);
        out[24 + column] += scale * (slant * p.y - arm.y / cosine);
        out[30 + column] += scale * (slant * p.z - arm.z / cosine);
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

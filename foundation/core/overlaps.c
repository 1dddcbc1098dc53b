/* Overlaps of the femur with single nodes of a bearing surface, and their derivatives. */

/* Part of the second differences along both grid lines by which overlaps are raised: the mean of two
   conditions on a bilinear surface, that it meets the femur at the nodes (0), or in the mean over the shape
   function of each node (1/12). Their errors are opposite. */
#define RAISED (1.0 / 24.0)

/* The part with which a node takes part in second differences: it fades before the node is out of reach,
   at a negative overlap `lowest`, so that loads are continuous. */
INLINE rate nearness(double overlap, double lowest)
{
    const double part = least(2.0 * (1.0 - overlap / lowest), 1.0);
    const rate near = {part * part * (3.0 - 2.0 * part), -12.0 * part * (1.0 - part) / lowest};
    return near;
}

/* The line of a node where it leaves the femur: the normal m between those at the corners of the facet, not
   of unit length, which unlike the normal of the patch is continuous from facet to facet. */
typedef struct {
    footing f;
    vector3 normal, by_first, by_second;
} leaving;

static leaving leaving_of(const search *s, const exit_place *e)
{
    const vector3 *const corner = s->f->normals + 3 * (ptrdiff_t)e->facet;
    leaving l;
    l.f = footing_of(s, e);
    l.by_first = to_tibia(&s->p, minus(corner[1], corner[0]));
    l.by_second = to_tibia(&s->p, minus(corner[2], corner[0]));
    l.normal = shifted(shifted(to_tibia(&s->p, corner[0]), e->u, l.by_first), e->v, l.by_second);
    return l;
}

/* Derivative of the normal by a component of the twist. */
static vector3 tilt_of(const leaving *l, const sliding *r)
{
    return shifted(shifted(cross_product(r->turn, l->normal), r->u / l->f.det, l->by_first),
                   r->v / l->f.det, l->by_second);
}

/* Distance of a point of a facet from the rim of the femur, and its direction, all in the femoral frame;
   INFINITY far from it. */
static double rim_distance(const femur *f, int facet, vector3 at, vector3 *away)
{
    double nearest = INFINITY;
    int i;
    for (i = f->rim_first[facet]; i < f->rim_first[facet + 1]; i++) {
        const vector3 along = minus(f->rim[2 * i + 1], f->rim[2 * i]), from = minus(at, f->rim[2 * i]);
        const double part = dot_product(along, from) / dot_product(along, along);
        const vector3 off = shifted(from, -least(most(part, 0.0), 1.0), along);
        const double distance = length(off);
        if (distance < nearest) {
            nearest = distance;
            *away = times(1.0 / most(distance, 1e-12), off);
        }
    }
    return nearest;
}

/* The part of a node's overlap that counts: it fades where the line leaves the femur on a steep side, as
   the surface is nearer than the length of the line, and beside the rim, where the femur ends. Writes the
   derivatives by the twist. */
static double node_weight(const search *s, const exit_place *e, const leaving *l, const double *gradient,
                          double *slopes)
{
    const double size = length(l->normal), along = dot_product(l->normal, l->f.n);
    const rate steep = weight_of(-along / size);
    const vector3 at = to_femur(&s->p, minus(l->f.at, s->p.shift));
    vector3 away = {0.0, 0.0, 0.0};
    const double part = least(rim_distance(s->f, e->facet, at, &away) / s->f->fade, 1.0);
    const double rim = part * part * (3.0 - 2.0 * part), slope = 6.0 * part * (1.0 - part) / s->f->fade;
    const vector3 outward = to_tibia(&s->p, away);
    int k;
    clear(6, slopes);
    for (k = 0; k < 6 && (steep.slope != 0.0 || slope != 0.0); k++) {
        const sliding r = sliding_of(&l->f, gradient, k);
        const vector3 tilt = tilt_of(l, &r);
        const double cosine = (along * dot_product(l->normal, tilt) / (size * size)
                               - dot_product(tilt, l->f.n)) / size;
        slopes[k] = rim * steep.slope * cosine + steep.value * slope * dot_product(outward, r.over);
    }
    return rim * steep.value;
}

int find_overlaps(const femur *f, const bed *b, const double *rotation, const double *translation,
                  double reach, double lowest, int *nodes, double *overlaps, double *gradients,
                  double *directions, double *weights, double *slopes, int *facets, double *places,
                  double *scratch)
{
    const search s = {f, b, placing_of(rotation, translation), reach};
    workspace w = workspace_of(b, &scratch);
    int listed, found, i, count = 0;
    forget(b, &w);
    found = find_candidates(&s, 0, b->compartments[b->count_compartments], &w, &listed);
    indent_nodes(&s, listed, &w);
    for (i = 0; i < found; i++) {
        const int node = b->elements[w.candidates[i]];
        const exit_place e = exit_of(&s, &w, node);
        if (!(e.depth > lowest))
            continue;
        const leaving l = leaving_of(&s, &e);
        double *const gradient = gradients + 6 * (ptrdiff_t)count;
        indentation_gradient(&s, &e, gradient);
        weights[count] = node_weight(&s, &e, &l, gradient, slopes + 6 * (ptrdiff_t)count);
        if (!(weights[count] > 0.0))
            continue;
        write_gradient(l.normal, l.f.n, l.f.at, directions + 6 * (ptrdiff_t)count);
        memcpy(places + 2 * (ptrdiff_t)count, w.place + 2 * (ptrdiff_t)node, 2 * sizeof *places);
        nodes[count] = node;
        overlaps[count] = e.depth;
        facets[count++] = e.facet;
    }
    return count;
}

void direction_slopes(const femur *f, const bed *b, const double *rotation, int count, const int *nodes,
                      const double *overlaps, const double *gradients, const int *facets,
                      const double *places, const double *forces, double *found)
{
    const search s = {f, b, placing_of(rotation, 0), 0.0};
    int i, k;
    for (i = 0; i < count; i++) {
        const exit_place e = {b->points[nodes[i]], b->normals[nodes[i]], facets[i], places[2 * (ptrdiff_t)i],
                              places[2 * (ptrdiff_t)i + 1], overlaps[i]};
        double *const out = forces ? found : found + 36 * (ptrdiff_t)i;
        const double scale = forces ? -forces[i] : 1.0;
        if (!forces)
            clear(36, out);
        if (scale == 0.0)
            continue;
        const leaving l = leaving_of(&s, &e);
        for (k = 0; k < 6; k++) {
            const sliding r = sliding_of(&l.f, gradients + 6 * (ptrdiff_t)i, k);
            add_gradient_slope(l.normal, &l.f, tilt_of(&l, &r), r.moved, scale, out + k);
        }
    }
}

void raise_overlaps(const int *neighbours, int count, const int *nodes, double lowest,
                    const double *overlaps, const double *gradients, const double *directions,
                    const double *weights, const double *slopes, int *place, int *pairs, double *parts,
                    double *raised, double *raised_slopes, double *raised_directions)
{
    int i, axis, k;
    for (i = 0; i < count; i++)
        place[nodes[i]] = i;
    for (i = 0; i < count; i++) {
        const ptrdiff_t own = 6 * (ptrdiff_t)i;
        double *const slope = raised_slopes + own, *const direction = raised_directions + own;
        double overlap = overlaps[i];
        memcpy(slope, gradients + own, 6 * sizeof *slope);
        memcpy(direction, directions + own, 6 * sizeof *direction);
        for (axis = 0; axis < 2; axis++) {
            const int *const beyond = neighbours + 4 * nodes[i] + 2 * axis;
            const int a = beyond[0] < 0 ? -1 : place[beyond[0]], b = beyond[1] < 0 ? -1 : place[beyond[1]];
            const int enters = a >= 0 && b >= 0;
            pairs[4 * i + 2 * axis] = enters ? a : -1;
            pairs[4 * i + 2 * axis + 1] = enters ? b : -1;
            if (!enters)
                continue;
            const double bend = 2.0 * overlaps[i] - overlaps[a] - overlaps[b];
            const rate at_a = nearness(overlaps[a], lowest), at_b = nearness(overlaps[b], lowest);
            const double by_a = RAISED * weights[b] * at_b.value, by_b = RAISED * weights[a] * at_a.value;
            const double part = by_a * weights[a] * at_a.value;
            parts[2 * i + axis] = part;
            overlap += part * bend;
            for (k = 0; k < 6; k++) {
                const double *const g = gradients + k, *const change = slopes + k;
                slope[k] += part * (2.0 * g[own] - g[6 * a] - g[6 * b])
                            + bend * by_a * (at_a.value * change[6 * a] + weights[a] * at_a.slope * g[6 * a])
                            + bend * by_b * (at_b.value * change[6 * b] + weights[b] * at_b.slope * g[6 * b]);
                direction[k] += part * (2.0 * directions[own + k] - directions[6 * a + k]
                                        - directions[6 * b + k]);
            }
        }
        /* It fades to where nodes are out of reach: a layer may bulge beside its contact. */
        raised[i] = lowest + weights[i] * (overlap - lowest);
        for (k = 0; k < 6; k++)
            slope[k] = weights[i] * slope[k] + (overlap - lowest) * slopes[own + k];
    }
    for (i = 0; i < count; i++)
        place[nodes[i]] = -1;
}

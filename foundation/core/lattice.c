/* Overlap of the surfaces on a lattice that follows the moments of the overlap, so that a patch of any
   size has as many nodes; the indentation of a node is that of the bed's quadratic fields at its place.
   */

enum {
    ROOM = 1024,       /* most nodes of a lattice */
    LINES_ASIDE = 64,  /* lines of the lattice on each side of its origin */
    ACROSS_ALL = 2 * LINES_ASIDE + 1
};
#define COARSER 1.4        /* a lattice with more nodes is made coarser by this factor */
#define FAR -1.0           /* overlap of a node that is out of contact */
#define MOST_OVER 1.5      /* indentation of a node over the largest one of the elements at most */
#define LONGEST 2.0        /* ratio of the edges of a cell: of longer cells, the compliance is not positive
                              definite */
#define ON_TRIANGLE 1e-9   /* how far outside a triangle, of its extent, a node counts as inside */
#define STEEPEST 0.2       /* least cosine of the angle between a surface and the plane of the lattice */
/* Moments of the overlap: volume, first moments, integral of the normal times the overlap, second
   moments xx, yy, zz and xy, yz, zx. */
typedef struct {
    double volume;
    vector3 first, normal, second, mixed;
} moments;

/* Origin, edges of a cell and unit normal of a lattice. */
typedef struct {
    vector3 origin, first, second, normal;
} lattice_frame;

/* Metric of the edges. */
typedef struct {
    double g11, g12, g22;
} metric;

/* Nodes of a lattice: place in it, nodes of the bed and weights that the overlap is made of, position
   and normal, overlap, area of the surface, thickness of the layers; and the number of the node at each
   place, or -1. */
typedef struct {
    int count;
    int (*cells)[2], (*nodes)[6], *number;
    double (*shapes)[6], *overlaps, *areas, *thickness[MOST_LAYERS];
    vector3 *points, *directions;
} lattice;

/* What an evaluation needs, and its scratch memory. */
typedef struct {
    const search *s;
    const coupling *c;
    workspace *w;
    int compartment, conservative, jacobian;
    double *bounds;                              /* by node of the bed */
    unsigned char *in, *turned;
    lattice nodes;
    int *inside, *held, *wrong, *neighbours, *quads, *quads_at, *ring, *active;
    double *compliance, *factor, *right, *forces, *gaps, *gradients, *wrenches, *squares, *level, *weight;
} coupled;

/* ---- the patch of overlap */

static void add_moments(const bed *b, const workspace *w, int end, moments *m)
{
    int i, q, j;
    memset(m, 0, sizeof *m);
    for (i = 0; i < end; i++) {
        const int e = w->active[i], *const nodes = b->elements + 6 * (ptrdiff_t)e;
        for (q = 0; q < b->whole_points; q++) {
            vector3 at = {0.0, 0.0, 0.0}, a = at;
            double depth = 0.0;
            for (j = 0; j < 6; j++) {
                const double s = b->whole_shape[j * b->whole_points + q];
                depth += s * w->depth[nodes[j]];
                at = shifted(at, s, b->points[nodes[j]]);
                a = shifted(a, s, b->area_vectors[6 * (ptrdiff_t)e + j]);
            }
            if (w->kind[i] == LUMPED)
                depth = w->depth[b->centroid_first + e];
            if (!(depth > 0.0))
                continue;
            depth *= b->whole_weight[q];
            const double v = depth * length(a);
            m->volume += v;
            m->first = shifted(m->first, v, at);
            m->normal = shifted(m->normal, depth, a);
            m->second = shifted(m->second, v, vector(at.x * at.x, at.y * at.y, at.z * at.z));
            m->mixed = shifted(m->mixed, v, vector(at.x * at.y, at.y * at.z, at.z * at.x));
        }
    }
}

/* Find the elements of the compartment in contact, and their gradients. */
static contact_patch find_patch(const coupled *x, moments *m)
{
    const bed *const b = x->s->b;
    contact_patch patch;
    forget(b, x->w);
    patch = find_contact(x->s, b->compartments[x->compartment], b->compartments[x->compartment + 1], 0, x->w);
    find_gradients(x->s, 0, patch.end, x->w);
    add_moments(b, x->w, patch.end, m);
    return patch;
}

/* Press the listed nodes; where an indentation is not plausible, above that before, of a nearer femur,
   or far above the largest of the patch, it becomes FAR. */
static void indent_truly(const coupled *x, int listed, double highest)
{
    workspace *const w = x->w;
    int i;
    for (i = 0; i < listed; i++) {
        const double before = w->depth[w->todo[i]];
        x->bounds[i] = before < highest ? before : highest;
    }
    press_nodes(x->s, listed, w);
    for (i = 0; i < listed; i++) {
        double *const depth = w->depth + w->listed[i];
        if (!(*depth <= x->bounds[i]))
            *depth = FAR;
    }
}

/* Find the elements of the compartment up to a margin apart, and their gradients. The femur is brought
   nearer by the margin against the mean normal of the patch; the indentations are those of the true
   place. Beside the rim of the femur, the line of a node may miss the surface there, or meet another
   sheet far behind: the element is then one spring at its centroid. Returns the number of elements. */
static int widen_patch(const coupled *x, vector3 normal, double largest, double margin)
{
    const bed *const b = x->s->b;
    workspace *const w = x->w;
    search nearer = *x->s;
    int i, j, listed = 0, end;
    nearer.p.shift = shifted(nearer.p.shift, -margin, normal);
    forget(b, w);
    end = find_contact(&nearer, b->compartments[x->compartment], b->compartments[x->compartment + 1], 0, w)
              .end;
    forget(b, w);
    for (i = 0; i < end; i++)
        for (j = 0; j < pressed_nodes(b, w, i); j++) {
            const int node = pressed_node(b, w, i, j);
            if (!w->stamp[node]) {
                w->stamp[node] = 1;
                w->todo[listed] = node;
                w->starts[listed++] = w->met[node];
            }
        }
    indent_truly(x, listed, MOST_OVER * largest);
    for (i = listed = 0; i < end; i++) {
        const int e = w->active[i], *const nodes = b->elements + 6 * (ptrdiff_t)e;
        int apart = 0;
        for (j = 0; j < 6; j++)
            apart |= w->depth[nodes[j]] == FAR;
        if (apart && w->kind[i] != LUMPED) {
            w->kind[i] = LUMPED;
            w->todo[listed] = b->centroid_first + e;
            w->starts[listed++] = w->met[nodes[0]];
            w->depth[b->centroid_first + e] = NAN;
        }
    }
    indent_truly(x, listed, MOST_OVER * largest);
    find_gradients(x->s, 0, end, w);
    return end;
}

/* ---- the lattice */

static metric metric_of(const lattice_frame *f)
{
    const metric g = {dot_product(f->first, f->first), dot_product(f->first, f->second),
                      dot_product(f->second, f->second)};
    return g;
}

/* Coordinates of a point in the lattice. */
INLINE void place_on(const lattice_frame *f, const metric *g, vector3 at, double *u, double *v)
{
    const vector3 away = minus(at, f->origin);
    const double p = dot_product(away, f->first), q = dot_product(away, f->second);
    const double det = g->g11 * g->g22 - g->g12 * g->g12;
    *u = (g->g22 * p - g->g12 * q) / det;
    *v = (g->g11 * q - g->g12 * p) / det;
}

/* a . M b of the central second moments of the overlap over its volume. */
static double quadratic_form(const moments *m, vector3 a, vector3 b)
{
    const double total = a.x * b.x * m->second.x + a.y * b.y * m->second.y + a.z * b.z * m->second.z
                         + (a.x * b.y + a.y * b.x) * m->mixed.x + (a.y * b.z + a.z * b.y) * m->mixed.y
                         + (a.z * b.x + a.x * b.z) * m->mixed.z;
    return total / m->volume - dot_product(a, m->first) * dot_product(b, m->first) / (m->volume * m->volume);
}

/* Lay a lattice whose edges are `scale` times the columns of the Cholesky factor of the central second
   moments in the mean tangential plane; of a long patch, the long edge is shortened. Returns whether the
   overlap has an extent. */
static int fit_lattice(const moments *m, double scale, lattice_frame *f)
{
    vector3 across, ahead;
    if (!(m->volume > 0.0))
        return 0;
    f->origin = times(1.0 / m->volume, m->first);
    f->normal = times(1.0 / length(m->normal), m->normal);
    across = shifted(vector(0.0, 0.0, 1.0), -f->normal.z, f->normal);
    across = times(1.0 / length(across), across);
    ahead = cross_product(f->normal, across);
    const double xx = quadratic_form(m, across, across), xy = quadratic_form(m, across, ahead);
    const double yy = quadratic_form(m, ahead, ahead);
    if (!(xx > 0.0 && xx * yy > 1e-6 * xy * xy + xy * xy))
        return 0;
    const double a = scale * sqrt(xx), b = scale * xy / sqrt(xx), c = scale * sqrt(yy - xy * xy / xx);
    const double reach = sqrt(a * a + b * b);
    f->first = times(least(1.0, LONGEST * c / reach), plus(times(a, across), times(b, ahead)));
    f->second = times(least(1.0, LONGEST * reach / c) * c, ahead);
    return 1;
}

/* Take a node of the bed's quadratic field at (u, v) of an active element. */
static void sample(const coupled *x, const lattice_frame *f, int position, double u, double v,
                   double cell, int at)
{
    const bed *const b = x->s->b;
    const workspace *const w = x->w;
    const lattice *const l = &x->nodes;
    const int e = w->active[position], *const nodes = b->elements + 6 * (ptrdiff_t)e;
    double *const shape = l->shapes[at];
    vector3 place = {0.0, 0.0, 0.0}, normal = place;
    int j;
    quadratic_shapes(u, v, shape);
    l->overlaps[at] = 0.0;
    for (j = 0; j < 6; j++) {
        const int node = w->kind[position] == LUMPED ? b->centroid_first + e : nodes[j];
        place = shifted(place, shape[j], b->points[nodes[j]]);
        normal = shifted(normal, shape[j], b->normals[nodes[j]]);
        l->overlaps[at] += shape[j] * w->depth[node];
        l->nodes[at][j] = node;
    }
    l->points[at] = place;
    l->directions[at] = times(1.0 / length(normal), normal);
    l->areas[at] = cell / most(dot_product(l->directions[at], f->normal), STEEPEST);
    for (j = 0; j < x->c->layers; j++)
        l->thickness[j][at] = x->c->thicknesses[(ptrdiff_t)j * x->c->springs + e];
}

INLINE int number_at(const lattice *l, int a, int b)
{
    a += LINES_ASIDE;
    b += LINES_ASIDE;
    return 0 <= a && a < ACROSS_ALL && 0 <= b && b < ACROSS_ALL ? l->number[a * ACROSS_ALL + b] : -2;
}

/* Give a place of the lattice the next number; returns whether there is room. */
static int give_number(lattice *l, int a, int b)
{
    if (l->count == ROOM)
        return 0;
    l->number[(a + LINES_ASIDE) * ACROSS_ALL + b + LINES_ASIDE] = l->count;
    l->cells[l->count][0] = a;
    l->cells[l->count][1] = b;
    l->count++;
    return 1;
}

INLINE int first_line(double a, double b, double c)
{
    const double line = ceil(least(least(a, b), c) - ON_TRIANGLE);
    return line > -LINES_ASIDE ? (line < LINES_ASIDE + 1 ? (int)line : LINES_ASIDE + 1) : -LINES_ASIDE;
}

INLINE int last_line(double a, double b, double c)
{
    return -first_line(-a, -b, -c);
}

/* Take the nodes of the lattice within the active elements, and nodes out of contact around those that
   are apart by less than `bulging` times the largest overlap: the edge of contact is found between nodes
   inside and outside. Returns whether there is room for all. */
static int sample_overlaps(coupled *x, int end, const lattice_frame *f, double bulging)
{
    const bed *const b = x->s->b;
    lattice *const l = &x->nodes;
    const metric g = metric_of(f);
    const double cell = sqrt(g.g11 * g.g22 - g.g12 * g.g12);
    double lowest = 0.0;
    int i, k, p, q, sampled;
    l->count = 0;
    for (i = 0; i < ACROSS_ALL * ACROSS_ALL; i++)
        l->number[i] = -1;
    for (i = 0; i < end; i++) {
        const int *const nodes = b->elements + 6 * (ptrdiff_t)x->w->active[i];
        double u[3], v[3];
        for (k = 0; k < 3; k++)
            place_on(f, &g, b->points[nodes[k]], u + k, v + k);
        const double twice = (u[1] - u[0]) * (v[2] - v[0]) - (u[2] - u[0]) * (v[1] - v[0]);
        if (twice == 0.0)
            continue;
        for (p = first_line(u[0], u[1], u[2]); p <= last_line(u[0], u[1], u[2]); p++)
            for (q = first_line(v[0], v[1], v[2]); q <= last_line(v[0], v[1], v[2]); q++) {
                const double s = ((p - u[0]) * (v[2] - v[0]) - (u[2] - u[0]) * (q - v[0])) / twice;
                const double t = ((u[1] - u[0]) * (q - v[0]) - (p - u[0]) * (v[1] - v[0])) / twice;
                if (!(least(least(s, t), 1.0 - s - t) >= -ON_TRIANGLE) || number_at(l, p, q) != -1)
                    continue;
                if (!give_number(l, p, q))
                    return 0;
                sample(x, f, i, s, t, cell, l->count - 1);
                lowest = most(l->overlaps[l->count - 1], lowest);
            }
    }
    lowest *= -bulging;
    for (i = 0, sampled = l->count; i < sampled; i++) {
        if (l->overlaps[i] <= lowest)
            continue;
        for (p = -1; p < 2; p++)
            for (q = -1; q < 2; q++) {
                if (number_at(l, l->cells[i][0] + p, l->cells[i][1] + q) != -1)
                    continue;
                if (!give_number(l, l->cells[i][0] + p, l->cells[i][1] + q))
                    return 0;
                l->points[l->count - 1] = shifted(shifted(l->points[i], p, f->first), q, f->second);
                l->overlaps[l->count - 1] = FAR;
            }
    }
    return 1;
}

/* Write neighbours and quadrilaterals of the nodes, as of measure_patch. */
static void link_lattice(const coupled *x)
{
    const lattice *const l = &x->nodes;
    int i, k, axis, side, found = 0;
    for (i = 0; i < 4 * l->count; i++)
        x->quads_at[i] = -1;
    for (i = 0; i < l->count; i++) {
        const int a = l->cells[i][0], b = l->cells[i][1];
        const int quad[4] = {i, number_at(l, a + 1, b), number_at(l, a + 1, b + 1),
                             number_at(l, a, b + 1)};
        for (axis = 0; axis < 2; axis++)
            for (side = 0; side < 2; side++) {
                const int step = 1 - 2 * side, at = number_at(l, axis ? a : a + step, axis ? b + step : b);
                x->neighbours[4 * i + 2 * axis + side] = at < 0 ? -1 : at;
            }
        if (quad[1] < 0 || quad[2] < 0 || quad[3] < 0)
            continue;
        for (k = 0; k < 4; k++) {
            x->quads[4 * found + k] = quad[k];
            x->quads_at[4 * quad[k] + k] = found;
        }
        found++;
    }
}

/* The cubic convolution kernel at a distance in spacings (Keys 1981, IEEE Trans Acoust Speech Signal
   Process 29:1153-1160). */
static double keys(double distance)
{
    const double t = fabs(distance);
    if (t < 1.0)
        return (1.5 * t - 2.5) * t * t + 1.0;
    return t < 2.0 ? ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0 : 0.0;
}

/* Add a part of indentation and pressure at the middle of the active elements with an overlap above
   `lowest`. The squared pressures of the nodes are interpolated: the square of a smooth contact is
   smooth up to its edge. */
static void add_field(const coupled *x, int end, const lattice_frame *f, double part, double lowest,
                      double *field)
{
    const bed *const b = x->s->b;
    const metric g = metric_of(f);
    int i, p, q;
    for (i = 0; i < end; i++) {
        const int e = x->w->active[i];
        const double depth = middle_depth(b, x->w, i);
        double u, v, square = 0.0;
        if (!(depth > lowest))
            continue;
        field[e] += part * most(depth, 0.0);
        place_on(f, &g, b->points[b->centroid_first + e], &u, &v);
        if (!(fabs(u) < 2.0 * LINES_ASIDE && fabs(v) < 2.0 * LINES_ASIDE))
            continue;
        const int first = (int)floor(u), second = (int)floor(v);
        for (p = first - 1; p < first + 3; p++)
            for (q = second - 1; q < second + 3; q++) {
                const int at = number_at(&x->nodes, p, q);
                if (at >= 0)
                    square += x->squares[at] * keys(u - p) * keys(v - q);
            }
        field[b->count_elements + e] += part * sqrt(most(square, 0.0));
    }
}

/* Elements of a bed in contact, and the indentation of their nodes. */

enum { APART, RESOLVED, LUMPED }; /* kinds of elements, see bearing_of */
enum {
    TURNS = 5, /* steps of the walks that are taken side by side */
    FEW = 4    /* lines that are not worth another */
};
#define TRUST 1e-3     /* a sheet of surface that a walk finds within this distance is the nearest one */
#define STEEP 0.5      /* cosines between a line and the femoral normal up to which it bears nothing, and */
#define LEVEL 0.7      /* from which its whole length is indentation (60 and 46 deg) */
#define STEEP_SLOPE 0.7 /* between the surfaces, beyond which the indentation is not taken as a field */
#define NEAR_EDGE 0.2  /* an element counts as bearing while it is apart by up to this part of the rise over
                          it: the discs of its points reach that far over its edge */
#define LEAST_FIELD_SLOPE 1e-7 /* that is taken for zero, so that its direction has a limit */
#define LARGEST_SLOPE 0.1 /* over which the edge is smoothed */

/* Scratch memory of an evaluation. Lists have a place more than needed, as they are written one place
   beyond their last entry. */
typedef struct {
    unsigned char *stamp, *dated; /* by node: listed, and with a gradient */
    double *depth, *place, *gradient, *force; /* by node: indentation, (u, v), its derivatives (6), force */
    int *met;                     /* by node: facet */
    int *todo, *listed, *starts, *doubtful; /* lists of nodes */
    int *candidates, *active, *kind, *chosen; /* lists of elements */
    double *lowest, *highest;     /* of the nodes of an active element, and a bound of its indentation */
    int *groups, *plane_near;     /* list of groups, and their bounding planes */
} workspace;

static workspace workspace_of(const bed *b, double **scratch)
{
    const ptrdiff_t nodes = b->count_nodes + 1, elements = b->count_elements + 1;
    const ptrdiff_t groups = b->compartments[b->count_compartments] + 1;
    workspace w;
    w.stamp = take_bytes(scratch, nodes);
    w.dated = take_bytes(scratch, nodes);
    w.depth = take(scratch, nodes);
    w.place = take(scratch, 2 * nodes);
    w.gradient = take(scratch, 6 * nodes);
    w.force = take(scratch, nodes);
    w.met = take_whole(scratch, nodes);
    w.todo = take_whole(scratch, nodes);
    w.listed = take_whole(scratch, nodes);
    w.starts = take_whole(scratch, nodes);
    w.doubtful = take_whole(scratch, nodes);
    w.candidates = take_whole(scratch, elements);
    w.active = take_whole(scratch, elements);
    w.kind = take_whole(scratch, elements);
    w.chosen = take_whole(scratch, elements);
    w.lowest = take(scratch, elements);
    w.highest = take(scratch, elements);
    w.groups = take_whole(scratch, groups);
    w.plane_near = take_whole(scratch, groups);
    return w;
}

static void forget(const bed *b, workspace *w)
{
    memset(w->stamp, 0, (size_t)b->count_nodes + 1);
    memset(w->dated, 0, (size_t)b->count_nodes + 1);
}

/* What a search needs: the femur at its place, and the largest indentation. */
typedef struct {
    const femur *f;
    const bed *b;
    placing p;
    double reach;
} search;

/* ---- quadratic fields of indentation */

INLINE void quadratic_shapes(double u, double v, double *found)
{
    const double w = 1.0 - u - v;
    found[0] = w * (2.0 * w - 1.0);
    found[1] = u * (2.0 * u - 1.0);
    found[2] = v * (2.0 * v - 1.0);
    found[3] = 4.0 * u * w;
    found[4] = 4.0 * u * v;
    found[5] = 4.0 * v * w;
}

/* Slope of the indentation over the plane triangle of the corners, 0 only in the limit, and its
   derivatives by the indentations of the corners. */
static double field_slope(const bed *b, int e, const double *depth, double *slopes)
{
    const int *const n = b->elements + (ptrdiff_t)e * b->nodes;
    const double d[3] = {depth[n[0]], depth[n[1]], depth[n[2]]};
    const double *const g = b->metric + 9 * (ptrdiff_t)e;
    double total = LEAST_FIELD_SLOPE * LEAST_FIELD_SLOPE;
    int i;
    for (i = 0; i < 3; i++)
        slopes[i] = g[3 * i] * d[0] + g[3 * i + 1] * d[1] + g[3 * i + 2] * d[2];
    total += slopes[0] * d[0] + slopes[1] * d[1] + slopes[2] * d[2];
    const double slope = sqrt(total);
    /* Beyond any slope of real contact the smoothing need not grow. */
    const int whole = slope <= LARGEST_SLOPE;
    for (i = 0; i < 3; i++)
        slopes[i] = whole ? slopes[i] / slope : 0.0;
    return whole ? slope : LARGEST_SLOPE;
}

/* A bound of the field over an element: the largest of its Bezier coefficients. */
static double bound_of_field(const int *n, const double *depth)
{
    const double d0 = depth[n[0]], d1 = depth[n[1]], d2 = depth[n[2]];
    const double a = 2.0 * depth[n[3]] - 0.5 * (d0 + d1), b = 2.0 * depth[n[4]] - 0.5 * (d1 + d2);
    const double c = 2.0 * depth[n[5]] - 0.5 * (d2 + d0);
    return most(most(d0, most(d1, d2)), most(a, most(b, c)));
}

/* The largest indentation of a field and its place: a corner, or a stationary point on an edge or
   inside. */
typedef struct {
    double depth, u, v;
} summit;

static summit highest_of_field(const int *n, const double *depth)
{
    const double d0 = depth[n[0]], d1 = depth[n[1]], d2 = depth[n[2]];
    const double d3 = depth[n[3]], d4 = depth[n[4]], d5 = depth[n[5]];
    const double a1 = 4.0 * d3 - 3.0 * d0 - d1, a2 = 4.0 * d5 - 3.0 * d0 - d2;
    const double a3 = 2.0 * (d0 + d1) - 4.0 * d3, a5 = 2.0 * (d0 + d2) - 4.0 * d5;
    const double a4 = 4.0 * (d0 + d4 - d3 - d5), det = 4.0 * a3 * a5 - a4 * a4;
    const double ends[4] = {d0, d1, d2, d0}, middles[3] = {d3, d4, d5};
    summit best = {d0, 0.0, 0.0};
    int edge;
    if (d1 > best.depth)
        best = (summit){d1, 1.0, 0.0};
    if (d2 > best.depth)
        best = (summit){d2, 0.0, 1.0};
#define TRY(u, v) \
    do { \
        const double value = d0 + (u) * (a1 + a3 * (u) + a4 * (v)) + (v) * (a2 + a5 * (v)); \
        if (value > best.depth) \
            best = (summit){value, u, v}; \
    } while (0)
    for (edge = 0; edge < 3; edge++) {
        const double begin = ends[edge], end = ends[edge + 1];
        const double bend = 2.0 * (begin + end) - 4.0 * middles[edge];
        const double t = bend < 0.0 ? -0.5 * (4.0 * middles[edge] - 3.0 * begin - end) / bend : 0.0;
        if (0.0 < t && t < 1.0) {
            const double u = edge == 0 ? t : (edge == 1 ? 1.0 - t : 0.0);
            const double v = edge == 0 ? 0.0 : (edge == 1 ? t : 1.0 - t);
            TRY(u, v);
        }
    }
    if (det > 0.0 && a3 < 0.0) {
        const double u = (a4 * a2 - 2.0 * a5 * a1) / det, v = (a4 * a1 - 2.0 * a3 * a2) / det;
        if (u > 0.0 && v > 0.0 && u + v < 1.0)
            TRY(u, v);
    }
#undef TRY
    return best;
}

/* ---- indentations of nodes */

/* Write the lines of nodes in the femoral frame. */
static void fill_lines(const search *s, const int *nodes, int count, lines *w)
{
    const vector3 a = s->p.first, b = s->p.second, c = s->p.third, t = s->p.shift;
    int i;
    for (i = 0; i < count; i++) {
        const vector3 at = s->b->points[nodes[i]], n = s->b->normals[nodes[i]];
        w->origin[0][i] = at.x;
        w->origin[1][i] = at.y;
        w->origin[2][i] = at.z;
        w->direction[0][i] = n.x;
        w->direction[1][i] = n.y;
        w->direction[2][i] = n.z;
    }
    for (i = 0; i < LANES; i++) {
        double x = w->origin[0][i] - t.x, y = w->origin[1][i] - t.y, z = w->origin[2][i] - t.z;
        w->origin[0][i] = dot3(a.x, b.x, c.x, x, y, z);
        w->origin[1][i] = dot3(a.y, b.y, c.y, x, y, z);
        w->origin[2][i] = dot3(a.z, b.z, c.z, x, y, z);
        x = w->direction[0][i];
        y = w->direction[1][i];
        z = w->direction[2][i];
        w->direction[0][i] = -dot3(a.x, b.x, c.x, x, y, z);
        w->direction[1][i] = -dot3(a.y, b.y, c.y, x, y, z);
        w->direction[2][i] = -dot3(a.z, b.z, c.z, x, y, z);
    }
}

/* Meet the facets in `starts` by the lines of the nodes in `todo`. Lines that miss their facet stay in
   the lists, with the neighbour on that side; lines that need a search, on the last turn all, become
   doubtful. There are no other branches, since a mispredicted branch costs more than the steps. Returns
   how many stay. */
static int meet_listed(const search *s, int listed, int last, int *doubtful, workspace *w, lines *l)
{
    const int *const neighbour = s->f->neighbour;
    int begin, i, left = 0, in_doubt = *doubtful;
    for (begin = 0; begin < listed; begin += LANES) {
        const int count = listed - begin < LANES ? listed - begin : LANES;
        fill_lines(s, w->todo + begin, count, l);
        for (i = 0; i < count; i++)
            l->facet[i] = w->starts[begin + i];
        meet_patches(s->f, count, l);
        for (i = 0; i < count; i++) {
            const double u = l->u[i], v = l->v[i], worst = least(least(u, v), 1.0 - u - v);
            const int node = w->todo[begin + i], facet = l->facet[i];
            const int following = neighbour[3 * facet + edge_crossed(u, v, worst)];
            const int found = (worst >= -SEAM) & (l->step[i] < LAST_STEP) & (l->s[i] <= TRUST)
                              & (l->out[i] > 0.0);
            const int stays = (worst < -SEAM) & (following >= 0) & !last;
            w->depth[node] = l->s[i];
            w->met[node] = facet;
            w->place[2 * (ptrdiff_t)node] = u;
            w->place[2 * (ptrdiff_t)node + 1] = v;
            w->todo[left] = node;
            w->starts[left] = following;
            left += stays;
            w->doubtful[in_doubt] = node;
            in_doubt += !(found | stays);
        }
    }
    *doubtful = in_doubt;
    return left;
}

/* The exit of a line from the femur near a facet, or else the first one; s is NaN without an exit. */
static hit search_hit(const search *s, int facet, vector3 o, vector3 d)
{
    hit found = walk_to_hit(s->f, facet, o, d);
    if (found.s <= TRUST && found.out > 0.0)
        return found;
    /* A field is also asked for a little outside the femur. */
    const double back = s->f->curved ? TRUST : 0.0;
    hit first = tree_hit(s->f, s->reach + back, shifted(o, -back, d), d);
    if (first.facet >= 0) {
        first.s -= back;
        return first;
    }
    found.s = NAN;
    return found;
}

/* Write indentations and points of contact of the first `listed` nodes of `todo`: the signed distance
   along minus the normal to the exit from the femur, positive inside, NaN without an exit. Walks over
   the facets from `starts`, all one step at a time, find the sheet of surface next to each node; where a
   walk fails or the distance is large, the tree decides. */
static void indent_nodes(const search *s, int listed, workspace *w)
{
    lines l;
    int doubtful = 0, turn, begin, i;
    memset(&l, 0, sizeof l);
    for (turn = 0; turn < TURNS && listed > 0; turn++)
        listed = meet_listed(s, listed, turn == TURNS - 1 || listed <= FEW, &doubtful, w, &l);
    for (begin = 0; begin < doubtful; begin += LANES) {
        const int count = doubtful - begin < LANES ? doubtful - begin : LANES;
        fill_lines(s, w->doubtful + begin, count, &l);
        for (i = 0; i < count; i++) {
            const int node = w->doubtful[begin + i];
            const hit found = search_hit(s, w->met[node],
                                         vector(l.origin[0][i], l.origin[1][i], l.origin[2][i]),
                                         vector(l.direction[0][i], l.direction[1][i],
                                                l.direction[2][i]));
            w->met[node] = found.facet;
            w->place[2 * (ptrdiff_t)node] = found.u;
            w->place[2 * (ptrdiff_t)node + 1] = found.v;
            w->depth[node] = found.s;
        }
    }
}

/* A line of a node, and where it leaves the femur. */
typedef struct {
    vector3 point, normal;
    int facet;
    double u, v, depth;
} exit_place;

INLINE exit_place exit_of(const search *s, const workspace *w, int node)
{
    const double *const at = w->place + 2 * (ptrdiff_t)node;
    const exit_place found = {s->b->points[node], s->b->normals[node], w->met[node], at[0], at[1],
                              w->depth[node]};
    return found;
}

/* Cosine between a line, out of the femur, and the femoral normal. */
static double exit_cosine(const search *s, const exit_place *e)
{
    const vector3 m = patch_normal(s->f, e->facet, e->u, e->v);
    return -dot_product(m, to_femur(&s->p, e->normal)) / length(m);
}

/* The part of the length of a line that is indentation, 0 to 1. */
INLINE rate weight_of(double cosine)
{
    const double part = least(most((cosine - STEEP) / (LEVEL - STEEP), 0.0), 1.0);
    const rate weight = {part * part * (3.0 - 2.0 * part), 6.0 * part * (1.0 - part) / (LEVEL - STEEP)};
    return weight;
}

/* Indent the listed nodes. Where a line leaves the femur on a steep side, its length is no indentation,
   as the surface is nearer: the length counts by a weight of the cosine between the line and the normal.
   */
static void press_nodes(const search *s, int listed, workspace *w)
{
    int i;
    memcpy(w->listed, w->todo, (size_t)listed * sizeof *w->todo);
    indent_nodes(s, listed, w);
    for (i = 0; i < listed; i++) {
        const exit_place e = exit_of(s, w, w->listed[i]);
        if (e.depth > 0.0)
            w->depth[w->listed[i]] *= weight_of(exit_cosine(s, &e)).value;
    }
}

/* ---- candidates */

/* List the groups first to last of the bed that may touch the femur, with the bounding plane near each,
   -1 where that gives no bound. A group is out if its ball does not reach the femur, or its disc is
   beyond a plane that the femur nearby does not cross. The groups are so small and the tests so short
   that a tree over the groups would cost more than it saves. Returns how many are listed. */
static int find_groups(const search *s, int first, int last, workspace *w)
{
    const femur *const f = s->f;
    const bed *const b = s->b;
    const vector3 ra = s->p.first, rb = s->p.second, rc = s->p.third, shift = s->p.shift;
    const ptrdiff_t all = b->compartments[b->count_compartments];
    const double per_cell = 1.0 / f->grid_cell, cell_width = f->grid_cell;
    const double nx = f->cells[0], ny = f->cells[1], nz = f->cells[2];
    const double lx = f->grid_low[0], ly = f->grid_low[1], lz = f->grid_low[2];
    double at[3][LANES], mean[3][LANES], off[LANES], cell[LANES], distance[LANES], plane[7][LANES];
    double apart[LANES], bounded[LANES];
    int plane_of[LANES], begin, i, k, listed = 0;
    memset(at, 0, sizeof at);
    memset(mean, 0, sizeof mean);
    memset(off, 0, sizeof off);
    memset(cell, 0, sizeof cell);
    for (begin = first; begin < last; begin += LANES) {
        const int count = last - begin < LANES ? last - begin : LANES;
        const double *const cx = b->centre + begin, *const cy = cx + all, *const cz = cy + all;
        const double *const dx = b->direction + begin, *const dy = dx + all, *const dz = dy + all;
        const double *const radius = b->radius + begin, *const thickness = b->thickness + begin;
        for (i = 0; i < count; i++) {
            double x = cx[i] - shift.x, y = cy[i] - shift.y, z = cz[i] - shift.z;
            const double px = dot3(ra.x, rb.x, rc.x, x, y, z), py = dot3(ra.y, rb.y, rc.y, x, y, z);
            const double pz = dot3(ra.z, rb.z, rc.z, x, y, z);
            at[0][i] = px;
            at[1][i] = py;
            at[2][i] = pz;
            mean[0][i] = dot3(ra.x, rb.x, rc.x, dx[i], dy[i], dz[i]);
            mean[1][i] = dot3(ra.y, rb.y, rc.y, dx[i], dy[i], dz[i]);
            mean[2][i] = dot3(ra.z, rb.z, rc.z, dx[i], dy[i], dz[i]);
            x = (px - lx) * per_cell;
            y = (py - ly) * per_cell;
            z = (pz - lz) * per_cell;
            cell[i] = (floor(least(most(x, 0.0), nx - 1.0)) * ny + floor(least(most(y, 0.0), ny - 1.0)))
                          * nz + floor(least(most(z, 0.0), nz - 1.0));
            x = most(most(-x, x - nx), 0.0);
            y = most(most(-y, y - ny), 0.0);
            z = most(most(-z, z - nz), 0.0);
            off[i] = x * x + y * y + z * z;
        }
        for (i = 0; i < count; i++) {
            const int here = (int)cell[i], own = f->grid_plane[here];
            plane_of[i] = own;
            distance[i] = f->grid_distance[here];
            for (k = 0; k < 7; k++)
                plane[k][i] = f->planes[7 * (ptrdiff_t)own + k];
        }
        for (i = 0; i < count; i++) {
            const double x = at[0][i] - plane[0][i], y = at[1][i] - plane[1][i];
            const double z = at[2][i] - plane[2][i], mx = plane[3][i], my = plane[4][i], mz = plane[5][i];
            const double tilt = fabs(mx * mean[0][i] + my * mean[1][i] + mz * mean[2][i]);
            const double height = mx * x + my * y + mz * z;
            const double half = tilt * thickness[i] + sqrt(most(1.0 - tilt * tilt, 0.0)) * radius[i];
            const double gap = height - plane[6][i] - half, room = most(f->plane_reach - radius[i], 0.0);
            /* A femur inside the grid is no nearer to a point outside than to the grid's edge. */
            const double away = most(distance[i], cell_width * sqrt(off[i]));
            bounded[i] = x * x + y * y + z * z < room * room ? 1.0 : 0.0;
            apart[i] = (away > radius[i] && height > 0.0)
                               || (bounded[i] > 0.0 && gap > b->bulge[begin + i]) ? 1.0 : 0.0;
        }
        for (i = 0; i < count; i++) {
            w->groups[listed] = begin + i;
            w->plane_near[listed] = bounded[i] > 0.0 ? plane_of[i] : -1;
            listed += apart[i] > 0.0 ? 0 : 1;
        }
    }
    return listed;
}

/* List nodes first to last of the candidates in `todo`, each once. All nodes are written and the next
   one overwrites a repeated one, since mispredicted branches cost more. Returns their number. */
static int list_nodes(const bed *b, int first, int last, int found, workspace *w)
{
    int i, k, listed = 0;
    for (i = 0; i < found; i++) {
        const int *const nodes = b->elements + (ptrdiff_t)w->candidates[i] * b->nodes;
        for (k = first; k < last; k++) {
            const int node = nodes[k];
            w->todo[listed] = node;
            listed += !w->stamp[node];
            w->stamp[node] = 1;
        }
    }
    return listed;
}

/* List the elements in the groups first to last that may be in contact: elements beyond a plane that the
   femur nearby does not cross are out. Their corners, the only node on flat facets, are listed, each
   once with a facet near. Returns the number of elements, and of nodes. */
static int find_candidates(const search *s, int first, int last, workspace *w, int *listed)
{
    const bed *const b = s->b;
    const int corners = b->nodes == 1 ? 1 : 3, count = find_groups(s, first, last, w);
    double clearance[LANES];
    int g, c, i, found = 0;
    for (g = 0; g < count; g++) {
        const int t = w->groups[g];
        if (w->plane_near[g] >= 0) {
            /* The plane in the tibial frame. */
            const double *const plane = s->f->planes + 7 * (ptrdiff_t)w->plane_near[g];
            const vector3 n = at_place(plane + 3), m = to_tibia(&s->p, n);
            const double level = dot_product(n, at_place(plane)) + plane[6] + dot_product(m, s->p.shift);
            const double *x = b->corners + (ptrdiff_t)t * corners * 3 * LANES;
            for (i = 0; i < LANES; i++)
                clearance[i] = INFINITY;
            for (c = 0; c < corners; c++, x += 3 * LANES)
                for (i = 0; i < LANES; i++)
                    clearance[i] = least(clearance[i], dot3(m.x, m.y, m.z, x[i], x[LANES + i],
                                                            x[2 * LANES + i]) - level);
        } else {
            for (i = 0; i < LANES; i++)
                clearance[i] = -INFINITY;
        }
        for (i = 0; i < b->count[t]; i++) {
            w->candidates[found] = b->first[t] + i;
            found += clearance[i] <= b->bulge[t];
        }
    }
    *listed = list_nodes(b, 0, corners, found, w);
    for (i = 0; i < *listed; i++)
        w->starts[i] = facet_nearby(s->f, to_femur(&s->p, minus(b->points[w->todo[i]], s->p.shift)));
    return found;
}

/* Drop candidates with all corners well outside; list the middles of the others. */
static int keep_near(const bed *b, int found, workspace *w, int *listed)
{
    int i, k, kept = 0;
    for (i = 0; i < found; i++) {
        const int e = w->candidates[i], *const nodes = b->elements + 6 * (ptrdiff_t)e;
        double highest = -INFINITY, lowest = INFINITY;
        for (k = 0; k < 3; k++) {
            const double own = w->depth[nodes[k]];
            /* Where a corner misses the femur, the element is looked at as a whole. */
            const double d = isfinite(own) ? own : 0.0;
            highest = most(highest, d);
            lowest = least(lowest, d);
        }
        w->candidates[kept] = e;
        kept += !(highest < -most(2.0 * BULGE * b->sizes[e], NEAR_EDGE * (highest - lowest)));
    }
    for (i = 0; i < kept; i++) {
        const int *const nodes = b->elements + 6 * (ptrdiff_t)w->candidates[i];
        for (k = 0; k < 3; k++)
            w->met[nodes[3 + k]] = w->met[nodes[k]];
    }
    *listed = list_nodes(b, 3, 6, kept, w);
    for (i = 0; i < *listed; i++)
        w->starts[i] = w->met[w->todo[i]];
    return kept;
}

/* Kind of an element, its lowest node and a bound of its indentation. APART: not in contact. RESOLVED:
   the indentation is the field of the nodes. LUMPED: the line of a node misses the femur (a rim), or the
   angle between the surfaces is too large for a field; the element is one spring at its centroid. */
static int bearing_of(const bed *b, int e, const double *depth, double *lowest, double *bound)
{
    const int *const nodes = b->elements + (ptrdiff_t)e * b->nodes;
    double highest = -INFINITY, low = INFINITY;
    int missing = 0, k;
    for (k = 0; k < b->nodes; k++) {
        const double d = depth[nodes[k]];
        /* NaN compares false: it changes neither bound. */
        missing |= !isfinite(d);
        highest = d > highest ? d : highest;
        low = d < low ? d : low;
    }
    *lowest = low;
    *bound = 0.0;
    if (b->nodes == 1) {
        *bound = highest;
        return highest > 0.0 ? RESOLVED : APART;
    }
    if (highest < -b->sizes[e])
        return APART;
    if (missing || highest - low > STEEP_SLOPE * b->sizes[e])
        return LUMPED;
    const double edge = NEAR_EDGE * (highest - low);
    if (highest < -most(BULGE * b->sizes[e], edge))
        return APART;
    const double above = bound_of_field(nodes, depth);
    if (highest <= -edge && (above <= -edge || highest_of_field(nodes, depth).depth <= -edge))
        return APART;
    *bound = above;
    return RESOLVED;
}

/* A patch: the active elements begin to end, the position of the deepest one, -1 for none, and its
   indentation. */
typedef struct {
    int begin, end, deepest;
    double largest;
} contact_patch;

/* List the elements in contact in the groups first to last of the bed, from position `begin`. */
static contact_patch find_contact(const search *s, int first, int last, int begin, workspace *w)
{
    const bed *const b = s->b;
    contact_patch found = {begin, begin, -1, 0.0};
    int listed, i, lumped = 0, count = find_candidates(s, first, last, w, &listed);
    press_nodes(s, listed, w);
    if (b->nodes == 6) {
        count = keep_near(b, count, w, &listed);
        press_nodes(s, listed, w);
    }
    for (i = 0; i < count; i++) {
        const int e = w->candidates[i], *const nodes = b->elements + (ptrdiff_t)e * b->nodes;
        const int kind = bearing_of(b, e, w->depth, w->lowest + found.end, w->highest + found.end);
        w->active[found.end] = e;
        w->kind[found.end] = kind;
        if (kind == LUMPED) {
            w->todo[lumped] = b->centroid_first + e;
            w->starts[lumped] = w->met[nodes[0]];
            w->candidates[lumped++] = e;
        } else if (kind == RESOLVED && w->highest[found.end] > found.largest) {
            const double depth =
                b->nodes == 1 ? w->depth[nodes[0]] : highest_of_field(nodes, w->depth).depth;
            if (depth > found.largest) {
                found.deepest = found.end;
                found.largest = depth;
            }
        }
        found.end += kind == RESOLVED;
    }
    press_nodes(s, lumped, w);
    for (i = 0; i < lumped; i++) {
        const int e = w->candidates[i];
        const double depth = w->depth[b->centroid_first + e];
        if (!(depth > 0.0))
            continue;
        w->active[found.end] = e;
        w->kind[found.end] = LUMPED;
        w->lowest[found.end] = w->highest[found.end] = depth;
        if (depth > found.largest) {
            found.deepest = found.end;
            found.largest = depth;
        }
        found.end++;
    }
    return found;
}

/* Indentation at the middle of an active element. */
static double middle_depth(const bed *b, const workspace *w, int position)
{
    static const double shape[6] = {-1.0 / 9.0, -1.0 / 9.0, -1.0 / 9.0, 4.0 / 9.0, 4.0 / 9.0, 4.0 / 9.0};
    const int e = w->active[position], *const nodes = b->elements + (ptrdiff_t)e * b->nodes;
    double depth = 0.0;
    int j;
    if (w->kind[position] == LUMPED)
        return w->depth[b->centroid_first + e];
    if (b->nodes == 1)
        return w->depth[nodes[0]];
    for (j = 0; j < 6; j++)
        depth += shape[j] * w->depth[nodes[j]];
    return depth;
}

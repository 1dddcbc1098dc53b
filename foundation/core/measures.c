/* Area, edge and peak pressure of a contact patch on a grid of nodes. The squared pressure rises
   linearly from the edge of a smooth contact (Hertz 1882, J reine angew Math 92:156-171): the square is
   extrapolated over the edge, and fitted at the peak. */

#define BELOW 1e-9 /* least part of the largest square by which a node outside lies below the edge */

/* A grid: neighbours (x 2 x 2) of each node along and against both lines, and quadrilaterals around (x
   4). */
typedef struct {
    const int *neighbours, *quads, *quads_at;
    const vector3 *points;
} patch_grid;

INLINE int beside(const patch_grid *g, int node, int axis, int side)
{
    return g->neighbours[4 * node + 2 * axis + side];
}

/* Write to the nodes next to the patch the mean of extrapolations along the straight line through two
   nodes. Lists these nodes in `ring`; returns their number. */
static int extrapolate(const patch_grid *g, int count, const int *active, double floor_level,
                       double *level, double *weight, int *ring)
{
    int i, axis, side, found = 0;
    for (i = 0; i < count; i++)
        for (axis = 0; axis < 2; axis++)
            for (side = 0; side < 2; side++) {
                const int outer = beside(g, active[i], axis, side);
                if (outer < 0 || level[outer] > 0.0)
                    continue;
                if (weight[outer] == 0.0)
                    ring[found++] = outer;
                weight[outer] += 1.0;
            }
    /* Levels are written when all are listed, since a level tells who is inside. */
    for (i = 0; i < found; i++) {
        const int outer = ring[i];
        double total = 0.0;
        for (axis = 0; axis < 2; axis++)
            for (side = 0; side < 2; side++) {
                const int node = beside(g, outer, axis, side);
                if (node < 0 || !(level[node] > 0.0))
                    continue;
                const int inner = beside(g, node, axis, side), has = inner >= 0 && level[inner] > 0.0;
                /* Without a second node inside, the edge lies half way to the node outside. */
                const double own = level[node], before = has ? level[inner] : 3.0 * own;
                total += least(2.0 * own - before, floor_level);
            }
        level[outer] = total / weight[outer];
        weight[outer] = 0.0;
    }
    return found;
}

/* Add the area of a triangle where a field is positive, and the length of the edge. */
static void cut_triangle(const patch_grid *g, int a, int b, int c, double va, double vb, double vc,
                         double *area, double *edge)
{
    const int inside = (va > 0.0) + (vb > 0.0) + (vc > 0.0), odd = inside == 1;
    if (inside == 0)
        return;
    /* The corner on its own side of the edge comes first. */
    if ((vb > 0.0) == odd && (va > 0.0) != odd && (vc > 0.0) != odd) {
        const int first = a;
        const double value = va;
        a = b, b = c, c = first;
        va = vb, vb = vc, vc = value;
    } else if ((vc > 0.0) == odd && (va > 0.0) != odd && (vb > 0.0) != odd) {
        const int last = c;
        const double value = vc;
        c = b, b = a, a = last;
        vc = vb, vb = va, va = value;
    }
    const vector3 u = minus(g->points[b], g->points[a]), w = minus(g->points[c], g->points[a]);
    const double whole = 0.5 * length(cross_product(u, w)), s = va / (va - vb), t = va / (va - vc);
    if (inside == 3) {
        *area += whole;
        return;
    }
    *area += odd ? s * t * whole : whole - s * t * whole;
    *edge += length(minus(times(t, w), times(s, u)));
}

/* Add the area of a quadrilateral inside the patch, and the length of the edge. */
static void cut_quad(const patch_grid *g, const int *quad, const double *level, double *area, double *edge)
{
    double v[4];
    int k;
    for (k = 0; k < 4; k++)
        v[k] = level[quad[k]];
    /* A corner diagonal to the patch has no level of its own. */
    for (k = 0; k < 4; k++)
        if (v[k] == 0.0)
            v[k] = least(v[(k + 1) % 4] + v[(k + 3) % 4] - v[(k + 2) % 4], 0.0);
    cut_triangle(g, quad[0], quad[1], quad[2], v[0], v[1], v[2], area, edge);
    cut_triangle(g, quad[0], quad[2], quad[3], v[0], v[2], v[3], area, edge);
}

/* The peak pressure from the squares at the highest node and eight others, and its sharpness: 1/a^2 of a
   patch that is a spacings wide on either side of its peak, 1 where a neighbour is out of contact or the
   squares have no maximum near. Where a nodal force is a mean of the pressure over the shape function of
   the node, its square lies 1/6 of the second differences below the pressure at the node: half of this is
   added. */
static double fitted_peak(const patch_grid *g, int top, const double *level, double *sharpness)
{
    const double best = sqrt(level[top]);
    double m[6] = {0.0};
    int i, j;
    *sharpness = 1.0;
    for (i = -1; i < 2; i++)
        for (j = -1; j < 2; j++) {
            int node = i ? beside(g, top, 0, i < 0) : top;
            if (node >= 0 && j)
                node = beside(g, node, 1, j < 0);
            if (node < 0 || !(level[node] > 0.0))
                return best;
            m[0] += level[node];
            m[1] += i * level[node];
            m[2] += j * level[node];
            m[3] += i * i * level[node];
            m[4] += j * j * level[node];
            m[5] += i * j * level[node];
        }
    /* Least squares over the nine nodes in closed form. */
    const double x = m[1] / 6.0, y = m[2] / 6.0, xy = m[5] / 4.0;
    const double xx = 0.5 * m[3] - m[0] / 3.0, yy = 0.5 * m[4] - m[0] / 3.0;
    const double constant = m[0] / 9.0 - 2.0 / 3.0 * (xx + yy), det = 4.0 * xx * yy - xy * xy;
    const double u = (xy * y - 2.0 * yy * x) / det, v = (xy * x - 2.0 * xx * y) / det;
    if (!(xx < 0.0 && det > 0.0) || most(fabs(u), fabs(v)) > 1.0)
        return best;
    const double highest = constant + 0.5 * (x * u + y * v);
    *sharpness = most(-xx, -yy) / highest;
    return sqrt(highest - (xx + yy) / 12.0);
}

void measure_patch(const int *neighbours, const int *quads, const int *quads_at, const vector3 *points,
                   int count, const int *active, const double *squares, double *level,
                   double *weight, int *ring, double *found)
{
    const patch_grid g = {neighbours, quads, quads_at, points};
    double highest = 0.0;
    int top = 0, around, i, k, first;
    for (i = 0; i < count; i++)
        if (squares[i] > highest) {
            highest = squares[i];
            top = active[i];
        }
    for (i = 0; i < count; i++)
        level[active[i]] = most(squares[i], BELOW * highest);
    around = extrapolate(&g, count, active, -BELOW * highest, level, weight, ring);
    found[0] = found[1] = 0.0;
    for (i = 0; i < count; i++)
        for (k = 0; k < 4; k++) {
            if (quads_at[4 * active[i] + k] < 0)
                continue;
            const int *const corners = quads + 4 * quads_at[4 * active[i] + k];
            /* The first corner inside stands for the quadrilateral. */
            for (first = 0; first < 3 && !(level[corners[first]] > 0.0); first++)
                ;
            if (corners[first] == active[i])
                cut_quad(&g, corners, level, found, found + 1);
        }
    found[2] = fitted_peak(&g, top, level, found + 3);
    for (i = 0; i < count; i++)
        level[active[i]] = 0.0;
    for (i = 0; i < around; i++)
        level[ring[i]] = 0.0;
}

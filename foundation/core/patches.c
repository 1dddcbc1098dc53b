/* Exit of a line o + s d from the femur. */

enum {
    PATCH_STEPS = 12, /* of Newton's method for one line */
    LANE_STEPS = 3,   /* and for lines side by side */
    WALK_STEPS = 60,
    FOOT_STEPS = 2    /* walks along normals in the search for the foot of a perpendicular */
};
#define SEAM 1e-9       /* a line this little outside a patch, in barycentric coordinates, is on the seam */
#define LAST_STEP 1e-4  /* after a step of Newton's method below this, the next is below rounding */
#define FAR_OUTSIDE 0.3 /* belongs to a neighbour for sure */
#define SEAM_WIDTH 0.05 /* by which a line that two neighbours give each other may miss both */
#define GRAZING 1e-6    /* least m.d of the one neighbour over that of the other where both face it */

/* Where a line meets a patch: m.d of the outward normal m = dx/du x dx/dv; s is NaN without a hit. */
typedef struct {
    int facet;
    double u, v, s, out;
} hit;

/* A unit vector across d, to which d x it is the other (Duff et al. 2017, J Comput Graph Tech 6(1):1-8);
   written for numbers, so that loops over lines become vector instructions. */
#define ACROSS(dx, dy, dz, tx, ty, tz, wx, wy, wz) \
    const double sign = (dz) >= 0.0 ? 1.0 : -1.0, over = -1.0 / (sign + (dz)); \
    const double both = (dx) * (dy) * over; \
    const double tx = 1.0 + sign * (dx) * (dx) * over, ty = sign * both, tz = -sign * (dx); \
    const double wx = both, wy = sign + (dy) * (dy) * over, wz = -(dy)

/* A patch as polynomials p and q across a line, and r along it. */
typedef struct {
    double p[6], q[6], r[6];
} projected;

INLINE projected project(const vector3 *terms, int count, vector3 o, vector3 d)
{
    ACROSS(d.x, d.y, d.z, tx, ty, tz, wx, wy, wz);
    projected found;
    int k;
    for (k = 0; k < count; k++) {
        const vector3 a = k ? terms[k] : minus(terms[0], o);
        found.p[k] = dot3(tx, ty, tz, a.x, a.y, a.z);
        found.q[k] = dot3(wx, wy, wz, a.x, a.y, a.z);
        found.r[k] = dot_product(d, a);
    }
    return found;
}

/* The polynomial of six coefficients at (u, v). */
#define PATCH_AT(c, u, v) \
    ((c##0) + (u) * ((c##1) + (u) * (c##3) + (v) * (c##4)) + (v) * ((c##2) + (v) * (c##5)))

/* One step of Newton's method from (u, v). */
#define NEWTON_STEP(u, v, du, dv, det) \
    do { \
        const double f0 = PATCH_AT(p, u, v), f1 = PATCH_AT(q, u, v); \
        const double u0 = p1 + 2.0 * (u) * p3 + (v) * p4, u1 = q1 + 2.0 * (u) * q3 + (v) * q4; \
        const double v0 = p2 + (u) * p4 + 2.0 * (v) * p5, v1 = q2 + (u) * q4 + 2.0 * (v) * q5; \
        det = u0 * v1 - v0 * u1; \
        du = (v0 * f1 - f0 * v1) / det; \
        dv = (f0 * u1 - u0 * f1) / det; \
        u += du; \
        v += dv; \
    } while (0)

#define COEFFICIENTS(c, from) \
    const double c##0 = from[0], c##1 = from[1], c##2 = from[2], c##3 = from[3], c##4 = from[4], \
                 c##5 = from[5]

/* Meet the patch of a facet, continued beyond its edges, by Newton's method on its projection; ends
   early where the line clearly belongs to a neighbour. */
static hit meet_patch(const femur *f, int facet, vector3 o, vector3 d)
{
    const vector3 *const terms = f->patch + 6 * facet;
    hit found = {facet, 0.0, 0.0, NAN, 0.0};
    double det, u, v;
    if (!f->curved) {
        const projected c = project(terms, 3, o, d);
        det = c.p[1] * c.q[2] - c.p[2] * c.q[1];
        if (det == 0.0)
            return found;
        found.u = (c.p[2] * c.q[0] - c.p[0] * c.q[2]) / det;
        found.v = (c.p[0] * c.q[1] - c.p[1] * c.q[0]) / det;
        found.s = c.r[0] + found.u * c.r[1] + found.v * c.r[2];
        found.out = det;
        return found;
    }
    const projected c = project(terms, 6, o, d);
    COEFFICIENTS(p, c.p);
    COEFFICIENTS(q, c.q);
    COEFFICIENTS(r, c.r);
    /* The plane through the corners gives the start. */
    const double u0 = p1 + p3, u1 = q1 + q3, v0 = p2 + p5, v1 = q2 + q5;
    int k;
    det = u0 * v1 - v0 * u1;
    if (det == 0.0)
        return found;
    u = (v0 * q0 - p0 * v1) / det;
    v = (p0 * u1 - u0 * q0) / det;
    found.u = u;
    found.v = v;
    if (least(least(u, v), 1.0 - u - v) < -FAR_OUTSIDE) {
        found.s = r0 + u * (r1 + r3) + v * (r2 + r5);
        found.out = det;
        return found;
    }
    for (k = 0; k < PATCH_STEPS; k++) {
        double du, dv;
        NEWTON_STEP(u, v, du, dv, det);
        if (!(fabs(u) + fabs(v) < 1e3))
            return found;
        found.u = u;
        found.v = v;
        if (fabs(du) + fabs(dv) < LAST_STEP)
            break;
    }
    found.s = PATCH_AT(r, u, v);
    found.out = det;
    return found;
}

/* Tangents of a patch. */
typedef struct {
    vector3 u, v;
} tangents;

INLINE tangents tangents_of(const femur *f, int facet, double u, double v)
{
    const vector3 *const a = f->patch + 6 * facet;
    tangents t = {a[1], a[2]};
    if (f->curved) {
        t.u = shifted(shifted(t.u, 2.0 * u, a[3]), v, a[4]);
        t.v = shifted(shifted(t.v, u, a[4]), 2.0 * v, a[5]);
    }
    return t;
}

/* The normal dx/du x dx/dv of a patch, outward, not of unit length. */
INLINE vector3 patch_normal(const femur *f, int facet, double u, double v)
{
    const tangents t = tangents_of(f, facet, u, v);
    return cross_product(t.u, t.v);
}

/* The edge (c0 c1, c1 c2, c2 c0) that is crossed if `worst` is the smallest coordinate. */
INLINE int edge_crossed(double u, double v, double worst)
{
    return worst == u ? 2 : (worst == v ? 0 : 1);
}

/* Meet the femur, walking from facet to facet towards the line; if the walk leaves the surface or does
   not end, s is NaN and the facet the last one. */
static hit walk_to_hit(const femur *f, int facet, vector3 o, vector3 d)
{
    hit found = {facet, NAN, NAN, NAN, 0.0};
    double before = 0.0;
    int previous = -1, step;
    for (step = 0; step < WALK_STEPS; step++) {
        found = meet_patch(f, facet, o, d);
        if (!isfinite(found.s))
            break;
        const double worst = least(least(found.u, found.v), 1.0 - found.u - found.v);
        if (worst >= -SEAM)
            return found;
        const int following = f->neighbour[3 * facet + edge_crossed(found.u, found.v, worst)];
        if (following < 0)
            break;
        if (following == previous) {
            /* Each of two patches gives the line to the other: it runs along their seam, or past an edge
               beyond which the surface faces away. */
            if (!(worst > -SEAM_WIDTH && before > GRAZING * found.out))
                found.s = NAN;
            return found;
        }
        previous = facet;
        before = found.out;
        facet = following;
    }
    found.facet = facet;
    found.s = NAN;
    found.out = 0.0;
    return found;
}

/* The plane facet that the line meets, walking towards it: a first guess of where it meets the surface;
   the last facet if the walk leaves the surface. */
static int facet_towards(const femur *f, int facet, vector3 o, vector3 d)
{
    int previous = -1, step;
    ACROSS(d.x, d.y, d.z, tx, ty, tz, wx, wy, wz);
    for (step = 0; step < WALK_STEPS; step++) {
        /* A patch's corners are A0, A0 + A1 + A3 and A0 + A2 + A5. */
        const vector3 *const c = f->patch + 6 * facet;
        const vector3 a = minus(c[0], o), b = plus(a, f->curved ? plus(c[1], c[3]) : c[1]);
        const vector3 e = plus(a, f->curved ? plus(c[2], c[5]) : c[2]);
        const double p0 = dot3(tx, ty, tz, a.x, a.y, a.z), q0 = dot3(wx, wy, wz, a.x, a.y, a.z);
        const double p1 = dot3(tx, ty, tz, b.x, b.y, b.z), q1 = dot3(wx, wy, wz, b.x, b.y, b.z);
        const double p2 = dot3(tx, ty, tz, e.x, e.y, e.z), q2 = dot3(wx, wy, wz, e.x, e.y, e.z);
        /* Barycentric coordinates of the corners 1, 2 and 0, times the area. */
        double u = p2 * q0 - p0 * q2, v = p0 * q1 - p1 * q0, w = p1 * q2 - p2 * q1;
        if (u + v + w < 0.0) {
            u = -u;
            v = -v;
            w = -w;
        }
        const double worst = least(least(u, v), w);
        if (worst >= 0.0)
            return facet;
        const int following = f->neighbour[3 * facet + edge_crossed(u, v, worst)];
        if (following < 0 || following == previous)
            return facet;
        previous = facet;
        facet = following;
    }
    return facet;
}

/* Lines side by side, facets, and where the lines meet the patches of the facets. */
typedef struct {
    double origin[3][LANES], direction[3][LANES], terms[6][3][LANES];
    double p[6][LANES], q[6][LANES], r[6][LANES];
    double u[LANES], v[LANES], s[LANES], out[LANES], step[LANES];
    int facet[LANES];
} lines;

/* Meet the patches of the first `count` lines, as meet_patch with a given number of steps; `step` gets
   the size of the last one. */
static void meet_patches(const femur *f, int count, lines *w)
{
    const int terms = f->curved ? 6 : 3;
    int i, k;
    for (i = 0; i < count; i++) {
        const vector3 *const c = f->patch + 6 * w->facet[i];
        for (k = 0; k < terms; k++) {
            w->terms[k][0][i] = c[k].x;
            w->terms[k][1][i] = c[k].y;
            w->terms[k][2][i] = c[k].z;
        }
    }
    for (k = 0; k < 3; k++)
        for (i = 0; i < LANES; i++)
            w->terms[0][k][i] -= w->origin[k][i];
    for (k = 0; k < terms; k++)
        for (i = 0; i < LANES; i++) {
            const double dx = w->direction[0][i], dy = w->direction[1][i], dz = w->direction[2][i];
            const double x = w->terms[k][0][i], y = w->terms[k][1][i], z = w->terms[k][2][i];
            ACROSS(dx, dy, dz, tx, ty, tz, wx, wy, wz);
            w->p[k][i] = dot3(tx, ty, tz, x, y, z);
            w->q[k][i] = dot3(wx, wy, wz, x, y, z);
            w->r[k][i] = dot3(dx, dy, dz, x, y, z);
        }
    if (!f->curved) {
        for (i = 0; i < LANES; i++) {
            const double p0 = w->p[0][i], p1 = w->p[1][i], p2 = w->p[2][i];
            const double q0 = w->q[0][i], q1 = w->q[1][i], q2 = w->q[2][i];
            const double det = p1 * q2 - p2 * q1;
            const double u = (p2 * q0 - p0 * q2) / det, v = (p0 * q1 - p1 * q0) / det;
            w->u[i] = u;
            w->v[i] = v;
            w->s[i] = w->r[0][i] + u * w->r[1][i] + v * w->r[2][i];
            w->out[i] = det;
            w->step[i] = 0.0;
        }
        return;
    }
    for (i = 0; i < LANES; i++) {
        const double p0 = w->p[0][i], p1 = w->p[1][i], p2 = w->p[2][i];
        const double p3 = w->p[3][i], p4 = w->p[4][i], p5 = w->p[5][i];
        const double q0 = w->q[0][i], q1 = w->q[1][i], q2 = w->q[2][i];
        const double q3 = w->q[3][i], q4 = w->q[4][i], q5 = w->q[5][i];
        const double u0 = p1 + p3, u1 = q1 + q3, v0 = p2 + p5, v1 = q2 + q5;
        double det = u0 * v1 - v0 * u1, du, dv;
        const double start_u = (v0 * q0 - p0 * v1) / det, start_v = (p0 * u1 - u0 * q0) / det;
        const double inner = least(least(start_u, start_v), 1.0 - start_u - start_v);
        double u = start_u, v = start_v;
        NEWTON_STEP(u, v, du, dv, det);
        NEWTON_STEP(u, v, du, dv, det);
        NEWTON_STEP(u, v, du, dv, det);
        /* Far from a patch its continuation means nothing; the plane still tells on which side. */
        u = inner < -FAR_OUTSIDE ? start_u : u;
        v = inner < -FAR_OUTSIDE ? start_v : v;
        w->u[i] = u;
        w->v[i] = v;
        w->out[i] = det;
        w->step[i] = fabs(du) + fabs(dv);
        w->s[i] = w->r[0][i] + u * (w->r[1][i] + u * w->r[3][i] + v * w->r[4][i])
                  + v * (w->r[2][i] + v * w->r[5][i]);
    }
}

/* The nearest exit, 0 < s < reach, by the tree; facet -1 without one. */
static hit tree_hit(const femur *f, double reach, vector3 o, vector3 d)
{
    const double ix = d.x != 0.0 ? 1.0 / d.x : 1e300, iy = d.y != 0.0 ? 1.0 / d.y : 1e300;
    const double iz = d.z != 0.0 ? 1.0 / d.z : 1e300;
    hit best = {-1, NAN, NAN, reach, 0.0};
    int node = 0, j;
    while (node < f->boxes) {
        const vector3 low = f->low[node], high = f->high[node];
        const double ax = (low.x - o.x) * ix, bx = (high.x - o.x) * ix;
        const double ay = (low.y - o.y) * iy, by = (high.y - o.y) * iy;
        const double az = (low.z - o.z) * iz, bz = (high.z - o.z) * iz;
        const double enter = most(most(least(ax, bx), least(ay, by)), most(least(az, bz), 0.0));
        const double leave = least(least(most(ax, bx), most(ay, by)), least(most(az, bz), best.s));
        if (!(enter <= leave)) {
            node = f->next[node];
            continue;
        }
        for (j = f->first[node]; j < f->first[node] + f->count[node]; j++) {
            const hit own = meet_patch(f, j, o, d);
            if (0.0 < own.s && own.s < best.s && own.out > 0.0
                && least(least(own.u, own.v), 1.0 - own.u - own.v) >= -SEAM)
                best = own;
        }
        node++;
    }
    return best;
}

/* Index along an axis of a part of the grid's cells, PARTS per cell. */
INLINE int part_index(double low, double per_part, int cells, double value)
{
    const double place = (value - low) * per_part, end = (double)PARTS * cells - 1.0;
    return (int)(place > 0.0 ? least(place, end) : 0.0);
}

/* A facet near a point of the femoral frame, within a part of a cell if the surface is close. */
static int facet_nearby(const femur *f, vector3 at)
{
    const double per_part = PARTS / f->grid_cell;
    const int a = part_index(f->grid_low[0], per_part, f->cells[0], at.x);
    const int b = part_index(f->grid_low[1], per_part, f->cells[1], at.y);
    const int c = part_index(f->grid_low[2], per_part, f->cells[2], at.z);
    const int cell = ((a / PARTS) * f->cells[1] + b / PARTS) * f->cells[2] + c / PARTS;
    const int brick = f->grid_brick[cell];
    if (brick < 0)
        return f->grid_facet[cell];
    return f->bricks[((brick * PARTS + a % PARTS) * PARTS + b % PARTS) * PARTS + c % PARTS];
}

void fill_bricks(const femur *f, int *bricks)
{
    const int planes = f->cells[1] * f->cells[2], all = f->cells[0] * planes;
    int cell, part, step;
    for (cell = 0; cell < all; cell++) {
        const int brick = f->grid_brick[cell];
        if (brick < 0)
            continue;
        for (part = 0; part < PARTS * PARTS * PARTS; part++) {
            const double a = cell / planes + (part / (PARTS * PARTS) + 0.5) / PARTS;
            const double b = cell % planes / f->cells[2] + (part / PARTS % PARTS + 0.5) / PARTS;
            const double c = cell % f->cells[2] + (part % PARTS + 0.5) / PARTS;
            const vector3 at = shifted(at_place(f->grid_low), f->grid_cell, vector(a, b, c));
            int facet = f->grid_facet[cell];
            /* Walks along the normals end near the foot of the perpendicular. */
            for (step = 0; step < FOOT_STEPS; step++) {
                const vector3 normal = patch_normal(f, facet, 1.0 / 3.0, 1.0 / 3.0);
                const double size = length(normal);
                if (size > 0.0)
                    facet = facet_towards(f, facet, at, times(1.0 / size, normal));
            }
            bricks[brick * PARTS * PARTS * PARTS + part] = facet;
        }
    }
}

void largest_protrusions(const femur *f, const vector3 *control, int count, const vector3 *points,
                         const vector3 *normals, double reach, double *heights)
{
    int p, j;
    for (p = 0; p < count; p++) {
        const vector3 n = normals[p], size = vector(fabs(n.x), fabs(n.y), fabs(n.z));
        double best = 0.0;
        int node = 0;
        while (node < f->boxes) {
            const vector3 half = times(0.5, minus(f->high[node], f->low[node]));
            const vector3 away = minus(times(0.5, plus(f->high[node], f->low[node])), points[p]);
            const vector3 gap = vector(most(fabs(away.x) - half.x, 0.0), most(fabs(away.y) - half.y, 0.0),
                                    most(fabs(away.z) - half.z, 0.0));
            if (dot_product(gap, gap) > reach * reach
                || dot_product(n, away) + dot_product(size, half) <= best) {
                node = f->next[node];
                continue;
            }
            for (j = 6 * f->first[node]; j < 6 * (f->first[node] + f->count[node]); j++)
                best = most(best, dot_product(n, minus(control[j], points[p])));
            node++;
        }
        heights[p] = best;
    }
}

void line_exits(const femur *f, double reach, int count, const vector3 *starts, const vector3 *directions,
                double *distance, int *facet, double *place)
{
    int i;
    for (i = 0; i < count; i++) {
        const hit found = tree_hit(f, reach, starts[i], directions[i]);
        distance[i] = found.s;
        facet[i] = found.facet;
        place[2 * i] = found.u;
        place[2 * i + 1] = found.v;
    }
}

/* Contact of springs that are coupled by the surface compliance of elastic layers, at the nodes of a
   lattice. */

enum {
    MOST_EXCHANGES = 500,
    RIGHTS = 8 /* right sides of linear systems: overlap and six gradients, filled up */
};
/* How far apart nodes may be that the surface touches where it bulges beside a pressure, as part of the
   largest overlap: of most layers; of one that hardly changes its volume first and at most. A strip of
   an incompressible layer touches up to 2 (no volume flows across the edge). Contact must end by
   ROUND_ABOUT before the last nodes. */
#define BULGING 0.1
#define WIDE 0.6
#define FARTHEST_APART 2.4
#define ROUND_ABOUT 0.25
/* Edge of a cell over that of other layers, and largest edge over the thickness of such a layer: the
   pressure rises from the edge of contact within a part of the thickness. */
#define FINER 0.7
#define COARSEST 0.8
/* Edge of a cell over the thickness of other layers from which the finer lattice takes part in the
   loads, and from which that lattice alone bears them: the patch is wide beside the layer. */
#define WIDE_FROM 0.35
#define WIDE_TO 0.5
/* Stiffness over the area that bears: power of the area, and reach of the cells of the bearing nodes
   beyond the edge found [edges of a cell], for flat layers of `tests/oracles`. */
#define STIFFNESS_POWER 0.8
#define BEYOND_EDGE 0.14

/* Mean loads, Jacobian, and indentation and pressure at the middle of each element, or 0. */
typedef struct {
    sums total;
    double jacobian[36], *field;
} coupled_loads;

/* ---- forces of the nodes */

/* Compliance (n x n) between the nodes `inside`. */
static void fill_compliance(const coupled *x, const lattice_frame *f, int n)
{
    const lattice *const l = &x->nodes;
    const coupling *const c = x->c;
    const metric g = metric_of(f);
    const double flat = lattice_own_part(g.g11, g.g12, g.g22);
    const double cell = sqrt(g.g11 * g.g22 - g.g12 * g.g12);
    double *const own = x->level, *const below = x->weight; /* which are zero again afterwards */
    vector3 *const at = (vector3 *)x->factor;
    int layer, i;
    clear((ptrdiff_t)n * n, x->compliance);
    for (i = 0; i < n; i++)
        at[i] = l->points[x->inside[i]];
    for (layer = 0; layer < c->layers; layer++) {
        for (i = 0; i < n; i++) {
            /* The cell of a tilted surface is that of the lattice, stretched. */
            const double stretch = l->areas[x->inside[i]] / cell;
            below[i] = l->thickness[layer][x->inside[i]];
            own[i] = flat / sqrt(stretch)
                     + lattice_excess(stretch * g.g11, stretch * g.g12, stretch * g.g22, below[i],
                                      c->ratios[layer]);
        }
        subtract_flat(c->tables + 4 * (ptrdiff_t)layer * c->pieces, c->pieces, c->per_step,
                      -c->strengths[layer], n, at, below, own, x->compliance);
    }
    clear(n, own);
    clear(n, below);
}

/* Add what the sum over a lattice misses of the second order in the spacing. A wave of pressure exp(i
   k.x) moves the surface of a nearly incompressible layer by little, as k^2 h^3, beside which what the
   sum over the half-space's part misses, as k^2 times the cube of the spacing, is much: it is taken from
   nodes and neighbours. */
static void add_curvatures(const coupled *x, const lattice_frame *f, int n)
{
    const lattice *const l = &x->nodes;
    const metric g = metric_of(f);
    double m[3], strength = 0.0;
    int *const order = x->wrong, i, k; /* of each node among those inside */
    for (i = 0; i < x->c->layers; i++)
        strength += x->c->strengths[i];
    lattice_curvature(g.g11, g.g12, g.g22, m);
    const double across = fabs(m[1]);
    const double weights[3] = {strength * (m[0] - across), strength * (m[2] - across),
                               strength * across};
    const int step[3][2] = {{1, 0}, {0, 1}, {1, m[1] > 0.0 ? 1 : -1}};
    for (i = 0; i < l->count; i++)
        order[i] = -1;
    for (i = 0; i < n; i++)
        order[x->inside[i]] = i;
    for (i = 0; i < n; i++) {
        x->compliance[(ptrdiff_t)i * n + i] -= 2.0 * (weights[0] + weights[1] + weights[2]);
        for (k = 0; k < 3; k++) {
            const int *const cell = l->cells[x->inside[i]];
            const int at = number_at(l, cell[0] + step[k][0], cell[1] + step[k][1]);
            if (at < 0 || order[at] < 0)
                continue;
            x->compliance[(ptrdiff_t)i * n + order[at]] += weights[k];
            x->compliance[(ptrdiff_t)order[at] * n + i] += weights[k];
        }
    }
}

/* Wrench of a unit force at each node inside along its normal, and derivative of its overlap by the
   twist. */
static void fill_wrenches(const coupled *x, int n)
{
    const lattice *const l = &x->nodes;
    int i, j, k;
    clear(6 * n, x->gradients);
    clear(6 * n, x->wrenches);
    for (i = 0; i < n; i++) {
        const int at = x->inside[i];
        double *const gradient = x->gradients + 6 * i;
        for (j = 0; j < 6; j++)
            for (k = 0; k < 6; k++)
                gradient[k] += l->shapes[at][j] * x->w->gradient[6 * (ptrdiff_t)l->nodes[at][j] + k];
        if (!x->conservative)
            add_force(x->wrenches + 6 * i, l->points[at], l->directions[at]);
        for (k = 0; k < 6 && x->conservative; k++)
            x->wrenches[6 * i + k] = -gradient[k];
    }
}

/* Factorise a symmetric matrix (n x n, rows wide(n) apart) in its upper triangle, and solve for the
   right sides (n x RIGHTS) in their place. The rows of two pivots are taken away at once. */
static void solve_symmetric(int n, double *matrix, double *right)
{
    const ptrdiff_t stride = wide(n);
    int k, i, j;
    for (k = 0; k < n; k += 2) {
        double *const p = matrix + k * stride, *const q = p + stride, *const rp = right + RIGHTS * k;
        double *const rq = rp + RIGHTS;
        if (k + 1 == n)
            break;
        const double first = p[k + 1] / p[k];
        for (j = k + 1; j < n; j++)
            q[j] = FUSED(-first, p[j], q[j]);
        for (j = 0; j < RIGHTS; j++)
            rq[j] = FUSED(-first, rp[j], rq[j]);
        for (i = k + 2; i < n; i++) {
            double *restrict const row = matrix + i * stride, *restrict const r = right + RIGHTS * i;
            const double a = -p[i] / p[k], b = -q[i] / q[k + 1];
            for (j = i / 8 * 8; j < stride; j++)
                row[j] = FUSED(b, q[j], FUSED(a, p[j], row[j]));
            for (j = 0; j < RIGHTS; j++)
                r[j] = FUSED(b, rq[j], FUSED(a, rp[j], r[j]));
        }
    }
    for (k = n - 1; k >= 0; k--) {
        double *const r = right + RIGHTS * k;
        const double *const row = matrix + k * stride;
        for (i = k + 1; i < n; i++)
            for (j = 0; j < RIGHTS; j++)
                r[j] = FUSED(-row[i], right[RIGHTS * i + j], r[j]);
        for (j = 0; j < RIGHTS; j++)
            r[j] /= row[k];
    }
}

/* Solve the complementarity problem of the nodes inside (`foundation.layer_theory.flat_layer`) by
   exchanges of nodes. Writes forces (n), and to the rows of `right` of the `held` ones the derivatives
   by the twist from place 1. Returns the number of nodes held, -1 if the exchanges do not end, as the
   compliance is not positive definite. */
static int solve_springs(const coupled *x, int n)
{
    const lattice *const l = &x->nodes;
    unsigned char *const in = x->in, *const turned = x->turned;
    double deepest = 0.0;
    int fewest = n + 1, patience = PATIENCE, step, i, j, k;
    for (i = 0; i < n; i++)
        deepest = most(l->overlaps[x->inside[i]], deepest);
    for (i = 0; i < n; i++)
        in[i] = l->overlaps[x->inside[i]] > START * deepest;
    for (step = 0; step < MOST_EXCHANGES; step++) {
        int count = 0, wrong = 0, last = -1;
        double strongest = 0.0;
        for (i = 0; i < n; i++)
            if (in[i])
                x->held[count++] = i;
        if (count == 0)
            return -1;
        for (i = 0; i < count; i++) {
            const double *const from = x->compliance + (ptrdiff_t)x->held[i] * n;
            double *const row = x->factor + i * wide(count), *const right = x->right + RIGHTS * i;
            for (j = 0; j < count; j++)
                row[j] = from[x->held[j]];
            for (; j < wide(count); j++)
                row[j] = 0.0;
            right[0] = l->overlaps[x->inside[x->held[i]]];
            memcpy(right + 1, x->gradients + 6 * x->held[i], 6 * sizeof *right);
            right[7] = 0.0;
        }
        solve_symmetric(count, x->factor, x->right);
        for (i = 0; i < n; i++) {
            x->gaps[i] = -l->overlaps[x->inside[i]];
            x->forces[i] = 0.0;
            turned[i] = 0;
        }
        for (i = 0; i < count; i++) {
            const double force = x->right[RIGHTS * i];
            const double *restrict const row = x->compliance + (ptrdiff_t)x->held[i] * n;
            double *restrict const gaps = x->gaps;
            if (!isfinite(force))
                return -1;
            strongest = most(fabs(force), strongest);
            for (j = 0; j < n; j++)
                gaps[j] = FUSED(force, row[j], gaps[j]);
        }
        for (i = 0; i < count; i++) {
            x->forces[x->held[i]] = x->right[RIGHTS * i];
            turned[x->held[i]] = x->right[RIGHTS * i] < -WRONG * strongest;
        }
        for (j = 0; j < n; j++) {
            if (!in[j])
                turned[j] = x->gaps[j] < -WRONG * deepest;
            if (turned[j]) {
                wrong++;
                last = j;
            }
        }
        if (wrong == 0)
            return count;
        patience = wrong < fewest ? PATIENCE : patience - 1;
        fewest = wrong < fewest ? wrong : fewest;
        for (k = 0; k < n; k++)
            in[k] ^= patience >= 0 ? turned[k] : k == last;
    }
    return -1;
}

/* Area, peak pressure, and edge times the edge of a cell of a patch, of the squared pressures, which
   become those of the nodes next to the patch, too; those are negative. */
static double measure(const coupled *x, const lattice_frame *f, int bent, double *area, double *peak)
{
    const lattice *const l = &x->nodes;
    const patch_grid grid = {x->neighbours, x->quads, x->quads_at, l->points};
    const metric g = metric_of(f);
    double found[4], highest = 0.0;
    int i, count = 0;
    link_lattice(x);
    for (i = 0; i < l->count; i++)
        if (x->squares[i] > 0.0) {
            highest = most(x->squares[i], highest);
            x->gaps[count] = x->squares[i];
            x->active[count++] = i;
        }
    measure_patch(x->neighbours, x->quads, x->quads_at, l->points, count, x->active, x->gaps, 0.0, bent,
                  x->level, x->weight, x->ring, found);
    extrapolate(&grid, count, x->active, -BELOW * highest, bent, x->squares, x->weight, x->ring);
    const double margin = pow(g.g11 * g.g22, 0.25) * found[1];
    *area = found[0] - x->c->edge_offset * margin;
    *peak = found[2];
    return margin;
}

/* Add a part of the loads on a lattice and of their Jacobian; write squared pressures. The forces act
   along the normals of the nodes or, if conservative, along the gradients of the overlaps. Of a finer
   lattice, the sums are of the next order, and the edge is found by parabolas. Returns how far apart the
   surfaces were at the farthest node in contact, as part of the largest overlap; NaN if no solution was
   found. */
static double bear_lattice(const coupled *x, int end, const lattice_frame *f, double part, double bulging,
                           int finer, coupled_loads *found)
{
    const lattice *const l = &x->nodes;
    sums *const total = &found->total;
    double deepest = 0.0, farthest = -INFINITY, area, peak, covered = 0.0;
    int n = 0, i, j, k;
    clear(l->count, x->squares);
    for (i = 0; i < l->count; i++)
        deepest = most(l->overlaps[i], deepest);
    if (!(deepest > 0.0))
        return farthest;
    for (i = 0; i < l->count; i++)
        if (l->overlaps[i] > -bulging * deepest)
            x->inside[n++] = i;
    fill_compliance(x, f, n);
    if (finer)
        add_curvatures(x, f, n);
    fill_wrenches(x, n);
    const int held = solve_springs(x, n);
    if (held < 0)
        return NAN;
    for (i = 0; i < n; i++) {
        const int at = x->inside[i];
        const double force = part * x->forces[i], pressure = x->forces[i] / l->areas[at];
        if (force > 0.0) {
            farthest = most(-l->overlaps[at] / deepest, farthest);
            covered += l->areas[at];
        }
        x->squares[at] = pressure * pressure;
        for (k = 0; k < 6; k++)
            total->wrench[k] += force * x->wrenches[6 * i + k];
        total->place[0] += force * l->points[at].x;
        total->place[1] += force * l->points[at].y;
        total->place[2] += force * l->points[at].z;
        total->carried += force;
        total->energy += 0.5 * force * l->overlaps[at];
        for (j = 0; j < 6 && force != 0.0 && x->jacobian && x->conservative; j++)
            x->w->force[l->nodes[at][j]] += l->shapes[at][j] * force;
    }
    const double margin = measure(x, f, finer, &area, &peak);
    total->area += part * area;
    total->peak += part * peak;
    if (!x->jacobian)
        return farthest;
    /* Nodes enter one by one: K of the whole cells jumps, K of the patch found does not. */
    const double share = part * pow((area + BEYOND_EDGE * margin) / covered, STIFFNESS_POWER);
    for (i = 0; i < held; i++)
        for (j = 0; j < 6; j++)
            for (k = 0; k < 6; k++)
                found->jacobian[6 * j + k] +=
                    share * x->wrenches[6 * x->held[i] + j] * x->right[RIGHTS * i + 1 + k];
    if (x->conservative)
        add_curvature(x->s, 0, end, x->w, found->jacobian);
    return farthest;
}

/* Write the mean of the loads on the lattices; returns as bear_lattice. */
static double bear_lattices(coupled *x, int end, lattice_frame *f, double bulging, int finer, double depth,
                            coupled_loads *found)
{
    const vector3 origin = f->origin;
    const double part = 1.0 / x->c->count_places;
    double farthest = -INFINITY;
    int i;
    memset(&found->total, 0, sizeof found->total);
    clear(36, found->jacobian);
    if (found->field)
        clear(2 * (ptrdiff_t)x->s->b->count_elements, found->field);
    for (i = 0; i < x->c->count_places; i++) {
        const double *const place = x->c->places + 2 * i;
        f->origin = shifted(shifted(origin, place[0], f->first), place[1], f->second);
        while (!sample_overlaps(x, end, f, bulging)) {
            f->first = times(COARSER, f->first);
            f->second = times(COARSER, f->second);
        }
        const double apart = bear_lattice(x, end, f, part, bulging, finer, found);
        if (isnan(apart))
            return apart;
        farthest = most(apart, farthest);
        if (found->field)
            add_field(x, end, f, part, finer ? -bulging * depth : 0.0, found->field);
    }
    f->origin = origin;
    return farthest;
}

/* The thickness that a finer lattice must resolve, and its part in the loads. Layers that hardly change
   their volume need the finer lattice alone. Other layers need it where the cells are long beside their
   thickness, the mean over the layers by how much each gives to an even pressure; the part grows with
   the patch, so that loads are continuous. */
static double finer_part(const coupling *c, int deepest, const lattice_frame *f, double *part)
{
    const metric g = metric_of(f);
    double whole = 0.0, mean = 0.0, thinnest = 1.0;
    int i;
    for (i = 0; i < c->layers; i++) {
        const double ratio = c->ratios[i], own = c->thicknesses[(ptrdiff_t)i * c->springs + deepest];
        const double rest = 1.0 - ratio, given = own * c->strengths[i] * (1.0 - 2.0 * ratio) / (rest * rest);
        whole += given;
        mean += given * own;
        if (ratio > NEARLY_INCOMPRESSIBLE)
            thinnest = least(thinnest, own);
    }
    *part = 1.0;
    if (thinnest < 1.0)
        return thinnest;
    mean /= whole;
    const double cell = pow(g.g11 * g.g22, 0.25) / mean;
    const double t = least(most((cell - WIDE_FROM) / (WIDE_TO - WIDE_FROM), 0.0), 1.0);
    *part = t * t * (3.0 - 2.0 * t);
    return mean;
}

/* values = part of them + rest of others */
static void mix(double part, int count, const double *others, double *values)
{
    int i;
    for (i = 0; i < count; i++)
        values[i] = part * values[i] + (1.0 - part) * others[i];
}

/* Take the scratch memory of an evaluation. */
static void take_coupled(const bed *b, const coupling *c, coupled *x, double **scratch)
{
    lattice *const l = &x->nodes;
    int i;
    x->bounds = take(scratch, b->count_nodes + 1);
    l->cells = (int (*)[2])take_whole(scratch, 2 * ROOM);
    l->nodes = (int (*)[6])take_whole(scratch, 6 * ROOM);
    l->number = take_whole(scratch, ACROSS_ALL * ACROSS_ALL);
    l->shapes = (double (*)[6])take(scratch, 6 * ROOM);
    l->overlaps = take(scratch, ROOM);
    l->areas = take(scratch, ROOM);
    for (i = 0; i < c->layers; i++)
        l->thickness[i] = take(scratch, ROOM);
    l->points = (vector3 *)take(scratch, 3 * ROOM);
    l->directions = (vector3 *)take(scratch, 3 * ROOM);
    x->inside = take_whole(scratch, ROOM);
    x->held = take_whole(scratch, ROOM);
    x->wrong = take_whole(scratch, ROOM);
    x->active = take_whole(scratch, ROOM);
    x->in = take_bytes(scratch, ROOM);
    x->turned = take_bytes(scratch, ROOM);
    x->neighbours = take_whole(scratch, 4 * ROOM);
    x->quads = take_whole(scratch, 4 * ROOM);
    x->quads_at = take_whole(scratch, 4 * ROOM);
    x->ring = take_whole(scratch, 4 * ROOM);
    x->compliance = take(scratch, ROOM * ROOM);
    x->factor = take(scratch, ROOM * ROOM);
    x->right = take(scratch, RIGHTS * ROOM);
    x->forces = take(scratch, ROOM);
    x->gaps = take(scratch, ROOM);
    x->gradients = take(scratch, 6 * ROOM);
    x->wrenches = take(scratch, 6 * ROOM);
    x->squares = take(scratch, ROOM);
    x->level = take(scratch, ROOM);
    x->weight = take(scratch, ROOM);
}

/* Find the mean loads at a patch of contact; returns whether a solution was found. */
static int bear_patch(coupled *x, const contact_patch *patch, int deepest, lattice_frame *f,
                      coupled_loads *found, coupled_loads *plain)
{
    double finer, farthest, bulging = WIDE;
    const double thickness = finer_part(x->c, deepest, f, &finer);
    if (finer < 1.0) {
        farthest = bear_lattices(x, patch->end, f, BULGING, 0, patch->largest,
                                 finer == 0.0 ? found : plain);
        if (finer == 0.0 || !isfinite(farthest))
            return isfinite(farthest) != 0;
    }
    const double size = COARSEST * thickness;
    f->first = times(least(FINER, size / length(f->first)), f->first);
    f->second = times(least(FINER, size / length(f->second)), f->second);
    for (;; bulging *= 2.0) {
        const int end = widen_patch(x, f->normal, patch->largest, bulging * patch->largest);
        farthest = bear_lattices(x, end, f, bulging, 1, patch->largest, found);
        if (!(farthest > bulging - ROUND_ABOUT) || bulging >= FARTHEST_APART)
            break;
    }
    if (finer < 1.0) {
        mix(finer, CONTACT_SUMS, (const double *)&plain->total, (double *)&found->total);
        mix(finer, 36, plain->jacobian, found->jacobian);
        if (found->field)
            mix(finer, 2 * x->s->b->count_elements, plain->field, found->field);
    }
    return isfinite(farthest) != 0;
}

int coupled_contact(const femur *f, const bed *b, const coupling *c, const double *rotation,
                    const double *translation, int compartment, double reach, int conservative,
                    sums *found, double *jacobian, double *field, double *scratch)
{
    const search s = {f, b, placing_of(rotation, translation), reach};
    workspace w = workspace_of(b, &scratch);
    coupled x = {.s = &s, .c = c, .w = &w, .compartment = compartment,
                 .conservative = conservative, .jacobian = jacobian != 0};
    coupled_loads own, plain;
    contact_patch patch;
    moments m;
    lattice_frame laid;
    int i, solved;
    take_coupled(b, c, &x, &scratch);
    clear(ROOM, x.level);
    clear(ROOM, x.weight);
    clear(b->count_nodes + 1, w.force);
    memset(&own, 0, sizeof own);
    own.field = field;
    plain.field = field ? take(&scratch, 2 * (ptrdiff_t)b->count_elements) : 0;
    patch = find_patch(&x, &m);
    const int deepest = w.active[patch.deepest < 0 ? 0 : patch.deepest];
    solved = patch.end == 0 || !fit_lattice(&m, c->scale, &laid);
    if (!solved)
        solved = bear_patch(&x, &patch, deepest, &laid, &own, &plain);
    *found = own.total;
    if (patch.end > 0) {
        double whole = 0.0;
        for (i = 0; i < c->layers; i++)
            whole += c->thicknesses[(ptrdiff_t)i * c->springs + deepest];
        found->depth = patch.largest;
        found->strain = patch.largest / whole;
    }
    if (jacobian)
        memcpy(jacobian, own.jacobian, sizeof own.jacobian);
    return solved;
}

ptrdiff_t contact_scratch(const bed *b, const coupling *c)
{
    double *const begin = (double *)sizeof(double), *end = begin; /* addresses are counted, not used */
    const ptrdiff_t elements = b->count_elements + 1;
    coupled x;
    workspace_of(b, &end);
    end += wide((sizeof(batch) + 7) / 8) + (2 * MOST_LAYERS + 3) * wide(7 * elements);
    if (c)
        take_coupled(b, c, &x, &end);
    return end - begin;
}

/* Loads of springs, their Jacobian and energy. */

/* An element of a law with an exponent bears all over only where its nodes are pressed by this many times the
   rise of the indentation over it. */
#define ROOT_MARGIN 3.0

static void add_batch(const integral *g, int count, batch *a, sums *found, double *jacobian)
{
    const bed *const b = g->s->b;
    int i, j;
    for (i = 0; i < count; i++)
        found->area += a->borne[i];
    fill_arms(a);
    if (!g->conservative)
        add_wrenches(b->nodes, a);
    for (i = 0; i < count && (g->conservative || g->jacobian); i++) {
        if (g->w->kind[a->position[i]] == LUMPED)
            add_lumped(g, i, a, found, jacobian);
        else
            for (j = 0; j < b->nodes && g->conservative; j++)
                add_conservative(g, b->elements[(ptrdiff_t)a->element[i] * b->nodes + j], a->bears[j][i],
                                 found);
    }
    if (g->jacobian) {
        fill_gradients(g, count, a);
        add_batch_stiffness(g, a);
    }
}

/* Find the offset d0/f of a patch, and the gradient of d0: as the field is stationary at its maximum,
   the gradient of the field there is that of the maximum. */
static void find_offset(integral *g, const contact_patch *c)
{
    const bed *const b = g->s->b;
    const int e = g->w->active[c->deepest];
    double shape[6] = {1.0};
    int j, k;
    g->offset = g->offset_slope = 0.0;
    clear(6, g->centre);
    if (g->l->offsets[0] == 0.0 && (g->l->layers == 1 || g->l->offsets[1] == 0.0))
        return;
    const series found = series_pressure(g->l, e, c->largest, 1);
    g->offset = found.offset.value;
    g->offset_slope = found.offset.slope;
    if (!g->jacobian)
        return;
    if (b->nodes == 6 && g->w->kind[c->deepest] != LUMPED) {
        const summit top = highest_of_field(b->elements + 6 * (ptrdiff_t)e, g->w->depth);
        quadratic_shapes(top.u, top.v, shape);
    }
    for (j = 0; j < pressed_nodes(b, g->w, c->deepest); j++)
        for (k = 0; k < 6; k++)
            g->centre[k] +=
                shape[j] * g->w->gradient[6 * (ptrdiff_t)pressed_node(b, g->w, c->deepest, j) + k];
}

/* Find peak pressure and largest strain. On a bed of one stiffness, only elements that may be deeper
   than all before matter. */
static void find_extremes(const integral *g, const contact_patch *c, sums *found)
{
    const bed *const b = g->s->b;
    const law *const l = g->l;
    const int linear = is_linear(l);
    double peak = 0.0, strain = 0.0;
    int i;
    for (i = c->begin; i < c->end; i++) {
        const int e = g->w->active[i];
        double pressed = g->w->highest[i] - g->offset;
        if (linear && l->coefficients[e] * pressed <= peak && pressed <= strain * l->thicknesses[e])
            continue;
        if (b->nodes == 6 && g->w->kind[i] != LUMPED)
            pressed = highest_of_field(b->elements + 6 * (ptrdiff_t)e, g->w->depth).depth - g->offset;
        peak = most(spring_pressure(l, e, pressed).value, peak);
        strain = most(spring_strain(l, e, pressed), strain);
    }
    /* Damping changes the pressure at each point. */
    found->peak = g->m->moving ? 0.0 : peak;
    found->strain = strain;
}

/* List the active elements by rule: elements wholly in contact first, cut elements last. An element
   changes its rule where none of its points is smoothed, so that both rules integrate a linear pressure
   to the same value. Returns the number of elements wholly in contact, and the place of the first cut
   element. */
static int choose_rules(const integral *g, const contact_patch *c, int *first_cut)
{
    const bed *const b = g->s->b;
    workspace *const w = g->w;
    int whole = 0, i;
    double clear_of = ROOT_MARGIN;
    if (g->l->exponent == 1.0)
        for (i = 0, clear_of = 0.0; i < b->cut_points; i++)
            clear_of = most(b->cut_radius[i], clear_of);
    *first_cut = b->count_elements + 1;
    for (i = c->begin; i < c->end; i++) {
        const int e = w->active[i];
        int cut = 0;
        if (b->nodes == 6 && w->kind[i] != LUMPED) {
            const double clearance = w->lowest[i] - g->offset;
            double slopes[3];
            cut = clearance <= 0.0
                  || (clearance < clear_of * LARGEST_SLOPE * b->sizes[e]
                      && clearance <= clear_of * b->sizes[e] * field_slope(b, e, w->depth, slopes));
        }
        if (cut)
            w->chosen[--*first_cut] = i;
        else
            w->chosen[whole++] = i;
    }
    return whole;
}

/* Sum the loads of a patch; returns without any where it does not touch. */
static void sum_patch(integral *g, const contact_patch *c, batch *a, sums *found, double *jacobian)
{
    const int places = g->s->b->count_elements + 1;
    int whole, first_cut, cut, first, i, j, k;
    if (c->deepest < 0)
        return;
    find_offset(g, c);
    find_extremes(g, c, found);
    whole = choose_rules(g, c, &first_cut);
    memset(a->loads, 0, sizeof a->loads);
    memset(a->jacobian, 0, sizeof a->jacobian);
    for (cut = 0; cut < 2; cut++) {
        const int stop = cut ? places : whole;
        for (first = cut ? first_cut : 0; first < stop; first += LANES) {
            const int count = stop - first < LANES ? stop - first : LANES;
            fill_batch(g, g->w->chosen + first, count, cut, a);
            bear(g, count, cut, a, found);
            add_batch(g, count, a, found, jacobian);
        }
    }
    for (i = 0; i < LANES; i++) {
        for (k = 0; k < 6; k++)
            found->wrench[k] += a->loads[k][i];
        found->carried += a->loads[6][i];
        for (k = 0; k < 3; k++)
            found->place[k] += a->loads[7 + k][i];
    }
    for (j = 0; j < 6 && g->jacobian; j++)
        for (k = 0; k < 6; k++)
            for (i = 0; i < LANES; i++)
                jacobian[6 * j + k] += a->jacobian[j][k][i];
    found->depth = c->largest;
    found->offset = g->offset;
    if (found->carried < 0.0 && !g->conservative) {
        /* At the lightest touch the smoothing of the edge may take away more than there is. */
        memset(found, 0, sizeof *found);
        if (g->jacobian)
            clear(36, jacobian);
        return;
    }
    if (g->jacobian && g->conservative)
        add_curvature(g->s, c->begin, c->end, g->w, jacobian);
}

/* ---- a femoral layer whose thickness varies over the femur */

/* By how much the last layer is thicker at an active element: the mean over its nodes of what the femur
   has where they meet it. The derivatives by the twist follow the point, which stays on the line of the
   node while the femur moves under it. */
static double excess_at(const search *s, const law *l, int position, const workspace *w, double *by_twist)
{
    const int count = pressed_nodes(s->b, w, position);
    double total = 0.0;
    int j, k;
    if (by_twist)
        clear(6, by_twist);
    for (j = 0; j < count; j++) {
        const int node = pressed_node(s->b, w, position, j);
        const exit_place e = exit_of(s, w, node);
        const double *const corner = l->corners + 3 * (ptrdiff_t)e.facet;
        const double by_u = corner[1] - corner[0], by_v = corner[2] - corner[0];
        total += corner[0] + e.u * by_u + e.v * by_v;
        if (!by_twist)
            continue;
        const footing f = footing_of(s, &e);
        for (k = 0; k < 6; k++) {
            const sliding r = sliding_of(&f, w->gradient + 6 * (ptrdiff_t)node, k);
            by_twist[k] += (by_u * r.u + by_v * r.v) / f.det / count;
        }
    }
    return total / count;
}

/* Write the law of an element whose last layer is thicker by an excess: linear layers in series have one
   coefficient and the largest strain of all. */
static void thicken(const law *l, int e, double excess, double *coefficients, double *thicknesses,
                    double *lead)
{
    const ptrdiff_t last = (ptrdiff_t)(l->layers - 1) * l->springs + e;
    const double added = excess / l->moduli[e], c = l->coefficients[last], h = l->thicknesses[last];
    int k;
    for (k = 0; k < l->layers; k++) {
        coefficients[k * l->springs + e] = l->coefficients[(ptrdiff_t)k * l->springs + e];
        thicknesses[k * l->springs + e] = l->thicknesses[(ptrdiff_t)k * l->springs + e];
    }
    lead[e] = 1.0 / (1.0 / l->lead[e] + added);
    if (l->kinds[l->layers - 1] == LOGARITHMIC) {
        thicknesses[last] = h + excess;
    } else {
        coefficients[last] = 1.0 / (1.0 / c + added);
        thicknesses[last] = c * h / coefficients[last];
    }
}

#define THICKNESS_STEP 1e-8 /* largest change of thickness in derivatives by the thickness */

/* The arrays of a law that thicken writes, and the excess of each active element with its derivatives
   (7). */
typedef struct {
    double *coefficients, *thicknesses, *lead, *excess;
} thickening;

/* Write the law of the active elements whose excess is changed by a step along a component of the twist.
   */
static void thicken_all(const integral *g, const law *l, const contact_patch *c, const thickening *t,
                        double step, int component)
{
    int i;
    for (i = c->begin; i < c->end; i++) {
        const double *const own = t->excess + 7 * (ptrdiff_t)i;
        thicken(l, g->w->active[i], own[0] + step * own[1 + component], t->coefficients, t->thicknesses,
                t->lead);
    }
}

/* Sum the loads of a patch as sum_patch does, with the thickness of the femur where the springs have met
   it. */
static void sum_thick_patch(integral *g, const contact_patch *c, batch *a, const law *changed,
                            const thickening *t, sums *found, double *jacobian)
{
    const law *const l = g->l;
    const int sloped = g->jacobian && g->s->f->curved;
    int i, k, q;
    for (i = c->begin; i < c->end; i++) {
        double *const own = t->excess + 7 * (ptrdiff_t)i;
        clear(7, own);
        own[0] = excess_at(g->s, l, i, g->w, sloped ? own + 1 : 0);
    }
    thicken_all(g, l, c, t, 0.0, 0);
    g->l = changed;
    sum_patch(g, c, a, found, jacobian);
    for (k = 0; k < 6 && sloped; k++) {
        integral other = *g;
        double largest = 0.0;
        sums moved;
        for (i = c->begin; i < c->end; i++)
            largest = most(fabs(t->excess[7 * (ptrdiff_t)i + 1 + k]), largest);
        if (!(largest > 0.0))
            continue;
        thicken_all(g, l, c, t, THICKNESS_STEP / largest, k);
        memset(&moved, 0, sizeof moved);
        other.jacobian = other.energy = 0;
        sum_patch(&other, c, a, &moved, 0);
        for (q = 0; q < 6; q++)
            jacobian[6 * q + k] += (moved.wrench[q] - found->wrench[q]) * largest / THICKNESS_STEP;
    }
    if (sloped)
        thicken_all(g, l, c, t, 0.0, 0);
}

void spring_contact(const femur *f, const bed *b, const law *l, const dissipation *m, const double *rotation,
                    const double *translation, const unsigned char *chosen, double reach,
                    int conservative, int energy, sums *found, double *jacobian, double *field,
                    double *scratch)
{
    const search s = {f, b, placing_of(rotation, translation), reach};
    workspace w = workspace_of(b, &scratch);
    integral g = {&s, l, m, &w, conservative, jacobian != 0, energy, 0.0, 0.0, {0.0}};
    batch *const a = (batch *)take(&scratch, (sizeof(batch) + 7) / 8);
    const ptrdiff_t all = (ptrdiff_t)l->layers * l->springs;
    thickening t = {0, 0, 0, 0};
    law changed = *l;
    contact_patch patch = {0, 0, -1, 0.0};
    int c, i;
    if (l->corners) {
        changed.coefficients = t.coefficients = take(&scratch, all);
        changed.thicknesses = t.thicknesses = take(&scratch, all);
        changed.lead = t.lead = take(&scratch, l->springs);
        t.excess = take(&scratch, 7 * ((ptrdiff_t)b->count_elements + 1));
    }
    forget(b, &w);
    clear(b->count_nodes + 1, w.force);
    memset(found, 0, (size_t)b->count_compartments * sizeof *found);
    if (jacobian)
        clear(36 * b->count_compartments, jacobian);
    for (c = 0; c < b->count_compartments; c++) {
        double *const slopes = jacobian ? jacobian + 36 * c : 0;
        if (!chosen[c])
            continue;
        patch = find_contact(&s, b->compartments[c], b->compartments[c + 1], patch.end, &w);
        if (jacobian || conservative || m->moving)
            find_gradients(&s, patch.begin, patch.end, &w);
        g.l = l;
        if (l->corners)
            sum_thick_patch(&g, &patch, a, &changed, &t, found + c, slopes);
        else
            sum_patch(&g, &patch, a, found + c, slopes);
        for (i = patch.begin; i < patch.end && field; i++) {
            const double depth = middle_depth(b, &w, i);
            const int e = w.active[i];
            field[e] = most(depth, 0.0);
            field[b->count_elements + e] = spring_pressure(g.l, e, depth - found[c].offset).value;
        }
    }
}

ptrdiff_t contact_scratch(const bed *b)
{
    double *const begin = (double *)sizeof(double), *end = begin; /* addresses are counted, not used */
    const ptrdiff_t elements = b->count_elements + 1;
    workspace_of(b, &end);
    end += wide((sizeof(batch) + 7) / 8) + (2 * MOST_LAYERS + 3) * wide(7 * elements);
    return end - begin;
}

/* Loads of a compartment: hold the pose in the box, locate the condyle, invert the learnt height or ask
   for the loads at the height. Everything is a jet, so that derivatives follow by themselves. */

enum { ROOT_STEPS = 60 };
#define ROOT_LAST_STEP 1e-12

/* ---- smoothing: twice continuously differentiable forms, of a width, of max(r, 0) and of clips */

/* S(t) = t^4 (5/2 - 3 t + t^2), t from 0 to 1, the integral of the smootherstep of Perlin (2002, ACM
   Trans Graph 21:681-682), whose slope rises from 0 to 1. */
static curve step_at(double t)
{
    const double rest = 1.0 - t;
    const curve f = {t * t * t * t * (2.5 - t * (3.0 - t)), t * t * t * (10.0 - t * (15.0 - 6.0 * t)),
                     30.0 * t * t * rest * rest};
    return f;
}

/* The clip of x to [-most, most]; between `most` and `most` + 2 `width` the slope falls to 0. */
static curve clip(double x, double most, double width)
{
    const double size = fabs(x), sign = x > 0.0 ? 1.0 : -1.0, breadth = 2.0 * width;
    curve f = {x, 1.0, 0.0}, s;
    if (size <= most)
        return f;
    f.value = sign * (most + width);
    f.slope = 0.0;
    if (!(width == 0.0 || size >= most + breadth)) {
        s = step_at((size - most) / breadth);
        f.value = sign * (size - breadth * s.value);
        f.slope = 1.0 - s.slope;
        f.bend = -sign * s.bend / breadth;
    }
    return f;
}

/* max(r, 0), rounded within `width` of 0 */
static curve positive_part(double r, double width)
{
    const double breadth = 2.0 * width;
    curve f = {0.0, 0.0, 0.0};
    if (r >= width) {
        f.value = r;
        f.slope = 1.0;
    } else if (r > -width) {
        f = step_at((r + width) / breadth);
        f.value *= breadth;
        f.bend /= breadth;
    }
    return f;
}

/* s, clipped at 1 from above alone */
static curve last_input(double s, double width)
{
    const curve same = {s, 1.0, 0.0};
    return s <= 1.0 ? same : clip(s, 1.0, width);
}

/* ---- the box and the condyle */

/* What is worked out of an input, on the way to the loads. Jets stand one after the other. */
typedef struct {
    const compartment *c;
    space s;
    int few, steep;      /* whether the wrench alone is asked for; number of loads with slopes */
    double *coordinates; /* n jets: the pose, then the parameters */
    double *held;        /* 6 jets: the pose held in the box */
    double *inputs;      /* n jets: of the regressors */
    double *point;       /* 3 jets: of the condyle, in the tibial frame */
    double *height;      /* jet: of the point over its path */
    double *out;         /* 12 jets: of the regressors' outputs, `steep` of them with slopes */
    double *loads;       /* 12 jets, the same */
    double *rows;        /* 12 x row: outputs and their derivatives by the inputs */
    double *bends;       /* 12 x pairs */
    double gap;          /* over the first contact, 0 in contact and where unknown */
    double *free;
} state;

static double *jets(state *at, int count)
{
    return take(&at->free, count * at->s.size);
}

/* Fill the outputs of a function of the parameters as jets. */
static void design_jets(state *at, const regressor *r, double *out)
{
    const int p = r->inputs, order = at->s.order, row = row_of(p);
    double *free = at->free, *rows = take(&free, r->outputs * row);
    double *bends = take(&free, order > 1 ? r->outputs * pairs_of(p) : 0), z[MOST_INPUTS] = {0.0};
    const double *parameters = at->coordinates + 6 * at->s.size;
    int k;
    for (k = 0; k < p; k++)
        z[k] = parameters[k * at->s.size];
    evaluate(r, z, r->outputs, r->outputs, order, rows, bends, free);
    chain(&at->s, r->outputs, rows, row, bends, order ? p : 0, parameters, out);
}

/* The piece between increasing breaks in which x is, the first or the last one beyond them. */
static int piece_at(int knots, const double *breaks, double x)
{
    int low = 0, high = knots - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (breaks[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A cubic of coefficients of falling powers, `stride` apart. */
static curve cubic_at(const double *q, int stride, double t)
{
    const double a = q[0], b = q[stride], c = q[2 * stride];
    const curve f = {((a * t + b) * t + c) * t + q[3 * stride], (3.0 * a * t + 2.0 * b) * t + c,
                     6.0 * a * t + 2.0 * b};
    return f;
}

/* Fill the five coordinates of a path at a flexion. */
static void path_at(state *at, const path *p, const double *flexion, double *out)
{
    const space *s = &at->s;
    const int piece = piece_at(p->count + 1, p->flexion, flexion[0]);
    const double here = flexion[0] - p->flexion[piece];
    double *free = at->free, *t, *powers, *product;
    int k, e;
    if (!p->of_design) {
        for (k = 0; k < 5; k++, out += s->size)
            apply(s, cubic_at(p->pieces + 5 * piece + k, 5 * p->count, here), flexion, out);
        return;
    }
    powers = jets(at, 20);
    t = jets(at, 1);
    product = jets(at, 1);
    design_jets(at, p->of_design + piece, powers);
    scale(s, 1.0, flexion, t);
    t[0] = here;
    for (k = 0; k < 5; k++, out += s->size) {
        scale(s, 1.0, powers + k * s->size, out);
        for (e = 1; e < 4; e++) {
            multiply(s, out, t, product);
            scale(s, 1.0, product, out);
            add(s, 1.0, powers + (5 * e + k) * s->size, out);
        }
    }
    at->free = free;
}

/* A variable of the box, at most `most` in size when scaled. */
static curve held_variable(const compartment *c, int k, double scaled, double most)
{
    curve f = clip(scaled, most, c->smoothing);
    f.value = c->box_middle[k] + c->box_half[k] * f.value;
    f.bend /= c->box_half[k];
    return f;
}

/* Hold the pose in the box, the height over its path kept up to FARTHEST; fill x[0..4], the scaled
   variables, not held, and x[5] with -1, or with a height that is not kept. */
static void hold(state *at, double *x)
{
    const compartment *c = at->c;
    const space *s = &at->s;
    const int n = s->size;
    const double *q = at->coordinates;
    double *free = at->free, *path_here = jets(at, 5), *path_there = jets(at, 5);
    double *flexion = jets(at, 1), lift;
    int inside, k, row = 0;
    x[0] = (q[0] - c->box_middle[0]) / c->box_half[0];
    scale(s, 1.0, q, flexion);
    if (!(fabs(x[0]) <= FOLLOWED))
        apply(s, held_variable(c, 0, x[0], FOLLOWED), q, flexion);
    path_at(at, &c->box, flexion, path_here);
    lift = (q[4 * n] - path_here[3 * n]) / FARTHEST;
    x[5] = fabs(lift) <= 1.0 ? -1.0 : -lift;
    inside = fabs(lift) <= 1.0 && fabs(x[0]) <= 1.0;
    for (k = 0; k < 5; k++)
        if (k != 3) {
            row++;
            x[row] = (q[(k + 1) * n] - path_here[k * n] - c->box_middle[row]) / c->box_half[row];
            inside = inside && fabs(x[row]) <= 1.0;
        }
    at->held = at->coordinates;
    at->free = free;
    if (inside)
        return;
    at->held = at->free = path_here + 11 * wide(n); /* behind what is still needed */
    at->held = jets(at, 6);
    apply(s, held_variable(c, 0, x[0], 1.0), q, at->held);
    path_at(at, &c->box, at->held, path_there);
    for (k = 0, row = 0; k < 5; k++) {
        double *offset = at->held + (k + 1) * n;
        curve f = {0.0, 1.0, 0.0};
        scale(s, 1.0, q + (k + 1) * n, offset);
        add(s, -1.0, path_here + k * n, offset);
        f.value = offset[0];
        if (k != 3) {
            row++;
            f = held_variable(c, row, x[row], 1.0);
        } else if (fabs(lift) > 1.0) { /* not NaN */
            f = clip(offset[0], FARTHEST, c->smoothing * FARTHEST);
        }
        apply(s, f, offset, offset);
        add(s, 1.0, path_there + k * n, offset);
    }
}

static void fill_turn(const space *s, const double *angle, double *cosine, double *sine)
{
    const double c = cos(angle[0]), v = sin(angle[0]);
    const curve f = {c, -v, -c}, g = {v, c, -v};
    apply(s, f, angle, cosine);
    apply(s, g, angle, sine);
}

/* Fill the place p = t + R c of the condyle's point, R = Ry(-rotation) Rx(-adduction) Rz(flexion). */
static void fill_point(state *at)
{
    const space *s = &at->s;
    const int n = s->size;
    double *free = at->free, *cosines = jets(at, 3), *sines = jets(at, 3), *centre = jets(at, 3);
    double *x = jets(at, 1), *flexed = jets(at, 1), *z = jets(at, 1), *product = jets(at, 1);
    int k;
    for (k = 0; k < 3; k++) {
        fill_turn(s, at->held + k * n, cosines + k * n, sines + k * n);
        constant(s, at->c->centre[k], centre + k * n);
        scale(s, 1.0, at->held + (3 + k) * n, at->point + k * n);
    }
    if (at->c->centre_of_design)
        design_jets(at, at->c->centre_of_design, centre);
    /* Flexion turns c in the femur's own plane, then adduction, then rotation. */
    multiply(s, cosines, centre, x);
    add_product(s, -1.0, sines, centre + n, x, product);
    multiply(s, sines, centre, flexed);
    add_product(s, 1.0, cosines, centre + n, flexed, product);
    add_product(s, 1.0, cosines + n, flexed, at->point + n, product);
    add_product(s, 1.0, sines + n, centre + 2 * n, at->point + n, product);
    multiply(s, cosines + n, centre + 2 * n, z);
    add_product(s, -1.0, sines + n, flexed, z, product);
    add_product(s, 1.0, cosines + 2 * n, x, at->point, product);
    add_product(s, -1.0, sines + 2 * n, z, at->point, product);
    add_product(s, 1.0, sines + 2 * n, x, at->point + 2 * n, product);
    add_product(s, 1.0, cosines + 2 * n, z, at->point + 2 * n, product);
    at->free = free;
}

/* Fill the regressors' inputs but the last, the point and the height. */
static void fill_inputs(state *at)
{
    static const int coordinate[5] = {0, 1, 2, 0, 2}, of_path[5] = {0, 0, 1, 2, 4};
    const compartment *c = at->c;
    const space *s = &at->s;
    const int n = s->size;
    double *free = at->free, *path = jets(at, 5);
    int k;
    fill_point(at);
    path_at(at, &c->condyle, at->held, path);
    for (k = 0; k < 5; k++) {
        double *u = at->inputs + k * n;
        scale(s, 1.0, (k < 3 ? at->held : at->point) + coordinate[k] * n, u);
        if (k)
            add(s, -1.0, path + of_path[k] * n, u);
        u[0] -= c->middle[k];
        scale(s, 1.0 / c->half[k], u, u);
    }
    for (k = 0; k < c->parameters; k++)
        scale(s, 1.0, at->coordinates + (6 + k) * n, at->inputs + (5 + k) * n);
    scale(s, 1.0, at->point + n, at->height);
    add(s, -1.0, path + 3 * n, at->height);
    at->free = free;
}

/* ---- the outputs */

static void input_values(const state *at, double *x)
{
    int j;
    for (j = 0; j < at->s.n; j++)
        x[j] = at->inputs[j * at->s.size];
}

/* Fill the rows of the outputs at the inputs, or those of the wrench alone. */
static void fill_rows_of_parts(state *at)
{
    const int row = at->s.row, pairs = pairs_of(at->s.n), most = at->few ? WRENCH : LOADS;
    double x[MOST_INPUTS];
    int i, first = 0;
    input_values(at, x);
    for (i = 0; i < at->c->count && first < most; i++) {
        const regressor *r = at->c->parts[i];
        const int outputs = r->outputs < most - first ? r->outputs : most - first;
        const int steep = outputs < at->steep - first ? outputs : at->steep - first;
        evaluate(r, x, outputs, steep, steep > 0 ? at->s.order : 0, at->rows + first * row,
                 at->bends + first * pairs, at->free);
        first += outputs;
    }
}

/* Fill the jets of the outputs from `first` on to `steep`, and the values of the others. */
static void fill_out(state *at, int first)
{
    const int row = at->s.row, n = at->s.size, pairs = pairs_of(at->s.n);
    int k;
    for (k = at->steep; k < LOADS && !at->few; k++)
        at->out[k * n] = at->rows[k * row];
    if (at->s.order)
        chain(&at->s, at->steep - first, at->rows + first * row, row, at->bends + first * pairs,
              at->s.n, at->inputs, at->out + first * n);
    else
        for (k = first; k < at->steep; k++)
            at->out[k * n] = at->rows[k * row];
}

static double power(double base, double degree)
{
    return degree == 2.0 ? base * base : degree == 1.0 ? base : pow(base, degree);
}

/* Root of the axial load over the largest at r, up to that of MOST_LOAD. */
static curve root_at(const compartment *c, double r)
{
    curve root = positive_part(r, c->smoothing);
    if (root.value > 1.0) {
        const double most = pow(MOST_LOAD, 1.0 / c->degree);
        const curve held = clip(root.value / most, 1.0, c->smoothing);
        root.value = root.value > most ? most * held.value : root.value;
        root.slope = held.slope;
        root.bend = held.bend / most;
    }
    return root;
}

/* factor root^degree, by s = 2 r - 1 */
static curve power_of_root(double factor, double degree, curve root)
{
    const double slope = factor * degree * power(root.value, degree - 1.0);
    curve f = {factor * power(root.value, degree), 0.5 * slope * root.slope, 0.0};
    if (root.value > 0.0)
        f.bend = 0.25 * ((degree - 1.0) * slope / root.value * root.slope * root.slope
                         + slope * root.bend);
    else if (degree < 1.0)
        f.slope = 0.0;
    return f;
}

/* Fill the centre of pressure from the last three outputs. */
static void fill_centre(state *at)
{
    const int n = at->s.size;
    int k;
    for (k = 0; k < 3; k++)
        if (at->steep == LOADS) {
            scale(&at->s, 1.0, at->out + (9 + k) * n, at->loads + (9 + k) * n);
            add(&at->s, at->c->lever, at->point + k * n, at->loads + (9 + k) * n);
        } else {
            at->loads[(9 + k) * n] = at->out[(9 + k) * n] + at->c->lever * at->point[k * n];
        }
}

/* Fill the loads from s and the outputs: ratios over the axial load, and quantities. */
static void fill_contact(state *at, const double *s)
{
    const compartment *c = at->c;
    const space *own = &at->s;
    const int n = own->size;
    const curve root = root_at(c, 0.5 * (s[0] + 1.0));
    const curve of_root[2] = {power_of_root(1.0, 1.0, root), power_of_root(1.0, c->degree - 1.0, root)};
    double *free = at->free, *axial = at->loads + n, *product = jets(at, 1), *factor = jets(at, 1);
    int i;
    apply(own, power_of_root(c->largest, c->degree, root), s, axial);
    multiply(own, axial, at->out + n, at->loads);
    multiply(own, axial, at->out + 2 * n, at->loads + 2 * n);
    for (i = 0; i < 3; i++) { /* M = M about the point + point x F */
        const int a = (i + 1) % 3, b = (i + 2) % 3;
        double *moment = at->loads + (3 + i) * n;
        multiply(own, axial, at->out + (3 + i) * n, moment);
        if (c->lever == 0.0)
            continue;
        add_product(own, c->lever, at->point + a * n, at->loads + b * n, moment, product);
        add_product(own, -c->lever, at->point + b * n, at->loads + a * n, moment, product);
    }
    for (i = 6; i < 9 && !at->few; i++) {
        const curve f = of_root[i > 6];
        if (at->steep == LOADS) {
            apply(own, f, s, factor);
            multiply(own, at->out + i * n, factor, at->loads + i * n);
        } else {
            at->loads[i * n] = at->out[i * n] * f.value;
        }
    }
    if (!at->few)
        fill_centre(at);
    at->free = free;
}

/* ---- the height over the root of the load, inverted */

/* Fill the mean fall of the height by s, on the path: with it a smoothed height goes on beyond the
   samples. It depends on the parameters alone. */
static void fill_fall(state *at, double *fall)
{
    const compartment *c = at->c;
    const int n = at->s.n, row = at->s.row, pairs = pairs_of(n);
    double *free = at->free, *rows = take(&free, 2 * row), *bends = take(&free, 2 * pairs);
    double x[MOST_INPUTS];
    int k, j;
    constant(&at->s, c->fall, fall);
    if (!c->parameters)
        return;
    input_values(at, x);
    clear(5, x);
    for (k = 0; k < 2; k++) {
        x[n - 1] = k ? 1.0 : -1.0;
        evaluate(c->parts[0], x, 1, 1, at->s.order, rows + k * row, bends + k * pairs, free);
    }
    fall[0] = 0.5 * (rows[0] - rows[row]);
    if (!(fall[0] > LEAST_FALL)) {
        fall[0] = LEAST_FALL;
        return;
    }
    for (k = 0; k < c->parameters && at->s.order; k++) {
        fall[7 + k] = 0.5 * (rows[6 + k] - rows[row + 6 + k]);
        for (j = 0; j <= k && at->s.order > 1; j++)
            fall[row + pair(6 + k, 6 + j)] = 0.5 * (bends[pair(5 + k, 5 + j)]
                                                    - bends[pairs + pair(5 + k, 5 + j)]);
    }
}

/* Return s beyond 1 where the height with smoothing, h(clip of s) - fall (s - clip of s), is the
   pose's: Newton's method in a bracket. */
static double root_beyond(double width, double height, double fall, const line *l)
{
    double low = 1.0, high = 1.0 + 2.0 * width, slope, s = 1.0 + width;
    int step;
    s += (on_line(l, s, &slope) - height) / fall;
    if (s >= high)
        return s;
    s = 0.5 * (low + high);
    for (step = 0; step < ROOT_STEPS; step++) {
        const curve last = last_input(s, width);
        const double value = on_line(l, last.value, &slope);
        const double miss = value - fall * (s - last.value) - height;
        double nearer, moved;
        if (miss > 0.0)
            low = s;
        else
            high = s;
        nearer = s - miss / (last.slope * slope - (1.0 - last.slope) * fall);
        if (!(low <= nearer && nearer <= high))
            nearer = 0.5 * (low + high);
        moved = fabs(nearer - s);
        s = nearer;
        if (moved <= ROOT_LAST_STEP)
            break;
    }
    return s;
}

/* Find s; returns 0 out of contact, and then fills the gap. */
static int find_root(state *at, double *s, double *fall)
{
    const double width = at->c->smoothing, height = at->height[0];
    double x[MOST_INPUTS], slope;
    line l;
    input_values(at, x);
    l = line_through(at->c->parts[0], x, at->free);
    if (!solve_line(&l, height, -1.0 - 2.0 * width, 1.0, s)) {
        at->gap = height - on_line(&l, -1.0, &slope);
        return 0;
    }
    constant(&at->s, at->c->fall, fall);
    if (width > 0.0 && *s > 1.0) {
        if (at->c->parameters) { /* the line's memory is free again, the height beyond 1 comes later */
            fill_fall(at, fall);
            l = line_through(at->c->parts[0], x, at->free);
        }
        *s = root_beyond(width, height, fall[0], &l);
    }
    return 1;
}

/* Return the slope of the height by s, made to fall: at a point of rest that of the chord from first
   contact. */
static double fall_at(const state *at, double s, curve last, double fall)
{
    const double learnt = at->rows[at->s.n];
    const double steep = at->c->smoothing > 0.0 ? last.slope * learnt - (1.0 - last.slope) * fall
                                                : learnt;
    double x[MOST_INPUTS], slope, chord;
    line l;
    if (steep < 0.0)
        return steep;
    input_values(at, x);
    l = line_through(at->c->parts[0], x, at->free);
    chord = (at->height[0] - on_line(&l, -1.0, &slope)) / (s + 1.0);
    return chord < LEAST_SLOPE ? chord : LEAST_SLOPE;
}

/* Fill the derivatives of s, at which h(inputs, last(s)) - fall (s - last(s)) is the height. The
   derivatives of a tangent beyond the samples, without smoothing, are left out. */
static void fill_root(state *at, curve last, const double *fall, double *s)
{
    const space *own = &at->s;
    const int n = own->size;
    double *free = at->free, *miss = jets(at, 1), *beyond = jets(at, 1), *product = jets(at, 1);
    double *last_jet = at->inputs + (own->n - 1) * n;
    const double steep = fall_at(at, s[0], last, fall[0]), value = s[0];
    int round, i;
    for (round = 0; round < own->order; round++) { /* first derivatives, then second ones */
        apply(own, last, s, last_jet);
        chain(own, 1, at->rows, own->row, at->bends, own->n, at->inputs, miss);
        if (at->c->smoothing > 0.0 && value > 1.0) {
            scale(own, 1.0, s, beyond);
            add(own, -1.0, last_jet, beyond);
            add_product(own, -1.0, fall, beyond, miss, product);
        }
        add(own, -1.0, at->height, miss);
        if (round == 0)
            for (i = 0; i < own->row; i++)
                s[i] = -miss[i] / steep;
        else
            for (i = own->row; i < own->size; i++)
                s[i] = -miss[i] / steep;
        s[0] = value;
    }
    apply(own, last, s, last_jet);
    at->free = free;
}

/* The learnt height over u and s = 2 root - 1. Returns whether there is contact. */
static int inverted(state *at)
{
    double *s = jets(at, 1), *fall = jets(at, 1);
    double *last_jet = at->inputs + (at->s.n - 1) * at->s.size, found;
    const int touches = find_root(at, &found, fall);
    const curve last = last_input(found, at->c->smoothing);
    if (!touches && (at->few || at->c->smoothing == 0.0))
        return 0;
    constant(&at->s, found, s);
    constant(&at->s, last.value, last_jet);
    fill_rows_of_parts(at);
    if (touches && at->s.order)
        fill_root(at, last, fall, s);
    fill_out(at, touches);
    if (touches)
        fill_contact(at, s);
    else
        fill_centre(at);
    return touches;
}

/* ---- the loads over the height */

/* Each load learnt over u and the height, held beyond the samples; returns how deep that is. */
static double direct(state *at)
{
    const compartment *c = at->c;
    const int n = at->s.size;
    double *last = at->inputs + (at->s.n - 1) * n, scaled;
    int k;
    scale(&at->s, 1.0, at->height, last);
    last[0] -= c->depth_middle;
    scale(&at->s, 1.0 / c->depth_half, last, last);
    scaled = last[0];
    apply(&at->s, clip(scaled, REACH, c->smoothing), last, last);
    fill_rows_of_parts(at);
    fill_out(at, 0);
    for (k = 0; k < (at->few ? WRENCH : 9); k++)
        if (k < at->steep)
            scale(&at->s, 1.0, at->out + k * n, at->loads + k * n);
        else
            at->loads[k * n] = at->out[k * n];
    if (!at->few)
        fill_centre(at);
    return -scaled;
}

/* ---- the trained domain */

/* Return how far an answer extrapolates: at most 1 where the samples taught it. */
static double extrapolation(const state *at, const double *x)
{
    const compartment *c = at->c;
    const int n = at->s.size;
    const double *loads = at->loads, axial = loads[n];
    double found = 0.0, learnt, inputs[MOST_INPUTS], rows[3 * 16];
    int k;
    if (axial > 0.0) {
        found = fmax(fabs(loads[0]) / (c->limits[0] * axial),
                     fabs(loads[2 * n]) / (c->limits[1] * axial));
        found = fmax(found, loads[7 * n] / c->limits[2]);
    }
    if (!c->domain)
        return found;
    for (k = 0; k < at->s.n; k++)
        inputs[k] = at->inputs[k * n];
    for (k = 0; k < 6; k++)
        inputs[k < 5 ? k : at->s.n - 1] = clip(x[k], 1.0, 0.0).value;
    evaluate(c->domain, inputs, 3, 0, 0, rows, 0, at->free);
    learnt = fmax(1.0 + rows[2 * at->s.row], fmax(fabs(rows[0]), fabs(rows[at->s.row])));
    return fmax(found, learnt * (1.0 - fmin(at->gap / c->limits[3], 1.0)));
}

/* ---- all together */

enum { JETS = 130 }; /* at most, that are in memory at a time, beside the coordinates and inputs */

static int most_inputs(const compartment *c)
{
    return 6 + c->parameters;
}

static ptrdiff_t more(ptrdiff_t most, const regressor *r, int order)
{
    const ptrdiff_t own = r ? regressor_scratch(r, order) : 0;
    return own > most ? own : most;
}

ptrdiff_t compartment_scratch(const compartment *c, int order)
{
    const space s = space_of(most_inputs(c), order);
    ptrdiff_t most = more(more(0, c->domain, 0), c->centre_of_design, order);
    int i;
    for (i = 0; i < c->count; i++)
        most = more(most, c->parts[i], order);
    for (i = 0; i < c->box.count && c->box.of_design; i++)
        most = more(most, c->box.of_design + i, order);
    for (i = 0; i < c->condyle.count && c->condyle.of_design; i++)
        most = more(most, c->condyle.of_design + i, order);
    return most + (JETS + 2 * s.n) * (ptrdiff_t)s.size + 14 * (s.row + pairs_of(s.n) + 8);
}

static void fill_compartment(const compartment *c, const double *input, int order, int few,
                             double *loads, double *slopes, double *bends, double *x,
                             double *scratch)
{
    state at;
    int k, j, i, n, touches;
    double deep = -1.0;
    at.c = c;
    at.s = space_of(most_inputs(c), order);
    at.few = few && order == 0;
    at.steep = c->parameters ? LOADS : WRENCH;
    at.gap = 0.0;
    at.free = scratch;
    n = at.s.size;
    at.coordinates = jets(&at, at.s.n);
    at.inputs = jets(&at, at.s.n);
    at.point = jets(&at, 3);
    at.height = jets(&at, 1);
    at.out = jets(&at, LOADS);
    at.loads = jets(&at, LOADS);
    at.rows = take(&at.free, LOADS * at.s.row);
    at.bends = take(&at.free, order > 1 ? LOADS * pairs_of(at.s.n) : 0);
    clear(LOADS * n, at.loads);
    for (k = 0; k < at.s.n; k++) {
        constant(&at.s, input[k], at.coordinates + k * n);
        at.coordinates[k * n + 1 + k] = 1.0;
    }
    for (k = 0; k < 3; k++)
        at.loads[(9 + k) * n] = NAN;
    hold(&at, x);
    fill_inputs(&at);
    if (c->direct) {
        touches = 1;
        deep = direct(&at);
    } else {
        touches = inverted(&at);
    }
    if (touches && fabs(x[5]) <= 1.0) {
        x[5] = sqrt(at.loads[n] > 0.0 ? at.loads[n] : 0.0) / c->box_half[5] - 1.0;
        if (deep > REACH)
            x[5] = fmax(x[5], deep);
    }
    x[6] = at.few ? 0.0 : extrapolation(&at, x);
    for (k = 0; k < LOADS; k++)
        loads[k] = at.loads[k * n];
    for (k = 0; k < at.steep && order; k++)
        for (j = 0; j < at.s.n; j++) {
            *slopes++ = at.loads[k * n + 1 + j];
            for (i = 0; i < at.s.n && order > 1; i++)
                *bends++ = at.loads[k * n + at.s.row + (i > j ? pair(i, j) : pair(j, i))];
        }
}

ptrdiff_t fill_knee(const compartment *const *parts, int count, ptrdiff_t rows, const double *inputs, int order,
                int few, double *loads, double *slopes, double *bends, double *variables,
                double *scratch)
{
    ptrdiff_t outside = 0;
    for (; rows > 0; rows--) {
        int inside = 1, i, k;
        for (i = 0; i < count; i++) {
            const int n = most_inputs(parts[i]), steep = parts[i]->parameters ? LOADS : WRENCH;
            fill_compartment(parts[i], inputs, order, few, loads, slopes, bends, variables, scratch);
            for (k = 0; k < VARIABLES; k++) /* written so that NaN counts as outside */
                inside = inside && fabs(variables[k]) <= 1.0 + TOLERANCE;
            loads += LOADS;
            variables += VARIABLES;
            slopes += order ? steep * n : 0;
            bends += order > 1 ? steep * n * n : 0;
        }
        outside += !inside;
        inputs += most_inputs(parts[0]);
    }
    return outside;
}

int fill_one(const compartment *const *parts, int count, const double *pose, double *found,
             double *scratch)
{
    double *total = found + LOADS * count, *variables = total + 6 * WRENCH;
    double *slopes = variables + VARIABLES * count;
    const ptrdiff_t outside = fill_knee(parts, count, 1, pose, 1, 0, found, slopes, 0, variables, scratch);
    int i, k;
    clear(6 * WRENCH, total);
    for (i = 0; i < count; i++)
        for (k = 0; k < 6 * WRENCH; k++)
            total[k] += *slopes++;
    return outside > 0;
}

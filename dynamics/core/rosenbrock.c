/* Adaptive Rosenbrock methods for y' = f(t, y) (Hairer & Wanner 1996, section IV.7). */

#define SAFETY 0.9
#define SHRINK 0.2
#define GROW 5.0
#define FIRST_STEP 0.02    /* over the largest */
#define SMALLEST_STEP 1e-10
#define BEYOND 2.0         /* limit of the stages over the limit of the result */

/* A step: f, J and df/dt at its beginning, factors of 1 / (g h) - J, and the stages. */
typedef struct {
    const tableau *t;
    int n;
    double begun[MOST_STATES], by_state[MOST_STATES * MOST_STATES], by_time[MOST_STATES];
    double factors[MOST_STATES * MOST_STATES];
    int order[MOST_STATES];
    double increments[MOST_STAGES * MOST_STATES]; /* stages x n */
    double trial[MOST_STATES], after[MOST_STATES];
} stepping;

static int begin_step(stepping *w, double step)
{
    const int n = w->n;
    int i;
    for (i = 0; i < n * n; i++)
        w->factors[i] = -w->by_state[i];
    for (i = 0; i < n; i++)
        w->factors[(n + 1) * i] += 1.0 / (step * w->t->shift);
    return factorise(n, w->factors, w->order);
}

/* Fill the state at which a stage evaluates f. */
static void fill_trial(stepping *w, int stage, const double *state)
{
    const double *sums = w->t->sums + stage * w->t->stages;
    int i, j;
    for (i = 0; i < w->n; i++) {
        double value = state[i];
        for (j = 0; j < stage; j++)
            value += sums[j] * w->increments[j * w->n + i];
        w->trial[i] = value;
    }
}

static void fill_increment(stepping *w, int stage, double step, const double *f)
{
    const double *couplings = w->t->couplings + stage * w->t->stages;
    double right[MOST_STATES];
    int i, j;
    for (i = 0; i < w->n; i++) {
        double coupled = 0.0;
        for (j = 0; j < stage; j++)
            coupled += couplings[j] * w->increments[j * w->n + i];
        right[i] = f[i] + coupled / step + step * w->t->slopes[stage] * w->by_time[i];
    }
    solve(w->n, w->factors, w->order, right, w->increments + stage * w->n);
}

/* The error over the tolerance, RMS over the state; infinite if it is not finite. */
static double scaled_error(const stepping *w, const double *state, const step_limits *limits)
{
    const double *error = w->increments + (w->t->stages - 1) * w->n;
    double total = 0.0;
    int i;
    for (i = 0; i < w->n; i++) {
        const double allowed = limits->atol[i] + limits->rtol * fmax(fabs(state[i]), fabs(w->after[i]));
        total += (error[i] / allowed) * (error[i] / allowed);
    }
    total = sqrt(total / w->n);
    return total < INFINITY ? total : INFINITY;
}

/* Fill the state at a part of the step, 0 to 1. */
static void fill_between(const stepping *w, double part, const double *state, double *out)
{
    const int stages = w->t->stages;
    int i, j, row;
    for (i = 0; i < w->n; i++) {
        double value = 0.0;
        for (row = w->t->rows - 1; row >= 0; row--) {
            value *= part;
            for (j = 0; j < stages; j++)
                value += w->t->dense[row * stages + j] * w->increments[j * w->n + i];
        }
        out[i] = (1.0 - part) * state[i] + part * (w->after[i] + (1.0 - part) * value);
    }
}

/* The factor of the next step by a PI controller (Gustafsson 1991, TOMS 17:533). */
static double next_factor(double error, double before, double order)
{
    const double share = 1.0 / (order + 1.0);
    const double factor = SAFETY * pow(fmax(error, 1e-6), -0.7 * share) * pow(before, 0.4 * share);
    return fmin(fmax(factor, SHRINK), GROW);
}

/* The largest displacement over its limit; infinite if one is not finite. */
static double furthest(const double *state, const step_limits *limits)
{
    double most = 0.0;
    int i;
    for (i = 0; i < limits->sizes; i++) {
        if (!(fabs(state[i]) < INFINITY))
            return INFINITY;
        most = fmax(most, fabs(state[i]) / limits->size[i]);
    }
    return most;
}

/* Try a step; return its error over the tolerance, infinite if a stage goes astray, or -1 to stop. */
static double try_step(stepping *w, derivative of_state, const void *of, double time, double step,
                       const double *state, const step_limits *limits, int *counts)
{
    const double *last = w->increments + (w->t->stages - 1) * w->n;
    double f[MOST_STATES];
    int stage, i;
    if (!begin_step(w, step))
        return INFINITY;
    fill_increment(w, 0, step, w->begun);
    for (stage = 1; stage < w->t->stages; stage++) {
        fill_trial(w, stage, state);
        if (!(furthest(w->trial, limits) <= BEYOND))
            return INFINITY;
        if (!of_state(of, time + w->t->nodes[stage] * step, w->trial, 0, f, 0, 0))
            return -1.0;
        counts[EVALUATIONS]++;
        fill_increment(w, stage, step, f);
    }
    for (i = 0; i < w->n; i++)
        w->after[i] = w->trial[i] + last[i];
    return scaled_error(w, state, limits);
}

int integrate(derivative of_state, const void *of, const tableau *t, const step_limits *limits, int n,
              double *state, ptrdiff_t count, const double *times, int *counts, double *where,
              double *states)
{
    const double end = times[count - 1];
    double time = 0.0, before = 1.0, step = FIRST_STEP * limits->max_step;
    ptrdiff_t reported = 0;
    int rejected = 0, i;
    stepping w;
    w.t = t;
    w.n = n;
    for (i = 0; i < 4; i++)
        counts[i] = 0;
    if (times[0] <= 0.0)
        memcpy(states + n * reported++, state, n * sizeof(double));
    for (;;) {
        double error = INFINITY, after, factor;
        where[0] = time;
        where[1] = step;
        if (furthest(state, limits) > 1.0)
            return DISLOCATED;
        if (!of_state(of, time, state, 1, w.begun, w.by_state, w.by_time))
            return STOPPED;
        counts[EVALUATIONS]++;
        counts[JACOBIANS]++;
        if (time >= end)
            return DONE;
        while (!(error <= 1.0)) {
            step = fmin(step, limits->max_step);
            if (time + 1.0001 * step >= end) /* a negligible remainder is added to the last step */
                step = end - time;
            where[1] = step;
            if (step < fmin(SMALLEST_STEP * limits->max_step, end - time))
                return STEP_TOO_SMALL;
            if (counts[STEPS] + counts[REJECTED] >= limits->max_steps)
                return TOO_MANY_STEPS;
            error = try_step(&w, of_state, of, time, step, state, limits, counts);
            if (error < 0.0)
                return STOPPED;
            if (!(error <= 1.0)) {
                counts[REJECTED]++;
                rejected = 1;
                step *= error < INFINITY ? next_factor(error, 1.0, t->order) : 0.1;
            }
        }
        after = step == end - time ? end : time + step;
        for (; reported < count && times[reported] <= after; reported++)
            fill_between(&w, (times[reported] - time) / (after - time), state, states + n * reported);
        time = after;
        memcpy(state, w.after, n * sizeof(double));
        counts[STEPS]++;
        factor = next_factor(error, before, t->order);
        step *= rejected ? fmin(factor, 1.0) : factor;
        before = fmax(error, 1e-4);
        rejected = 0;
    }
}

/* An adaptive Rosenbrock method for y' = f(t, y), transformed to avoid products with J (Hairer & Wanner
   1996, section IV.7; docs/theory.md): Rodas5P, of order 5 with an embedded order 4, stiffly accurate, of
   full order on linear parabolic problems (Steinebach 2023, BIT 63:27; coefficients as in
   OrdinaryDiffEq.jl). The last stages are the embedded results: each starts at the end of the previous
   stage. */

enum { STAGES = 8, DENSE_ROWS = 3 };
#define SHIFT 0.21193756319429014 /* gamma */
#define EMBEDDED_ORDER 4.0
#define LAST_SUMS -7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, \
                  0.030198172008377946
static const double STAGE_SUMS[STAGES][STAGES] = { /* a */
    {0.0},
    {3.0},
    {2.849394379747939, 0.45842242204463923},
    {-6.954028509809101, 2.489845061869568, -10.358996098473584},
    {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641},
    {LAST_SUMS},
    {LAST_SUMS, 1.0},
    {LAST_SUMS, 1.0, 1.0},
};
static const double COUPLINGS[STAGES][STAGES] = { /* C */
    {0.0},
    {-14.155112264123755},
    {-17.97296035885952, -2.859693295451294},
    {147.12150275711716, -1.41221402718213, 71.68940251302358},
    {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306},
    {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471},
    {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
     -28.087943162872662},
    {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
     -54.66780262877968, -9.48861652309627},
};
static const double NODES[STAGES] = {0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716,
                                     0.4288403609558664, 1.0, 1.0, 1.0}; /* c */
static const double SLOPES[STAGES] = {0.21193756319429014, -0.42387512638858027, -0.3384627126235924,
                                      1.8046452872882734, 2.325825639765069}; /* d */
/* H: between the ends of a step runs y0 (1 - r) + r (y1 + (1 - r) (H_1 k + r (H_2 k + r H_3 k))). */
static const double DENSE[DENSE_ROWS][STAGES] = {
    {25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
     1.1241088310450404, 0.4272876194431874, -0.17202221070155493},
    {-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
     15.98066361424651, -6.789040303419874, -6.710236069923372},
    {11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
     -59.78993625266729, -0.15582684282751913, 4.883087185713722},
};

#define SAFETY 0.9
#define SHRINK 0.2
#define GROW 5.0
#define FIRST_STEP 0.02    /* over the largest */
#define SMALLEST_STEP 1e-10
#define BEYOND 2.0         /* limit of the stages over the limit of the result */

/* A step: f, J and df/dt at its beginning, factors of 1 / (g h) - J, and the stages. */
typedef struct {
    int n;
    double begun[MOST_STATES], by_state[MOST_STATES * MOST_STATES], by_time[MOST_STATES];
    double factors[MOST_STATES * MOST_STATES];
    int order[MOST_STATES];
    double increments[STAGES * MOST_STATES]; /* stages x n */
    double trial[MOST_STATES], after[MOST_STATES];
} stepping;

static int begin_step(stepping *w, double step)
{
    const int n = w->n;
    int i;
    for (i = 0; i < n * n; i++)
        w->factors[i] = -w->by_state[i];
    for (i = 0; i < n; i++)
        w->factors[(n + 1) * i] += 1.0 / (step * SHIFT);
    return factorise(n, w->factors, w->order);
}

/* Fill the state at which a stage evaluates f. */
static void fill_trial(stepping *w, int stage, const double *state)
{
    int i, j;
    for (i = 0; i < w->n; i++) {
        double value = state[i];
        for (j = 0; j < stage; j++)
            value += STAGE_SUMS[stage][j] * w->increments[j * w->n + i];
        w->trial[i] = value;
    }
}

static void fill_increment(stepping *w, int stage, double step, const double *f)
{
    double right[MOST_STATES];
    int i, j;
    for (i = 0; i < w->n; i++) {
        double coupled = 0.0;
        for (j = 0; j < stage; j++)
            coupled += COUPLINGS[stage][j] * w->increments[j * w->n + i];
        right[i] = f[i] + coupled / step + step * SLOPES[stage] * w->by_time[i];
    }
    solve(w->n, w->factors, w->order, right, w->increments + stage * w->n);
}

/* The error over the tolerance, RMS over the state; infinite if it is not finite. */
static double scaled_error(const stepping *w, const double *state, const step_limits *limits)
{
    const double *error = w->increments + (STAGES - 1) * w->n;
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
    int i, j, row;
    for (i = 0; i < w->n; i++) {
        double value = 0.0;
        for (row = DENSE_ROWS - 1; row >= 0; row--) {
            value *= part;
            for (j = 0; j < STAGES; j++)
                value += DENSE[row][j] * w->increments[j * w->n + i];
        }
        out[i] = (1.0 - part) * state[i] + part * (w->after[i] + (1.0 - part) * value);
    }
}

/* The factor of the next step by a PI controller (Gustafsson 1991, TOMS 17:533). */
static double next_factor(double error, double before)
{
    const double share = 1.0 / (EMBEDDED_ORDER + 1.0);
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
    const double *last = w->increments + (STAGES - 1) * w->n;
    double f[MOST_STATES];
    int stage, i;
    if (!begin_step(w, step))
        return INFINITY;
    fill_increment(w, 0, step, w->begun);
    for (stage = 1; stage < STAGES; stage++) {
        fill_trial(w, stage, state);
        if (!(furthest(w->trial, limits) <= BEYOND))
            return INFINITY;
        if (!of_state(of, time + NODES[stage] * step, w->trial, 0, f, 0, 0))
            return -1.0;
        counts[EVALUATIONS]++;
        fill_increment(w, stage, step, f);
    }
    for (i = 0; i < w->n; i++)
        w->after[i] = w->trial[i] + last[i];
    return scaled_error(w, state, limits);
}

int integrate(derivative of_state, const void *of, const step_limits *limits, int n, double *state,
              ptrdiff_t count, const double *times, int *counts, double *where, double *states)
{
    const double end = times[count - 1];
    double time = 0.0, before = 1.0, step = FIRST_STEP * limits->max_step;
    ptrdiff_t reported = 0;
    int rejected = 0, i;
    stepping w;
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
                step *= error < INFINITY ? next_factor(error, 1.0) : 0.1;
            }
        }
        after = step == end - time ? end : time + step;
        for (; reported < count && times[reported] <= after; reported++)
            fill_between(&w, (times[reported] - time) / (after - time), state, states + n * reported);
        time = after;
        memcpy(state, w.after, n * sizeof(double));
        counts[STEPS]++;
        factor = next_factor(error, before);
        step *= rejected ? fmin(factor, 1.0) : factor;
        before = fmax(error, 1e-4);
        rejected = 0;
    }
}

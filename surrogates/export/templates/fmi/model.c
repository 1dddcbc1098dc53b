/* Where the outputs begin, counted from the first of them; there are SURROGATE_PARTS compartments. */
enum {
    SURROGATE_COMPARTMENTS = 6,
    SURROGATE_GENERALISED = SURROGATE_COMPARTMENTS + 12 * SURROGATE_PARTS,
    SURROGATE_COUNT = SURROGATE_GENERALISED + 6
};
/* Value references: time; the pose; outputs; flags. */
enum {
    SURROGATE_POSE = 1,
    SURROGATE_OUTPUTS = 7, /* total wrench; loads of the compartments; generalised forces */
    SURROGATE_FLAGS = SURROGATE_OUTPUTS + SURROGATE_COUNT, /* outside the domain; contacts */
    SURROGATE_END = SURROGATE_FLAGS + 1 + SURROGATE_PARTS
};
/* What an access can come to. */
enum {
    SURROGATE_DONE,
    SURROGATE_NO_VARIABLE,
    SURROGATE_NOT_FINITE,
    SURROGATE_NO_INPUT,
    SURROGATE_NO_DERIVATIVE,
    SURROGATE_NO_STATE,
    SURROGATE_NO_MEMORY,
    SURROGATE_NO_STEP,
    SURROGATE_OTHER_TOKEN,
    SURROGATE_NOT_OFFERED
};

static const char *const surrogate_messages[] = {
    "",
    "expected the value reference of a variable of this type, found another",
    "expected a finite number for an input, found NaN or infinity",
    "expected the value reference of an input, found another",
    "expected outputs as unknowns and inputs or time as knowns, found another variable",
    "expected a state that this model has given, found none or one of another size",
    "out of memory",
    "expected a communication step that is finite and not negative, found another",
    "expected the token of modelDescription.xml, found another; the library is of another FMU",
    "called a function that this model does not offer",
};

/* All that an instance remembers; numbers of one type, so that there are no gaps between them. */
typedef struct {
    double time, pose[6];
    double flags[1 + SURROGATE_PARTS]; /* as they were when continuous-time mode was entered */
    double continuous;                 /* whether that is the mode, in which flags do not change */
} surrogate_memory;

typedef struct {
    surrogate_memory now;
    int evaluated; /* whether what follows belongs to the pose */
    double outputs[SURROGATE_COUNT], jacobian[SURROGATE_PARTS][6][6];
    int flags[1 + SURROGATE_PARTS];
    surrogate_log log;
} surrogate_instance;

static void surrogate_restart(surrogate_instance *m)
{
    memset(&m->now, 0, sizeof m->now);
    memcpy(m->now.pose, surrogate_start, sizeof surrogate_start);
    m->evaluated = 0;
}

/* Fill the axes about which flexion, adduction and rotation turn the femur, in the tibial frame. */
static void surrogate_axes(const double *pose, double axes[3][3])
{
    const double ca = cos(pose[1]), sa = sin(pose[1]), cr = cos(pose[2]), sr = sin(pose[2]);
    const double filled[3][3] = {{-sr * ca, sa, cr * ca}, {-cr, 0.0, -sr}, {0.0, -1.0, 0.0}};
    memcpy(axes, filled, sizeof filled);
}

static void surrogate_cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static double surrogate_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Fill the generalised forces of a wrench, by virtual work: axis . (M - p x F), and F. */
static void surrogate_generalised(const double *pose, const double *wrench, double *forces)
{
    double axes[3][3], moment[3];
    int k;
    surrogate_axes(pose, axes);
    surrogate_cross(wrench, pose + 3, moment);
    for (k = 0; k < 3; k++)
        moment[k] += wrench[3 + k];
    for (k = 0; k < 3; k++) {
        forces[k] = surrogate_dot(axes[k], moment);
        forces[3 + k] = wrench[k];
    }
}

/* Fill their derivatives along a direction of the pose, along which the wrench has `slope`: the
   point of attack moves, the flexion axis turns with adduction and rotation, the adduction axis
   with rotation. */
static void surrogate_generalised_slope(const double *pose, const double *wrench,
                                        const double *slope, const double *along, double *forces)
{
    const double ca = cos(pose[1]), sa = sin(pose[1]), cr = cos(pose[2]), sr = sin(pose[2]);
    const double tilted[3] = {sr * sa, ca, -cr * sa};     /* of the flexion axis, by adduction */
    const double turned[3] = {-cr * ca, 0.0, -sr * ca};   /* of the flexion axis, by rotation */
    const double swung[3] = {sr, 0.0, -cr};               /* of the adduction axis, by rotation */
    double axes[3][3], moment[3], moved[3];
    int k;
    surrogate_axes(pose, axes);
    surrogate_generalised(pose, slope, forces);
    surrogate_cross(wrench, pose + 3, moment);
    surrogate_cross(wrench, along + 3, moved);
    for (k = 0; k < 3; k++)
        moment[k] += wrench[3 + k];
    for (k = 0; k < 3; k++)
        forces[k] += surrogate_dot(axes[k], moved);
    forces[0] += along[1] * surrogate_dot(tilted, moment) + along[2] * surrogate_dot(turned, moment);
    forces[1] += along[2] * surrogate_dot(swung, moment);
}

/* Return whether a compartment is in contact: out of contact the centre of pressure is NaN or, with
   smoothing, all else is zero. */
static int surrogate_touches(const double *loads)
{
    int k, touching = 0;
    for (k = 0; k < 9; k++)
        touching = touching || loads[k] != 0.0;
    return touching && !isnan(loads[9]);
}

/* Bring outputs, jacobian and flags up to the pose. */
static void surrogate_bring_up(surrogate_instance *m)
{
    double loads[SURROGATE_PARTS][12], variables[SURROGATE_PARTS][6];
    int c, k;
    if (m->evaluated)
        return;
    m->flags[0] = surrogate_loads(m->now.pose, loads, m->jacobian, variables);
    for (c = 0; c < SURROGATE_PARTS; c++) {
        m->flags[1 + c] = surrogate_touches(loads[c]);
        for (k = 0; k < 12; k++)
            m->outputs[SURROGATE_COMPARTMENTS + 12 * c + k] = isnan(loads[c][k]) ? 0.0 : loads[c][k];
    }
    for (k = 0; k < 6; k++)
        for (m->outputs[k] = loads[0][k], c = 1; c < SURROGATE_PARTS; c++)
            m->outputs[k] += loads[c][k];
    surrogate_generalised(m->now.pose, m->outputs, m->outputs + SURROGATE_GENERALISED);
    m->evaluated = 1;
}

static int surrogate_get(surrogate_instance *m, const unsigned int *which, size_t count,
                         double *values)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (which[i] >= SURROGATE_FLAGS)
            return SURROGATE_NO_VARIABLE;
        if (which[i] >= SURROGATE_OUTPUTS) {
            surrogate_bring_up(m);
            values[i] = m->outputs[which[i] - SURROGATE_OUTPUTS];
        } else {
            values[i] = which[i] ? m->now.pose[which[i] - SURROGATE_POSE] : m->now.time;
        }
    }
    return SURROGATE_DONE;
}

/* Set inputs: all of them, or none where one is refused. */
static int surrogate_set(surrogate_instance *m, const unsigned int *which, size_t count,
                         const double *values)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (which[i] < SURROGATE_POSE || which[i] >= SURROGATE_OUTPUTS)
            return SURROGATE_NO_INPUT;
        if (!isfinite(values[i]))
            return SURROGATE_NOT_FINITE;
    }
    for (i = 0; i < count; i++)
        m->now.pose[which[i] - SURROGATE_POSE] = values[i];
    if (count)
        m->evaluated = 0;
    return SURROGATE_DONE;
}

/* Return a flag, 0 or 1, or -1 where there is none. In continuous-time mode it is held. */
static int surrogate_flag(surrogate_instance *m, unsigned int which)
{
    if (which < SURROGATE_FLAGS || which >= SURROGATE_END)
        return -1;
    if (m->now.continuous)
        return m->now.flags[which - SURROGATE_FLAGS] != 0.0;
    surrogate_bring_up(m);
    return m->flags[which - SURROGATE_FLAGS];
}

/* Enter continuous-time mode, or leave it for event mode. */
static void surrogate_enter(surrogate_instance *m, int continuous)
{
    int k;
    surrogate_bring_up(m);
    for (k = 0; k <= SURROGATE_PARTS; k++)
        m->now.flags[k] = m->flags[k];
    m->now.continuous = continuous;
}

/* Return whether a flag has another value than the one held: an event is due. */
static int surrogate_flags_changed(surrogate_instance *m)
{
    int k, changed = 0;
    surrogate_bring_up(m);
    for (k = 0; k <= SURROGATE_PARTS; k++)
        changed = changed || m->flags[k] != (m->now.flags[k] != 0.0);
    return changed;
}

/* Go on by a step, which changes the time alone. */
static int surrogate_step(surrogate_instance *m, double time, double step)
{
    if (!(step >= 0.0) || !isfinite(time + step))
        return SURROGATE_NO_STEP;
    m->now.time = time + step;
    return SURROGATE_DONE;
}

/* Fill the slopes of areas, pressures and centres of pressure along a direction of the pose, by
   central differences; one-sided where contact ends. */
static void surrogate_quantity_slopes(const surrogate_instance *m, const double *along,
                                      double *slopes)
{
    double loads[2][SURROGATE_PARTS][12], jacobian[SURROGATE_PARTS][6][6];
    double variables[SURROGATE_PARTS][6], pose[6], longest = 0.0;
    int c, k, side;
    for (k = 0; k < 6; k++) /* at most 1e-5 rad and 1e-7 m */
        longest = fmax(longest, fabs(along[k]) * (k < 3 ? 1e5 : 1e7));
    for (side = 0; side < 2; side++) {
        for (k = 0; k < 6; k++)
            pose[k] = m->now.pose[k] + (longest ? (side ? 1.0 : -1.0) * along[k] / longest : 0.0);
        surrogate_loads(pose, loads[side], jacobian, variables);
    }
    for (c = 0; c < SURROGATE_PARTS; c++) {
        const double *here = m->outputs + SURROGATE_COMPARTMENTS + 12 * c;
        const int before = !isnan(loads[0][c][9]), after = !isnan(loads[1][c][9]);
        for (k = 6; k < 12; k++) {
            const double rise = (after ? loads[1][c][k] : here[k])
                                - (before ? loads[0][c][k] : here[k]);
            const int used = m->flags[1 + c] || (before && after) ? before + after : 0;
            slopes[12 * c + k] = used ? rise * longest / used : 0.0;
        }
    }
}

/* Fill the derivatives of outputs along a direction of the inputs. */
static int surrogate_derivative(surrogate_instance *m, const unsigned int *unknowns,
                                size_t unknown_count, const unsigned int *knowns,
                                size_t known_count, const double *seed, double *values)
{
    double along[6] = {0.0}, slopes[SURROGATE_COUNT] = {0.0};
    double *parts = slopes + SURROGATE_COMPARTMENTS;
    int c, k, j, quantities = 0;
    size_t i;
    for (i = 0; i < known_count; i++) {
        if (knowns[i] >= SURROGATE_OUTPUTS)
            return SURROGATE_NO_DERIVATIVE;
        if (knowns[i]) /* nothing depends on time */
            along[knowns[i] - SURROGATE_POSE] += seed[i];
    }
    for (i = 0; i < unknown_count; i++) {
        const unsigned int at = unknowns[i] - SURROGATE_OUTPUTS - SURROGATE_COMPARTMENTS;
        if (unknowns[i] < SURROGATE_OUTPUTS || unknowns[i] >= SURROGATE_FLAGS)
            return SURROGATE_NO_DERIVATIVE;
        quantities = quantities || (at < 12 * SURROGATE_PARTS && at % 12 >= 6);
    }
    surrogate_bring_up(m);
    for (c = 0; c < SURROGATE_PARTS; c++)
        for (k = 0; k < 6; k++) {
            for (j = 0; j < 6; j++)
                parts[12 * c + k] += m->jacobian[c][k][j] * along[j];
            slopes[k] += parts[12 * c + k];
        }
    surrogate_generalised_slope(m->now.pose, m->outputs, slopes, along,
                                slopes + SURROGATE_GENERALISED);
    if (quantities)
        surrogate_quantity_slopes(m, along, parts);
    for (i = 0; i < unknown_count; i++)
        values[i] = slopes[unknowns[i] - SURROGATE_OUTPUTS];
    return SURROGATE_DONE;
}

/* Copy the memory of an instance into new memory, which the caller frees. */
static int surrogate_remember(const surrogate_memory *from, void **copy)
{
    if (!*copy)
        *copy = malloc(sizeof *from);
    if (!*copy)
        return SURROGATE_NO_MEMORY;
    memcpy(*copy, from, sizeof *from);
    return SURROGATE_DONE;
}

static int surrogate_recall(surrogate_instance *m, const void *copy)
{
    if (!copy)
        return SURROGATE_NO_STATE;
    memcpy(&m->now, copy, sizeof m->now);
    m->evaluated = 0;
    return SURROGATE_DONE;
}

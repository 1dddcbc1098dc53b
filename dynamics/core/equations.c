/* The simulator's equations of motion for one state. */

/* ---- small linear systems: LU factors for several right-hand sides */

/* Replace a matrix (n x n) by its LU factors and fill the order of the rows; return 0 if it is singular or
   not finite. Pivoting scales the rows: equations of motion and of equilibrium differ by magnitudes. */
static int factorise(int n, double *matrix, int *order)
{
    double scale[MOST_STATES];
    int i, j, k;
    for (i = 0; i < n; i++) {
        order[i] = i;
        scale[i] = 0.0;
        for (j = 0; j < n; j++)
            scale[i] = fmax(scale[i], fabs(matrix[n * i + j])); /* NaN is found in a pivot */
        if (!(0.0 < scale[i] && scale[i] < INFINITY))
            return 0;
    }
    for (k = 0; k < n; k++) {
        int pivot = k;
        for (i = k + 1; i < n; i++)
            if (fabs(matrix[n * i + k]) * scale[pivot] > fabs(matrix[n * pivot + k]) * scale[i])
                pivot = i;
        if (pivot != k) {
            const int row = order[k];
            const double size = scale[k];
            order[k] = order[pivot];
            order[pivot] = row;
            scale[k] = scale[pivot];
            scale[pivot] = size;
            for (j = 0; j < n; j++) {
                const double kept = matrix[n * k + j];
                matrix[n * k + j] = matrix[n * pivot + j];
                matrix[n * pivot + j] = kept;
            }
        }
        if (!(fabs(matrix[n * k + k]) > 0.0))
            return 0;
        for (i = k + 1; i < n; i++) {
            const double factor = matrix[n * i + k] / matrix[n * k + k];
            matrix[n * i + k] = factor;
            for (j = k + 1; j < n; j++)
                matrix[n * i + j] -= factor * matrix[n * k + j];
        }
    }
    return 1;
}

/* Fill the solution of a factorised system. */
static void solve(int n, const double *factors, const int *order, const double *right, double *solution)
{
    int i, j;
    for (i = 0; i < n; i++) {
        double value = right[order[i]];
        for (j = 0; j < i; j++)
            value -= factors[n * i + j] * solution[j];
        solution[i] = value;
    }
    for (i = n - 1; i >= 0; i--) {
        double value = solution[i];
        for (j = i + 1; j < n; j++)
            value -= factors[n * i + j] * solution[j];
        solution[i] = value / factors[n * i + i];
    }
}

/* ---- inputs */

static void inputs_at(const simulation *s, double time, double *values, double *rates)
{
    const int stride = (s->knots - 1) * INPUTS;
    double within = fmod(time, s->breaks[s->knots - 1]), t;
    const double *p;
    int k;
    if (within < 0.0)
        within += s->breaks[s->knots - 1];
    k = piece_at(s->knots, s->breaks, within);
    t = within - s->breaks[k];
    p = s->pieces + k * INPUTS;
    for (k = 0; k < INPUTS; k++, p++) {
        const curve f = cubic_at(p, stride, t);
        values[k] = f.value;
        rates[k] = f.slope;
    }
}

void inputs_over_time(const simulation *s, ptrdiff_t count, const double *times, double *values,
                      double *rates)
{
    for (; count > 0; count--, values += INPUTS, rates += INPUTS)
        inputs_at(s, *times++, values, rates);
}

static void pose_of(const simulation *s, const double *inputs, const double *state, double *pose)
{
    int k;
    for (k = 0; k < 6; k++)
        pose[k] = s->roles[k] == PRESCRIBED ? inputs[k] : s->reference[k] + *state++;
}

void pose_at(const simulation *s, double time, const double *state, double *pose)
{
    double inputs[INPUTS], rates[INPUTS];
    inputs_at(s, time, inputs, rates);
    pose_of(s, inputs, state, pose);
}

/* ---- forces */

/* Add a wrench's generalised forces at a pose and, with its derivatives, theirs, all times a factor. The
   wrench acts on the femur, in the tibial frame about the tibial origin. */
static void add_wrench(const double *pose, const double *wrench, const double *by_pose, double factor,
                       double *force, double *jacobian)
{
    const femoral_frame f = frame_at(pose);
    const vector3 push = times(factor, at_place(wrench));
    /* About the femoral origin, about which the angles turn. */
    const vector3 moment = minus(times(factor, at_place(wrench + 3)), cross_product(f.p.shift, push));
    int i, j, k;
    for (k = 0; k < 3; k++) {
        force[k] += dot_product(f.axes[k], moment);
        force[3 + k] += factor * wrench[k];
    }
    if (!jacobian)
        return;
    for (k = 0; k < 3; k++) {
        const vector3 axis = f.axes[k], moved = cross_product(axis, push);
        /* axis . (p x dF) is its lever, p brought to the other side: (axis x p) . dF */
        const vector3 lever = cross_product(axis, f.p.shift);
        double *row = jacobian + 6 * k;
        for (j = 0; j < 6 && by_pose; j++) {
            const vector3 pushed = {by_pose[j], by_pose[6 + j], by_pose[12 + j]};
            const vector3 twisted = {by_pose[18 + j], by_pose[24 + j], by_pose[30 + j]};
            row[j] += factor * (dot_product(axis, twisted) - dot_product(lever, pushed));
            row[18 + j] += factor * by_pose[6 * k + j];
        }
        /* -axis . (dp x F) = (axis x F) . dp */
        row[3] += moved.x;
        row[4] += moved.y;
        row[5] += moved.z;
    }
    /* The flexion axis turns with adduction and rotation, the adduction axis with rotation. */
    for (k = 0; k < 2; k++)
        for (i = k + 1; i < 3; i++)
            jacobian[6 * k + i] += dot_product(f.axes[k], cross_product(moment, f.axes[i]));
}

/* Add the forces of the springs and, if wanted, their derivatives. */
static void add_restraint(const simulation *s, const double *pose, double *force, double *jacobian)
{
    const path *p = &s->neutral;
    const int piece = piece_at(p->count + 1, p->flexion, pose[0]), stride = 5 * p->count;
    const double t = pose[0] - p->flexion[piece], *q = p->pieces + 5 * piece;
    int k;
    for (k = 1; k < 6; k++, q++) {
        const double stiffness = s->stiffness[k], gap = s->gap[k];
        const curve f = cubic_at(q, stride, t);
        const double away = pose[k] - f.value;
        const double stretch = away - (away > 0.0 ? gap : -gap);
        if (stiffness == 0.0 || fabs(away) < gap)
            continue;
        force[k] -= stiffness * stretch;
        if (!jacobian)
            continue;
        jacobian[7 * k] -= stiffness;
        jacobian[6 * k] += stiffness * f.slope;
    }
}

/* Add the forces of the four loads and, if wanted, their derivatives: rates of the loads give rates. */
static void add_loads(const simulation *s, const double *pose, const double *loads, double *force,
                      double *jacobian)
{
    const double axial = loads[0];
    const double wrench[6] = {0.0, -axial, 0.0, -s->line[0] * axial - loads[ADDUCTION - AXIAL],
                              -loads[TORQUE - AXIAL], -s->line[1] * axial};
    add_wrench(pose, wrench, 0, 1.0, force, jacobian);
    force[3] -= loads[AP - AXIAL];
}

void forces_at(const simulation *s, const double *pose, const double *loads, const double *wrench,
               const double *by_pose, int wanted, double *force, double *jacobian)
{
    double shifted[6], *const slopes = wanted ? jacobian : 0;
    int k;
    clear(6, force);
    if (wanted)
        clear(36, jacobian);
    for (k = 0; k < 6; k++)
        shifted[k] = pose[k] + s->offset[k];
    add_wrench(shifted, wrench, by_pose, s->factor, force, slopes);
    add_loads(s, pose, loads, force, slopes);
    add_restraint(s, pose, force, slopes);
    add_ligaments(&s->bundles, pose, wanted, force, jacobian);
}

void forces_by_time(const simulation *s, const double *pose, const double *rates, const double *jacobian,
                    double *change)
{
    int j, k;
    clear(6, change);
    add_loads(s, pose, rates + AXIAL, change, 0);
    for (k = 0; k < 6; k++)
        for (j = 0; j < 6; j++)
            if (s->roles[j] == PRESCRIBED)
                change[k] += jacobian[6 * k + j] * rates[j];
}

/* ---- equations */

static int free_count(const simulation *s)
{
    int k, count = 0;
    for (k = 0; k < 6; k++)
        count += s->roles[k] != PRESCRIBED;
    return count;
}

static int state_size(const simulation *s)
{
    return 2 * free_count(s);
}

/* Fill the derivatives of f from those of Q by the pose and by time. */
static void fill_derivatives(const simulation *s, const double *jacobian, const double *change,
                             double *by_state, double *by_time)
{
    const int n = state_size(s);
    int row = 0, rate = free_count(s), j, k;
    clear(n * n, by_state);
    for (k = 0; k < 6; k++) {
        int column = 0;
        if (s->roles[k] == PRESCRIBED)
            continue;
        by_time[row] = 0.0;
        by_state[n * row + rate] = 1.0;
        by_state[n * rate + rate] = -s->damping[k] / s->inertia[k];
        by_time[rate] = change[k] / s->inertia[k];
        for (j = 0; j < 6; j++)
            if (s->roles[j] != PRESCRIBED)
                by_state[n * rate + column++] = jacobian[6 * k + j] / s->inertia[k];
        row++;
        rate++;
    }
}

int trained_contact(const void *of, double time, const double *pose, int wanted, double *wrench,
                    double *by_pose)
{
    const trained *const contact = of;
    const int parameters = contact->parts[0]->parameters, n = 6 + parameters;
    const int next = n * (parameters ? LOADS : WRENCH);
    double inputs[MOST_INPUTS], loads[2 * LOADS], slopes[2 * LOADS * MOST_INPUTS];
    double variables[2 * VARIABLES];
    ptrdiff_t outside;
    int k, j;
    for (k = 0; k < n; k++)
        inputs[k] = k < 6 ? pose[k] : contact->design[k - 6];
    outside = fill_knee(contact->parts, 2, 1, inputs, wanted, !wanted, loads, slopes, 0, variables,
                        contact->scratch);
    (void)time;
    for (k = 0; k < WRENCH; k++) {
        wrench[k] = loads[k] + loads[LOADS + k];
        for (j = 0; j < 6 && wanted; j++)
            by_pose[6 * k + j] = slopes[n * k + j] + slopes[next + n * k + j];
    }
    return !(wanted && outside && contact->stops);
}

int knee_derivative(const void *of, double time, const double *state, int wanted, double *f,
                    double *by_state, double *by_time)
{
    const knee_motion *const m = of;
    const simulation *const s = m->problem;
    double inputs[INPUTS], rates[INPUTS], pose[6], shifted[6], wrench[6], by_pose[36];
    double force[6], jacobian[36], change[6];
    int row = 0, rate = free_count(s), k;
    inputs_at(s, time, inputs, rates);
    pose_of(s, inputs, state, pose);
    for (k = 0; k < 6; k++)
        shifted[k] = pose[k] + s->offset[k];
    if (!m->contact(m->of_contact, time, shifted, wanted, wrench, by_pose))
        return 0;
    forces_at(s, pose, inputs + AXIAL, wrench, by_pose, wanted, force, jacobian);
    for (k = 0; k < 6; k++) {
        if (s->roles[k] == PRESCRIBED)
            continue;
        f[row++] = state[rate];
        f[rate] = (force[k] - s->damping[k] * state[rate]) / s->inertia[k];
        rate++;
    }
    if (wanted) {
        forces_by_time(s, pose, rates, jacobian, change);
        fill_derivatives(s, jacobian, change, by_state, by_time);
    }
    return 1;
}

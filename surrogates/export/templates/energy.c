/* Fill the wrench about the tibial origin whose generalised forces these are. */
static void surrogate_wrench_of(const double *forces, const double *held, double *wrench)
{
    const double ca = cos(held[1]), sa = sin(held[1]), cr = cos(held[2]), sr = sin(held[2]);
    /* Moments about the femoral origin along the three axes of rotation, solved by hand. */
    const double moment_y = -forces[2], along = -forces[1];
    const double across = (forces[0] - sa * moment_y) / ca;
    wrench[0] = forces[3];
    wrench[1] = forces[4];
    wrench[2] = forces[5];
    wrench[3] = cr * along - sr * across + held[4] * forces[5] - held[5] * forces[4];
    wrench[4] = moment_y + held[5] * forces[3] - held[3] * forces[5];
    wrench[5] = sr * along + cr * across + held[3] * forces[4] - held[4] * forces[3];
}

/* Fill d(wrench)/d(coordinate k), `change` being that of the generalised forces. */
static void surrogate_wrench_slope(const double *forces, const double *change, const double *held,
                                   int k, double *wrench)
{
    const double ca = cos(held[1]), sa = sin(held[1]), cr = cos(held[2]), sr = sin(held[2]);
    const double moment_y = -forces[2], along = -forces[1];
    const double across = (forces[0] - sa * moment_y) / ca;
    surrogate_wrench_of(change, held, wrench);
    /* what the turning axes and the moving origin add, the forces being held */
    if (k == 1) {
        const double turned = -moment_y + across * sa / ca;
        wrench[3] -= sr * turned;
        wrench[5] += cr * turned;
    } else if (k == 2) {
        wrench[3] += -sr * along - cr * across;
        wrench[5] += cr * along - sr * across;
    } else if (k >= 3) {
        const int a = k - 3, b = (a + 1) % 3, c = (a + 2) % 3;
        wrench[3 + b] -= forces[3 + c];
        wrench[3 + c] += forces[3 + b];
    }
}

/* Fill a second derivative of R c, by two of flexion, adduction and rotation: each turns its
   factor of R by a right angle and takes the rest along the axis away. */
static void surrogate_turned(const double *centre, const double *held, int first, int second,
                             double *out)
{
    const double quarter = 1.57079632679489661923;
    const int flexed = (first == 0) + (second == 0), tilted = (first == 1) + (second == 1);
    const int rotated = (first == 2) + (second == 2);
    double x = centre[0], y = centre[1], z = flexed ? 0.0 : centre[2], was, c, s, sign;
    c = cos(held[0] + quarter * flexed);
    s = sin(held[0] + quarter * flexed);
    was = x;
    x = tilted ? 0.0 : c * was - s * y;
    y = s * was + c * y;
    sign = tilted == 1 ? -1.0 : 1.0;
    c = sign * cos(-held[1] + quarter * tilted);
    s = sign * sin(-held[1] + quarter * tilted);
    was = y;
    y = c * was - s * z;
    z = s * was + c * z;
    sign = rotated == 1 ? -1.0 : 1.0;
    c = sign * cos(-held[2] + quarter * rotated);
    s = sign * sin(-held[2] + quarter * rotated);
    out[0] = c * x + s * z;
    out[1] = rotated ? 0.0 : y;
    out[2] = -s * x + c * z;
}

/* Return the second derivative of coordinate k of a path by flexion. */
static double surrogate_path_bend(const surrogate_path *path, double flexion, int k)
{
    const int piece = surrogate_piece(path, flexion);
    const double *p = path->pieces + 5 * piece + k;
    return 6.0 * p[0] * (flexion - path->flexion[piece]) + 2.0 * p[5 * path->count];
}

/* Fill sum_i weights[i] d2(variable i)/dq dq; variable 5 is the height. */
static void surrogate_fill_bends(const surrogate_compartment *c, const double *held,
                                 const double *weights, double bends[6][6])
{
    const double by_x = weights[3] / c->half[3], by_z = weights[4] / c->half[4];
    double bend[3];
    int a, b;
    for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
            bends[a][b] = 0.0;
    for (a = 0; a < 3; a++)
        for (b = a; b < 3; b++) {
            surrogate_turned(c->condyle, held, a, b, bend);
            bends[a][b] = by_x * bend[0] + by_z * bend[2] + weights[5] * bend[1];
            bends[b][a] = bends[a][b];
        }
    bends[0][0] -= weights[5] * surrogate_path_bend(&c->path, held[0], 3)
                   + weights[1] / c->half[1] * surrogate_path_bend(&c->path, held[0], 0)
                   + weights[2] / c->half[2] * surrogate_path_bend(&c->path, held[0], 1)
                   + by_x * surrogate_path_bend(&c->path, held[0], 2)
                   + by_z * surrogate_path_bend(&c->path, held[0], 4);
}

/* Fill the second derivatives of s by the pose, height(u(q), s(q)) = y(q) differentiated twice;
   where s is beyond 1 the turning of the height's tangent is left out. */
static void surrogate_curvature(const surrogate_compartment *c, const surrogate_state *s,
                                const double *slope, int beyond, double bends[6][6])
{
    double hessian[36], weights[6] = {0.0}, by[6][6], sum;
    int i, j, a, b;
    surrogate_hessian_of(c->parts[0], s->inputs, hessian);
    for (a = 0; a < 6 && beyond; a++)
        hessian[30 + a] = hessian[6 * a + 5] = 0.0;
    for (a = 1; a < 5; a++)
        weights[a] = -s->gradient[a];
    weights[5] = 1.0;
    surrogate_fill_bends(c, s->held, weights, bends);
    for (a = 0; a < 6; a++)
        for (i = 0; i < 6; i++)
            by[a][i] = a < 5 ? s->slopes[a][i] : slope[i];
    for (i = 0; i < 6; i++)
        for (j = 0; j < 6; j++) {
            for (sum = 0.0, a = 0; a < 6; a++)
                for (b = 0; b < 6; b++)
                    sum += hessian[6 * a + b] * by[a][i] * by[b][j];
            bends[i][j] = (bends[i][j] - sum) / s->gradient[5];
        }
}

/* The learnt height over (u, s), s that of the energy: the wrench is its gradient. */
static int surrogate_energy(const surrogate_compartment *c, surrogate_state *s, double *loads,
                            double (*jacobian)[6])
{
    double place, root, slope[6], bends[6][6], forces[6], change[6], column[6], first, second;
    int i, j;
    if (!surrogate_at_height(c, s, &place, slope))
        return 0;
    root = 0.5 * (place + 1.0);
    first = 0.5 * c->largest * c->degree * pow(root, c->degree - 1.0);
    second = 0.25 * c->largest * c->degree * (c->degree - 1.0) * pow(root, c->degree - 2.0);
    surrogate_curvature(c, s, slope, root > 1.0, bends);
    for (i = 0; i < 6; i++)
        forces[i] = -first * slope[i];
    surrogate_wrench_of(forces, s->held, loads);
    for (j = 0; j < 6; j++) {
        for (i = 0; i < 6; i++)
            change[i] = -(second * slope[i] * slope[j] + first * bends[i][j]);
        surrogate_wrench_slope(forces, change, s->held, j, column);
        for (i = 0; i < 6; i++)
            jacobian[i][j] = column[i];
    }
    surrogate_fill_quantities(c, s, root, c->degree - 1.0, 1, loads);
    return 1;
}

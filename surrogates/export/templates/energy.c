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
   `slope` is that of s. Where s is beyond 1, what the change of the height's fall with the other
   variables adds is left out, but with smoothing the fall is constant there. */
static void surrogate_curvature(const surrogate_compartment *c, const surrogate_state *s,
                                const surrogate_place *place, const double *slope,
                                double bends[6][6])
{
    const double along = place->last.slope;
    double hessian[36], weights[6] = {0.0}, by[6][6], sum;
    int i, j, a, b;
    surrogate_hessians_of(c->parts[0], 1, s->inputs, hessian);
    for (a = 0; a < 5; a++) {
        hessian[30 + a] *= along;
        hessian[6 * a + 5] *= along;
    }
    hessian[35] *= along * along;
    hessian[35] += place->last.bend * (place->learnt + c->fall);
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
    double steep, bend, slope[6], bends[6][6], forces[6], change[6], column[6], first, second;
    surrogate_place place;
    surrogate_curve root;
    int i, j;
    if (!surrogate_at_height(c, s, 12, &place, slope)) {
        if (c->smoothing > 0.0)
            surrogate_fill_centre(c, s, 4, loads);
        return 0;
    }
    root = surrogate_positive_part(0.5 * (place.s + 1.0), c->smoothing);
    steep = c->largest * c->degree * pow(root.value, c->degree - 1.0);
    bend = c->largest * c->degree * (c->degree - 1.0) * pow(root.value, c->degree - 2.0);
    first = 0.5 * steep * root.slope;
    second = 0.25 * (bend * root.slope * root.slope + steep * root.bend);
    surrogate_curvature(c, s, &place, slope, bends);
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
    surrogate_fill_quantities(c, s, root.value, c->degree - 1.0, 1, loads);
    return 1;
}

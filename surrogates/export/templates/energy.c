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

/* The learnt height over (u, s), s that of the energy: the wrench is its gradient. */
static int surrogate_energy(const surrogate_compartment *c, surrogate_state *s, double *loads,
                            double (*jacobian)[6])
{
    double turns[9][3][3], hessian[36];
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
    surrogate_hessians_of(c->parts[0], 1, s->inputs, hessian);
    surrogate_fill_turns(c, s->held, turns);
    surrogate_curvature(c, s, &place, slope, turns, hessian, bends);
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

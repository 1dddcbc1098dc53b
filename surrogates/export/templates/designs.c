/* Fill the coordinates: the pose and the scaled parameters; return whether these are in their ranges,
   which a number that is not finite is not. */
static int surrogate_fill_coordinates(const double *pose, const double *design,
                                      double *coordinates)
{
    int inside = 1, k;
    for (k = 0; k < 6; k++)
        coordinates[k] = pose[k];
    for (k = 0; k < SURROGATE_PARAMETERS; k++) {
        coordinates[6 + k] = (design[k] - surrogate_middle[k]) / surrogate_half[k];
        inside = inside && design[k] >= surrogate_least[k] && design[k] <= surrogate_largest[k];
    }
    return inside;
}

/* Fill loads, their slopes by the pose and by the parameters, and scaled variables; return whether
   these are in the trained domain. */
static int surrogate_design_loads(const surrogate_compartment *c, const double *coordinates,
                                  double *loads, double (*jacobian)[6],
                                  double (*slopes)[SURROGATE_PARAMETERS], double *x)
{
    double all[SURROGATE_STEEP][SURROGATE_INPUTS];
    const int inside = surrogate_compartment_loads(c, coordinates, loads, all, x);
    int k, j;
    for (k = 0; k < SURROGATE_STEEP; k++) {
        for (j = 0; j < 6; j++)
            jacobian[k][j] = all[k][j];
        for (j = 0; j < SURROGATE_PARAMETERS; j++)
            slopes[k][j] = all[k][6 + j] / surrogate_half[j];
    }
    return inside;
}

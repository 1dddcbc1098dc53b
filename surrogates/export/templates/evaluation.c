/* Fill the first `outputs` outputs and their derivatives (outputs x inputs) at x. */
static void surrogate_evaluate_regressor(const surrogate_regressor *r, int outputs,
                                         const double *x, double *value, double *jacobian)
{
    double z[SURROGATE_ROW] = {0.0}, sums[SURROGATE_OUTPUTS * SURROGATE_ROW];
    const int d = r->inputs;
    int k, j;
    surrogate_scale_inputs(r, d, x, z);
    for (k = 0; k < outputs * SURROGATE_ROW; k++)
        sums[k] = 0.0;
    /* if points */
    if (r->groups)
        surrogate_add_points(r, outputs, z, sums);
    /* end */
    /* if splines */
    if (r->pieces)
        surrogate_add_splines(r, outputs, z, sums);
    else
    /* end */
    surrogate_add_terms(r, outputs, z, sums);
    /* if networks */
    surrogate_add_networks(r, outputs, z, sums);
    /* end */
    for (k = 0; k < outputs; k++) {
        const double *sum = sums + k * SURROGATE_ROW;
        value[k] = r->y_offset[k] + r->y_scale[k] * sum[SURROGATE_VALUE];
        for (j = 0; j < d; j++)
            jacobian[k * d + j] = r->y_scale[k] * sum[j] / r->x_scale[j];
    }
}

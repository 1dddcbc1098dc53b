/* if networks */
/* Put numbers through tanh: (1 - e) / (1 + e), e = exp(-2 |v|). */
static void surrogate_tanh(int count, double *restrict numbers)
{
    int u, i;
    for (u = 0; u < count; u += SURROGATE_LANES) {
        const int rest = count - u, own = rest < SURROGATE_LANES ? rest : SURROGATE_LANES;
        double twice[SURROGATE_LANES] = {0.0}, e[SURROGATE_LANES];
        for (i = 0; i < own; i++)
            twice[i] = 2.0 * fabs(numbers[u + i]);
        for (i = 0; i < SURROGATE_LANES; i++)
            e[i] = 1.0;
        surrogate_decay(twice, e);
        for (i = 0; i < own; i++)
            numbers[u + i] = copysign((1.0 - e[i]) / (1.0 + e[i]), numbers[u + i]);
    }
}

/* Fill the inner units of a network: tanh, and the slopes by z (inputs rows before SURROGATE_VALUE). */
static void surrogate_inner(const surrogate_regressor *r, int net, const double *z,
                            double (*columns)[SURROGATE_UNITS])
{
    const int d = r->inputs, stride = r->stride;
    const double *inner = r->inner + net * d * stride, *bias = r->inner_bias + net * stride;
    double *values = columns[SURROGATE_VALUE];
    int u, j;
    for (u = 0; u < stride; u++)
        values[u] = bias[u];
    for (j = 0; j < d; j++)
        for (u = 0; u < stride; u++)
            values[u] += inner[j * stride + u] * z[j];
    surrogate_tanh(stride, values);
    for (j = 0; j < d; j++)
        for (u = 0; u < stride; u++)
            columns[j][u] = (1.0 - values[u] * values[u]) * inner[j * stride + u];
    for (; j < SURROGATE_VALUE; j++)
        for (u = 0; u < stride; u++)
            columns[j][u] = 0.0;
}

/* Fill the outer units, as the inner ones. */
static void surrogate_outer(const surrogate_regressor *r, int net,
                            double (*inner)[SURROGATE_UNITS], double (*columns)[SURROGATE_UNITS])
{
    const int h = r->units, stride = r->stride;
    const double *hidden = r->hidden + net * h * stride, *bias = r->hidden_bias + net * stride;
    double *values = columns[SURROGATE_VALUE], sums[SURROGATE_ROW][SURROGATE_ROW];
    const double *weights[SURROGATE_ROW];
    int u, j, i;
    for (j = 0; j < SURROGATE_ROW; j++)
        weights[j] = inner[j];
    for (u = 0; u < stride; u += SURROGATE_ROW) {
        for (j = 0; j < SURROGATE_ROW; j += 4)
            surrogate_combine(h, stride, hidden + u, hidden + u, weights + j, sums + j);
        for (j = 0; j < SURROGATE_ROW; j++)
            for (i = 0; i < SURROGATE_ROW; i++)
                columns[j][u + i] = sums[j][i];
    }
    for (u = 0; u < stride; u++)
        values[u] += bias[u];
    surrogate_tanh(stride, values);
    for (j = 0; j < r->inputs; j++)
        for (u = 0; u < stride; u++)
            columns[j][u] *= 1.0 - values[u] * values[u];
}

static void surrogate_add_networks(const surrogate_regressor *r, int outputs, const double *z,
                                   double *sums)
{
    double inner[SURROGATE_ROW][SURROGATE_UNITS], outer[SURROGATE_ROW][SURROGATE_UNITS];
    double rows[SURROGATE_UNITS][SURROGATE_ROW];
    int net, u, j;
    for (net = 0; net < r->nets; net++) {
        surrogate_inner(r, net, z, inner);
        surrogate_outer(r, net, inner, outer);
        for (j = 0; j < SURROGATE_ROW; j++)
            for (u = 0; u < r->units; u++)
                rows[u][j] = outer[j][u];
        surrogate_add(r, outputs, r->features - (r->nets - net) * r->units, r->units, rows, sums);
    }
}

/* end */

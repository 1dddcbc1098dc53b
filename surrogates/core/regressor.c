/* Values, first and second derivatives of regressors.

   The row of an output has its value in lane 0 and the derivative by input j in lane 1 + j, in 8 or 16
   lanes. Products of polynomials are rows too, one for each; correlations and units of networks are
   columns, one for the values and one for each derivative, whose sums gather in lanes. */

/* Features of a regressor at an input, on the way to sums. */
typedef struct {
    const regressor *r;
    int d, row, outputs, steep, order; /* `steep` outputs, the first ones, have derivatives */
    double z[16];
    double *table;  /* values, first and second derivatives x degrees x row: polynomials by input */
    double *rows;   /* terms x row */
    double *column; /* w(terms): the terms' values */
    double *sums;   /* outputs x row */
    double *bent;   /* order 2: inputs x outputs x row, derivatives of the rows by an input */
    double *lanes;  /* outputs x (1 + d) x 8 */
    double *pairs;  /* order 2: outputs x pairs x 8 */
    double *free;   /* scratch memory */
} features;

static int pairs_of(int d)
{
    return d * (d + 1) / 2;
}

/* Place of the second derivative by inputs a >= b. */
static int pair(int a, int b)
{
    return a * (a + 1) / 2 + b;
}

static int row_of(int inputs)
{
    return wide(1 + inputs);
}

/* Zeros around a one: from UNIT + 15 - j on, the row with a one in lane j. */
static const double UNIT[31] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

static double scaled_input(const regressor *r, int j, double x)
{
    return (x - r->x_offset[j]) / r->x_scale[j];
}

/* ---- products of polynomials */

static void fill_fourier(const features *f)
{
    const regressor *r = f->r;
    const int step = r->degrees * f->row;
    const double sine = sin(r->wave * f->z[0]), cosine = cos(r->wave * f->z[0]);
    double s = 0.0, c = 1.0, *at = f->table;
    int e;
    for (e = 1; e < r->degrees; e++) {
        const double turns = r->wave * ((e + 1) / 2), before = s;
        at += f->row;
        if (e % 2) {
            s = s * cosine + c * sine;
            c = c * cosine - before * sine;
        }
        at[0] = e % 2 ? s : c;
        at[step] = turns * (e % 2 ? c : -s);
        if (f->order > 1)
            at[2 * step] = -turns * turns * at[0];
    }
}

/* Fill the Legendre polynomials of all inputs, P'_e = P'_(e-2) + (2 e - 1) P_(e-1), P'' likewise. */
static void fill_table(const features *f)
{
    const int row = f->row, degrees = f->r->degrees, orders = f->order < 2 ? 2 : 3;
    int e, lane, o;
    for (lane = 0; lane < row; lane += 8) {
        const eight z = load8(f->z + lane);
        double *at = f->table + lane;
        for (o = 0; o < orders; o++) {
            store8(at + o * degrees * row, spread8(o == 0));
            if (degrees > 1)
                store8(at + (o * degrees + 1) * row, o ? spread8(o == 1) : z);
        }
        for (e = 2; e < degrees; e++) {
            double *here = at + e * row;
            const double odd = 2.0 * e - 1.0;
            const eight before = scale8(load8(here - 2 * row), -(e - 1.0) / e);
            store8(here, dot8(scale8(z, odd / e), load8(here - row), before));
            for (o = 1; o < orders; o++) {
                here += degrees * row;
                store8(here, madd8(load8(here - (degrees + 1) * row), odd, load8(here - 2 * row)));
            }
        }
    }
    if (f->r->wave > 0.0)
        fill_fourier(f);
}

/* Features at the first `known` numbers of x, with the table of polynomials of these; the others are 0. */
static features features_of(const regressor *r, const double *x, int known, int order, double *scratch)
{
    features f = {0};
    int j;
    f.r = r;
    f.d = r->inputs;
    f.row = row_of(f.d);
    f.order = order;
    f.free = scratch;
    f.table = take(&f.free, 3 * r->degrees * f.row);
    for (j = 0; j < known; j++)
        f.z[j] = scaled_input(r, j, x[j]);
    fill_table(&f);
    return f;
}

/* Fill the rows of the terms: a term is an earlier one times one more factor of a new input. */
static void fill_rows(const features *f)
{
    const regressor *r = f->r;
    const int row = f->row, *own = r->factors;
    int t, lane;
    for (lane = 0; lane < row; lane += 8)
        store8(f->rows + lane, load8(UNIT + 15 + lane));
    for (t = 1, own += 3; t < r->terms; t++, own += 3) {
        const double *parent = f->rows + own[0] * row, *at = f->table + own[2] * row + own[1];
        const double steep = parent[0] * at[r->degrees * row];
        for (lane = 0; lane < row; lane += 8) {
            const eight unit = load8(UNIT + 14 - own[1] + lane);
            store8(f->rows + t * row + lane, madd8(unit, steep, scale8(load8(parent + lane), *at)));
        }
    }
}

/* Fill the values of the terms, one after the other. */
static void fill_column(const features *f)
{
    const regressor *r = f->r;
    const int *own = r->factors;
    int t;
    if (f->order)
        for (t = 0; t < r->terms; t++)
            f->column[t] = f->rows[t * f->row];
    else
        for (f->column[0] = 1.0, t = 1, own += 3; t < r->terms; t++, own += 3)
            f->column[t] = f->column[own[0]] * f->table[own[2] * f->row + own[1]];
    for (; t < wide(r->terms); t++)
        f->column[t] = 0.0;
}

/* Add the terms' rows times weights to rows of sums with derivatives. */
static void add_terms(const features *f, const double *rows, const double *weights, int stride,
                      double *sums)
{
    add_rows(f->r->terms, f->row, rows, f->row, f->steep, weights, stride, sums, f->row);
}

/* Add the derivatives of all terms' rows by each input, times weights. */
static void bend_terms(const features *f, const double *weights, int stride)
{
    const regressor *r = f->r;
    const int row = f->row, step = r->degrees * row;
    double *free = f->free, *bent = take(&free, r->terms * row);
    int j, t, lane;
    for (j = 0; j < f->d; j++) {
        clear(row, bent);
        for (t = 1; t < r->terms; t++) {
            const int *own = r->factors + 3 * t, parent = own[0] * row, same = own[1] == j;
            const double *at = f->table + own[2] * row + own[1], *base = same ? f->rows : bent;
            const double factor = same ? at[step] : at[0];
            const double steep = same ? f->rows[parent] * at[2 * step]
                                      : f->rows[parent + 1 + j] * at[step];
            for (lane = 0; lane < row; lane += 8) {
                const eight unit = load8(UNIT + 14 - own[1] + lane);
                store8(bent + t * row + lane,
                       madd8(unit, steep, scale8(load8(base + parent + lane), factor)));
            }
        }
        add_terms(f, bent, weights, stride, f->bent + j * f->outputs * row);
    }
}

/* ---- splines */

/* Return the first of the four splines at z; fill their values, first and second derivatives. */
static int splines_at(const regressor *r, const double *z, double (*blends)[4])
{
    const double low = r->knots[0], high = r->knots[r->pieces], *c;
    double w = z[0], t;
    int piece = 0, j, s;
    for (j = 1; j < r->inputs - 1; j++)
        w += r->shear[j] * z[j];
    /* Knots are equally spaced, or nearly so; the first and the last piece go on beyond them. */
    if (w >= high)
        piece = r->pieces - 1;
    else if (w > low)
        piece = (int)((w - low) / (high - low) * r->pieces);
    if (piece > r->pieces - 1)
        piece = r->pieces - 1;
    while (piece > 0 && w < r->knots[piece])
        piece--;
    while (piece < r->pieces - 1 && w >= r->knots[piece + 1])
        piece++;
    t = w - r->knots[piece];
    c = r->splines + 16 * piece;
    for (s = 0; s < 4; s++, c++) {
        blends[0][s] = c[0] + t * (c[4] + t * (c[8] + t * c[12]));
        blends[1][s] = c[4] + t * (2.0 * c[8] + t * 3.0 * c[12]);
        blends[2][s] = 2.0 * c[8] + t * 6.0 * c[12];
    }
    return piece;
}

/* Fill as many blended weights (outputs x w(terms)) as `blends` has rows, of outputs from `first` on:
   sums of those of four splines times a row. */
INLINE void blend_weights(const regressor *r, int first, int outputs, int piece, const int rows,
                          double (*blends)[4], double *const *blended)
{
    const int n = wide(r->terms), stride = (r->pieces + 3) * n;
    const double *own = r->term_weights + first * stride + piece * n;
    int k, t, b, s;
    for (k = first; k < outputs; k++, own += stride)
        for (t = 0; t < n; t += 8) {
            eight four[4], sum;
            for (s = 0; s < 4; s++)
                four[s] = load8(own + s * n + t);
            for (b = 0; b < rows; b++) {
                sum = scale8(four[0], blends[b][0]);
                for (s = 1; s < 4; s++)
                    sum = madd8(four[s], blends[b][s], sum);
                store8(blended[b] + k * n + t, sum);
            }
        }
}

/* Add the value of a column times weights to outputs from `first` on, `between` apart. */
static void add_column(const features *f, int first, int outputs, const double *weights, double *sums,
                       int between)
{
    const int n = wide(f->r->terms);
    double *free = f->free, *lanes = take(&free, 8 * outputs);
    int k;
    clear(8 * outputs, lanes);
    add_products(n, f->column, outputs - first, weights + first * n, n, lanes, 8);
    for (k = first; k < outputs; k++, lanes += 8)
        sums[k * between] += total8(lanes);
}

/* Derivatives of the sheared first input. */
static double along(const regressor *r, int j)
{
    return j ? r->shear[j] : 1.0;
}

/* With blended weights a spline-polynomial is a polynomial, and its derivatives by the sheared first
   input have the weights blended by the splines' derivatives. */
static void add_splines(features *f)
{
    const regressor *r = f->r;
    const int n = wide(r->terms), outputs = f->outputs, row = f->row;
    double blends[3][4], *weights = take(&f->free, outputs * n);
    double *slopes = take(&f->free, outputs * n), *steep = take(&f->free, outputs * row);
    double *blended[2] = {weights, slopes};
    const int piece = splines_at(r, f->z, blends);
    int j, i, k;
    blend_weights(r, 0, f->steep, piece, 2, blends, blended);
    blend_weights(r, f->steep, outputs, piece, 1, blends, blended);
    add_terms(f, f->rows, weights, n, f->sums);
    add_column(f, f->steep, outputs, weights, f->sums, row);
    clear(outputs * row, steep);
    if (f->order == 1)
        add_column(f, 0, f->steep, slopes, steep, row);
    else
        add_terms(f, f->rows, slopes, n, steep);
    for (k = 0; k < f->steep; k++)
        for (j = 0; j < f->d; j++)
            f->sums[k * row + 1 + j] += along(r, j) * steep[k * row];
    if (f->order < 2)
        return;
    bend_terms(f, weights, n);
    blend_weights(r, 0, outputs, piece, 1, blends + 2, blended + 1);
    for (k = 0; k < outputs; k++) /* in lane 0, whose sum is used: the second derivative by itself */
        steep[k * row] = 0.0;
    add_column(f, 0, outputs, slopes, steep, row);
    for (j = 0; j < f->d; j++)
        for (k = 0; k < outputs; k++)
            for (i = 0; i < f->d; i++)
                f->bent[(j * outputs + k) * row + 1 + i]
                    += along(r, i) * (steep[k * row + 1 + j] + along(r, j) * steep[k * row])
                       + along(r, j) * steep[k * row + 1 + i];
}

/* ---- columns of correlations and of units */

/* Add the columns' products with the weights (outputs x stride). */
static void add_columns(const features *f, int count, const double *columns, int across,
                        const double *weights, int stride)
{
    const int all = f->order ? 1 + f->d : 1, between = 8 * (1 + f->d);
    int j;
    if (f->outputs == 1)
        add_products(count, weights, all, columns, across, f->lanes, 8);
    else
        for (j = 0; j < all; j++)
            add_products(count, columns + j * across, j ? f->steep : f->outputs, weights, stride,
                         f->lanes + 8 * j, between);
}

/* Add second derivatives by a pair of inputs: a column's products with the weights. */
static void add_pair(const features *f, int p, int count, const double *column,
                     const double *weights, int stride)
{
    add_products(count, column, f->outputs, weights, stride, f->pairs + 8 * p, 8 * pairs_of(f->d));
}

/* Fill the sheared inputs in the units of the correlations. */
static void shear_inputs(const regressor *r, const double *z, double *here)
{
    double first = z[0];
    int j;
    for (j = 1; j < r->inputs; j++) {
        first += r->shear[j] * z[j];
        here[j] = z[j] * r->rates[j];
    }
    here[0] = first * r->rates[0];
}

static void add_points(features *f)
{
    const regressor *r = f->r;
    const int n = wide(r->points), d = f->d;
    double here[MOST_INPUTS], exponents[GROUP], column[GROUP];
    double *free = f->free, *columns = take(&free, GROUP * (1 + d));
    int begin, i, j, b;
    shear_inputs(r, f->z, here);
    for (begin = 0; begin < n; begin += GROUP) {
        const int count = n - begin < GROUP ? n - begin : GROUP;
        const double *weights = r->point_weights + begin;
        for (i = 0; i < count; i++)
            columns[i] = 1.0;
        clear(count, exponents);
        correlate_inputs(r->kinds, here, 0, d, n, r->places + begin, count, exponents, columns);
        close_features(r->kinds[0], count, exponents, columns);
        for (j = 0; j < d && f->order; j++) {
            double *steep = columns + (1 + j) * GROUP;
            steepen(r->kinds[j], here[j], count, r->places + j * n + begin, exponents, steep);
            for (i = 0; i < count && f->order == 1; i++)
                steep[i] *= columns[i];
        }
        for (j = 0; j < d && f->order > 1; j++) {
            const double *steep = columns + (1 + j) * GROUP, *places = r->places + j * n + begin;
            for (b = 0; b <= j; b++) {
                for (i = 0; i < count; i++)
                    column[i] = columns[i] * second(r->kinds[j], b == j, here[j] - places[i], steep[i],
                                                    columns[(1 + b) * GROUP + i], exponents[i]);
                add_pair(f, pair(j, b), count, column, weights, n);
            }
        }
        for (j = 0; j < d && f->order > 1; j++)
            for (i = 0; i < count; i++)
                columns[(1 + j) * GROUP + i] *= columns[i];
        add_columns(f, count, columns, GROUP, weights, n);
    }
}

/* Fill the inner units of a network, values and derivatives by z, as columns. */
static void fill_inner(const features *f, int net, double *columns)
{
    const regressor *r = f->r;
    const int h = wide(r->units), d = f->d;
    const double *inner = r->inner + net * d * h, *bias = r->inner_bias + net * h;
    int u, j;
    for (u = 0; u < h; u++)
        columns[u] = bias[u];
    for (j = 0; j < d; j++)
        for (u = 0; u < h; u++)
            columns[u] = FUSED(inner[j * h + u], f->z[j], columns[u]);
    tangent(h, columns);
    for (j = 0; j < d && f->order; j++)
        for (u = 0; u < h; u++)
            columns[(1 + j) * h + u] = (1.0 - columns[u] * columns[u]) * inner[j * h + u];
}

/* Fill `count` columns of outer units from those of the inner ones. */
static void fill_outer(const regressor *r, int net, int count, const double *inner, double *columns)
{
    const int h = wide(r->units);
    const double *hidden = r->hidden + net * r->units * h, *bias = r->hidden_bias + net * h;
    int u, j;
    memcpy(columns, bias, h * sizeof *bias);
    clear((count - 1) * h, columns + h);
    add_rows(r->units, h, hidden, h, count, inner, h, columns, h);
    tangent(h, columns);
    for (j = 1; j < count; j++)
        for (u = 0; u < h; u++)
            columns[j * h + u] *= 1.0 - columns[u] * columns[u];
}

/* Second derivatives: through the outer tanh, tanh'' = -2 t (1 - t^2), and back to the inner one. */
static void bend_network(const features *f, int net, const double *inner, const double *outer)
{
    const regressor *r = f->r;
    const int h = wide(r->units), d = f->d, stride = r->nets * h;
    const double *hidden = r->hidden + net * r->units * h, *own = r->unit_weights + net * h;
    double *free = f->free, *column = take(&free, h), *through = take(&free, h);
    double *back = take(&free, f->outputs * h), *slopes = take(&free, h), *lanes = take(&free, 8);
    int a, b, u, k;
    for (u = 0; u < h; u++) {
        const double slope = 1.0 - outer[u] * outer[u];
        through[u] = slope > 0.0 ? -2.0 * outer[u] / slope : 0.0;
    }
    for (a = 0; a < d; a++)
        for (b = 0; b <= a; b++) {
            for (u = 0; u < h; u++)
                column[u] = through[u] * outer[(1 + a) * h + u] * outer[(1 + b) * h + u];
            add_pair(f, pair(a, b), h, column, own, stride);
        }
    clear(f->outputs * h, back);
    for (k = 0; k < f->outputs; k++) {
        for (u = 0; u < h; u++)
            slopes[u] = own[k * stride + u] * (1.0 - outer[u] * outer[u]);
        for (u = 0; u < r->units; u++) {
            clear(8, lanes);
            add_products(h, slopes, 1, hidden + u * h, h, lanes, 8);
            back[k * h + u] = -2.0 * inner[u] * (1.0 - inner[u] * inner[u]) * total8(lanes);
        }
    }
    own = r->inner + net * d * h;
    for (a = 0; a < d; a++)
        for (b = 0; b <= a; b++) {
            for (u = 0; u < h; u++)
                column[u] = own[a * h + u] * own[b * h + u];
            add_pair(f, pair(a, b), h, column, back, h);
        }
}

static void add_networks(features *f)
{
    const regressor *r = f->r;
    const int h = wide(r->units), count = f->order ? 1 + f->d : 1;
    double *inner = take(&f->free, count * h), *outer = take(&f->free, count * h);
    int net;
    for (net = 0; net < r->nets; net++) {
        fill_inner(f, net, inner);
        fill_outer(r, net, count, inner, outer);
        add_columns(f, h, outer, h, r->unit_weights + net * h, r->nets * h);
        if (f->order > 1)
            bend_network(f, net, inner, outer);
    }
}

/* ---- regressors */

/* Add the lanes of the points to the rows: from derivatives by sheared places to those by z. */
static void add_sheared(const features *f)
{
    const regressor *r = f->r;
    const int d = f->d;
    int k, j, b;
    for (k = 0; k < f->outputs; k++) {
        double *sums = f->sums + k * f->row;
        const double *lanes = f->lanes + k * 8 * (1 + d);
        const double first = f->order ? total8(lanes + 8) * r->rates[0] : 0.0;
        sums[0] += total8(lanes);
        for (j = 0; j < d && f->order; j++)
            sums[1 + j] += (j ? total8(lanes + 8 * (1 + j)) * r->rates[j] : 0.0) + along(r, j) * first;
    }
    if (f->order < 2)
        return;
    for (k = 0; k < f->outputs; k++) {
        const double *pairs = f->pairs + 8 * k * pairs_of(d);
        double first[MOST_INPUTS];
        for (j = 0; j < d; j++)
            first[j] = total8(pairs + 8 * pair(j, 0)) * r->rates[j] * r->rates[0];
        for (j = 0; j < d; j++)
            for (b = 0; b < d; b++) {
                const double own = total8(pairs + 8 * (j > b ? pair(j, b) : pair(b, j)));
                const double by_j = j ? r->shear[j] : 0.0, by_b = b ? r->shear[b] : 0.0;
                f->bent[(j * f->outputs + k) * f->row + 1 + b]
                    += own * r->rates[j] * r->rates[b] + by_j * first[b] + by_b * first[j]
                       + by_j * by_b * first[0];
            }
    }
}

static void add_lanes(const features *f)
{
    const int d = f->d;
    int k, j, b;
    for (k = 0; k < f->outputs; k++)
        for (j = 0; j < (k < f->steep ? 1 + d : 1); j++)
            f->sums[k * f->row + j] += total8(f->lanes + 8 * (k * (1 + d) + j));
    for (k = 0; k < f->outputs && f->order > 1; k++)
        for (j = 0; j < d; j++)
            for (b = 0; b < d; b++)
                f->bent[(j * f->outputs + k) * f->row + 1 + b]
                    += total8(f->pairs + 8 * (k * pairs_of(d) + (j > b ? pair(j, b) : pair(b, j))));
}

static void clear_lanes(const features *f)
{
    clear(8 * f->outputs * (1 + f->d), f->lanes);
    if (f->order > 1)
        clear(8 * f->outputs * pairs_of(f->d), f->pairs);
}

/* Fill the rows (outputs x row) of the first outputs at x, the derivatives of at least the first `steep`
   if the order is 1 or 2; with order 2 fill their second derivatives (outputs x pairs) too. */
static void evaluate(const regressor *r, const double *x, int outputs, int steep, int order,
                     double *rows, double *bends, double *scratch)
{
    features f = features_of(r, x, r->inputs, order, scratch);
    const int d = f.d, row = f.row;
    int k, j, b;
    f.outputs = outputs;
    f.steep = order < 2 ? order * steep : outputs;
    f.sums = rows;
    clear(outputs * row, rows);
    f.rows = take(&f.free, r->terms * row);
    f.column = take(&f.free, r->terms);
    if (order > 1) {
        f.bent = take(&f.free, d * outputs * row);
        clear(d * outputs * row, f.bent);
    }
    if (r->points || r->nets) {
        f.lanes = take(&f.free, 8 * outputs * (1 + d));
        f.pairs = take(&f.free, order > 1 ? 8 * outputs * pairs_of(d) : 0);
    }
    if (order)
        fill_rows(&f);
    fill_column(&f);
    if (r->pieces) {
        add_splines(&f);
    } else {
        add_terms(&f, f.rows, r->term_weights, wide(r->terms), rows);
        add_column(&f, f.steep, outputs, r->term_weights, rows, row);
    }
    if (order > 1 && !r->pieces)
        bend_terms(&f, r->term_weights, wide(r->terms));
    if (r->points) {
        clear_lanes(&f);
        add_points(&f);
        add_sheared(&f);
    }
    if (r->nets) {
        clear_lanes(&f);
        add_networks(&f);
        add_lanes(&f);
    }
    for (k = 0; k < outputs; k++, rows += row) {
        rows[0] = r->y_offset[k] + r->y_scale[k] * rows[0];
        for (j = 0; j < d && order; j++) {
            rows[1 + j] *= r->y_scale[k] / r->x_scale[j];
            for (b = 0; b <= j && order > 1; b++)
                bends[k * pairs_of(d) + pair(j, b)] = f.bent[(j * outputs + k) * row + 1 + b]
                                                      * r->y_scale[k]
                                                      / (r->x_scale[j] * r->x_scale[b]);
        }
    }
}

/* Numbers of `evaluate`, of the rows and second derivatives that it fills, and of a line. */
ptrdiff_t regressor_scratch(const regressor *r, int order)
{
    const ptrdiff_t d = r->inputs, row = row_of(r->inputs), k = r->outputs, n = wide(r->terms);
    const ptrdiff_t h = wide(r->units), pairs = order > 1 ? pairs_of(r->inputs) : 0;
    const ptrdiff_t terms = 3 * r->degrees * row + r->terms * row + n;
    const ptrdiff_t bent = order > 1 ? d * k * row + r->terms * row + (k + 4) * h : 0;
    const ptrdiff_t lanes = r->points || r->nets ? 8 * k * (1 + d + pairs) : 0;
    const ptrdiff_t splines = r->pieces ? 2 * k * n + k * row : 0;
    const ptrdiff_t columns = r->points ? GROUP * (1 + d) : 0, units = r->nets ? 2 * (1 + d) * h : 0;
    const ptrdiff_t line = r->degrees + 2 * wide(r->points) + (r->nets + 4) * h + 2 * n;
    return terms + bent + lanes + splines + columns + units + line + k * (row + pairs + 8) + 128;
}

void fill_regressor(const regressor *r, ptrdiff_t rows, const double *inputs, int order,
                        double *values, double *slopes, double *bends, double *scratch)
{
    const int d = r->inputs, k = r->outputs, row = row_of(d), pairs = pairs_of(d);
    double *found = take(&scratch, k * row), *bent = take(&scratch, k * pairs);
    int o, j, b;
    for (; rows > 0; rows--, inputs += d) {
        evaluate(r, inputs, k, k, order, found, bent, scratch);
        for (o = 0; o < k; o++) {
            *values++ = found[o * row];
            for (j = 0; j < d && order; j++) {
                *slopes++ = found[o * row + 1 + j];
                for (b = 0; b < d && order > 1; b++)
                    *bends++ = bent[o * pairs + (j > b ? pair(j, b) : pair(b, j))];
            }
        }
    }
}

/* Compliance of a flat layer between points, and its sums over lattices. The displacement by a unit
   force at the distance r on a layer of thickness t is B (1/r - D(r/t)/t), B = (1 - nu^2)/(pi E); tables
   hold cubic pieces of D. */

#define PI 3.14159265358979323846
enum {
    OWN_TERMS = 4 /* of the lattice sum on each side; what is left out is below 1e-12 */
};

/* D of a distance in thicknesses, and its slope; 1/distance beyond the table. */
INLINE rate table_value(const double *table, int pieces, double per_step, double distance)
{
    const double place = distance * per_step;
    rate d = {1.0 / distance, -1.0 / (distance * distance)};
    if (place < pieces) {
        const int piece = (int)place;
        const double u = place - piece, *const p = table + 4 * piece;
        d.value = p[0] + u * (p[1] + u * (p[2] + u * p[3]));
        d.slope = (p[1] + u * (2.0 * p[2] + 3.0 * u * p[3])) * per_step;
    }
    return d;
}

static double lattice_own_part(double g11, double g12, double g22)
{
    const double area = sqrt(g11 * g22 - g12 * g12);
    double total = 4.0;
    int i, j;
    /* At unit area, the dual lattice has the lengths of the lattice, turned by 90 degrees. Opposite
       nodes are alike. */
    for (i = 0; i <= OWN_TERMS; i++)
        for (j = i ? -OWN_TERMS : 1; j <= OWN_TERMS; j++) {
            const double away = sqrt((g11 * i * i + 2.0 * g12 * i * j + g22 * j * j) / area);
            total -= 4.0 * erfc(sqrt(PI) * away) / away;
        }
    return total / sqrt(area);
}

void lattice_own_parts(int count, const double *metrics, double *own)
{
    int i;
    for (i = 0; i < count; i++)
        own[i] = lattice_own_part(metrics[3 * i], metrics[3 * i + 1], metrics[3 * i + 2]);
}

/* 1 - phi at a wave number times the thickness, see `foundation.layer_theory.flat_layer`. */
static double deficit(double s, double ratio)
{
    const double fade = exp(-2.0 * s), sharp = 3.0 - 4.0 * ratio;
    const double rest = 2.0 * s * s + 5.0 - 12.0 * ratio + 8.0 * ratio * ratio;
    return 2.0 * fade * (sharp * fade + rest + 2.0 * s)
           / (sharp * (1.0 + fade * fade) + 2.0 * fade * rest);
}

void deficit_transform(int count, const double *s, double ratio, double *found)
{
    int i;
    for (i = 0; i < count; i++)
        found[i] = deficit(s[i], ratio);
}

/* ---- the femoral layer between points of contact */

/* Compliance of a flat layer between two points, over the strength; the same at a point itself. */
INLINE double flat_part(const between *l, int i, int j)
{
    const double r = length(minus(l->points[i], l->points[j]));
    const double t = 0.5 * (l->thickness[i] + l->thickness[j]);
    if (i == j)
        return l->own[i] - l->table[0] / l->thickness[i];
    return 1.0 / r - table_value(l->table, l->pieces, l->per_step, r / t).value / t;
}

void subtract_flat(const between *l, double *matrix)
{
    const ptrdiff_t n = l->count;
    int i, j;
    for (i = 0; i < n; i++)
        for (j = 0; j <= i; j++) {
            matrix[i * n + j] -= l->strength * flat_part(l, i, j);
            matrix[j * n + i] = matrix[i * n + j];
        }
}

void femoral_rows(const between *l, int count_rows, const int *rows, unsigned char *filled,
                  double *matrix, double *scratch)
{
    int each, i, j, k;
    for (each = 0; each < count_rows; each++) {
        const int row = rows[each], *const cell = l->cells + 4 * row;
        const double *const share = l->weights + 4 * row;
        double *const out = matrix + (ptrdiff_t)row * l->count;
        if (filled[row])
            continue;
        for (k = 0; k < l->count_used; k++) {
            const int at = l->used[k];
            scratch[at] = 0.0;
            for (i = 0; i < 4; i++)
                scratch[at] +=
                    share[i] * l->regular[(ptrdiff_t)cell[i] * l->side + at];
        }
        for (j = 0; j < l->count; j++) {
            const int *const other = l->cells + 4 * j;
            const double *const part = l->weights + 4 * j;
            if (filled[j]) {
                out[j] = matrix[(ptrdiff_t)j * l->count + row];
                continue;
            }
            out[j] = l->factors[row] * l->factors[j]
                     * (l->strength * flat_part(l, row, j) + part[0] * scratch[other[0]] + part[1] * scratch[other[1]]
                        + part[2] * scratch[other[2]] + part[3] * scratch[other[3]]);
        }
        filled[row] = 1;
    }
}

void femoral_slopes(const between *l, double *by_distance, double *by_thickness)
{
    const ptrdiff_t n = l->count;
    int i, j;
    for (i = 0; i < n; i++) {
        const double scale = l->strength * l->factors[i];
        by_distance[i * n + i] = 0.0;
        by_thickness[i * n + i] =
            0.5 * scale * l->factors[i] * l->table[0] / (l->thickness[i] * l->thickness[i]);
        for (j = 0; j < i; j++) {
            const double r = length(minus(l->points[i], l->points[j]));
            const double t = 0.5 * (l->thickness[i] + l->thickness[j]), both = scale * l->factors[j];
            const rate d = table_value(l->table, l->pieces, l->per_step, r / t);
            by_distance[i * n + j] = -(both / (r * r) + both / (t * t) * d.slope) / r;
            by_thickness[i * n + j] = 0.5 * both / (t * t) * (d.value + r / t * d.slope);
            by_distance[j * n + i] = by_distance[i * n + j];
            by_thickness[j * n + i] = by_thickness[i * n + j];
        }
    }
}

void add_block(const double *matrix, ptrdiff_t stride, int count_rows, const int *rows,
               int count_columns, const int *columns, int lower, double *part)
{
    int i, j;
    for (i = 0; i < count_rows; i++) {
        const int end = lower ? i + 1 : count_columns;
        double *const restrict out = part + (ptrdiff_t)i * count_columns;
        const double *const row = matrix + rows[i] * stride;
        for (j = 0; j < end; j++)
            out[j] += row[columns[j]];
    }
}

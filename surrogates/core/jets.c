/* Jets: functions of the n coordinates, a pose and the parameters of a design, with first and, with
   order 2, second derivatives. A jet is a row, the value in lane 0 and the derivative by coordinate k
   in lane 1 + k, then the second derivatives by pairs of coordinates. */

typedef struct {
    int n, order, row, size; /* numbers of a row and of a jet */
} space;

/* A function of one variable, with two derivatives, at a place. */
typedef struct {
    double value, slope, bend;
} curve;

static space space_of(int n, int order)
{
    space s;
    s.n = n;
    s.order = order;
    s.row = row_of(n);
    s.size = s.row + (order > 1 ? wide(pairs_of(n)) : 0);
    return s;
}

/* out += factor a */
static void add(const space *s, double factor, const double *a, double *out)
{
    int i;
    for (i = 0; i < s->size; i += 8)
        store8(out + i, madd8(load8(a + i), factor, load8(out + i)));
}

/* out = factor a */
static void scale(const space *s, double factor, const double *a, double *out)
{
    int i;
    for (i = 0; i < s->size; i += 8)
        store8(out + i, scale8(load8(a + i), factor));
}

static void constant(const space *s, double value, double *out)
{
    clear(s->size, out);
    out[0] = value;
}

/* out = a b, which are other jets */
static void multiply(const space *s, const double *a, const double *b, double *out)
{
    const double *bend_a = a + s->row, *bend_b = b + s->row;
    double *bend = out + s->row;
    int i, j;
    for (i = 0; i < s->row; i += 8)
        store8(out + i, madd8(load8(a + i), b[0], scale8(load8(b + i), a[0])));
    out[0] = a[0] * b[0];
    for (i = 0; i < s->n && s->order > 1; i++)
        for (j = 0; j <= i; j++)
            *bend++ = a[0] * *bend_b++ + b[0] * *bend_a++ + a[1 + i] * b[1 + j] + a[1 + j] * b[1 + i];
}

/* out += factor a b */
static void add_product(const space *s, double factor, const double *a, const double *b, double *out,
                        double *product)
{
    multiply(s, a, b, product);
    add(s, factor, product, out);
}

/* out = f(a), from f and its derivatives at the value of a, which out may be */
static void apply(const space *s, curve f, const double *a, double *out)
{
    const double *from = a + s->row;
    double *bend = out + s->row;
    int i, j;
    for (i = 0; i < s->n && s->order > 1; i++)
        for (j = 0; j <= i; j++)
            *bend++ = f.slope * *from++ + f.bend * a[1 + i] * a[1 + j];
    for (i = 0; i < s->row; i += 8)
        store8(out + i, scale8(load8(a + i), f.slope));
    out[0] = f.value;
}

/* Add the second derivatives of a function of jets, those by pairs of which are `bends`. */
static void add_bends(const space *s, int count, const double *bends, const double *jets, double *out)
{
    double by[16];
    int a, b, i, j;
    for (a = 0; a < count; a++) {
        const double *jet = jets + a * s->size;
        double *bend = out + s->row;
        clear(16, by);
        for (b = 0; b < count; b++)
            for (j = 0; j < s->n; j++)
                by[j] += bends[a > b ? pair(a, b) : pair(b, a)] * jets[b * s->size + 1 + j];
        for (i = 0; i < s->n; i++)
            for (j = 0; j <= i; j++)
                *bend++ += jet[1 + i] * by[j];
    }
}

/* Fill the jets of `outputs` functions of `count` jets from their rows (`between` apart), which have
   the derivatives by these, and from the second derivatives. */
static void chain(const space *s, int outputs, const double *rows, int between, const double *bends,
                  int count, const double *jets, double *out)
{
    int k;
    clear(outputs * s->size, out);
    add_rows(count, s->size, jets, s->size, outputs, rows + 1, between, out, s->size);
    for (k = 0; k < outputs; k++, out += s->size) {
        out[0] = rows[k * between];
        if (s->order > 1)
            add_bends(s, count, bends + k * pairs_of(count), jets, out);
    }
}

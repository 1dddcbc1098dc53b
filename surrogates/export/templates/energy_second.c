/* Second derivatives of the wrench that is the gradient of a learnt energy: the third derivatives of
   s follow from height(u(q), s(q)) = y(q), differentiated three times. */

/* Return the third derivative of S(t), of `surrogate_step`. */
static double surrogate_step_turn(double t)
{
    return 60.0 * t * (1.0 - t) * (1.0 - 2.0 * t);
}

/* Turn derivatives of the learnt height by its inputs into those by u and s, where the last input is
   s clipped; `bend` are its second derivatives by its inputs. */
static void surrogate_clip_thirds(const surrogate_compartment *c, const surrogate_place *place,
                                  const double *bend, double (*thirds)[6][6])
{
    const double along = place->last.slope, turning = place->last.bend, w = c->smoothing;
    double turn = 0.0, factor, bent;
    int a, b, k;
    if (turning != 0.0)
        turn = -surrogate_step_turn((place->s - 1.0) / (2.0 * w)) / (4.0 * w * w);
    for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
            for (k = 0; k < 6; k++) {
                factor = (a == 5 ? along : 1.0) * (b == 5 ? along : 1.0) * (k == 5 ? along : 1.0);
                thirds[a][b][k] *= factor;
            }
    for (a = 0; a < 5; a++) {
        bent = bend[6 * a + 5] * turning;
        thirds[a][5][5] += bent;
        thirds[5][a][5] += bent;
        thirds[5][5][a] += bent;
    }
    thirds[5][5][5] += 3.0 * bend[35] * along * turning + turn * (place->learnt + c->fall);
}

/* Fill the third derivatives by the pose of u and, last, of the height. */
static void surrogate_third_turns(const surrogate_compartment *c, const double *held,
                                  double (*turns)[6][6][6])
{
    const int of_path[6] = {-1, 0, 1, 2, 4, 3};
    const int piece = surrogate_piece(&c->path, held[0]);
    double bend[3];
    int a, b, k, i;
    for (i = 0; i < 6; i++)
        for (a = 0; a < 6; a++)
            for (b = 0; b < 6; b++)
                for (k = 0; k < 6; k++)
                    turns[i][a][b][k] = 0.0;
    for (a = 0; a < 3; a++)
        for (b = 0; b < 3; b++)
            for (k = 0; k < 3; k++) {
                int orders[3] = {0, 0, 0};
                orders[a]++;
                orders[b]++;
                orders[k]++;
                surrogate_turned(c->condyle, held, orders, bend);
                turns[3][a][b][k] = bend[0] / c->half[3];
                turns[4][a][b][k] = bend[2] / c->half[4];
                turns[5][a][b][k] = bend[1];
            }
    for (k = 1; k < 6; k++)
        turns[k][0][0][0] -= 6.0 * c->path.pieces[5 * piece + of_path[k]]
                             / (k < 5 ? c->half[k] : 1.0);
}

/* Turn a tensor by u and s into one by the pose, with the slopes of u and s. */
static void surrogate_contract(const surrogate_state *s, const double *slope,
                               double (*tensor)[6][6])
{
    double moved[6][6][6];
    int round, a, b, c, k;
    for (round = 0; round < 3; round++) {
        /* the last place, of which the result becomes the first */
        for (a = 0; a < 6; a++)
            for (b = 0; b < 6; b++)
                for (k = 0; k < 6; k++) {
                    double sum = tensor[a][b][5] * slope[k];
                    for (c = 0; c < 5; c++)
                        sum += tensor[a][b][c] * s->slopes[c][k];
                    moved[k][a][b] = sum;
                }
        for (a = 0; a < 6; a++)
            for (b = 0; b < 6; b++)
                for (k = 0; k < 6; k++)
                    tensor[a][b][k] = moved[a][b][k];
    }
}

/* Fill the third derivatives of s by the pose, in place of `thirds`, those of the height by u and s;
   `root` is the series of s, `bend` the second derivatives of the height by u and s. */
static void surrogate_third_of_s(const surrogate_compartment *c, const surrogate_state *s,
                                 const surrogate_second *h, const surrogate_series *root,
                                 const double *bend, double (*thirds)[6][6])
{
    const double fall = s->gradient[5];
    double turns[6][6][6][6], rows[6][6];
    int a, b, i, j, k;
    surrogate_third_turns(c, s->held, turns);
    surrogate_contract(s, root->slope, thirds);
    for (a = 0; a < 6; a++)
        for (k = 0; k < 6; k++)
            for (rows[a][k] = bend[6 * a + 5] * root->slope[k], b = 0; b < 5; b++)
                rows[a][k] += bend[6 * a + b] * s->slopes[b][k];
    for (i = 0; i < 6; i++)
        for (j = 0; j < 6; j++)
            for (k = 0; k < 6; k++) {
                double sum = turns[5][i][j][k] - thirds[i][j][k];
                for (a = 0; a < 5; a++)
                    sum -= s->gradient[a] * turns[a][i][j][k];
                for (a = 0; a < 6; a++) {
                    const double ij = a == 5 ? root->bend[i][j]
                                      : i < 3 && j < 3 ? h->turns[a][i][j] : 0.0;
                    const double ik = a == 5 ? root->bend[i][k]
                                      : i < 3 && k < 3 ? h->turns[a][i][k] : 0.0;
                    const double jk = a == 5 ? root->bend[j][k]
                                      : j < 3 && k < 3 ? h->turns[a][j][k] : 0.0;
                    sum -= ij * rows[a][k] + ik * rows[a][j] + jk * rows[a][i];
                }
                thirds[i][j][k] = sum / fall;
            }
}

/* Fill the series of the generalised forces from that of s and its third derivatives; returns 0
   where the energy is zero. */
static int surrogate_bend_forces(const surrogate_compartment *c, const surrogate_series *s,
                                 double (*thirds)[6][6], surrogate_series *forces)
{
    const double r = 0.5 * (s->value + 1.0), w = c->smoothing;
    const surrogate_curve root = surrogate_positive_part(r, w);
    double first, second, third, slope, bend, change, turn = 0.0;
    int i, j, k;
    if (!(root.value > 0.0))
        return 0;
    if (root.bend != 0.0)
        turn = surrogate_step_turn((r + w) / (2.0 * w)) / (4.0 * w * w);
    first = c->largest * c->degree * pow(root.value, c->degree - 1.0);
    second = first * (c->degree - 1.0) / root.value;
    third = second * (c->degree - 2.0) / root.value;
    slope = 0.5 * first * root.slope;
    bend = 0.25 * (second * root.slope * root.slope + first * root.bend);
    change = 0.125 * (third * root.slope * root.slope * root.slope
                      + 3.0 * second * root.slope * root.bend + first * turn);
    for (i = 0; i < 6; i++) {
        forces[i].value = -slope * s->slope[i];
        for (j = 0; j < 6; j++) {
            forces[i].slope[j] = -(bend * s->slope[i] * s->slope[j] + slope * s->bend[i][j]);
            for (k = 0; k < 6; k++)
                forces[i].bend[j][k] = -(change * s->slope[i] * s->slope[j] * s->slope[k]
                                         + bend * (s->bend[i][j] * s->slope[k]
                                                   + s->bend[i][k] * s->slope[j]
                                                   + s->bend[j][k] * s->slope[i])
                                         + slope * thirds[i][j][k]);
        }
    }
    return 1;
}

/* Add a function of coordinate k, times a series and a factor. */
static void surrogate_add_product(double factor, int k, double value, double slope, double bend,
                                  const surrogate_series *a, surrogate_series *out)
{
    surrogate_series own, product;
    int i, j;
    own.value = value;
    for (i = 0; i < 6; i++) {
        own.slope[i] = i == k ? slope : 0.0;
        for (j = 0; j < 6; j++)
            own.bend[i][j] = i == k && j == k ? bend : 0.0;
    }
    surrogate_multiply(&own, a, &product);
    surrogate_add_series(factor, &product, out);
}

/* Fill the series of the wrench from those of the generalised forces; see `surrogate_wrench_of`. */
static void surrogate_bend_wrench_of(const double *held, const surrogate_series *forces,
                                     surrogate_series *wrench)
{
    const double t = tan(held[1]), secant = 1.0 / cos(held[1]);
    const double cr = cos(held[2]), sr = sin(held[2]);
    const surrogate_curve none = {0.0, 0.0, 0.0};
    surrogate_series across;
    int i;
    surrogate_apply(none, forces, &across);
    surrogate_add_product(1.0, 1, secant, secant * t, secant * (secant * secant + t * t), forces,
                          &across);
    surrogate_add_product(1.0, 1, t, secant * secant, 2.0 * t * secant * secant, forces + 2,
                          &across);
    for (i = 0; i < 3; i++) {
        wrench[i] = forces[3 + i];
        surrogate_apply(none, forces, wrench + 3 + i);
    }
    surrogate_add_series(-1.0, forces + 2, wrench + 4);
    surrogate_add_product(-1.0, 2, cr, -sr, -cr, forces + 1, wrench + 3);
    surrogate_add_product(-1.0, 2, sr, cr, -sr, &across, wrench + 3);
    surrogate_add_product(-1.0, 2, sr, cr, -sr, forces + 1, wrench + 5);
    surrogate_add_product(1.0, 2, cr, -sr, -cr, &across, wrench + 5);
    for (i = 0; i < 3; i++) {
        const int a = (i + 1) % 3, b = (i + 2) % 3;
        surrogate_add_product(1.0, 3 + a, held[3 + a], 1.0, 0.0, forces + 3 + b, wrench + 3 + i);
        surrogate_add_product(-1.0, 3 + b, held[3 + b], 1.0, 0.0, forces + 3 + a, wrench + 3 + i);
    }
}

static int surrogate_bend_energy(const surrogate_compartment *c, surrogate_state *s,
                                 surrogate_second *h)
{
    double thirds[6][6][6];
    surrogate_place place;
    surrogate_series root, forces[6];
    if (!surrogate_at_height(c, s, 1, &place, root.slope))
        return 0;
    surrogate_hessians_of(c->parts[0], 1, s->inputs, h->bends[0]);
    surrogate_thirds_of(c->parts[0], s->inputs, thirds);
    surrogate_clip_thirds(c, &place, h->bends[0], thirds);
    surrogate_curvature(c, s, &place, root.slope, h->turns, h->bends[0], root.bend);
    root.value = place.s;
    surrogate_third_of_s(c, s, h, &root, h->bends[0], thirds);
    if (!surrogate_bend_forces(c, &root, thirds, forces))
        return 0;
    surrogate_bend_wrench_of(s->held, forces, h->wrench);
    return 1;
}

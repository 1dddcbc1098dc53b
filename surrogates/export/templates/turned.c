/* Fill a derivative of R c, by flexion, adduction and rotation so many times: each turns its
   factor of R by a right angle and takes the rest along the axis away. */
static void surrogate_turned(const double *centre, const double *held, const int *orders,
                             double *out)
{
    const double quarter = 1.57079632679489661923;
    const int flexed = orders[0], tilted = orders[1], rotated = orders[2];
    double x = centre[0], y = centre[1], z = flexed ? 0.0 : centre[2], was, c, s, sign;
    c = cos(held[0] + quarter * flexed);
    s = sin(held[0] + quarter * flexed);
    was = x;
    x = tilted ? 0.0 : c * was - s * y;
    y = s * was + c * y;
    sign = tilted % 2 ? -1.0 : 1.0;
    c = sign * cos(-held[1] + quarter * tilted);
    s = sign * sin(-held[1] + quarter * tilted);
    was = y;
    y = c * was - s * z;
    z = s * was + c * z;
    sign = rotated % 2 ? -1.0 : 1.0;
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

/* Fill the second derivatives by flexion, adduction and rotation of the first five inputs, the
   height and the point: that of the point, which turns, and that of the path. */
static void surrogate_fill_turns(const surrogate_compartment *c, const double *held,
                                 double (*turns)[3][3])
{
    const int of_path[6] = {-1, 0, 1, 2, 4, 3};
    double bend[3];
    int a, b, k;
    for (a = 0; a < 3; a++)
        for (b = 0; b <= a; b++) {
            int orders[3] = {0, 0, 0};
            orders[a]++;
            orders[b]++;
            surrogate_turned(c->condyle, held, orders, bend);
            for (k = 0; k < 3; k++)
                turns[k][a][b] = turns[k][b][a] = 0.0;
            for (k = 0; k < 3; k++)
                turns[6 + k][a][b] = turns[6 + k][b][a] = bend[k];
            turns[3][a][b] = turns[3][b][a] = bend[0] / c->half[3];
            turns[4][a][b] = turns[4][b][a] = bend[2] / c->half[4];
            turns[5][a][b] = turns[5][b][a] = bend[1];
        }
    for (k = 1; k < 6; k++)
        turns[k][0][0] -= surrogate_path_bend(&c->path, held[0], of_path[k])
                          / (k < 5 ? c->half[k] : 1.0);
}

/* if inverted */
/* Fill the second derivatives of s by the pose, height(u(q), s(q)) = y(q) differentiated twice, from
   those of the learnt height by its inputs; `slope` is that of s. Where s is beyond 1, what the
   change of the height's fall with the other variables adds is left out; with smoothing the fall is
   constant there. */
static void surrogate_curvature(const surrogate_compartment *c, const surrogate_state *s,
                                const surrogate_place *place, const double *slope,
                                double (*turns)[3][3], double *hessian, double bends[6][6])
{
    const double along = place->last.slope, fall = s->gradient[5];
    double rows[6][6], sum;
    int i, j, a, b;
    for (a = 0; a < 5; a++) {
        hessian[30 + a] *= along;
        hessian[6 * a + 5] *= along;
    }
    hessian[35] = hessian[35] * along * along + place->last.bend * (place->learnt + c->fall);
    for (a = 0; a < 6; a++)
        for (j = 0; j < 6; j++) {
            for (sum = 0.0, b = 0; b < 5; b++)
                sum += hessian[6 * a + b] * s->slopes[b][j];
            rows[a][j] = sum + hessian[6 * a + 5] * slope[j];
        }
    for (i = 0; i < 6; i++)
        for (j = 0; j < 6; j++) {
            for (sum = slope[i] * rows[5][j], a = 0; a < 5; a++)
                sum += s->slopes[a][i] * rows[a][j];
            bends[i][j] = -sum / fall;
        }
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            for (sum = turns[5][i][j], a = 0; a < 5; a++)
                sum -= s->gradient[a] * turns[a][i][j];
            bends[i][j] += sum / fall;
        }
}

/* end */

/* Fill a second derivative of R c, by two of flexion, adduction and rotation: each turns its
   factor of R by a right angle and takes the rest along the axis away. */
static void surrogate_turned(const double *centre, const double *held, int first, int second,
                             double *out)
{
    const double quarter = 1.57079632679489661923;
    const int flexed = (first == 0) + (second == 0), tilted = (first == 1) + (second == 1);
    const int rotated = (first == 2) + (second == 2);
    double x = centre[0], y = centre[1], z = flexed ? 0.0 : centre[2], was, c, s, sign;
    c = cos(held[0] + quarter * flexed);
    s = sin(held[0] + quarter * flexed);
    was = x;
    x = tilted ? 0.0 : c * was - s * y;
    y = s * was + c * y;
    sign = tilted == 1 ? -1.0 : 1.0;
    c = sign * cos(-held[1] + quarter * tilted);
    s = sign * sin(-held[1] + quarter * tilted);
    was = y;
    y = c * was - s * z;
    z = s * was + c * z;
    sign = rotated == 1 ? -1.0 : 1.0;
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

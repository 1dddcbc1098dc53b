/* Fill the place p = t + R c of a femoral point and its derivatives (3 x 6) by the pose (flexion,
   adduction, rotation [rad]; anterior, superior, lateral [m]); R = Ry(-rotation) Rx(-adduction)
   Rz(flexion). */
static void surrogate_condyle_point(const double *pose, const double *centre, double *point,
                                    double *slopes)
{
    const double cf = cos(pose[0]), sf = sin(pose[0]), ca = cos(pose[1]), sa = sin(pose[1]);
    const double cr = cos(pose[2]), sr = sin(pose[2]);
    const double x = cf * centre[0] - sf * centre[1], flexed = sf * centre[0] + cf * centre[1];
    const double y = ca * flexed + sa * centre[2], z = ca * centre[2] - sa * flexed;
    int k, j;
    point[0] = pose[3] + cr * x - sr * z;
    point[1] = pose[4] + y;
    point[2] = pose[5] + sr * x + cr * z;
    for (k = 0; k < 3; k++)
        for (j = 0; j < 3; j++)
            slopes[6 * k + 3 + j] = k == j ? 1.0 : 0.0;
    slopes[0] = -cr * flexed + sr * sa * x;
    slopes[6] = ca * x;
    slopes[12] = -sr * flexed - cr * sa * x;
    slopes[1] = sr * y;
    slopes[7] = z;
    slopes[13] = -cr * y;
    slopes[2] = -sr * x - cr * z;
    slopes[8] = 0.0;
    slopes[14] = cr * x - sr * z;
}

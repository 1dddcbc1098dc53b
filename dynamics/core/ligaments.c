/* Tension-only bundles: generalised forces and their exact derivatives (docs/theory.md).

   With the direction u of a bundle, the axes w_k of the angles and r = R a, the velocity of the femoral end
   for a unit rate of an angle is v_k = w_k x r, and g_k = u . v_k. */

#include "motion.h"
#include "vectors.h"

/* R = Ry(-rotation) Rx(-adduction) Rz(flexion) and the femoral origin, and the axes of the angles. */
typedef struct { placing p; vector3 axes[3]; } femoral_frame;

static femoral_frame frame_at(const double *pose)
{
    const double cf = cos(pose[0]), sf = sin(pose[0]), ca = cos(pose[1]), sa = sin(pose[1]);
    const double cr = cos(pose[2]), sr = sin(pose[2]);
    const femoral_frame f = {
        {{cr * cf + sr * sa * sf, sr * sa * cf - cr * sf, -sr * ca},
         {ca * sf, ca * cf, sa},
         {sr * cf - cr * sa * sf, -sr * sf - cr * sa * cf, cr * ca},
         {pose[3], pose[4], pose[5]}},
        {{-sr * ca, sa, cr * ca}, {-cr, 0.0, -sr}, {0.0, -1.0, 0.0}},
    };
    return f;
}

/* The line of a bundle; its direction is 0 at length 0. */
typedef struct { vector3 arm, direction; double length; } cord;

static cord cord_of(const femoral_frame *f, const ligaments *l, int bundle)
{
    const vector3 arm = to_tibia(&f->p, at_place(l->femoral + 3 * bundle));
    const vector3 line = minus(plus(arm, f->p.shift), at_place(l->tibial + 3 * bundle));
    cord c = {arm, line, length(line)};
    if (c.length != 0.0)
        c.direction = vector(line.x / c.length, line.y / c.length, line.z / c.length);
    return c;
}

/* Tension, and its derivative by the length; zeros when slack. */
typedef struct { double tension, slope; } pull;

static pull pull_of(const ligaments *l, int bundle, double length)
{
    const double rest = l->rest_length[bundle], k = l->stiffness[bundle], stretch = length - rest;
    const double strain = stretch / rest, transition = l->transition[bundle];
    pull p = {0.0, 0.0};
    if (stretch <= 0.0) /* not NaN */
        return p;
    if (l->kinds[bundle] == LINEAR) {
        p.tension = k * stretch;
        p.slope = k;
    } else if (l->kinds[bundle] == QUADRATIC) {
        p.tension = k * stretch * stretch;
        p.slope = 2.0 * k * stretch;
    } else if (strain < transition) {
        p.tension = 0.5 * k * strain * strain / transition;
        p.slope = k * strain / (transition * rest);
    } else {
        p.tension = k * (strain - 0.5 * transition);
        p.slope = k / rest;
    }
    return p;
}

/* Add the derivatives of the forces of a bundle. The term u . (w_i x (w_k x r)) of the second derivatives of
   the length exists where the angle i moves the axis w_k. */
static void add_bundle_stiffness(const femoral_frame *f, const cord *c, pull p, const vector3 *velocities,
                          const double *gradient, double *jacobian)
{
    const double share = p.tension / c->length;
    int i, k;
    for (i = 0; i < 6; i++)
        for (k = 0; k <= i; k++) {
            double term = (p.slope - share) * gradient[i] * gradient[k];
            if (i < 3) {
                term += p.tension * dot_product(c->direction, cross_product(f->axes[i], velocities[k]));
                term += share * dot_product(velocities[i], velocities[k]);
            } else if (k < 3) {
                const vector3 v = velocities[k];
                term += share * (i == 3 ? v.x : i == 4 ? v.y : v.z);
            } else if (i == k) {
                term += share;
            }
            jacobian[6 * i + k] -= term;
            if (i != k)
                jacobian[6 * k + i] -= term;
        }
}

void add_ligaments(const ligaments *l, const double *pose, int wanted, double *force, double *jacobian)
{
    const femoral_frame f = frame_at(pose);
    int bundle, k;
    for (bundle = 0; bundle < l->bundles; bundle++) {
        const cord c = cord_of(&f, l, bundle);
        const pull p = pull_of(l, bundle, c.length);
        double gradient[6];
        vector3 velocities[3];
        if (p.tension == 0.0)
            continue;
        for (k = 0; k < 3; k++) {
            velocities[k] = cross_product(f.axes[k], c.arm);
            gradient[k] = dot_product(c.direction, velocities[k]);
        }
        gradient[3] = c.direction.x;
        gradient[4] = c.direction.y;
        gradient[5] = c.direction.z;
        for (k = 0; k < 6; k++)
            force[k] -= p.tension * gradient[k];
        if (wanted)
            add_bundle_stiffness(&f, &c, p, velocities, gradient, jacobian);
    }
}

void measure_ligaments(const ligaments *l, ptrdiff_t rows, const double *poses, double *lengths,
                       double *tensions)
{
    for (; rows > 0; rows--, poses += 6) {
        const femoral_frame f = frame_at(poses);
        int bundle;
        for (bundle = 0; bundle < l->bundles; bundle++) {
            *lengths = cord_of(&f, l, bundle).length;
            *tensions++ = pull_of(l, bundle, *lengths++).tension;
        }
    }
}

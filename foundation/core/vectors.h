/* Vectors of three numbers, and the place of the femur. */
#ifndef VECTORS_INCLUDED
#define VECTORS_INCLUDED

#include <math.h>

#include "contact.h"
#include "memory.h"

/* Bounds that a NaN does not pass, unlike fmin and fmax without a call. */
INLINE double least(double a, double b)
{
    return a < b ? a : b;
}

INLINE double most(double a, double b)
{
    return a > b ? a : b;
}

INLINE double dot3(double ax, double ay, double az, double bx, double by, double bz)
{
    return FUSED(ax, bx, FUSED(ay, by, az * bz));
}

INLINE vector3 vector(double x, double y, double z)
{
    const vector3 v = {x, y, z};
    return v;
}

INLINE vector3 at_place(const double *p)
{
    return vector(p[0], p[1], p[2]);
}

INLINE vector3 plus(vector3 a, vector3 b)
{
    return vector(a.x + b.x, a.y + b.y, a.z + b.z);
}

INLINE vector3 minus(vector3 a, vector3 b)
{
    return vector(a.x - b.x, a.y - b.y, a.z - b.z);
}

INLINE vector3 times(double s, vector3 a)
{
    return vector(s * a.x, s * a.y, s * a.z);
}

/* a + s b */
INLINE vector3 shifted(vector3 a, double s, vector3 b)
{
    return vector(FUSED(s, b.x, a.x), FUSED(s, b.y, a.y), FUSED(s, b.z, a.z));
}

INLINE double dot_product(vector3 a, vector3 b)
{
    return dot3(a.x, a.y, a.z, b.x, b.y, b.z);
}

INLINE vector3 cross_product(vector3 a, vector3 b)
{
    return vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

INLINE double length(vector3 a)
{
    return sqrt(dot_product(a, a));
}

/* Add a force f at a place p, and its moment about the origin, to a wrench. */
INLINE void add_force(double *wrench, vector3 p, vector3 f)
{
    const vector3 moment = cross_product(p, f);
    wrench[0] += f.x;
    wrench[1] += f.y;
    wrench[2] += f.z;
    wrench[3] += moment.x;
    wrench[4] += moment.y;
    wrench[5] += moment.z;
}

/* Place of the femur in the tibial frame: rows of its rotation, and its translation. */
typedef struct {
    vector3 first, second, third, shift;
} placing;

INLINE placing placing_of(const double *rotation, const double *translation)
{
    const placing p = {at_place(rotation), at_place(rotation + 3), at_place(rotation + 6),
                       translation ? at_place(translation) : vector(0.0, 0.0, 0.0)};
    return p;
}

/* A direction of the femoral frame in the tibial frame. */
INLINE vector3 to_tibia(const placing *p, vector3 v)
{
    return vector(dot_product(p->first, v), dot_product(p->second, v), dot_product(p->third, v));
}

/* A direction of the tibial frame in the femoral frame. */
INLINE vector3 to_femur(const placing *p, vector3 v)
{
    return vector(dot3(p->first.x, p->second.x, p->third.x, v.x, v.y, v.z),
                  dot3(p->first.y, p->second.y, p->third.y, v.x, v.y, v.z),
                  dot3(p->first.z, p->second.z, p->third.z, v.x, v.y, v.z));
}

#endif

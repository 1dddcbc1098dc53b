/* A function of one variable, with its first two derivatives, at a place. */
typedef struct {
    double value, slope, bend;
} surrogate_curve;

/* S(t) = t^4 (5/2 - 3 t + t^2), t from 0 to 1, whose slope rises from 0 to 1. */
static surrogate_curve surrogate_step(double t)
{
    const double rest = 1.0 - t;
    surrogate_curve step;
    step.value = t * t * t * t * (2.5 - t * (3.0 - t));
    step.slope = t * t * t * (10.0 - t * (15.0 - 6.0 * t));
    step.bend = 30.0 * t * t * rest * rest;
    return step;
}

/* The clip of x to [-most, most]; between `most` and `most` + 2 `width` the slope falls to 0. */
static surrogate_curve surrogate_clip(double x, double most, double width)
{
    const double size = fabs(x), sign = x > 0.0 ? 1.0 : -1.0, breadth = 2.0 * width;
    surrogate_curve clip = {0.0, 1.0, 0.0}, step;
    clip.value = x;
    if (size <= most)
        return clip;
    clip.value = sign * (most + width);
    clip.slope = 0.0;
    if (width == 0.0 || size >= most + breadth)
        return clip;
    step = surrogate_step((size - most) / breadth);
    clip.value = sign * (size - breadth * step.value);
    clip.slope = 1.0 - step.slope;
    clip.bend = -sign * step.bend / breadth;
    return clip;
}

/* if inverted */
/* max(r, 0), rounded within `width` of 0. */
static surrogate_curve surrogate_positive_part(double r, double width)
{
    const double breadth = 2.0 * width;
    surrogate_curve part = {0.0, 1.0, 0.0};
    part.value = r;
    if (r >= width)
        return part;
    if (r <= -width) {
        part.value = part.slope = 0.0;
        return part;
    }
    part = surrogate_step((r + width) / breadth);
    part.value *= breadth;
    part.bend /= breadth;
    return part;
}

/* s, clipped at 1 from above alone. */
static surrogate_curve surrogate_last_input(double s, double width)
{
    const surrogate_curve same = {s, 1.0, 0.0};
    return s <= 1.0 ? same : surrogate_clip(s, 1.0, width);
}

/* end */

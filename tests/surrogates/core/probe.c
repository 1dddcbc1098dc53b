/* Parts of the library for tests, which it does not export. */
#include "core.c"

#define PROBE __attribute__((visibility("default")))

PROBE double probe_on_line(const regressor *r, const double *x, double *slope, double *scratch)
{
    const line l = line_through(r, x, scratch);
    return on_line(&l, x[r->inputs - 1], slope);
}

PROBE int probe_root(const regressor *r, const double *x, double target, double *root, double *scratch)
{
    const line l = line_through(r, x, scratch);
    return solve_line(&l, target, -1.0, 1.0, root);
}

PROBE void probe_curves(int kind, int count, const double *x, double width, curve *found)
{
    for (; count > 0; count--, x++)
        *found++ = kind ? clip(*x, 1.0, width) : positive_part(*x, width);
}

PROBE void probe_functions(int count, double *numbers, double *decayed, double *bent)
{
    int i;
    for (i = 0; i < count; i++) {
        decayed[i] = 1.0;
        bent[i] = numbers[i];
    }
    decay(count, numbers, decayed);
    tangent(count, bent);
}

PROBE int probe_solve(int n, double *matrix, const double *right, double *solution)
{
    int order[MOST_STATES];
    const int found = factorise(n, matrix, order);
    if (found)
        solve(n, matrix, order, right, solution);
    return found;
}

PROBE void probe_meet(const femur *f, int facet, const double *line, double *found)
{
    const hit own = meet_patch(f, facet, at_place(line), at_place(line + 3));
    const vector3 normal = patch_normal(f, facet, own.u, own.v);
    const double all[7] = {own.u, own.v, own.s, own.out, normal.x, normal.y, normal.z};
    memcpy(found, all, sizeof all);
}

PROBE void probe_normal(const femur *f, int facet, double u, double v, vector3 *normal)
{
    *normal = patch_normal(f, facet, u, v);
}

PROBE int probe_nearby(const femur *f, const double *at)
{
    return facet_nearby(f, at_place(at));
}

PROBE void probe_edge(const law *l, double t, rate *found)
{
    *found = edge_power(l, t);
}

PROBE double probe_indentation(const law *l, double pressure)
{
    return layer_indentation(LAYER(l, 0, 0), pressure).value;
}

PROBE int probe_size(const char *name)
{
#define SIZE(kind) if (!strcmp(name, #kind)) return (int)sizeof(kind);
    SIZE(vector3) SIZE(femur) SIZE(bed) SIZE(law) SIZE(dissipation) SIZE(sums) SIZE(between)
    SIZE(regressor) SIZE(path) SIZE(compartment) SIZE(posterior) SIZE(surface) SIZE(skin) SIZE(layer)
    SIZE(ligaments) SIZE(simulation) SIZE(trained) SIZE(knee_motion) SIZE(step_limits)
    return 0;
}

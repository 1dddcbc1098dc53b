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

PROBE int probe_size(const char *name)
{
#define SIZE(kind) if (!strcmp(name, #kind)) return (int)sizeof(kind);
    SIZE(regressor) SIZE(path) SIZE(compartment) SIZE(posterior) SIZE(surface) SIZE(skin) SIZE(layer)
    SIZE(ligaments) SIZE(simulation) SIZE(trained) SIZE(motion) SIZE(tableau) SIZE(step_limits)
    return 0;
}

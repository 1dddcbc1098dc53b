/* Overlaps of the femur with single nodes of a bearing surface, and their derivatives. */

/* Part of the second differences along both grid lines by which overlaps are raised: the mean of two
   conditions on a bilinear surface, that it meets the femur at the nodes (0), or in the mean over the shape
   function of each node (1/12). Their errors are opposite. */
#define RAISED (1.0 / 24.0)

int find_overlaps(const femur *f, const bed *b, const double *rotation, const double *translation,
                  double reach, double lowest, int *nodes, double *overlaps, double *gradients,
                  int *facets, double *places, double *scratch)
{
    const search s = {f, b, placing_of(rotation, translation), reach};
    workspace w = workspace_of(b, &scratch);
    int listed, found, i, count = 0;
    forget(b, &w);
    found = find_candidates(&s, 0, b->compartments[b->count_compartments], &w, &listed);
    press_nodes(&s, listed, &w);
    for (i = 0; i < found; i++) {
        const int node = b->elements[w.candidates[i]];
        if (!(w.depth[node] > lowest))
            continue;
        pressed_gradient(&s, node, &w);
        memcpy(gradients + 6 * (ptrdiff_t)count, w.gradient + 6 * (ptrdiff_t)node, 6 * sizeof *gradients);
        memcpy(places + 2 * (ptrdiff_t)count, w.place + 2 * (ptrdiff_t)node, 2 * sizeof *places);
        nodes[count] = node;
        overlaps[count] = w.depth[node];
        facets[count++] = w.met[node];
    }
    return count;
}

void overlap_hessians(const femur *f, const bed *b, const double *rotation, int count, const int *nodes,
                      const double *overlaps, const double *gradients, const int *facets,
                      const double *places, const double *forces, double *hessians)
{
    const search s = {f, b, placing_of(rotation, 0), 0.0};
    int i;
    for (i = 0; i < count; i++) {
        const exit_place e = {b->points[nodes[i]], b->normals[nodes[i]], facets[i], places[2 * (ptrdiff_t)i],
                              places[2 * (ptrdiff_t)i + 1], overlaps[i]};
        double *const out = forces ? hessians : hessians + 36 * (ptrdiff_t)i;
        if (!forces)
            clear(36, out);
        /* Of a steep side, the weight of the length would need third derivatives. */
        if ((!forces || forces[i] != 0.0) && (e.depth <= 0.0 || exit_cosine(&s, &e) >= LEVEL))
            add_hessian(&s, &e, gradients + 6 * (ptrdiff_t)i, forces ? -forces[i] : 1.0, out);
    }
}

void raise_overlaps(const int *neighbours, int count, const int *nodes, const double *overlaps,
                    const double *gradients, int *place, int *pairs, double *raised, double *slopes)
{
    int i, axis, k;
    for (i = 0; i < count; i++)
        place[nodes[i]] = i;
    for (i = 0; i < count; i++) {
        const double *const own = gradients + 6 * (ptrdiff_t)i;
        double *const out = slopes + 6 * (ptrdiff_t)i;
        raised[i] = overlaps[i];
        memcpy(out, own, 6 * sizeof *own);
        for (axis = 0; axis < 2; axis++) {
            const int *const beyond = neighbours + 4 * nodes[i] + 2 * axis;
            const int a = beyond[0] < 0 ? -1 : place[beyond[0]], b = beyond[1] < 0 ? -1 : place[beyond[1]];
            const int enters = a >= 0 && b >= 0;
            pairs[4 * i + 2 * axis] = enters ? a : -1;
            pairs[4 * i + 2 * axis + 1] = enters ? b : -1;
            if (!enters)
                continue;
            raised[i] += RAISED * (2.0 * overlaps[i] - overlaps[a] - overlaps[b]);
            for (k = 0; k < 6; k++)
                out[k] += RAISED * (2.0 * own[k] - gradients[6 * a + k] - gradients[6 * b + k]);
        }
    }
    for (i = 0; i < count; i++)
        place[nodes[i]] = -1;
}

void spread_forces(int count, const int *pairs, int held, const int *active, const double *forces,
                   double *spread)
{
    int j, axis;
    clear(count, spread);
    for (j = 0; j < held; j++) {
        const int i = active[j];
        spread[i] += forces[j];
        for (axis = 0; axis < 2; axis++) {
            const int *const pair = pairs + 4 * i + 2 * axis;
            if (pair[0] < 0)
                continue;
            spread[i] += 2.0 * RAISED * forces[j];
            spread[pair[0]] -= RAISED * forces[j];
            spread[pair[1]] -= RAISED * forces[j];
        }
    }
}

/* What a page in a browser computes with, as one translation unit for WebAssembly: loads, errors and
   pressures of a surrogate, and the simulation that they drive. */
#define KNEE_API __attribute__((visibility("default")))
#include "fields.h"
#include "motion.h"

#include "vectors.h"
#include "spring_laws.c"
#include "sums.c"
#include "functions.c"
#include "correlations.c"
#include "regressor.c"
#include "line.c"
#include "jets.c"
#include "compartment.c"
#include "posterior.c"
#include "fields.c"
#include "ligaments.c"
#include "equations.c"
#include "rosenbrock.c"

/* Integrate as `integrate` does, with the contact of a surrogate. */
KNEE_API int integrate_trained(const simulation *problem, const trained *contact,
                               const step_limits *limits, int n, double *state, ptrdiff_t count,
                               const double *times, int *counts, double *where, double *states)
{
    const knee_motion motion = {problem, trained_contact, contact};
    return integrate(knee_derivative, &motion, limits, n, state, count, times, counts, where, states);
}

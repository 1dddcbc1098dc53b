"""Run all benchmarks and print their tables: `python -m benchmarks`."""

from benchmarks import (
    accuracy,
    complementarity,
    contact,
    families,
    finite_element,
    finite_element_cost,
    finite_element_smoothness,
    gait,
    heel_strike,
    large_strain,
    planar_knee,
    restitution,
    speed,
    surfaces,
)

TABLES = (
    accuracy.facets,
    contact.accuracy,
    contact.real_knees,
    contact.gait,
    contact.scaling,
    surfaces.spheres,
    surfaces.exact,
    surfaces.triangulations,
    surfaces.bounds,
    speed.original,
    families.evaluation,
    families.searches,
    gait.cycles,
    gait.reduced,
    gait.work_precision,
    restitution.restitution,
    planar_knee.planar_knee,
    heel_strike.strikes,
    heel_strike.impacts,
    heel_strike.convergence,
    complementarity.switching,
    finite_element.paraboloids,
    finite_element.order,
    finite_element.hayes,
    finite_element_smoothness.smoothness,
    finite_element_smoothness.derivatives,
    finite_element_cost.poses_and_condensation,
    finite_element_cost.agreement,
    large_strain.exactness,
    large_strain.large_strain,
    large_strain.limits,
    large_strain.friction,
)

if __name__ == "__main__":
    for make in TABLES:
        print(make(), end="\n\n", flush=True)

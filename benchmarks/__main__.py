"""Run all benchmarks and print their tables: `python -m benchmarks`."""

from benchmarks import (
    accuracy,
    complementarity,
    contact,
    families,
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
    large_strain.exactness,
    large_strain.large_strain,
    large_strain.limits,
    large_strain.friction,
)

if __name__ == "__main__":
    for make in TABLES:
        print(make(), end="\n\n", flush=True)

"""Run all benchmarks and print their tables: `python -m benchmarks`."""

from benchmarks import accuracy, contact, families, gait, speed, surfaces

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
)

if __name__ == "__main__":
    for make in TABLES:
        print(make(), end="\n\n", flush=True)

"""Run all benchmarks of speed and accuracy and print their tables: `python -m benchmarks`."""

from benchmarks import (
    complementarity,
    contact,
    coupled_springs,
    exact_layer,
    expressions,
    families,
    finite_element,
    fitted_surfaces,
    gait,
    gait_models,
    incompressible_elements,
    large_strain,
    planar_knee,
    restitution,
    two_layers,
)
from benchmarks.frame import run

TABLES = (
    contact.accuracy,
    families.evaluation,
    *expressions.TABLES,
    *fitted_surfaces.TABLES,
    *gait.TABLES,
    gait_models.three_models,
    restitution.restitution,
    *planar_knee.TABLES,
    complementarity.worth,
    *exact_layer.TABLES,
    *coupled_springs.TABLES,
    *finite_element.TABLES,
    incompressible_elements.errors,
    two_layers.accuracy,
    *large_strain.TABLES,
)

if __name__ == "__main__":
    run(__doc__, TABLES)

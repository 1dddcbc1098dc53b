"""Morphed knees: side and anterior directions of knees that nobody has seen are found."""

import numpy as np
import pytest
from some_slow import first_of

from foundation.surfaces.mesh import UNITS
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.preparation.alignment import propose_alignment
from pipeline.preparation.mesh_guess import guess_unit
from tests.oracles.morphed_knees import COUNT, morphed_knee


def aligned(seed):
    """Return what is known of a knee, the units that its meshes show, and the alignment."""
    knee = morphed_knee(seed)
    raw = {"femur": knee.femur, "tibia": knee.tibia}
    units = {body: guess_unit(mesh).value for body, mesh in raw.items()}
    meshes = {
        body: TriangleMesh(UNITS[units[body]] * mesh.vertices, mesh.faces, body)
        for body, mesh in raw.items()
    }
    return knee.known, units, propose_alignment(meshes)


@pytest.mark.usefixtures("knee_data")
@pytest.mark.parametrize("seed", first_of([9, *(seed for seed in range(COUNT) if seed != 9)]))
def test_side_and_anterior_directions_of_morphed_knees(seed):
    known, units, alignment = aligned(seed)
    assert set(units.values()) == {known["unit"]}
    assert alignment.side == known["side"]
    for body, anterior in zip(("femur", "tibia"), known["anterior"], strict=True):
        assert alignment.frames[body].rotation[0] @ np.array(anterior) > 0.9

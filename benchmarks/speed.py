"""Times of one evaluation of the original model."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.timing import seconds, table
from foundation.elastic_foundation import ElasticFoundation, LinearLaw
from foundation.implant import CondylarImplant


def original() -> str:
    """Return the time of the original model over mesh size and depth, with its Jacobian."""
    implant = CondylarImplant()
    home = implant.home_pose(0.0)
    rows = []
    for edge in (2e-3, 1e-3, 0.5e-3):
        femur, insert, labels = implant.tessellate(edge)
        law = LinearLaw(463e6, 0.46, 8e-3)
        model = ElasticFoundation(femur, insert, law, compartments=labels)
        times = {}
        for name, rise in (("apart", 1e-3), ("at 20 um", -20e-6), ("at 100 um", -100e-6)):
            pose = replace(home, superior=home.superior + rise)
            times[name] = 1e6 * seconds(lambda m=model, p=pose: m.loads_and_jacobian(p))
        counts = f"{len(femur.faces)} / {len(insert.faces)}"
        rows.append([f"{1e3 * edge:g}", counts, *(f"{t:.0f}" for t in times.values())])
    header = ["edge [mm]", "triangles", "apart [us]", "at 20 um [us]", "at 100 um [us]"]
    return table("Original model, one evaluation with Jacobian", header, rows)

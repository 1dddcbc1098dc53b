"""Compile what a run needs of surrogates and dynamics: `python -m pipeline.stages.kernels`.

A small made-up knee is trained and driven through a gait cycle, which compiles what this calls.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS
from foundation.base.pose import rotation_matrix
from pipeline import stages
from pipeline.config.schema import DesignConfig, FeasibilityConfig, SurrogateConfig
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.simulation import GaitSimulation
from pipeline.stages.domains import learn_domain, with_domains
from pipeline.store.samples import OK, poses_of, usable
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath, SampleSpace

_STIFFNESS = 2e10  # of the made-up knee's condyles [N/m²]: 3000 N at 0.4 mm
_ARM = 0.022  # their distance from the middle [m]
_HEIGHT = 0.03  # of the femoral origin over the tibial one [m]
_SAMPLES = 60


def compile_kernels() -> None:
    """Compile what a run needs of surrogates and dynamics, by training and driving a small knee."""
    knee, path = small_knee()
    gait = GaitSimulation.of(SimulationConfig(), path)
    knee.standard_error(gait.start)
    knee.loads(gait.start)
    gait(knee)


def small_knee() -> tuple[ContactSurrogate, ReferencePath]:
    """Return a surrogate of a made-up knee, two point springs on a dish, and its path."""
    path = ReferencePath.through([0.0, 1.0], [[0.0, 0.0, 0.0, _HEIGHT, 0.0]] * 2)
    offsets = np.array([0.05, 0.1, 0.005, 0.003])
    space = SampleSpace(path, np.array([-0.1, 1.2]), offsets, np.array([2.0, 3000.0]))
    design = DesignConfig(kind="sobol", candidates=2 * _SAMPLES, first=_SAMPLES)
    samples = _evaluated(stages.choose_samples(space, design, 1).drop(columns="first"))
    settings = SurrogateConfig()
    (trained,) = stages.fit_surrogates(samples, space, settings, [("inverted", "kriging")], 1)
    bounds = FeasibilityConfig()
    domains = [
        learn_domain(trained.knee.compartment(name), usable(samples, name), bounds)
        for name in COMPARTMENTS
    ]
    return with_domains(trained.knee, *domains), path


def _evaluated(candidates: pd.DataFrame) -> pd.DataFrame:
    """Return candidates with the made-up knee's answers: one upward force where a condyle rests."""
    side = np.where(candidates["compartment"] == COMPARTMENTS[0], -_ARM, _ARM)
    axial, poses = candidates["load_N"].to_numpy(), poses_of(candidates)
    arms = np.array([rotation_matrix(*pose[:3])[:, 2] for pose in poses]) * side[:, None]
    height = _HEIGHT - np.sqrt(axial / _STIFFNESS) - arms[:, 1]
    forward, outward = poses[:, 3] + arms[:, 0], poses[:, 5] + arms[:, 2]
    level, pressure = np.zeros_like(axial), 1e5 * np.sqrt(axial)
    loads = np.column_stack(
        [
            -5.0 * forward * axial, axial, -5.0 * (outward - side) * axial,
            -outward * axial, level, forward * axial,
            axial / pressure, 1.5 * pressure, pressure, forward, level, outward,
        ]
    )  # fmt: skip
    table = candidates.assign(superior_m=height, status=OK, reason="", evaluations=1, weight=1.0)
    return table.assign(**dict(zip(LOAD_COLUMNS, loads.T, strict=True)))


if __name__ == "__main__":
    compile_kernels()

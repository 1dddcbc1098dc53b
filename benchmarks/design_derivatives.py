"""Derivatives of the loads by the parameters of a design, against those of the original model.

`python -m benchmarks.design_derivatives RUN` takes a run over designs. At held-out designs, and at
poses of their feasible samples, the exact derivatives of the surrogate are compared with central
differences of contact models that are built for neighbouring designs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.loads import AXIAL_FORCE
from foundation.base.pose import Pose
from pipeline.design_space.design_contact import design_knee
from pipeline.design_space.drawn_designs import HELD_OUT
from pipeline.design_space.errors import feasible_samples
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.store.samples import read_table

#: Held-out designs, and samples of each compartment within a design.
_DESIGNS, _SAMPLES = 4, 40
#: Step of the central differences, over the range of a parameter.
_STEP = 0.01


def derivative_errors(run: TrainedDesigns) -> dict[str, tuple[float, float]]:
    """Return, by parameter, RMS error of d(axial force)/d(parameter) and its RMS size.

    In N per unit of the parameter, over held-out designs, compartments and samples.
    """
    parameters = run.knee.parameters
    designs = read_table(run.folder / "samples" / "designs.parquet")
    samples = read_table(run.folder / "samples" / "heldout.parquet")
    chosen = designs[designs["use"] == HELD_OUT].head(_DESIGNS)
    truth: list[FloatArray] = []
    found: list[FloatArray] = []
    for _, row in chosen.iterrows():
        values = row[list(parameters.names)].to_numpy(float)
        own = samples[samples["design"] == row["design"]]
        for number, name in enumerate(run.knee.compartments):
            poses = feasible_samples(run.config, own, name)[0][:_SAMPLES]
            slopes = run.knee.loads_and_slopes(poses, values)[1]
            found.append(slopes[:, number, AXIAL_FORCE])
            truth.append(_differences(run, values, poses, name))
    misses, sizes = np.concatenate(found) - np.concatenate(truth), np.concatenate(truth)
    return {
        name: (
            float(np.sqrt((misses[:, p] ** 2).mean())),
            float(np.sqrt((sizes[:, p] ** 2).mean())),
        )
        for p, name in enumerate(parameters.names)
    }


def _differences(
    run: TrainedDesigns, values: FloatArray, poses: FloatArray, compartment: str
) -> FloatArray:
    """Return d(axial force)/d(parameter) (N, P) of the original model at poses (N, 6)."""
    parameters = run.knee.parameters
    columns = []
    for p, width in enumerate(parameters.high - parameters.low):
        forces = []
        for sign in (1.0, -1.0):
            moved = values.copy()
            moved[p] += sign * _STEP * width
            model = design_knee(run.config, parameters.named(moved)).model
            loads = [model.compartment_loads(Pose.from_array(q), compartment)[0] for q in poses]
            forces.append(np.array(loads)[:, AXIAL_FORCE])
        columns.append((forces[0] - forces[1]) / (2.0 * _STEP * width))
    return np.column_stack(columns)


def main(folder: Path) -> None:
    """Print the errors of the derivatives of a run over designs."""
    print("parameter: error of d(axial force)/d(parameter), its size [N per unit], share")
    for name, (error, size) in derivative_errors(TrainedDesigns.open(folder)).items():
        print(f"{name}: {error:.3g}, {size:.3g}, {100.0 * error / size:.2g} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

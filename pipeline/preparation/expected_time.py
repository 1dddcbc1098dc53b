"""Expected time and disk space of a run: stages, evaluations of each stage, and time of the fits.

The time of an evaluation is measured on the knee of the study; the time of the fits was measured in
other runs. The expected time is accurate within a factor of two.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config
from pipeline.execution import Execution
from pipeline.originals.contact_original import preparation_of
from pipeline.originals.knee import Cost
from pipeline.progress import Stage
from pipeline.stages.adaptive_sampling import round_sizes
from pipeline.stages.assessment import median_seconds
from surrogates.formulations.selection import MOST_FOR_KRIGING
from surrogates.sampling.space import ReferencePath

#: Time of a Kriging fit of one compartment [s]: constant, and per cubed number of samples.
_KRIGING = (2.0, 1.5e-9)
#: Time of a training step per network [s]: constant, and per squared number of units in a layer.
_STEP = (2e-4, 1.2e-7)
#: Time of a polynomial fit of one compartment [s]: constant, and per sample.
_POLYNOMIAL = (1.0, 2e-4)
#: Of spline-polynomials of several degrees.
_SPLINES = (10.0, 4e-4)
#: Evaluations of the original model per gait cycle, and combinations beside the nominal inputs.
_CYCLE, _COMBINATIONS = 1300, 10
#: Time ratio of an evaluation with Jacobian and an evaluation of the loads of one compartment.
_WHOLE = 2.0
#: Bytes of a candidate per round, of an evaluated sample, and of all other files.
_CANDIDATE_BYTES, _SAMPLE_BYTES = 300, 250
_RUN_BYTES = 8e6


def stages_of(config: Config, per_load: float = 12.0, preparation_s: float = 60.0) -> list[Stage]:
    """Return the stages of a run, if the search for a height takes `per_load` evaluations.

    The preparation of the contact model, if any, is expected to take `preparation_s` [s].
    """
    design, validation = config.design, config.validation
    prepared, gait = preparation_of(config), 10.0
    before = []
    if prepared is not None:
        before = [Stage(prepared.stage, seconds=preparation_s, alone=True)]
        gait += prepared.coarser * preparation_s
    per_sample = per_load if design.follow == "load" else 1.0
    parts = len(config.knee.compartments)
    stages = [
        Stage("surfaces and contact model", seconds=2.0),
        Stage("reference path", seconds=3.0),
        *before,
        Stage("a: candidates", seconds=0.5),
        Stage("b: first evaluations", parts * design.first, per_load, 3.0),
    ]
    known = design.first
    for size in round_sizes(design):
        added = min(size, design.candidates - known)
        stages += [
            Stage("c: surrogates", seconds=parts * _fit(config, design.family, known)),
            Stage("d: predicted loads of the other candidates", seconds=2e-4 * design.candidates),
            Stage("e: candidates within the bounds of gait", seconds=0.1),
            Stage("f: evaluations of kept candidates", parts * added, per_sample, 2e-3 * added),
        ]
        known += added
    if design.gait_samples:
        stages.append(Stage("f: evaluations along gait", parts * design.gait_samples, 1.0, 2.0))
        known += design.gait_samples
    surrogate = config.surrogate
    families = [surrogate.family, *(family for _, family in surrogate.compare)]
    cycle = _CYCLE * _WHOLE * config.simulation.cycles
    last = [Stage("h: gait simulation", 1, cycle, gait, alone=True)]
    if config.simulation.combinations and config.original.kind == "model":
        last.append(Stage("h: combinations of inputs", _COMBINATIONS, cycle))
    return [
        *stages,
        Stage("g: final surrogates", seconds=sum(parts * _fit(config, f, known) for f in families)),
        Stage(
            "g: poses where the surrogates can be trusted",
            parts * design.domain_samples,
            per_load,
            2.0 * len(families),
        ),
        Stage("held-out samples", parts * validation.points, per_load),
        Stage("validation", seconds=1.0),
        *([] if config.simulation.kind == "none" else last),
    ]


def _fit(config: Config, family: str, samples: int) -> float:
    """Return the time of a fit of one compartment [s]."""
    if family == "kriging":
        return _KRIGING[0] + _KRIGING[1] * samples**3
    if family == "network":
        settings = config.surrogate.network
        step_time = _STEP[0] + _STEP[1] * settings.hidden**2
        return step_time * settings.networks * settings.steps
    if family == "auto" and samples <= MOST_FOR_KRIGING:
        return _fit(config, "kriging", samples) + _SPLINES[0]
    if family in ("auto", "spline"):
        return _SPLINES[0] + _SPLINES[1] * samples
    return _POLYNOMIAL[0] + _POLYNOMIAL[1] * samples


def seconds_per_evaluation(model: SurfaceContact, path: ReferencePath) -> float:
    """Return the median time of an evaluation of one compartment on the reference path [s]."""
    poses = map(Pose.from_array, path.poses(path.flexion))
    return median_seconds(model.compartment_loads, [*product(poses, model.compartment_names)])


def expected_figures(config: Config, per_load: float, cost: Cost) -> dict[str, Any]:
    """Return the expected time of a run [s] and its disk space [bytes].

    `per_load` is the number of evaluations of a sample, `cost` that of the contact model.
    """
    workers = Execution.of(config.run).workers
    stages = stages_of(config, per_load, cost.preparation_s)
    evaluated = sum(stage.samples for stage in stages if not stage.name.startswith("h"))
    candidates = (
        len(config.knee.compartments) * config.design.candidates * len(round_sizes(config.design))
    )
    return {
        "evaluation_s": cost.evaluation_s,
        "preparation_s": cost.preparation_s,
        "evaluations_per_sample": per_load,
        "workers": workers,
        "run_s": sum(stage.expected(cost.evaluation_s, workers) for stage in stages),
        "disk_bytes": cost.storage
        + _RUN_BYTES
        + _CANDIDATE_BYTES * candidates
        + _SAMPLE_BYTES * evaluated,
    }

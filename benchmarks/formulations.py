"""Errors, time and size of every formulation of the surrogate, on three knees.

`python -m benchmarks.formulations` prints a table for each knee; `--knee` chooses one knee. Kriging
learns every formulation from the same feasible samples of the box, `COUNT` of each compartment. All
samples are kept in runs/benchmarks/formulations, so that a second call evaluates no sample twice.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.frame import DEFAULT, Table, show
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError
from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS, WRENCH_COLUMNS
from pipeline import stages
from pipeline.config.reading import load_config
from pipeline.originals.candidates import sample_space
from pipeline.originals.protocol import OriginalModel, contact_model
from pipeline.originals.table_original import build_original
from pipeline.progress import say
from pipeline.simulation import GaitSimulation, compare_cycles, simulation_table
from pipeline.stages.adaptive_sampling import Sampled, sample_knee
from pipeline.stages.domains import learn_domains
from pipeline.stages.run_folder import Run, stored_path
from pipeline.store.samples import loads_of, poses_of, usable
from surrogates import save
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.domain_fit import is_far_off, is_wrong
from surrogates.formulations.outside import beyond
from surrogates.formulations.registry import FORMULATIONS
from surrogates.formulations.validation import errors_at_load
from surrogates.sampling.space import SampleSpace

ROOT = Path(__file__).resolve().parents[1]
FOLDER = DEFAULT / "formulations"
#: Configurations of the knees.
KNEES = ("implant", "grand_challenge", "lenhart")
#: Feasible samples of a compartment.
COUNT = 1000
#: All samples are spread over the box: none lies along gait, and none where a formulation is poor.
KEYS = (
    "run.workers=1", "design.candidates=4096", "design.first=400", "design.rounds=1",
    "design.budget=1600", 'design.infill="sequence"', 'design.family="polynomial"',
    "design.gait_samples=0", "validation.points=750", "validation.load_spread=1.0",
)  # fmt: skip
#: Figures of a formulation: column and format.
COLUMNS = {
    "unflagged": ("at pose, unflagged [% of peak]", ".2f"),
    "feasible": ("at pose, feasible [% of peak]", ".2f"),
    "along": ("at poses of gait [% of peak]", ".2f"),
    "flagged": ("flagged of feasible [%]", ".1f"),
    "silent": ("silent", ".0f"),
    "far": ("far", ".0f"),
    "height": ("height at load [µm]", ".2f"),
    "force": ("gait: axial force [% of peak]", ".3f"),
    "anterior": ("gait: AP position [µm]", ".1f"),
    "time": ("time over that of inverted", ".2f"),
    "size": ("size of the file in kB", ".0f"),
    "samples": ("samples", ".0f"),
    "fit": ("fit [s]", ".1f"),
}
#: Figures that count poses.
_NUMBERS = ("silent", "far")
#: Timed repetitions of the evaluation; the shortest time counts.
_TIMED = 30
_WRENCH = len(WRENCH_COLUMNS)


@dataclass(frozen=True, eq=False)
class Study:
    """One knee: its original model, its samples, and the gait cycle that the original drives."""

    run: Run
    original: OriginalModel
    space: SampleSpace
    sampled: Sampled
    held_out: pd.DataFrame
    gait: GaitSimulation
    cycle: SimulationResult

    @classmethod
    def of(cls, run: Run) -> Study:
        """Return the study of a run, with all samples evaluated."""
        config, original = run.config, build_original(run.config, run.folder)
        run.prepare(resume=True, original=original)
        space = sample_space(config, stored_path(run, original))
        sampled = sample_knee(run, original, space)
        drawn = original.held_out(space, config, sampled.candidates)
        evaluation = original.evaluation()
        held_out = run.table("heldout", lambda: run.evaluate("heldout", drawn, evaluation))
        gait = GaitSimulation.of(config.simulation, space.path)
        cycle = gait(contact_model(original))
        return cls(run, original, space, sampled, held_out, gait, cycle)

    @property
    def samples(self) -> pd.DataFrame:
        """Samples that every formulation learns from."""
        kept = self.sampled.training
        kept = kept[kept["weight"] == 1.0]
        return kept.groupby("compartment", sort=False).head(COUNT).reset_index(drop=True)

    def row(self, formulation: str) -> tuple[ContactSurrogate, dict[str, float]]:
        """Return a fitted formulation with its trained domain, and its figures but for the time.

        Raises
        ------
        StageError
            If the fit is not possible.
        """
        samples, config, pairs = self.samples, self.run.config, [(formulation, "kriging")]
        begun = time.process_time()
        trained = stages.fit_surrogates(
            samples, self.space, config.surrogate, pairs, config.run.seed
        )
        known = {
            "samples": max(len(usable(samples, name)) for name in COMPARTMENTS),
            "fit": time.process_time() - begun,
        }
        (judged,) = learn_domains(self.run, self.original, self.space, trained, self.sampled)
        with tempfile.TemporaryDirectory() as folder:
            save(judged.knee, Path(folder) / "knee.npz")
            known["size"] = 1e-3 * (Path(folder) / "knee.npz").stat().st_size
        return judged.knee, known | self.at_poses(judged.knee) | self.over_gait(judged.knee)

    def at_poses(self, knee: ContactSurrogate) -> dict[str, float]:
        """Return the errors at given poses: the worse compartment's, or the sum of numbers."""
        parts = [self._errors(knee, place) for place in range(len(COMPARTMENTS))]
        return {
            key: float((np.sum if key in _NUMBERS else np.max)([part[key] for part in parts]))
            for key in parts[0]
        }

    def _errors(self, knee: ContactSurrogate, place: int) -> dict[str, float]:
        """Return the errors of one compartment at held-out poses of the box, and along gait.

        RMS of the worst of the six loads over its peak [1], at poses without a flag, at feasible
        poses and along gait; feasible poses with a flag [1]; numbers of poses without a flag that
        are off by more than 2 % of the largest load and three standard errors (`silent`), or by
        more than 10 % (`far`); the RMS of the height at a given load [m] if "inverted".
        """
        name = COMPARTMENTS[place]
        part, rows = knee.compartment(name), usable(self.held_out, name)
        poses, truth = poses_of(rows), loads_of(rows)
        feasible = stages.infeasibility(truth, self.run.config.feasibility, 0.0) == ""
        peak = np.abs(truth[feasible, :_WRENCH]).max(axis=0)
        loads, _, variables = part.evaluate_batch(poses)
        flagged = beyond(variables).any(axis=1)
        residuals, largest = loads - truth, float(self.space.load[1])
        wrong = is_wrong(residuals, part.standard_error(poses), largest)
        along = part.evaluate_batch(self.cycle.poses)[0] - self.cycle.compartment_loads[place]
        found = {
            "unflagged": worst_rms(residuals[~flagged, :_WRENCH] / peak),
            "feasible": worst_rms(residuals[feasible, :_WRENCH] / peak),
            "flagged": float(flagged[feasible].mean()),
            "silent": int((wrong & ~flagged).sum()),
            "far": int((is_far_off(residuals, largest) & ~flagged).sum()),
            "along": worst_rms(along[:, :_WRENCH] / peak),
        }
        if part.learns_heights:
            at_load = errors_at_load(part, poses[feasible], truth[feasible])
            found["height"] = at_load["superior_m"].rmse
        return found

    def over_gait(self, knee: ContactSurrogate) -> dict[str, float]:
        """Return the errors over the gait cycle that a surrogate drives; none if it drives none."""
        try:
            own = self.gait(knee)
        except (SimulationError, EquilibriumError):
            return {}
        rows = simulation_table({"original": self.cycle, "surrogate": own})
        found = {row.column: row for row in compare_cycles(rows)}
        axial = [found[f"{name}_force_y_N"] for name in COMPARTMENTS]
        return {
            "force": max(row.rms_difference / row.peak for row in axial),
            "anterior": 1e-3 * found["anterior_m"].rms_difference,
        }


def worst_rms(shares: FloatArray) -> float:
    """Return the largest root mean square [1] of the columns of errors (N, k) [1]; NaN of none."""
    if not len(shares):
        return float("nan")
    return float(np.sqrt((shares**2).mean(axis=0)).max())


def times(knees: Mapping[str, ContactSurrogate], poses: FloatArray) -> dict[str, float]:
    """Return the processor time of each knee's evaluation, both compartments with Jacobian [s].

    The knees take turns, so that other programs disturb all of them alike.
    """
    shortest = dict.fromkeys(knees, np.inf)
    for repeat in range(1 + _TIMED):
        for name, knee in knees.items():
            begun = time.process_time()
            knee.evaluate_batch(poses)
            spent = (time.process_time() - begun) / len(poses)
            if repeat:  # the first evaluation compiles
                shortest[name] = min(shortest[name], spent)
    return shortest


def figures_of(name: str) -> dict[str, dict[str, float]]:
    """Return the figures of all formulations of a knee, none of one that cannot be fitted."""
    config = load_config(ROOT / "configs" / f"{name}.toml", KEYS)
    found: dict[str, dict[str, float]] = {}
    knees: dict[str, ContactSurrogate] = {}
    # One thread: sums in threaded linear algebra depend on the number of cores.
    with threadpool_limits(1), Run(config, FOLDER / name) as run:
        study = Study.of(run)
        for formulation in FORMULATIONS:
            found[formulation] = {}
            try:
                knees[formulation], found[formulation] = study.row(formulation)
            except stages.StageError as error:
                say(f"{name}: {error}")
        spent = times(knees, study.cycle.poses)
    for formulation, seconds in spent.items():
        found[formulation]["time"] = seconds / spent["inverted"]
    return found


def told(name: str, found: Mapping[str, Mapping[str, float]]) -> Table:
    """Return the table of a knee in order of the error at feasible poses."""
    order = sorted(found, key=lambda formulation: found[formulation].get("feasible", np.inf))
    rows = [(each, *(found[each].get(key) for key in COLUMNS)) for each in order]
    return Table(name, {"formulation": "", **dict(COLUMNS.values())}, rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--knee", choices=KNEES, help="one knee alone")
    chosen = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    show(told(name, figures_of(name)) for name in (KNEES if chosen.knee is None else [chosen.knee]))


if __name__ == "__main__":
    main()

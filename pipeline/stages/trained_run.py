"""A finished run, opened to use its surrogate and its models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

import surrogates
from dynamics.simulator.result import find_column
from foundation.base.checks import FloatArray, check_in
from foundation.base.loads import LOAD_COLUMNS
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.mesh import TriangleMesh
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.protocol import OriginalModel, contact_model
from pipeline.originals.table_original import build_original
from pipeline.simulation import GaitSimulation
from pipeline.stages.run_folder import check_unchanged, read_path
from pipeline.store.documents import make_again, read_json
from pipeline.store.job import check_configuration, check_single_knee
from pipeline.store.samples import CANDIDATE_COLUMNS, RESULT_COLUMNS, read_table
from pipeline.store.workspace_lock import RunError
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.space import ReferencePath


def opened(
    folder: Path, names: Sequence[str], kind: str, of: str = ""
) -> tuple[Config, ContactSurrogate]:
    """Return configuration and surrogate of a run that has finished and was not changed since."""
    for name in ("config.toml", *names, "knee.npz"):
        if not (folder / name).is_file():
            raise RunError(
                f"{folder}: is not a finished {kind}, {name} is missing; make it with "
                f"`{make_again(folder / name)}`{of}"
            )
    config = load_config(folder / "config.toml")
    check_configuration(folder)
    return config, surrogates.load(folder / "knee.npz")


def _current(axes: Any) -> Any:
    """Return axes of matplotlib, by default the current ones."""
    import matplotlib.pyplot as plt

    return plt.gca() if axes is None else axes


@dataclass(frozen=True, eq=False)
class PressureMap:
    """Pressure on a tibial surface."""

    tibia: TriangleMesh
    #: Pressure at the middle of each triangle (F,) [Pa].
    pressure: FloatArray

    def __repr__(self) -> str:
        return f"<PressureMap of {self.tibia.name}: at most {1e-6 * self.pressure.max():.3g} MPa>"

    def plot(self, axes: Any = None) -> Any:
        """Draw the pressure [MPa] on the plateau seen from above; return the axes of matplotlib."""
        axes = _current(axes)
        x, z = 1e3 * self.tibia.vertices[:, 0], 1e3 * self.tibia.vertices[:, 2]
        shades = axes.tripcolor(z, x, self.tibia.faces, facecolors=1e-6 * self.pressure)
        axes.figure.colorbar(shades, ax=axes, label="pressure [MPa]")
        axes.set(xlabel="lateral [mm]", ylabel="anterior [mm]", aspect="equal")
        return axes


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A finished run: its configuration, trained surrogate, reference path and original model."""

    folder: Path
    config: Config
    surrogate: ContactSurrogate

    @classmethod
    def open(cls, folder: Path) -> TrainedRun:
        """Open a run directory; raises `RunError` unless it is a finished run of one knee."""
        check_single_knee(folder)
        return cls(folder, *opened(folder, ("path.json", "run.json"), "run"))

    @cached_property
    def path(self) -> ReferencePath:
        """Reference path over flexion."""
        return read_path(self.folder)

    @cached_property
    def original(self) -> OriginalModel:
        """Original model, built at its first use; raises `InputError` if a file has changed."""
        original = build_original(self.config, self.folder)
        check_unchanged(self.folder, original)
        return original

    @property
    def reference_model(self) -> SurfaceContact:
        """Contact model that the surrogate was trained with; raises `InputError` of a table."""
        return contact_model(self.original)

    @cached_property
    def report(self) -> dict[str, Any]:
        """Content of `report.json` by section; raises `ReportError` if the file is damaged."""
        return read_json(self.folder / "report.json")

    @cached_property
    def figures(self) -> pd.DataFrame:
        """Numbers of the report outside its tables: a `value` with its unit at each key."""
        values = pd.json_normalize(self.report).iloc[0]
        return values[[isinstance(v, (int, float)) for v in values]].astype(float).to_frame("value")

    def plot(
        self, column: str = "total_force", over: str = "gait_percent", axes: Any = None
    ) -> Any:
        """Draw a column of `simulation.parquet` for both models; return the axes of matplotlib.

        Names may lack the unit (`dynamics.simulator.result.find_column`).
        """
        axes = _current(axes)
        cycle = read_table(self.folder / "simulation.parquet", ("model",))
        x, y = (find_column(name, cycle.columns) for name in (over, column))
        for model, rows in cycle.groupby("model", sort=False):
            axes.plot(rows[x], rows[y], label=model)
        axes.set(xlabel=x, ylabel=y)
        axes.legend()
        return axes

    def plot_held_out(self, column: str = "peak_pressure_Pa", axes: Any = None) -> Any:
        """Draw predicted over true values of a load [SI] at the held-out samples; return the axes.

        Raises `InputError` if the column is not one of `foundation.base.loads.LOAD_COLUMNS`.
        """
        axes = _current(axes)
        predicted = f"predicted_{check_in('column', column, LOAD_COLUMNS)}"
        file = self.folder / "samples" / "heldout_prediction.parquet"
        table = read_table(file, ("compartment", column, predicted))
        for name, rows in table.groupby("compartment", sort=False):
            axes.plot(rows[column], rows[predicted], ".", label=name)
        axes.axline((0.0, 0.0), slope=1.0, color="0.7", zorder=0)
        axes.set(xlabel=f"contact model: {column}", ylabel=f"surrogate: {column}")
        axes.legend()
        return axes

    def pressure_map(self, pose: Pose, model: str = "original") -> PressureMap:
        """Return the pressure on the tibia at a pose, of the "original" or of the "surrogate".

        Raises `InputError` for another model, a surrogate without pressure fields, or a run whose
        original model is a table.
        """
        contact = self.reference_model
        if check_in("model", model, ("original", "surrogate")) == "original":
            return PressureMap(contact.tibia, contact.spring_state(pose).pressure)
        return PressureMap(contact.tibia, self.surrogate.pressure_field(pose).pressure)

    def compare(self, other: TrainedRun) -> pd.DataFrame:
        """Return the figures of this run and of another one, and their difference, by key."""
        pair = self.figures.value.rename("this"), other.figures.value.rename("other")
        table = pd.concat(pair, axis=1, join="inner")
        return table.assign(difference=table.other - table.this)

    @cached_property
    def gait(self) -> GaitSimulation:
        """The gait cycle of the run."""
        return GaitSimulation.of(self.config.simulation, self.path)

    def samples(self, name: str) -> pd.DataFrame:
        """Return a table of evaluated samples, such as "first", "kept" or "heldout"."""
        columns = (*CANDIDATE_COLUMNS, *RESULT_COLUMNS)
        return read_table(self.folder / "samples" / f"{name}.parquet", columns)

"""A table of poses and loads that replaces the original model: `[original] kind = "table"`.

Its rows are the candidates of stage a, but for some that are held out; what stages b and f would
compute is looked up. Where the configuration leaves sample space and numbers open, they follow from
the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.config.data_folder import data_file
from pipeline.config.schema import Config, DesignConfig, PathConfig, SpaceConfig
from pipeline.config.schema_base import Section
from pipeline.config.stage_schema import AUTO, PATH_COLUMNS
from pipeline.originals.candidates import OFFSET_UNITS, generators
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import Evaluation, OriginalModel, Progress
from pipeline.originals.pose_load_table import PoseLoads, TableError, read_pose_loads
from pipeline.originals.reference_path import tabulated_path
from pipeline.store.run_documents import FromTable
from pipeline.store.samples import CANDIDATE_COLUMNS, poses_of
from surrogates.families.registry import FAMILIES
from surrogates.sampling.space import OFFSET_COORDINATES, ReferencePath, SampleSpace

#: Part of the rows that is held out if the configuration does not say how many.
_HELD_OUT_PART = 0.2
#: Most samples of a compartment that Kriging is fitted to if the configuration does not say.
_MOST_FOR_KRIGING = 2500
#: Bounds of the nugget: rows with errors of their own are smoothed. From a smaller one the search
#: for outputs that are hardly more than errors ends where it interpolates.
_NUGGET = (1e-4, 1.0)
#: Starts of the likelihood search: of few rows one alone may end where it interpolates.
_STARTS = 4
#: The path over flexion is a cubic; so many knots hold it.
_KNOTS = 4
#: Least half width of a box that is derived from rows [deg, mm].
_LEAST_WIDTH = 0.01
_SPLIT = 1
_TOLERANCE = 1e-9

AnySection = TypeVar("AnySection", bound=Section)


class TableOriginal(PoseLoads):
    """A checked table of poses and loads that replaces the original model."""

    #: The rows alone are known, no loads at other poses.
    model: ClassVar[None] = None
    quick: ClassVar[None] = None

    def prepare(self, progress: Progress) -> None:
        """Do nothing: rows are looked up."""
        del progress

    def reference_path(self, config: Config) -> ReferencePath:
        """Return the reference path over flexion of a study."""
        return tabulated_path(config.space.path)

    def candidates(self, space: SampleSpace, config: Config) -> pd.DataFrame:
        """Return the rows that are not held out, with `first` (bool) for those of stage b."""
        return self._split(space, config)[0]

    def held_out(
        self, space: SampleSpace, config: Config, candidates: pd.DataFrame
    ) -> pd.DataFrame:
        """Return the rows that are held out."""
        del candidates  # the same split gave them
        return self._split(space, config)[1]

    def evaluation(self, follow: str = "load") -> Evaluation:
        """Return the evaluation of samples: their rows of the table."""
        del follow  # a row has its pose and its load
        return Evaluation(self.look_up)

    def look_up(self, asked: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the table that candidates stand for, as an evaluation returns them."""
        known = self.rows.set_index(["compartment", "index"], drop=False)
        wanted = pd.MultiIndex.from_frame(asked[["compartment", "index"]])
        return known.loc[wanted].reset_index(drop=True)

    def inside(self, space: SampleSpace) -> pd.DataFrame:
        """Return the rows inside a sample space."""
        rows = self.rows
        axial = rows["load_N"].to_numpy()
        x, _ = space.scaled(poses_of(rows), axial)
        within = (np.abs(x) <= 1.0 + _TOLERANCE).all(axis=1) & (axial >= space.load[0])
        return rows[within]

    def _split(self, space: SampleSpace, config: Config) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the candidates of stage a, with `first`, and the rows that are held out."""
        rows, design, validation = self.inside(space), config.design, config.validation
        candidates, held_out = [], []
        seeds = generators([validation.seed, _SPLIT]), generators(config.run.seed)
        for (name, of_split), (_, of_first) in zip(*seeds, strict=True):
            samples = rows[rows["compartment"] == name][list(CANDIDATE_COLUMNS)]
            needed = validation.points + design.first
            if len(samples) <= needed:
                raise TableError(
                    f"{self.name}: needs more than {needed} {name} rows in the sample "
                    f"space (validation.points + design.first), found {len(samples)}; reduce "
                    "these keys, or widen [space]"
                )
            order = of_split.permutation(len(samples))
            held_out.append(samples.iloc[np.sort(order[: validation.points])])
            training = samples.iloc[np.sort(order[validation.points :])]
            first = np.zeros(len(training), dtype=bool)
            first[of_first.permutation(len(training))[: design.first]] = True
            candidates.append(training.assign(first=first))
        return pd.concat(candidates, ignore_index=True), pd.concat(held_out, ignore_index=True)

    def describe(self, space: SampleSpace) -> FromTable:
        """Return the entry `original` of `run.json`."""
        in_contact = self.rows["compartment"].value_counts()
        return FromTable(
            kind="table",
            file=self.name,
            rows=self.count,
            in_contact={name: int(in_contact[name]) for name in COMPARTMENTS},
            out_of_contact=self.out_of_contact,
            no_answer=self.no_answer,
            outside_space=len(self.rows) - len(self.inside(space)),
            not_given=list(self.not_given),
            ignored_columns=list(self.ignored),
        )


def build_original(config: Config, folder: Path | None = None) -> OriginalModel:
    """Build the original model of a study, or read the table in its place."""
    return build_knee(config, folder) if config.original.kind == "model" else _read(config)


def _read(config: Config) -> TableOriginal:
    assert config.original.file is not None  # the schema asks for it
    path = data_file(config.original.file)
    return TableOriginal(**vars(read_pose_loads(path, config.original.side)))


#: The design of many samples of one evaluation each.
_DENSE: dict[str, Any] = {
    "candidates": 20_480, "budget": 12_000, "rounds": 1, "infill": "sequence", "follow": "pose",
}  # fmt: skip
#: A budget below this number of samples is a small one.
_FEW = 4000


def completed(config: Config) -> Config:
    """Return a configuration with what it leaves open taken from its table or its contact model."""
    if config.original.kind == "model":
        return _with_many_samples(config) if _samples_are_cheap(config) else config
    rows = _read(config).rows
    count = int(rows.groupby("compartment").size().min())
    held_out = max(20, round(_HELD_OUT_PART * count))
    validation = _filled(config.validation, {"points": min(config.validation.points, held_out)})
    training_rows = int(rows.groupby("compartment").size().max()) - validation.points
    design, settings = config.design, config.surrogate
    if training_rows <= _MOST_FOR_KRIGING:
        # Kriging tells the errors of the rows, and smooths; a compressed form would add its own.
        settings = _filled(settings, {"family": "kriging"})
    first = min(design.first, max(10, (count - validation.points) // 2))
    few = training_rows <= _MOST_FOR_KRIGING or settings.family != "kriging"
    numbers = {
        "candidates": training_rows,
        "first": first,
        "budget": 0 if few else _MOST_FOR_KRIGING,
    }
    kriging = _filled(settings.kriging, {"nugget": _NUGGET, "starts": _STARTS})
    return config.model_copy(
        update={
            "space": _space(config.space, rows),
            "design": DesignConfig.model_validate(_filled(design, numbers).model_dump()),
            "validation": validation,
            "surrogate": settings.model_copy(update={"kriging": kriging}),
        }
    )


def _samples_are_cheap(config: Config) -> bool:
    """Return whether an evaluation takes about a millisecond and the family takes many samples."""
    family = config.surrogate.family
    takes_many = family == AUTO or FAMILIES[family].joint
    return config.contact.model == "elastic_foundation" and takes_many


def _with_many_samples(config: Config) -> Config:
    """Return a configuration with [design] for many samples, in keys that its file left open."""
    design = config.design
    # A small budget is better spent by the predicted error, on exact samples.
    if "budget" in design.model_fields_set and 0 < design.budget < _FEW:
        return config
    filled = _filled(design, _DENSE).model_dump()
    if "budget" not in design.model_fields_set:
        filled["budget"] = min(filled["budget"], filled["candidates"])
    design = DesignConfig.model_validate(filled)
    return config.model_copy(update={"design": design})


def _filled(section: AnySection, values: Mapping[str, Any]) -> AnySection:
    """Return a section with values for the keys that its file did not give."""
    left_open = {k: v for k, v in values.items() if k not in section.model_fields_set}
    return section.model_copy(update=left_open)


def _space(section: SpaceConfig, rows: pd.DataFrame) -> SpaceConfig:
    """Return the sample space about a path through the rows that holds all of them."""
    poses, load = poses_of(rows), rows["load_N"].to_numpy()
    flexion = np.degrees(poses[:, 0])
    low, high = _down(flexion.min(), 0.01), _up(flexion.max(), 0.01)
    space = _filled(section, {"flexion_deg": (low, max(high, low + _LEAST_WIDTH))})
    if space.path.kind != "table":
        space = space.model_copy(update={"path": _path_through(poses, space.flexion_deg)})
    offsets = (poses - tabulated_path(space.path).poses(poses[:, 0]))[:, OFFSET_COORDINATES]
    largest = np.abs(offsets).max(axis=0) * list(OFFSET_UNITS.values())
    widths = [_up(max(width, _LEAST_WIDTH), 0.001) for width in largest]
    limits = max(_down(load.min(), 1e-3), 1e-3), _up(load.max(), 1.0)
    return _filled(space, dict(zip(OFFSET_UNITS, widths, strict=True)) | {"load_N": limits})


def _path_through(poses: FloatArray, flexion_deg: tuple[float, float]) -> PathConfig:
    """Return the cubic over flexion that comes closest to poses (N, 6), by its knots."""
    low, high = flexion_deg
    t = (np.degrees(poses[:, 0]) - low) / (high - low)
    degree = min(_KNOTS - 1, len(np.unique(t.round(6))) - 1)
    fitted = np.polynomial.polynomial.polyfit(t, poses[:, 1:], degree)
    knots = np.polynomial.polynomial.polyval(np.linspace(0.0, 1.0, _KNOTS), fitted)
    values = np.vstack([np.degrees(knots[:2]), 1e3 * knots[2:]]).round(6)
    flexion = np.linspace(low, high, _KNOTS).round(9)
    columns = dict(zip(PATH_COLUMNS, map(tuple, values.tolist()), strict=True))
    content = {"kind": "table", "flexion_deg": tuple(flexion.tolist()), **columns}
    return PathConfig.model_validate(content)


def _down(value: float, step: float) -> float:
    return float(round(np.floor(value / step) * step, 9))


def _up(value: float, step: float) -> float:
    return float(round(np.ceil(value / step) * step, 9))

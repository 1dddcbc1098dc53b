"""Frames of walks and forward simulations: tables, forces of contacts, figures and charts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.motion.motion_tables import MotionTable, motion_text
from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.leg_sides import leg_side
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.musculoskeletal.osim_joints import BODY, Placement
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.plant import CoordinateMotion, SimulatedFrames
from foundation.base.checks import FloatArray
from foundation.base.loads import CENTRE, FORCE, LOAD_COLUMNS, MOMENT
from pipeline.files import write_text
from pipeline.flagged_instants import flagged_sentence
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, lines_of
from pipeline.reports.figures import Picture
from pipeline.store.run_documents import Computed
from pipeline.studies.muscle_walks.setup import WalkSetup, is_split

#: Tables of a simulation with a row per frame, by name and title, and those of a walk.
_TITLES = {
    "states.sto": "states",
    "kinematics.mot": "Coordinates",
    "forces.sto": "forces",
    "contact.sto": "contact",
}
FILES = (*_TITLES, "frames.csv")


class Simulated(Protocol):
    """A model with its multibody system along a motion."""

    @property
    def model(self) -> OsimModel:
        """The model."""
        ...

    @property
    def plant(self) -> OpenSimPlant:
        """Its multibody system along the motion."""
        ...


def whole_motion(setup: Simulated, result: SimulatedFrames) -> CoordinateMotion:
    """Return the motion of all coordinates at the frames, the secondary ones as simulated."""
    motion = setup.plant.motion.first(len(result.time))
    values, speeds = motion.values.copy(), motion.speeds.copy()
    places = motion.index(result.secondary)
    values[:, places], speeds[:, places] = result.values, result.speeds
    return replace(motion, values=values, speeds=speeds)


def ligament_forces(setup: Simulated, result: SimulatedFrames) -> FloatArray:
    """Return the tensions (N, L) [N] of the ligaments."""
    plant = setup.plant
    rows = zip(result.values, result.speeds, strict=True)
    return np.array(
        [plant.ligament_tensions(frame, *row) for frame, row in enumerate(rows)]
    ).reshape(len(result.time), len(plant.ligaments.names))


def states_table(setup: Simulated, result: SimulatedFrames) -> MotionTable:
    """Return coordinates, speeds and activations with OpenSim's names [rad, m; per s; 1]."""
    motion, paths = whole_motion(setup, result), setup.model.coordinate_paths
    names, columns = [], []
    for k, name in enumerate(motion.names):
        names += [f"{paths[name]}/value", f"{paths[name]}/speed"]
        columns += [motion.values[:, k], motion.speeds[:, k]]
    names += [f"/forceset/{name}/activation" for name in result.muscles]
    values = np.column_stack([*columns, result.activations])
    return MotionTable(tuple(names), result.time, values, False, "states")


def kinematics_table(setup: Simulated, result: SimulatedFrames) -> MotionTable:
    """Return all coordinates by name [deg, m]."""
    motion = whole_motion(setup, result)
    factors = np.where(motion.rotational, 180.0 / np.pi, 1.0)
    return MotionTable(motion.names, motion.time, factors * motion.values, True, "kinematics")


def forces_table(setup: Simulated, result: SimulatedFrames, tensions: FloatArray) -> MotionTable:
    """Return forces of muscles, of ligaments with tensions (N, L), and reserves [N; N m, N]."""
    names = (*result.muscles, *setup.plant.ligaments.names)
    columns = [result.muscle_forces, tensions]
    if isinstance(result, ComakResult):
        names += tuple(f"{name}_reserve" for name in result.free)
        columns.append(result.reserves)
    return MotionTable(names, result.time, np.column_stack(columns), False, "forces")


def run_frames(setup: WalkSetup) -> dict[str, Placement]:
    """Return the placement of the frame of each surrogate's run in the frame of the bed."""
    pairs = zip(setup.springs, setup.contacts, strict=True)
    return {
        springs.name: springs.bed.inverse.after(contact.bed)
        for springs, contact in pairs
        if contact.model is not springs.model
    }


def contact_table(
    result: SimulatedFrames, frames: Mapping[str, Placement] | None = None
) -> MotionTable:
    """Return the loads of contacts and compartments in frames of the beds [SI]."""
    names, columns = [], []
    for k, contact in enumerate(result.contacts):
        loads = [frame[k] for frame in result.loads]
        parts = loads[0].compartments
        for part in ("total", *(parts if len(parts) > 1 else ())):
            names += [f"{contact}_{part}_{column}" for column in LOAD_COLUMNS]
            rows = np.array([each[part].array for each in loads])
            columns.append(_placed(rows, (frames or {}).get(contact, BODY)))
    values = np.nan_to_num(np.hstack([np.empty((len(result.time), 0)), *columns]))
    return MotionTable(tuple(names), result.time, values, False, "contact")


def _placed(rows: FloatArray, frame: Placement) -> FloatArray:
    """Return loads (N, 12) of a frame [SI] in the frame that it is placed in."""
    turned = rows.copy()
    for part in (FORCE, MOMENT, CENTRE):
        turned[:, part] = rows[:, part] @ frame.rotation.T
    turned[:, MOMENT] += np.cross(frame.origin, turned[:, FORCE])
    turned[:, CENTRE] += frame.origin
    return turned


def frames_table(setup: WalkSetup, result: ComakResult) -> pd.DataFrame:
    """Return how each frame was solved: iterations, error, cost, residuals, flags."""
    flags: list[list[str]] = [[] for _ in result.time]
    for each in result.contact_flags:
        flags[each.frame].append(f"{each.contact}: {each.flag}")
    balance = setup.plant.balance
    residuals = {}
    if balance is not None:
        residuals = {"residual_force_N": balance.force, "residual_moment_Nm": balance.moment}
    return pd.DataFrame(
        {
            "time_s": result.time,
            "converged": result.converged,
            "iterations": result.iterations,
            "acceleration_error": result.errors,
            "cost": result.costs,
            **residuals,
            "contact_flags": ["; ".join(texts) for texts in flags],
        }
    )


def write_tables(
    folder: Path,
    setup: Simulated,
    result: SimulatedFrames,
    tensions: FloatArray,
    frames: Mapping[str, Placement] | None = None,
) -> None:
    """Write the tables of a simulation; tensions (N, L) [N], `frames` as of `contact_table`."""
    tables = (
        states_table(setup, result),
        kinematics_table(setup, result),
        forces_table(setup, result, tensions),
        contact_table(result, frames),
    )
    for (name, title), table in zip(_TITLES.items(), tables, strict=True):
        if table.names:
            write_text(folder / name, motion_text(table, title=title))


#: Number at the end of the name of a bundle or a head, before its side.
_NUMBER = re.compile(r"\d+(?=(_[rl])?$)")
#: Force of surfaces that touch [N].
_LEAST_FORCE = 1e-3


def compartment_forces(result: SimulatedFrames, contact: int) -> dict[str, FloatArray]:
    """Return the size of the contact force (N,) [N] in total and of each compartment, by name."""
    loads = [frame[contact] for frame in result.loads]
    parts = loads[0].compartments
    return {
        part: np.array([np.linalg.norm(each[part].force) for each in loads])
        for part in ("total", *(parts if len(parts) > 1 else ()))
    }


def bundled(names: tuple[str, ...], forces: FloatArray) -> dict[str, FloatArray]:
    """Return the sums (N,) of forces (N, K) [any unit] whose names differ in their number alone."""
    sums: dict[str, FloatArray] = {}
    for name, force in zip(names, forces.T, strict=True):
        group = _NUMBER.sub("", name)
        sums[group] = sums.get(group, 0.0) + force
    return sums


def largest_first(forces: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return rows (N,) [any unit] by name, those with the largest peaks first."""
    return dict(sorted(forces.items(), key=lambda item: -item[1].max()))


def contact_flags(result: SimulatedFrames) -> list[str]:
    """Return contacts that never touch, and each flag of a contact once with its instants."""
    found: dict[str, list[float]] = {}
    for each in result.contact_flags:
        found.setdefault(f"{each.contact}: {each.flag.without_numbers}", []).append(each.time)
    told = [f"{text} ({len(at)} frames, first at {at[0]:g} s)" for text, at in found.items()]
    return [*_untouched(result), *told]


def not_trusted(result: SimulatedFrames) -> str | None:
    """Return the sentence on the frames in which a contact has a flag, None without such frames."""
    flags = result.contact_flags
    kinds = {each.flag.kind for each in flags}
    return flagged_sentence(len({each.frame for each in flags}), len(result.time), kinds, "frames")


def _untouched(result: SimulatedFrames) -> list[str]:
    """Return a flag for each contact without a force in any frame, as wrong meshes give none."""
    count = len(result.time)
    return [
        f"{name}: the surfaces touch in none of {count} frames; check its mesh files in the model "
        "and in walk.meshes or forward.meshes, unless the joint is meant to stay lifted off"
        for k, name in enumerate(result.contacts)
        if compartment_forces(result, k)["total"].max(initial=0.0) < _LEAST_FORCE
    ]


def jump_flags(
    motion: CoordinateMotion, names: tuple[str, ...], time: FloatArray, imbalance: FloatArray
) -> list[str]:
    """Return a flag of instants (N,) [s] where contacts jump and leave forces (N, C) [N m, N]."""
    at = np.flatnonzero(np.abs(imbalance).max(axis=1, initial=0.0))
    if not len(at):
        return []
    largest = np.abs(imbalance).max(axis=0)
    turns = np.array(motion.rotational)[motion.index(names)]
    left = [
        f"{largest[rows].max():.2g} {unit} ({names[rows[largest[rows].argmax()]]})"
        for unit, rows in (("N", np.flatnonzero(~turns)), ("N m", np.flatnonzero(turns)))
        if len(rows)
    ]
    return [
        f"{len(at)} of {len(time)} instants, first at {time[at[0]]:g} s: the forces jump where "
        f"springs meet an edge or a border of a surface, and balance up to {' and '.join(left)}; "
        "finer meshes make the jumps smaller"
    ]


#: Lines in a chart of muscles or ligaments.
_MOST_LINES = 8
#: Size of charts with many lines [inch].
_TALL = (5.2, 4.2)


@dataclass(frozen=True, eq=False)
class FrameCharts:
    """Charts of a simulation over one horizontal axis, with frames at (N,) [any unit]."""

    #: Motion of all coordinates.
    motion: CoordinateMotion
    result: SimulatedFrames
    #: Horizontal axis in words, for captions, such as "the walk".
    over: str
    #: Label of the horizontal axis, with its unit.
    axis: str
    #: Places of the frames along the axis, (N,) [any unit].
    at: FloatArray

    def chart(
        self, name: str, title: str, label: str, lines: Mapping[str, FloatArray], **settings: Any
    ) -> Picture:
        """Return a chart of rows (N,) [any unit] by name, with settings of `charts.chart`."""
        return chart(
            name, f"{title} over {self.over}", self.axis, label, lines_of(lines), at=self.at,
            title=title, range=[float(self.at.min()), float(self.at.max())], **settings,
        )  # fmt: skip

    def secondary(self) -> Iterator[Picture]:
        """Yield a chart of each secondary coordinate."""
        for name, unit, shown in shown_secondary(self.motion, self.result):
            label = f"{name} [{sign_of(unit)}]"
            yield self.chart(f"secondary-{name}", name, label, {"": shown})

    def contact(self, unit: str = "N", scale: float = 1.0) -> Iterator[Picture]:
        """Yield a chart of the forces of each contact, in a unit of `scale` newtons."""
        for k, name in enumerate(self.result.contacts):
            shown = {p: force / scale for p, force in compartment_forces(self.result, k).items()}
            title, label = f"{name}: contact force", f"force [{unit}]"
            yield self.chart(
                f"contact-force-{name}", title, label, shown, size=fig.WIDE, from_zero=True
            )

    def muscles(self) -> Iterator[Picture]:
        """Yield no or one chart of the largest muscle forces."""
        yield from self._largest("muscle", self.result.muscles, self.result.muscle_forces)

    def ligaments(self, names: tuple[str, ...], tensions: FloatArray) -> Iterator[Picture]:
        """Yield no or one chart of the largest tensions (N, L) [N] of ligaments."""
        yield from self._largest("ligament", names, tensions)

    def _largest(self, kind: str, names: tuple[str, ...], forces: FloatArray) -> Iterator[Picture]:
        """Yield a chart of the groups with the largest peaks, without groups that do not pull."""
        groups = {name: row for name, row in bundled(names, forces).items() if row.max() > 0.0}
        if not groups:
            return
        shown = dict(list(largest_first(groups).items())[:_MOST_LINES])
        title, label = f"Largest {kind} forces", f"{kind} force [N]"
        yield self.chart(f"{kind}-forces", title, label, shown, size=_TALL, from_zero=True)


def for_people(motion: CoordinateMotion, name: str, values: FloatArray) -> tuple[FloatArray, str]:
    """Return values (N,) of a coordinate [rad, m] in the unit "deg" or "mm", and the unit."""
    angle = motion.rotational[motion.names.index(name)]
    return (np.degrees(values), "deg") if angle else (1e3 * values, "mm")


def shown_secondary(
    motion: CoordinateMotion, result: SimulatedFrames
) -> list[tuple[str, str, FloatArray]]:
    """Return name, unit and values (N,) in this unit of each secondary coordinate [deg, mm]."""
    rows = []
    for name, values in zip(result.secondary, result.values.T, strict=True):
        shown, unit = for_people(motion, name, values)
        rows.append((name, unit, shown))
    return rows


def sign_of(unit: str) -> str:
    """Return the sign of a unit "deg" or "mm" on an axis."""
    return "°" if unit == "deg" else unit


class ContactSide(Computed):
    """Leg of a contact, and direction of medial, empty if it has none."""

    leg: str
    medial: str


def contact_sides(model: OsimModel, contacts: Iterable[JointContact]) -> dict[str, ContactSide]:
    """Return the side of each contact, by the name of the contact."""
    split = {contact.name for contact in contacts if is_split(contact)}
    rows = {}
    for contact in model.contacts:
        side = leg_side(model, contact.bed)
        medial = "right" if side.leg == "left" else "left"
        rows[contact.name] = ContactSide(
            leg=side.leg or "unknown",
            medial=medial if contact.name in split else "",
        )
    return rows


class Peak(Computed):
    """Force at the end, and the largest one with its instant."""

    end_N: float | None
    peak_N: float | None
    peak_at_s: float


class ContactPeaks(Peak):
    """Largest force, pressure and area of a contact, in total or of a compartment."""

    peak_BW: float | None
    mean_N: float | None
    peak_pressure_MPa: float | None
    largest_area_mm2: float | None


class Course(Computed):
    """First and last, least and largest value of a coordinate in its unit."""

    unit: str
    start: float | None
    end: float | None
    least: float | None
    most: float | None


class FrameSummary(Computed):
    """What the documents of walks and forward simulations have in common."""

    name: str
    model: str
    mass_kg: float
    body_weight_N: float
    interval_s: list[float]
    sides: dict[str, ContactSide]
    contact: dict[str, dict[str, ContactPeaks]]
    secondary: dict[str, Course]
    muscles: dict[str, Peak]
    ligaments: dict[str, Peak]
    warnings: list[str]
    flags: list[str]
    not_trusted: str | None
    seconds: dict[str, float]


def body_weight(setup: Simulated) -> float:
    """Return the weight of the model [N]."""
    return setup.model.mass * STANDARD_GRAVITY


def frame_figures(
    setup: Simulated,
    springs: Iterable[JointContact],
    result: SimulatedFrames,
    tensions: FloatArray,
) -> dict[str, Any]:
    """Return fields of `FrameSummary`; `tensions` (N, L) [N] are those of the ligaments."""
    weight, time = body_weight(setup), result.time
    return {
        "mass_kg": setup.model.mass,
        "body_weight_N": weight,
        "interval_s": [time[0], time[-1]],
        "sides": contact_sides(setup.model, springs),
        "contact": {
            name: dict(_contact_peaks(result, k, weight)) for k, name in enumerate(result.contacts)
        },
        "secondary": {
            name: Course(
                unit=unit, start=shown[0], end=shown[-1], least=shown.min(), most=shown.max()
            )
            for name, unit, shown in shown_secondary(setup.plant.motion, result)
        },
        "muscles": _peaks(bundled(result.muscles, result.muscle_forces), time),
        "ligaments": _peaks(bundled(setup.plant.ligaments.names, tensions), time),
        "not_trusted": not_trusted(result),
    }


def _peak(force: FloatArray, time: FloatArray) -> dict[str, float]:
    peak = int(force.argmax())
    return {"end_N": force[-1], "peak_N": force[peak], "peak_at_s": time[peak]}


def _peaks(forces: dict[str, FloatArray], time: FloatArray) -> dict[str, Peak]:
    """Return the peak of each group of forces, the largest first."""
    return {name: Peak(**_peak(force, time)) for name, force in largest_first(forces).items()}


def _contact_peaks(
    result: SimulatedFrames, contact: int, weight: float
) -> Iterator[tuple[str, ContactPeaks]]:
    for part, force in compartment_forces(result, contact).items():
        loads = [frame[contact][part] for frame in result.loads]
        pressure = np.array([each.peak_pressure for each in loads])
        yield (
            part,
            ContactPeaks(
                **_peak(force, result.time),
                peak_BW=force.max() / weight,
                mean_N=force.mean(),
                peak_pressure_MPa=1e-6 * np.nan_to_num(pressure).max(),
                largest_area_mm2=1e6 * max(each.area for each in loads),
            ),
        )

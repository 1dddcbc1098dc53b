"""Walks of OpenSim models: from motion and ground force to muscles, loads of the knee and page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.ground_balance import RECOMMENDED
from dynamics.musculoskeletal.knee_reaction import KneeLoads
from dynamics.musculoskeletal.opensim_system import opensim
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.simulator.equations import SimulationError
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.files import write_text
from pipeline.progress import bar, say
from pipeline.reports import figures as fig
from pipeline.reports.charts import chart, line
from pipeline.reports.figures import Picture, Triangles, picture
from pipeline.reports.pressure_field import vertex_pressures
from pipeline.store.job import Job, JobKind
from pipeline.store.samples import write_csv
from pipeline.studies.conduct import Outcome, Study, Table
from pipeline.studies.implant_forces import (
    PARTS,
    MeasuredWalk,
    compare_with_implant,
    read_implant_forces,
)
from pipeline.studies.implant_forces import TABLE as IMPLANT_TABLE
from pipeline.studies.muscle_walks.frames import (
    FILES,
    FrameCharts,
    body_weight,
    compartment_forces,
    contact_table,
    frames_table,
    ligament_forces,
    run_frames,
    whole_motion,
    write_tables,
)
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup, is_split, prepare_walk
from pipeline.studies.muscle_walks.summary import (
    WAVEFORMS,
    MuscleWalkSummary,
    first_lines,
    knee_charts,
    loads_of_knee,
    summarise,
    summary_lines,
    write_waveforms,
)


def implant_charts(found: MeasuredWalk | None, body_weight: float) -> Iterator[Picture]:
    """Yield a chart of each part, measured and predicted; `body_weight` is in newtons."""
    if found is None:
        return
    for part, measured in found.measured.items():
        yield chart(
            f"implant-{part}", f"Measured and predicted {part} force over the walk", "time [s]",
            "axial force [body weights]",
            [
                line("measured", measured / body_weight, colour=fig.INK),
                line("predicted", found.predicted[part] / body_weight, colour=fig.VERMILLION,
                     dashed=True),
            ],
            at=found.time, title=f"{part} force", size=fig.WIDE, from_zero=True,
            range=[float(found.time[0]), float(found.time[-1])],
        )  # fmt: skip


#: Maps in a picture.
_MAPS = 8
_DIRECTIONS = ("forward", "up", "right")


def pressure_pictures(
    name: str, bed: Triangles, time: FloatArray, values: FloatArray
) -> list[Picture]:
    """Return maps of the pressure (N, V) [Pa] on a bed at instants (N,) [s], and of its maxima.

    The bed [m] belongs to the contact of this name; pressure out of contact is negative.
    """
    (vertices, faces), pressure = bed, 1e-6 * values
    # The surface is seen along its normal.
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = int(np.abs(normals.sum(axis=0)).argmax())
    across, upward = {0: (2, 1), 1: (2, 0), 2: (0, 1)}[along]
    labels = _DIRECTIONS[across], _DIRECTIONS[upward]
    right, up = vertices[:, across], vertices[:, upward]
    surface = 1e3 * np.column_stack([up, np.zeros_like(up), right]), faces
    bands = fig.bands_of(max(1e-6, float(pressure.max())))
    chosen = np.unique(np.linspace(0, len(time) - 1, _MAPS).round().astype(int))
    at_instants = f"Pressure on the bed of {name} at {len(chosen)} instants"
    largest = f"Largest pressure of each place of the bed of {name}"
    titles = [f"{t:.3g} s" for t in time[chosen]]
    return [
        _maps(at_instants, surface, pressure[chosen], titles, labels, bands),
        _maps(
            largest, surface, pressure.max(axis=0)[None], ["largest over the walk"], labels, bands
        ),
    ]


@picture("png")
def _maps(
    surface: Triangles,
    values: FloatArray,
    titles: list[str],
    labels: tuple[str, str],
    bands: FloatArray,
) -> Figure:
    count = len(titles)
    columns = min(4, count)
    rows = -(-count // columns)
    extent = np.ptp(surface[0], axis=0)
    tall = float(np.clip(extent[0] / max(extent[2], 1e-9), 0.4, 1.6))
    wide = 2.3 if count > 1 else 4.2
    size = (wide * columns + 0.9, rows * (wide * tall + 0.5))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for place, row, title in zip(axes.flat, values, titles, strict=False):
        fig.pressure_map(place, surface, row, bands)
        place.set_title(title, loc="left")
    for place in axes.flat[count:]:
        place.axis("off")
    for place in axes[-1]:
        place.set_xlabel(f"{labels[0]} [mm]")
    for place in axes[:, 0]:
        place.set_ylabel(f"{labels[1]} [mm]")
    shades = ScalarMappable(fig.band_scale(bands), fig.SHADES)
    figure.colorbar(shades, ax=axes, label="pressure [MPa]", ticks=bands, shrink=0.9)
    return figure


def walk_page(
    summary: MuscleWalkSummary,
    setup: WalkSetup,
    result: ComakResult,
    tensions: FloatArray,
    measured: MeasuredWalk | None,
    knee: KneeLoads | None,
) -> dict[str, Any]:
    """Return the content of `walk.html`; `tensions` (N, L) [N] are those of the ligaments."""
    charts = FrameCharts(setup.plant.motion, result, "the walk", "time [s]", result.time)
    return {
        "summary": summary,
        "pictures": {
            "contact": list(_contact(charts, setup)),
            "knee": list(knee_charts(charts, knee, summary.body_weight_N)),
            "implant": list(implant_charts(measured, summary.body_weight_N)),
            "pressure": list(_pressure(setup, result)),
            "secondary": list(charts.secondary()),
            "muscles": [
                _activations("Activations of all muscles over the walk", result),
                *charts.muscles(),
            ],
            "ligaments": list(charts.ligaments(setup.plant.ligaments.names, tensions)),
            "residuals": list(_residuals(charts, setup)),
            "convergence": list(_convergence(charts, setup, result)),
        },
    }


def _contact(charts: FrameCharts, setup: WalkSetup) -> Iterator[Picture]:
    """Yield the contact forces in body weights, then the peak pressures."""
    yield from charts.contact("body weights", body_weight(setup))
    loads = charts.result.loads
    for k, name in enumerate(charts.result.contacts):
        parts = list(compartment_forces(charts.result, k))
        pressures = {
            part: 1e-6 * np.array([frame[k][part].peak_pressure for frame in loads])
            for part in parts
            if part != "total" or len(parts) == 1
        }
        yield charts.chart(
            f"peak-pressure-{name}", f"{name}: peak pressure", "peak pressure [MPa]", pressures,
            size=fig.WIDE, from_zero=True,
        )  # fmt: skip


def _pressure(setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    """Yield the maps of the pressure on each bed of springs."""
    motion = whole_motion(setup, result)
    for contact in setup.springs:
        bed: Any = contact.model
        places = motion.index(contact.coordinates)
        poses = [contact.pose(row[places]) for row in motion.values]
        springs = np.array([bed.spring_state(pose).pressure for pose in poses])
        surface = np.asarray(bed.tibia.vertices), np.asarray(bed.tibia.faces, dtype=np.int64)
        pressure = vertex_pressures(*surface, springs)
        yield from pressure_pictures(contact.name, surface, result.time, pressure)


def _residuals(charts: FrameCharts, setup: WalkSetup) -> Iterator[Picture]:
    """Yield the residual force and moment with the recommended limits."""
    balance = setup.plant.balance
    if balance is None:
        return
    for what, unit, values, part, scale in (
        ("force", "N", balance.force, RECOMMENDED[0], balance.force_scale),
        ("moment", "N m", balance.moment, RECOMMENDED[1], balance.moment_scale),
    ):
        yield charts.chart(
            f"residual-{what}", f"Residual {what} on {balance.body}", f"residual {what} [{unit}]",
            {"": values}, reference=("recommended", part * scale), from_zero=True,
        )  # fmt: skip


def _convergence(charts: FrameCharts, setup: WalkSetup, result: ComakResult) -> Iterator[Picture]:
    """Yield the errors of acceleration with the tolerance, and the largest reserves."""
    yield charts.chart(
        "acceleration-error", "Largest error of acceleration", "error [rad/s², m/s²]",
        {"": result.errors}, reference=("tolerance", setup.settings.tolerance), from_zero=True,
    )  # fmt: skip
    largest = np.abs(result.reserves).max(axis=1)
    yield charts.chart(
        "reserves", "Largest reserve", "reserve [N m, N]", {"": largest}, from_zero=True
    )


@picture("png")
def _activations(result: ComakResult) -> Figure:
    """Draw the activations as a map, a row for each muscle."""
    count = len(result.muscles)
    figure, axes = fig.panel((5.2, 1.0 + 0.135 * count), x="time [s]")
    edges = (float(result.time[0]), float(result.time[-1]), count - 0.5, -0.5)
    shown = axes.imshow(
        result.activations.T, aspect="auto", extent=edges, vmin=0.0, vmax=1.0, cmap=fig.SHADES,
        interpolation="nearest",
    )  # fmt: skip
    axes.set_yticks(np.arange(count), result.muscles, fontsize=6.5)
    axes.grid(visible=False)
    figure.colorbar(shown, ax=axes, label="activation", shrink=0.6)
    return figure


def check_implant_forces(file: MuscleWalkFile) -> None:
    """Read the measured forces, if any, before the walk is simulated; refuse an unknown contact."""
    config = file.implant_forces
    if config is None:
        return
    model = OsimModel(data_file(file.walk.model))
    read_implant_forces(config, model.mass * STANDARD_GRAVITY)
    names = [contact.name for contact in model.contacts]
    if config.contact is not None and config.contact not in names:
        raise InputError(
            f"implant_forces.contact: expected a contact of {model.path.name}, {', '.join(names)}, "
            f"found {config.contact!r}"
        )


def measured_walk(
    file: MuscleWalkFile, setup: WalkSetup, result: ComakResult, knee: KneeLoads | None = None
) -> MeasuredWalk | None:
    """Return measured axial forces beside those of a walk; None without measured forces."""
    config = file.implant_forces
    if config is None:
        return None
    if knee is not None:
        total = {"total": knee.axial_force}
        return compare_with_implant(config, knee.time, total, body_weight(setup), knee.joint)
    table = contact_table(result, run_frames(setup))
    contact = config.contact or _tibiofemoral(setup)
    predicted = {
        part: np.abs(table.column(name))
        for part in PARTS
        if (name := f"{contact}_{part}_force_y_N") in table.names
    }
    return compare_with_implant(config, result.time, predicted, body_weight(setup), contact)


def _tibiofemoral(setup: WalkSetup) -> str:
    """Return the only contact with a medial and a lateral compartment."""
    found = [contact.name for contact in setup.contacts if is_split(contact)]
    if len(found) != 1:
        raise InputError(
            f"implant_forces.contact: expected the contact that the implant measured, since "
            f"{len(found)} of {', '.join(each.name for each in setup.contacts)} have a medial and "
            "a lateral compartment"
        )
    return found[0]


def _prepare(file: MuscleWalkFile, job: Job) -> tuple[MuscleWalkFile, WalkSetup | None]:
    """Return a walk, checked, without a setup if markers have yet to be followed."""
    check_implant_forces(file)
    del job
    if file.inverse_kinematics is not None:
        opensim()  # Without OpenSim, the files of an earlier walk stay.
        return file, None
    return file, prepare_walk(file)


def _carry_out(ready: tuple[MuscleWalkFile, WalkSetup | None], job: Job) -> Outcome:
    """Simulate a walk; the outcome fails if forces cannot be compared, or no frame converges."""
    (file, found), folder = ready, job.folder
    setup = found or prepare_walk(file, folder)
    for told in first_lines(setup):
        say(told)
    begun = job.seconds
    start = setup.first_values()
    settled = job.seconds
    with bar(len(setup.plant.motion.time), "frame", "walk") as shown:
        result = setup.comak.run(start, progress=lambda _: shown.update(1))
    times = {"settling": settled - begun, "simulation": job.seconds - settled}
    # OpenSim opens no model with articular contact of JAM.
    write_text(folder / "model.osim", setup.model.without_contact())
    tensions = ligament_forces(setup, result)
    write_tables(folder, setup, result, tensions, run_frames(setup))
    write_csv(frames_table(setup, result), folder / "frames.csv", "%.9g")
    knee, refused_waves = loads_of_knee(setup, result), tuple[str, ...]()
    if knee is not None and setup.knee is not None:
        refused_waves = write_waveforms(folder, setup.knee, knee)
    measured: MeasuredWalk | None = None
    failure: Exception | None = None
    try:
        measured = measured_walk(file, setup, result, knee)
    except InputError as error:
        failure = InputError(f"{error}; the walk without measured forces is in {folder}")
    job.note(*(measured.warnings if measured else ()))
    times = setup.seconds | times | {"all": job.seconds}
    summary = summarise(file, setup, result, tensions, measured, times, knee)
    summary.flags.extend(refused_waves)
    if failure is None and not summary.converged:
        told = f"none of {summary.frames} frames converged; frames.csv lists why"
        failure = SimulationError(f"{folder}: {told}")
    return Outcome(
        summary,
        summary_lines(summary, folder),
        [summary.not_trusted] if summary.not_trusted else (),
        walk_page(summary, setup, result, tensions, measured, knee),
        {} if measured is None else {IMPLANT_TABLE: Table(measured.table(), "%.9g")},
        failure,
    )


MUSCLE_WALK = Study(
    JobKind("walk", "walk"),
    MuscleWalkFile,
    "walk.json",
    "walk.html",
    _prepare,
    _carry_out,
    files=("model.osim", IMPLANT_TABLE, WAVEFORMS, *FILES),
    template="muscle_walk.html",
)

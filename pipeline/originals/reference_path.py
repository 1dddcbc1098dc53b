"""The reference path over flexion that the sampled offsets count from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from dynamics.protocol import describe_pose
from dynamics.simulator.ap_sweep import settle_from_sweep
from dynamics.simulator.equilibrium import EquilibriumError, settle
from dynamics.simulator.knee_simulator import KneeSimulator
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from pipeline.config.schema import Config, PathConfig
from pipeline.originals.plateau_starts import at_end_of_femur, middle_pose, plateau_starts
from pipeline.simulation import build_simulator, fixed_neutral
from surrogates.sampling.space import ReferencePath

#: Flexion between two searches for a rest without AP spring beyond the low end of the range, and
#: the lowest flexion of these searches [deg]: full extension and slight hyperextension.
_DWELL_STEP, _DWELL_LOWEST = 5.0, -10.0
#: A step of flexion that fails is halved at most this number of times.
_HALVINGS = 4
#: What holds each coordinate.
_REMEDIES = {
    "adduction": "the axial force must act between the condyles: check "
    "simulation.medial_offset_mm, knee.split_lateral_mm and the origins of the meshes",
    "rotation": "increase simulation.rotation_stiffness_Nm_per_deg",
    "anterior": "increase simulation.ap_stiffness_N_per_mm, set simulation.neutral_anterior_mm, "
    "where the AP spring is slack, or check the origin of the femur, which flexion turns about",
    "lateral": "increase simulation.lateral_stiffness_N_per_mm, and check "
    "simulation.neutral_lateral_mm",
}
_OTHERWISE = "check the axes and origins of both meshes"


def reference_path(config: Config, model: SurfaceContact, start: Pose) -> ReferencePath:
    """Return the reference path of a study: its table, or settled under a constant axial force.

    Settling begins at `start`, a pose near contact, at the lowest flexion; if this fails, a search
    over AP positions and flexions begins anew. The AP spring of a settled path is
    slack where the femur rests at the first knot without that spring. If the femur rests nowhere
    at that flexion, the next lower flexion at which the femur rests takes its place (with a
    warning), then the next knot.

    Raises
    ------
    EquilibriumError
        If the knee does not settle; the message states flexion, finding and remedy.
    """
    path, simulation = config.space.path, config.simulation
    if path.kind == "table":
        return tabulated_path(path)
    low, high = config.space.flexion_deg
    knots = np.radians(np.linspace(low, high, max(2, round((high - low) / path.step_deg) + 1)))
    without_spring = simulation.model_copy(update={"ap_stiffness_N_per_mm": 0.0})
    # The other springs of the dwell are slack in the middle, wherever the search begins.
    middle = middle_pose(model.femur, model.tibia)
    free = _Settling(model, build_simulator(without_spring, middle), path.axial_force_N)
    given = simulation.neutral_anterior_mm is not None
    dwell = start if given else _dwell(free, knots, start)
    simulator = build_simulator(simulation, fixed_neutral(simulation, dwell))
    poses = _Settling(model, simulator, path.axial_force_N).along(knots, start)
    return ReferencePath.through(knots, np.array([pose.array[1:] for pose in poses]))


@dataclass(frozen=True, eq=False)
class _Settling:
    """A knee that settles under an axial force [N]."""

    model: SurfaceContact
    simulator: KneeSimulator
    axial_force: float

    def from_pose(self, flexion: float, start: Pose) -> Pose:
        """Return the equilibrium at a flexion [rad] near a pose."""
        return settle(
            self.model,
            self.simulator,
            flexion=flexion,
            axial_force=self.axial_force,
            start=start,
        )

    def from_anywhere(self, flexion: float) -> Pose:
        """Return the equilibrium at a flexion [rad] that a sweep over AP positions finds."""
        return settle_from_sweep(
            self.model,
            self.simulator,
            flexion=flexion,
            axial_force=self.axial_force,
            starts=plateau_starts(self.model.femur, self.model.tibia, flexion),
        )

    def from_neighbour(self, flexion: float, start: Pose) -> Pose:
        """Return the equilibrium at a flexion [rad], continued from that at another flexion.

        A step that fails is divided; then a sweep begins anew.
        """
        failure = EquilibriumError("")
        for halvings in range(_HALVINGS + 1):
            pose = start
            try:
                for angle in np.linspace(start.flexion, flexion, 2**halvings + 1)[1:].tolist():
                    pose = self.from_pose(angle, pose)
            except EquilibriumError as error:
                failure = error
                continue
            return replace(pose, flexion=flexion)
        if at_end_of_femur(self.model.femur, flexion):
            raise failure
        return self.from_anywhere(flexion)

    def along(self, knots: FloatArray, start: Pose) -> list[Pose]:
        """Return the equilibria at flexions (K,) [rad], continued from the first that settles."""
        flexions: list[float] = knots.tolist()
        try:
            poses = [self.from_pose(flexions[0], start)]
            for flexion in flexions[1:]:
                poses.append(self.from_pose(flexion, poses[-1]))
        except EquilibriumError:
            return self._both_ways(flexions)
        return poses

    def _both_ways(self, flexions: list[float]) -> list[Pose]:
        first, known = _first_rest(self, flexions)
        at = flexions.index(known)
        poses = {known: first}
        for order in (flexions[at + 1 :], flexions[:at][::-1]):
            pose = first
            for flexion in order:
                try:
                    pose = self.from_neighbour(flexion, pose)
                except EquilibriumError as error:
                    raise _unsettled(self, [flexion], error, pose) from error
                poses[flexion] = pose
        return [poses[flexion] for flexion in flexions]


def _dwell(free: _Settling, knots: FloatArray, start: Pose) -> Pose:
    """Return the rest without AP spring at the first knot [rad], else at another flexion."""
    flexions: list[float] = knots.tolist()
    try:
        return free.from_pose(flexions[0], start)
    except EquilibriumError:
        below = np.arange(np.degrees(flexions[0]) - _DWELL_STEP, _DWELL_LOWEST - 1e-9, -_DWELL_STEP)
        order = [flexions[0], *np.radians(below).tolist(), *flexions[1:]]
    pose, found = _first_rest(free, order)
    if found != flexions[0]:
        first, at = np.degrees([flexions[0], found])
        warnings.warn(
            f"without the AP spring, the femur does not rest at {first:.4g} deg of flexion; the "
            f"spring is slack where the femur rests at {at:.4g} deg, at an anterior coordinate of "
            f"{1e3 * pose.anterior:.2f} mm: to choose another position, set "
            "simulation.neutral_anterior_mm",
            stacklevel=3,
        )
    return pose


def _first_rest(knee: _Settling, flexions: list[float]) -> tuple[Pose, float]:
    """Return the rest at the first of flexions [rad] where a sweep finds one, and that flexion."""
    errors = []
    for flexion in flexions:
        try:
            return knee.from_anywhere(flexion), flexion
        except EquilibriumError as error:
            errors.append(error)
            if error.loose != "anterior":  # which no flexion changes
                break
    raise _unsettled(knee, flexions[: len(errors)], errors[0]) from errors[0]


def _unsettled(
    knee: _Settling, flexions: list[float], error: EquilibriumError, rest: Pose | None = None
) -> EquilibriumError:
    """Return the error of a knee that does not settle at flexions [rad], with what is known.

    `error` is that of the first flexion, `rest` an equilibrium at a neighbouring flexion.
    """
    degrees = [f"{angle:.4g}" for angle in np.degrees(flexions)]
    sprung = knee.simulator.anterior_stiffness > 0.0
    text = f"at {degrees[0]} deg of flexion{'' if sprung else ' without AP spring'}, the knee does "
    text += "not settle under "
    text += f"{knee.axial_force:g} N: {error}"
    if len(degrees) > 1:
        text += f"; nor does the knee settle at {', '.join(degrees[1:])} deg"
    if rest is not None:
        text += f"; the nearest rest found is at {describe_pose(rest)}"
    if at_end_of_femur(knee.model.femur, flexions[0]):
        remedy = (
            "the lowest point of the femur lies on the rim of the mesh there: narrow "
            "space.flexion_deg, or use a mesh that continues"
        )
    elif error.loose == "anterior" and not sprung:
        starts = plateau_starts(knee.model.femur, knee.model.tibia, flexions[0])
        middle = 1e3 * starts[len(starts) // 2].anterior
        remedy = (
            "set simulation.neutral_anterior_mm, where the AP spring is slack (with the condyles "
            f"over the middle of the plateaus: {middle:.1f}), and an AP spring that holds the "
            "femur (simulation.ap_stiffness_N_per_mm)"
        )
    else:
        remedy = _REMEDIES.get(error.loose or "", _OTHERWISE)
    text += f". Remedy: {remedy}; or set the path by a table (space.path.kind)"
    return EquilibriumError(text, loose=error.loose)


def tabulated_path(path: PathConfig) -> ReferencePath:
    """Return the path through the knots of a table."""
    angles = np.radians([path.adduction_deg, path.rotation_deg])
    lengths = 1e-3 * np.array([path.anterior_mm, path.superior_mm, path.lateral_mm])
    return ReferencePath.through(np.radians(path.flexion_deg), np.vstack([angles, lengths]).T)

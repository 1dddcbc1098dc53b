"""The reference path over flexion that the sampled offsets count from, and poses to start from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from dynamics.ligaments.bundle_tables import far_attachments, unfit_strains
from dynamics.protocol import describe_pose
from dynamics.simulator.ap_sweep import settle_from_sweep
from dynamics.simulator.equilibrium import EquilibriumError, settle
from dynamics.simulator.knee_simulator import KneeSimulator
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.mesh_topology import find_edges
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.schema import Config, PathConfig
from pipeline.simulation import build_simulator, fixed_neutral, gait_ligaments
from surrogates.sampling.space import ReferencePath

#: Distance between two AP positions, and size of the cells in which heights are compared [m].
STEP, CELL = 2e-3, 3e-3
#: Part of the length of the tibia at either end that the condyles do not start on.
_END = 0.1
#: Height above the lowest point of the femur that counts as the lowest part of the condyles [m].
_LOWEST = 1e-3
#: The same for the lowest point alone.
_LOWEST_POINT = 0.1e-3


def middle_pose(femur: TriangleMesh, tibia: TriangleMesh) -> Pose:
    """Return the zero pose with the lowest femoral point at the median height of the plateau."""
    points, plateau = femur.vertices, tibia.vertices
    middle = 0.5 * (
        plateau.min(axis=0) + plateau.max(axis=0) - points.min(axis=0) - points.max(axis=0)
    )
    superior = np.median(plateau[:, 1]) - points[:, 1].min()
    return Pose(anterior=float(middle[0]), superior=float(superior), lateral=float(middle[2]))


def plateau_starts(femur: TriangleMesh, tibia: TriangleMesh, flexion: float) -> list[Pose]:
    """Return poses at a flexion [rad] with the condyles over the plateaus, from back to front.

    The height is that of first contact, up to the slope of the surfaces within a `CELL`.
    """
    turned = _points(femur) @ Pose(flexion=flexion).rotation_matrix.T
    plateau = _points(tibia)
    lowest = turned[turned[:, 1] < turned[:, 1].min() + _LOWEST, 0].mean()
    back, front = plateau[:, 0].min(), plateau[:, 0].max()
    margin = _END * (front - back)
    count = max(2, round((front - back - 2.0 * margin) / STEP) + 1)
    lateral = middle_pose(femur, tibia).lateral
    starts = []
    for place in np.linspace(back + margin, front - margin, count):
        anterior = float(place - lowest)
        superior = _contact_height(turned + np.array([anterior, 0.0, lateral]), plateau)
        starts.append(Pose(flexion, 0.0, 0.0, anterior, superior, lateral))
    return starts


def at_end_of_femur(femur: TriangleMesh, flexion: float) -> bool:
    """Return whether the lowest point of a femur at a flexion [rad] lies on the rim of its mesh."""
    edges = find_edges(femur.faces, len(femur.vertices))
    rim = np.unique(edges.ends[edges.count == 1])
    height = femur.vertices @ Pose(flexion=flexion).rotation_matrix[1]
    lowest = np.flatnonzero(height < height.min() + _LOWEST_POINT)
    return bool(np.isin(lowest, rim).any())


def _points(mesh: TriangleMesh) -> FloatArray:
    """Return the vertices and centroids of a mesh, (N, 3) [m]."""
    return np.concatenate([mesh.vertices, mesh.centroids])


def _contact_height(femur: FloatArray, tibia: FloatArray) -> float:
    """Return the rise [m] that brings femoral points (N, 3) [m] onto tibial points (M, 3) [m]."""
    low = np.minimum(femur.min(axis=0), tibia.min(axis=0))
    columns = 1 + int(np.ptp(np.concatenate([femur[:, 2], tibia[:, 2]])) / CELL)
    rows = 1 + int(np.ptp(np.concatenate([femur[:, 0], tibia[:, 0]])) / CELL)
    bottom, top = np.full(rows * columns, np.inf), np.full(rows * columns, -np.inf)
    for points, heights, extreme in ((femur, bottom, np.minimum), (tibia, top, np.maximum)):
        cell = ((points - low) / CELL).astype(np.int64)
        extreme.at(heights, cell[:, 0] * columns + cell[:, 2], points[:, 1])
    # An empty cell gives -inf.
    rise = float((top - bottom).max())
    return rise if np.isfinite(rise) else float(tibia[:, 1].max() - femur[:, 1].min())


#: Largest distance of a rest without AP spring from the middle of the plateaus, over their length
#: without rims.
_FROM_MIDDLE = 0.35
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
_NEUTRAL = "simulation.neutral_anterior_mm"
_OTHERWISE = "check the axes and origins of both meshes"


def reference_path(config: Config, model: SurfaceContact, start: Pose) -> ReferencePath:
    """Return the reference path of a study: its table, or settled under a constant axial force.

    Settling begins at `start`, a pose near contact, or by a search over AP positions and flexions.
    """
    ligaments = gait_ligaments(config.simulation) if config.simulation.kind == "gait" else ()
    bearing = {"femoral": model.femur.vertices, "tibial": model.tibia.vertices}
    _warn_of_ligaments(far_attachments(ligaments, bearing))
    table = config.space.path.kind == "table"
    found = tabulated_path(config.space.path) if table else _settled_path(config, model, start)
    _warn_of_ligaments(unfit_strains(ligaments, found.poses(found.flexion)))
    return found


def _warn_of_ligaments(text: str) -> None:
    if text:
        warnings.warn(f"simulation.ligaments: {text}", stacklevel=3)


def _settled_path(config: Config, model: SurfaceContact, start: Pose) -> ReferencePath:
    path, simulation = config.space.path, config.simulation
    low, high = config.space.flexion_deg
    knots = np.radians(np.linspace(low, high, max(2, round((high - low) / path.step_deg) + 1)))
    slack = start
    if simulation.neutral_anterior_mm is None:
        slack, reason = neutral_position(config, model, start)
        if reason:
            warnings.warn(f"{reason}: to choose another position, set {_NEUTRAL}", stacklevel=2)
    simulator = build_simulator(simulation, fixed_neutral(simulation, slack))
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
        """Return the equilibrium at a flexion [rad] from another: smaller steps, then a sweep."""
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


def neutral_position(config: Config, model: SurfaceContact, start: Pose) -> tuple[Pose, str]:
    """Return a pose in which the AP spring of a study is slack, and why there.

    There the femur rests without AP spring, and the reason is empty. On natural plateaus, which
    slope, most femurs do not rest: then the condyles are over the middle of the plateaus.
    """
    low = float(np.radians(config.space.flexion_deg[0]))
    without_spring = config.simulation.model_copy(update={"ap_stiffness_N_per_mm": 0.0})
    # The other springs are slack in the middle, wherever the search begins.
    slack = middle_pose(model.femur, model.tibia)
    free = _Settling(model, build_simulator(without_spring, slack), config.space.path.axial_force_N)
    starts = plateau_starts(model.femur, model.tibia, low)
    middle = starts[len(starts) // 2]
    furthest = _FROM_MIDDLE * (starts[-1].anterior - starts[0].anterior)
    try:
        try:
            rest = free.from_pose(low, start)
        except EquilibriumError:
            rest, _ = _first_rest(free, [low])
        if abs(rest.anterior - middle.anterior) <= furthest:
            return rest, ""
        where = "so far from the middle of the plateaus that the femur slides off in gait"
    except EquilibriumError as error:
        if error.loose != "anterior":
            raise
        where = "nowhere"
    return middle, (
        f"without AP spring, the femur rests {where} at {np.degrees(low):.4g} deg of flexion; the "
        "spring is slack with the condyles over the middle of the plateaus, at an anterior "
        f"coordinate of {1e3 * middle.anterior:.2f} mm"
    )


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
    """Return the error of a knee that does not settle at flexions [rad], with what is known."""
    degrees = [f"{angle:.4g}" for angle in np.degrees(flexions)]
    text = f"at {degrees[0]} deg of flexion, the knee does not settle under "
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
    else:
        remedy = _REMEDIES.get(error.loose or "", _OTHERWISE)
    text += f". Remedy: {remedy}; or set the path by a table (space.path.kind)"
    return EquilibriumError(text, loose=error.loose)


def tabulated_path(path: PathConfig) -> ReferencePath:
    """Return the path through the knots of a table."""
    angles = np.radians([path.adduction_deg, path.rotation_deg])
    lengths = 1e-3 * np.array([path.anterior_mm, path.superior_mm, path.lateral_mm])
    return ReferencePath.through(np.radians(path.flexion_deg), np.vstack([angles, lengths]).T)

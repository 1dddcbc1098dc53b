"""The contact model of a run against the elastic layer and finer nodes, at poses of its cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, MEAN_PRESSURE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import single_laws
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.finite_element.model import spacing_error
from foundation.statics.height import pose_at_load
from foundation.surface_contact import NodalContact, SurfaceContact
from pipeline.config.schema import Config
from pipeline.originals.finite_element_layer import FINITE_ELEMENTS, ITSELF, element_layer
from pipeline.store.run_documents import (
    ElasticLayer,
    LayerCompartment,
    LayerFigures,
    NodeSpacing,
    Resolution,
    SpacingErrors,
)

#: Poses of the cycle, spread evenly, besides that of the largest peak pressure.
POSES = 20
#: Least part of the largest load of a compartment that counts: at a light touch few springs bear.
LEAST_LOAD = 0.2


class Contact(NamedTuple):
    """Contact of one compartment at a pose.

    `figures` (5,) are peak pressure, mean pressure [Pa], area [m²], stiffness [N/m] and approach
    [m]; `strain` is the largest strain of the layer [1].
    """

    pose: Pose
    load: float
    figures: FloatArray
    strain: float

    @property
    def peak(self) -> float:
        """Peak pressure [Pa]."""
        return float(self.figures[0])


class Pair(NamedTuple):
    """Contact by a model and by its reference at equal axial load, at an instant of the cycle."""

    instant: int
    model: Contact
    layer: Contact


def chosen_instants(result: SimulationResult, side: int) -> IntArray:
    """Return the places (N,) of instants over a cycle that bear a fifth of the largest load."""
    loads = result.compartment_loads[side]
    spread = np.linspace(0, len(loads), POSES, endpoint=False).astype(int)
    chosen = np.unique([*spread, int(np.argmax(loads[:, PEAK_PRESSURE]))])
    force = loads[chosen, AXIAL_FORCE]
    return chosen[(force > 0.0) & (force >= LEAST_LOAD * loads[:, AXIAL_FORCE].max())]


def contact_at(model: SurfaceContact, pose: Pose, name: str) -> Contact:
    """Return the contact of a compartment at a pose; raises as `compartment_loads`."""
    loads, jacobian, depth = model.compartment_loads(pose, name)
    quantities = loads[[PEAK_PRESSURE, MEAN_PRESSURE, AREA]]
    figures = np.array([*quantities, -jacobian[AXIAL_FORCE, 4], depth[0]])
    return Contact(pose, float(loads[AXIAL_FORCE]), figures, float(depth[1]))


def at_load_of(layer: SurfaceContact, own: Contact, name: str) -> Contact:
    """Return the contact of a layer that carries the load of another contact, at another height."""
    return contact_at(layer, pose_at_load(layer, own.pose, name, own.load).pose, name)


def equal_loads(
    model: SurfaceContact, layer: SurfaceContact, result: SimulationResult, side: int
) -> Iterator[Pair]:
    """Yield the contact by both models of a compartment at equal axial load, where there is one."""
    name = model.compartment_names[side]
    for k in chosen_instants(result, side):
        contact = contact_at(model, Pose.from_array(result.poses[k]), name)
        try:
            yield Pair(int(k), contact, at_load_of(layer, contact, name))
        except PoseError:
            continue


def peak_area(result: SimulationResult) -> float:
    """Return the smallest area of the compartments at their largest peak pressures [m²]."""
    rows = [loads[int(np.argmax(loads[:, PEAK_PRESSURE]))] for loads in result.compartment_loads]
    return float(min((row[AREA] for row in rows if row[AREA] > 0.0), default=1e-4))


#: Least error of the peak pressure of the finite elements of the layer [1].
_ELEMENT_ERROR = 0.03


def elastic_layer(config: Config, model: SurfaceContact, result: SimulationResult) -> ElasticLayer:
    """Compare the contact model that drives a cycle with the elastic layer, or tell why not."""
    if not isinstance(model, ElasticFoundation):
        return _itself(model, result)
    words, compartments, strains = _words(model), {}, []
    try:
        spacing, layer = element_layer(config, peak_area(result))
    except InputError as error:
        return ElasticLayer(model=words, reference="", reason=str(error))
    for side, name in enumerate(model.compartment_names):
        if pairs := list(equal_loads(model, layer, result, side)):
            top = max(pairs, key=lambda pair: pair.model.peak).layer
            doubt = max(_ELEMENT_ERROR, _roughness(layer, top, name))
            compartments[name] = _compared(pairs, result.gait_percent, doubt)
            strains += [pair.layer.strain for pair in pairs]
    return ElasticLayer(
        model=words,
        reference=f"{FINITE_ELEMENTS}, nodes {spacing:g} mm apart",
        compartments=compartments,
        reason="" if compartments else "no pose of the cycle has the same load in both models",
        largest_strain_share=max(strains, default=None),
    )


def _itself(model: SurfaceContact, result: SimulationResult) -> ElasticLayer:
    """Return the content for finite elements, which are the layer itself."""
    strains = [
        contact_at(model, Pose.from_array(result.poses[k]), name).strain
        for side, name in enumerate(model.compartment_names)
        for k in chosen_instants(result, side)
    ]
    return ElasticLayer(
        model=FINITE_ELEMENTS,
        reference=ITSELF,
        reason="finite elements are the elastic layer itself; the node spacing tells their error",
        largest_strain_share=max(strains, default=None),
    )


def _words(model: ElasticFoundation) -> str:
    """Return the springs in words, such as "linear springs"."""
    names = dict.fromkeys(type(law).__name__ for law in single_laws(model.law))
    return f"{' and '.join(name.removesuffix('Law').lower() for name in names)} springs"


def _roughness(layer: SurfaceContact, peak: Contact, name: str) -> float:
    """Return the jumps of the pressure of a layer from triangle to triangle, over the peak [1]."""
    side = np.asarray(layer.compartments) == layer.compartment_names.index(name)
    pressure = np.where(side, layer.spring_state(peak.pose).pressure, 0.0)
    resolved = resolution(layer.tibia.vertices, layer.tibia.faces, pressure)
    return 0.0 if resolved is None else 0.01 * resolved.roughness_percent


def _compared(pairs: list[Pair], percent: FloatArray, doubt: float) -> LayerCompartment:
    """Return the comparison of a compartment from its pairs; `doubt` is the uncertainty [1]."""
    apart = np.array([pair.model.figures / pair.layer.figures - 1.0 for pair in pairs])
    top = int(np.argmax([pair.model.peak for pair in pairs]))
    at_peak = pairs[top]
    return LayerCompartment(
        instant_percent=float(percent[at_peak.instant]),
        load_N=at_peak.model.load,
        peak_pressure_Pa=at_peak.model.peak,
        layer_peak_pressure_Pa=at_peak.layer.peak,
        at_peak=_figures(apart[top]),
        rms=_figures(np.sqrt((apart**2).mean(axis=0))),
        poses=len(pairs),
        uncertainty_share=doubt,
    )


def _figures(values: FloatArray) -> LayerFigures:
    names = LayerFigures.model_fields
    return LayerFigures.model_validate(dict(zip(names, values.tolist(), strict=True)))


#: Poses of the cycle at which the error of the node spacing is estimated.
NODE_POSES = 26


def node_spacing(model: NodalContact, poses: FloatArray) -> NodeSpacing:
    """Return the error of a node spacing at poses (N, 6) [rad, m], by one of twice the size."""
    chosen = np.unique(np.linspace(0, len(poses), NODE_POSES, endpoint=False).astype(int))
    stated = NodeSpacing(spacing_m=model.spacing, coarser_m=2.0 * model.spacing, errors=None)
    try:
        measured = spacing_error(model, [Pose.from_array(pose) for pose in poses[chosen]])
    except InputError as error:
        reason = f"with nodes {2e3 * model.spacing:g} mm apart, {error}"
        return stated.model_copy(update={"reason": reason})
    errors = SpacingErrors(
        force_share=measured.force,
        peak_pressure_share=measured.peak_pressure,
        area_share=measured.area,
        centre_m=measured.centre,
        poses=measured.poses,
        unresolved=measured.unresolved,
    )
    return stated.model_copy(update={"errors": errors})


#: Triangles about the highest pressure that a quadratic surface is fitted to.
_FITTED = 20
_TERMS = 6


def resolution(vertices: FloatArray, faces: Any, pressure: FloatArray) -> Resolution | None:
    """Return how well a mesh of vertices (V, 3) [m] resolves pressures (F,) [Pa], None untold."""
    corners = vertices[faces]
    areas = 0.5 * np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    loaded = pressure > 0.0
    if loaded.sum() <= _TERMS:
        return None
    plane = corners[loaded].mean(axis=1)[:, [0, 2]]
    values = pressure[loaded]
    top = int(values.argmax())
    near = np.asarray(cKDTree(plane).query(plane[top], k=min(_FITTED, len(values)))[1])
    apart = plane[near] - plane[top]
    x, z = (apart / np.abs(apart).max()).T
    terms = np.column_stack([np.ones_like(x), x, z, x * x, x * z, z * z])
    residual = values[near] - terms @ np.linalg.lstsq(terms, values[near], rcond=None)[0]
    deviation = np.sqrt((residual**2).sum() / max(1, len(near) - _TERMS))
    # The edge of an equilateral triangle of the mean area.
    edge = np.sqrt(areas[loaded].mean() * 4.0 / np.sqrt(3.0))
    across = np.sqrt(areas[loaded].sum() * 4.0 / np.pi) / edge
    rough = 100.0 * deviation / values[top]
    return Resolution(across=float(across), roughness_percent=float(rough))

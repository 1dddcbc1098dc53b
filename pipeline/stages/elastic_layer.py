"""The contact model of a run against the elastic layer, at poses of the gait cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError, PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, MEAN_PRESSURE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import single_laws
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.statics.height import pose_at_load
from foundation.surface_contact import NodalContact, SurfaceContact
from pipeline.config.schema import Config
from pipeline.originals.layer_reference import (
    COUPLED_SPRINGS,
    FINITE_ELEMENTS,
    LayerReference,
    coupled_springs,
    layer_reference,
)
from pipeline.progress import say
from pipeline.stages.pressure_roughness import resolution
from pipeline.store.layer_document import ElasticLayer, LayerCompartment, LayerFigures

#: Poses of the cycle, spread evenly, besides that of the largest peak pressure.
POSES = 20
#: Least part of the largest load of a compartment that counts: at a light touch few springs bear.
LEAST_LOAD = 0.2
#: Nodes across the patch with which the coupled springs show how certain their peak pressure is.
_MORE_NODES = 12


class Contact(NamedTuple):
    """Contact of one compartment at a pose.

    `figures` (5,) are peak pressure, mean pressure [Pa], area [m²], stiffness [N/m] and approach
    [m]; `strain` is the largest strain of the layer [1].
    """

    pose: Pose
    load: float
    figures: FloatArray
    strain: float


class Pair(NamedTuple):
    """Contact by a model and by its reference at equal axial load."""

    instant: int
    model: Contact
    layer: Contact


def elastic_layer(config: Config, model: SurfaceContact, result: SimulationResult) -> ElasticLayer:
    """Compare the contact model of a study with the elastic layer at poses of its cycle.

    Parameters
    ----------
    config : Config
        The study.
    model : SurfaceContact
        Its contact model.
    result : SimulationResult
        Cycle that the contact model drives.

    Returns
    -------
    ElasticLayer
        The differences by compartment; without differences, the reason.
    """
    if isinstance(model, NodalContact) or not isinstance(model, ElasticFoundation):
        return _itself(model, result)
    words = _words(model)
    say("  contact model against the elastic layer, at equal loads")
    try:
        reference = layer_reference(config, model, _patch(result))
    except InputError as error:
        return ElasticLayer(model=words, reference="", reason=str(error))
    found, strains = {}, []
    for side, name in enumerate(model.compartment_names):
        pairs = list(equal_loads(model, reference.model, result, side))
        if pairs:
            found[name] = _compared(pairs, result.gait_percent, reference, model, name)
            strains += [pair.layer.strain for pair in pairs]
    reason = "" if found else "no pose of the cycle has the same load in both models"
    return ElasticLayer(
        model=words,
        reference=reference.words,
        compartments=found,
        reason=reason,
        largest_strain=max(strains, default=None),
    )


def _itself(model: SurfaceContact, result: SimulationResult) -> ElasticLayer:
    """Return the content for finite elements, which are the layer itself."""
    strains = [
        float(model.compartment_loads(Pose.from_array(result.poses[k]), name)[2][1])
        for side, name in enumerate(model.compartment_names)
        for k in chosen_instants(result, side)
    ]
    return ElasticLayer(
        model=FINITE_ELEMENTS,
        reference="itself",
        reason="finite elements are the elastic layer itself; the node spacing tells their error",
        largest_strain=max(strains, default=None),
    )


def _words(model: ElasticFoundation) -> str:
    """Return the springs in words, such as "linear springs"."""
    names = dict.fromkeys(type(law).__name__ for law in single_laws(model.law))
    return f"{' and '.join(name.removesuffix('Law').lower() for name in names)} springs"


def _patch(result: SimulationResult) -> float:
    """Return the smallest area of the compartments at their largest peak pressures [m²]."""
    loads = result.compartment_loads
    areas = [rows[int(np.argmax(rows[:, PEAK_PRESSURE])), AREA] for rows in loads]
    return float(min((area for area in areas if area > 0.0), default=1e-4))


def chosen_instants(result: SimulationResult, side: int) -> IntArray:
    """Return the places (N,) of the instants at which a compartment is compared.

    The instants are spread evenly over the cycle and bear at least a fifth of the largest load of
    the compartment; that of the largest peak pressure is one of them.
    """
    loads = result.compartment_loads[side]
    spread = np.linspace(0, len(loads), POSES, endpoint=False).astype(int)
    peak = int(np.argmax(loads[:, PEAK_PRESSURE]))
    chosen = np.unique([*spread, peak])
    force = loads[chosen, AXIAL_FORCE]
    return chosen[(force > 0.0) & (force >= LEAST_LOAD * loads[:, AXIAL_FORCE].max())]


def equal_loads(
    model: SurfaceContact, layer: SurfaceContact, result: SimulationResult, side: int
) -> Iterator[Pair]:
    """Yield the contact by both models of a compartment at equal axial load.

    The poses are those of the cycle for `model`; for `layer` the femur is higher or lower. Poses at
    which no height of the layer carries the load are left out.
    """
    name = model.compartment_names[side]
    for k in chosen_instants(result, side):
        own = contact_at(model, Pose.from_array(result.poses[k]), name)
        try:
            found = pose_at_load(layer, own.pose, name, own.load)
            yield Pair(int(k), own, contact_at(layer, found.pose, name))
        except PoseError:
            continue


def contact_at(model: SurfaceContact, pose: Pose, name: str) -> Contact:
    """Return the contact of a compartment at a pose; raises as `compartment_loads`."""
    loads, jacobian, depth = model.compartment_loads(pose, name)
    quantities = loads[[PEAK_PRESSURE, MEAN_PRESSURE, AREA]]
    figures = np.array([*quantities, -jacobian[AXIAL_FORCE, 4], depth[0]])
    return Contact(pose, float(loads[AXIAL_FORCE]), figures, float(depth[1]))


def _compared(
    pairs: list[Pair],
    percent: FloatArray,
    reference: LayerReference,
    model: ElasticFoundation,
    name: str,
) -> LayerCompartment:
    """Return the comparison of a compartment from its pairs."""
    apart = np.array([pair.model.figures / pair.layer.figures - 1.0 for pair in pairs])
    top = int(np.argmax([pair.model.figures[0] for pair in pairs]))
    at_peak = pairs[top]
    return LayerCompartment(
        instant_percent=float(percent[at_peak.instant]),
        load_N=at_peak.model.load,
        peak_pressure_Pa=float(at_peak.model.figures[0]),
        layer_peak_pressure_Pa=float(at_peak.layer.figures[0]),
        at_peak=_figures(apart[top]),
        rms=_figures(np.sqrt((apart**2).mean(axis=0))),
        poses=len(pairs),
        uncertainty=_uncertainty(reference, model, at_peak, name),
    )


def _figures(values: FloatArray) -> LayerFigures:
    names = LayerFigures.model_fields
    return LayerFigures.model_validate(dict(zip(names, values.tolist(), strict=True)))


def _uncertainty(
    reference: LayerReference, model: ElasticFoundation, pair: Pair, name: str
) -> float:
    """Return how far the peak pressure of the reference is uncertain at a pose [1].

    Ridges of a rough surface are narrower than the lattice of coupled springs, and let the pressure
    jump from triangle to triangle: the larger of the jumps, and of the change by more nodes.
    """
    if reference.words != COUPLED_SPRINGS:
        return 0.0
    layer = reference.model
    own = np.asarray(layer.compartments) == layer.compartment_names.index(name)
    pressure = np.where(own, layer.spring_state(pair.layer.pose).pressure, 0.0)
    rough = resolution(layer.tibia.vertices, layer.tibia.faces, pressure)
    finer = coupled_springs(model, _MORE_NODES)
    try:
        found = pose_at_load(finer, pair.layer.pose, name, pair.layer.load)
        change = abs(float(found.loads[PEAK_PRESSURE]) / float(pair.layer.figures[0]) - 1.0)
    except PoseError:
        change = 0.0
    return max(change, 0.0 if rough is None else 0.01 * rough.roughness_percent)

"""Analytical contact laws on surfaces fitted to the knee of a comparison."""

from __future__ import annotations

from functools import partial

import numpy as np

from foundation.base.errors import PoseError
from foundation.base.loads import COMPARTMENTS, FORCE
from foundation.base.pose import Pose
from foundation.contact_laws import HertzLaw, HookeLaw, effective_modulus
from foundation.fitted_surfaces.model import FittedSurfaceContact
from foundation.fitted_surfaces.stiffness import calibrated_law
from foundation.statics.height import pose_at_load
from pipeline.originals.spring_bed import build_bed
from pipeline.studies.calibration.samples import CalibrationSamples
from pipeline.studies.contact_models.knee import Built, ComparedKnee, timed

#: Poses of the reference path that surfaces are fitted at.
_POSES = 16
#: Vertices count that come within this many indentations of the other surface.
_NEARNESS = 2.0


def elliptic_hertz(knee: ComparedKnee) -> Built:
    """Return Hertz's elliptic contact of fitted surfaces with the modulus of the material."""
    return timed(lambda: fitted_surfaces(knee))


def fitted_surfaces(knee: ComparedKnee) -> FittedSurfaceContact:
    """Return ellipsoids and quadrics fitted to the surfaces along the reference path.

    A vertex counts by its gap in units of the indentation of linear springs under half of the
    largest load of the sample space.
    """
    config, surfaces = knee.springs("linear"), knee.surfaces
    bed = build_bed(config.contact, surfaces)
    low, high = np.radians(config.space.flexion_deg)
    poses = [Pose.from_array(row) for row in knee.path.poses(np.linspace(low, high, _POSES))]
    load = 0.5 * config.space.load_N[1]
    middle = poses[_POSES // 2]
    depths = [
        bed.indentation(pose_at_load(bed, middle, name, load).pose, name) for name in COMPARTMENTS
    ]
    return FittedSurfaceContact(
        surfaces.femur,
        surfaces.tibia,
        _modulus(knee),
        poses,
        compartments=surfaces.compartments,
        nearness=_NEARNESS * float(np.mean(depths)),
    )


def _modulus(knee: ComparedKnee) -> float:
    """Return E* of the layers [Pa]; without a femoral layer, the femur is rigid."""
    contact = knee.config.contact
    layers = [layer for layer in (contact, contact.femur_layer) if layer is not None]
    constants = [(1e6 * layer.youngs_modulus_MPa, layer.poissons_ratio) for layer in layers]
    (modulus, ratio), (other, its_ratio) = constants[0], (*constants, (np.inf, 0.3))[1]
    return effective_modulus(other, its_ratio, modulus, ratio)


def calibrated_on(
    model: FittedSurfaceContact, samples: CalibrationSamples, kind: type[HookeLaw | HertzLaw]
) -> FittedSurfaceContact:
    """Return the surfaces with a law of the stiffness that is closest to samples.

    Samples at which the fitted surfaces have no common normal do not count.
    """
    columns = zip(samples.poses, samples.compartments.tolist(), strict=True)
    answered = np.array([_answers(model, Pose.from_array(row), name) for row, name in columns])
    laws = []
    for name in COMPARTMENTS:
        own = samples.part((samples.compartments == name) & answered)
        poses = [Pose.from_array(row) for row in own.poses]
        forces = np.linalg.norm(own.loads[:, FORCE], axis=1)
        laws.append(calibrated_law(model, name, poses, forces, kind))
    return model.with_law((laws[0], laws[1]))


def _answers(model: FittedSurfaceContact, pose: Pose, compartment: str) -> bool:
    try:
        model.indentation(pose, compartment)
    except PoseError:
        return False
    return True


def _calibrated(knee: ComparedKnee, kind: type[HookeLaw | HertzLaw]) -> Built:
    samples = knee.samples
    return timed(lambda: calibrated_on(fitted_surfaces(knee), samples.value, kind), samples.seconds)


hooke_calibrated = partial(_calibrated, kind=HookeLaw)
hertz_calibrated = partial(_calibrated, kind=HertzLaw)

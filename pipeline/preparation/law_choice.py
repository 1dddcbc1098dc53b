"""Contact model of a first configuration: finite elements where the surfaces are smooth enough."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from foundation.base.errors import InputError, PoseError
from foundation.surfaces.smoothing import Smoothed
from pipeline.config.schema import Config
from pipeline.originals.candidates import sample_space
from pipeline.originals.finite_element_layer import STUDY_NODES, spacing_across
from pipeline.originals.knee_surfaces import KneeSurfaces, compartment_labels
from pipeline.originals.mesh_loading import load_body
from pipeline.originals.roughness import SMOOTH, LoadedPatches, loaded_patches, roughness
from pipeline.progress import say
from surrogates.sampling.space import ReferencePath

#: Deviations of the smoothing that are tried in turn [um].
DEVIATIONS_UM = (20.0, 50.0, 100.0)
_ELEMENTS = 'model = "finite_element": the elastic layer itself'
_LINEAR = (
    'law = "linear": independent springs, whose peak pressures are off those of the elastic layer'
)


class LawChoice(NamedTuple):
    """Contact model of a first configuration."""

    #: Distance of the nodes of finite elements [mm]; None for linear springs.
    spacing_mm: float | None
    #: Deviation of the smoothing of both surfaces [um]; 0 without smoothing.
    smooth_um: float
    #: Sentences for the user; the last is about the model.
    reasons: tuple[str, ...]


def choose_law(config: Config, surfaces: KneeSurfaces, path: ReferencePath | None) -> LawChoice:
    """Return the contact model of a configuration of linear springs over two meshes, and why.

    Surfaces that are too rough for finite elements are smoothed by the least of `DEVIATIONS_UM`
    that suffices. If none suffices, the layer cannot be meshed, or the knee does not settle (`path`
    is None), springs stay.
    """
    if path is None:
        return _linear("the roughness of the surfaces is not known: the knee does not settle")
    say("measuring the roughness of the surfaces")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `check` gives the same warnings
        try:
            patches = loaded_patches(config, surfaces, sample_space(config, path))
            rms = None if patches is None else roughness(config, surfaces, patches)
        except (InputError, PoseError) as error:
            return _linear(f"the roughness of the surfaces is not known ({error})")
        if patches is None or rms is None:
            return _linear(
                "the roughness of the surfaces is not known: few poses carry the load inside the "
                "rim of the surfaces"
            )
        if rms <= SMOOTH:
            reason = f"{_ELEMENTS}; {_smooth_words(rms)}, which is little"
            return LawChoice(spacing_across(patches.width, STUDY_NODES), 0.0, (reason,))
        return _smoothed(config, surfaces, patches, rms)


def _smoothed(
    config: Config, surfaces: KneeSurfaces, patches: LoadedPatches, rough: float
) -> LawChoice:
    cost = (
        f"the surfaces are rough: ridges of the meshes change the peak pressures by "
        f"{100.0 * rough:.2g} % (expected at most {100.0 * SMOOTH:.0f} %)"
    )
    # The middle one first: surfaces become smoother with the deviation.
    least, middle, largest = DEVIATIONS_UM
    trial = _trial(config, surfaces, patches, middle)
    other = least if trial.is_smooth else largest
    second = _trial(config, surfaces, patches, other)
    deviation, trial = (other, second) if second.is_smooth else (middle, trial)
    if trial.is_smooth:
        femur, tibia = trial.femur, trial.tibia
        moved = (
            f"smooth_um = {deviation:g}: both surfaces are smoothed; vertices of the femur "
            f"move by {1e6 * femur.rms:.1f} um RMS, at most {1e6 * femur.largest:.0f} um, "
            f"vertices of the tibia by {1e6 * tibia.rms:.1f} um RMS, at most "
            f"{1e6 * tibia.largest:.0f} um"
        )
        then = f"{_ELEMENTS}; then {_smooth_words(trial.roughness)}"
        return LawChoice(spacing_across(patches.width, STUDY_NODES), deviation, (cost, moved, then))
    # A spring on a ridge runs off the normal of the surface: less so on the smoothed one.
    return _linear(
        f"{cost}, and smoothing by {DEVIATIONS_UM[-1]:g} um does not suffice; use a finer scan, or "
        "set a larger smooth_um in [knee.femur] and [knee.tibia] and model = "
        '"finite_element" in place of law',
        DEVIATIONS_UM[-1],
    )


class _Trial(NamedTuple):
    """Smoothed surfaces, and their roughness [1], NaN if unknown."""

    femur: Smoothed
    tibia: Smoothed
    roughness: float

    @property
    def is_smooth(self) -> bool:
        return self.roughness <= SMOOTH


def _trial(
    config: Config, surfaces: KneeSurfaces, patches: LoadedPatches, deviation_um: float
) -> _Trial:
    say(f"smoothing the surfaces by at most {deviation_um:g} um")
    femur, tibia = (
        load_body(config.knee, body, smooth_um=deviation_um) for body in ("femur", "tibia")
    )
    labels = compartment_labels(config.knee, tibia.mesh)
    moved = replace(surfaces, femur=femur.mesh, tibia=tibia.mesh, compartments=labels)
    rms = roughness(config, moved, patches)
    assert femur.smoothed is not None
    assert tibia.smoothed is not None
    return _Trial(femur.smoothed, tibia.smoothed, np.nan if rms is None else rms)


def _smooth_words(rms: float) -> str:
    return f"ridges of the meshes change the peak pressures by {100.0 * rms:.2g} %"


def _linear(reason: str, smooth_um: float = 0.0) -> LawChoice:
    return LawChoice(None, smooth_um, (reason, f"{_LINEAR}; the report tells by how much"))

"""The compared contact models: a row for each, in the order of the table.

A new model is a row of `MODELS` and a name in `pipeline.config.comparison_schema.ComparedModel`.
The model that `build` returns implements
`dynamics.protocol.ContactModel`; a model that also has surfaces
(`foundation.surface_contact.SurfaceContact`) gives pressure maps, and wear by its own pressures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dynamics.protocol import ContactModel
from foundation.finite_element.model import coarser
from pipeline.originals.spring_bed import build_bed
from pipeline.studies.calibration import fit_law, free_springs, linear_springs
from pipeline.studies.contact_models.knee import (
    ELEMENTS,
    Built,
    ComparedKnee,
    given_parameters,
    timed,
)

COARSE = "finite_elements_coarse"


@dataclass(frozen=True)
class ModelKind:
    """A compared model."""

    #: Name in files and in `[comparison] models`.
    name: str
    #: Name on the page.
    label: str
    #: "finite elements", "springs" or "surrogate".
    group: str
    #: What must be known beforehand, in addition to the surfaces.
    known: str
    #: Raises `InputError`, `StageError` or `ExecutionError` where the model cannot be made.
    build: Callable[[ComparedKnee], Built]


def _elements(knee: ComparedKnee) -> Built:
    return knee.condensed_elements(ELEMENTS)


def _coarse_elements(knee: ComparedKnee) -> Built:
    start = time.perf_counter()
    model = coarser(knee.elements)
    return knee.condensed(COARSE, model, time.perf_counter() - start)


def _springs(knee: ComparedKnee, law: str) -> Built:
    config = knee.springs(law, **given_parameters(knee.config, law))
    return timed(lambda: build_bed(config.contact, knee.surfaces))


def _calibrated(knee: ComparedKnee, law: str) -> Built:
    samples = knee.samples

    def fitted() -> ContactModel:
        springs = free_springs(knee, samples.value, linear_springs(knee), law)
        return springs.at(fit_law(springs.free, springs.at, samples.value).values)

    return timed(fitted, samples.seconds)


def _springs_surrogate(knee: ComparedKnee) -> Built:
    teacher = _springs(knee, "linear")
    return knee.trained("springs_surrogate", knee.springs("linear"), teacher, "linear")


def _elements_surrogate(knee: ComparedKnee) -> Built:
    config = knee.elements_config
    return knee.trained("elements_surrogate", config, _elements(knee), ELEMENTS)


_LAYER = "elastic constants, thickness of the layers"
_OF_SAMPLES = "as finite elements, whose loads at some poses are followed"
_RANGE = "range of poses and loads of the use"
#: The compared models; the finite elements come first, since their cycle gives the poses.
MODELS = (
    ModelKind(
        ELEMENTS,
        "finite elements",
        "finite elements",
        "elastic constants, base of the layers (underside or thickness), node spacing",
        _elements,
    ),
    ModelKind(
        COARSE,
        "finite elements, twice the spacing",
        "finite elements",
        "elastic constants, base of the layers (underside or thickness), node spacing",
        _coarse_elements,
    ),
    ModelKind("linear", "springs, linear law", "springs", _LAYER, partial(_springs, law="linear")),
    ModelKind(
        "logarithmic",
        "springs, logarithmic law",
        "springs",
        _LAYER,
        partial(_springs, law="logarithmic"),
    ),
    ModelKind(
        "modified",
        "springs, modified law",
        "springs",
        f"{_LAYER}; f, m and dref of the law, which follow from no property of the layer",
        partial(_springs, law="modified"),
    ),
    ModelKind(
        "modified_calibrated",
        "springs, modified law, calibrated",
        "springs",
        _OF_SAMPLES,
        partial(_calibrated, law="modified"),
    ),
    ModelKind(
        "coupled", "springs, coupled law", "springs", _LAYER, partial(_springs, law="coupled")
    ),
    ModelKind(
        "coupled_calibrated",
        "springs, coupled law, calibrated",
        "springs",
        _OF_SAMPLES,
        partial(_calibrated, law="coupled"),
    ),
    ModelKind(
        "springs_surrogate",
        "surrogate of linear springs",
        "surrogate",
        f"{_LAYER}; {_RANGE}",
        _springs_surrogate,
    ),
    ModelKind(
        "elements_surrogate",
        "surrogate of finite elements",
        "surrogate",
        f"as finite elements; {_RANGE}",
        _elements_surrogate,
    ),
)
#: Rows that every comparison has: the finite elements are what all errors refer to.
ALWAYS = (ELEMENTS, COARSE)


def chosen(names: tuple[str, ...]) -> tuple[ModelKind, ...]:
    """Return the models of `ALWAYS` and the named ones; without names, all models."""
    return tuple(kind for kind in MODELS if not names or kind.name in (*ALWAYS, *names))

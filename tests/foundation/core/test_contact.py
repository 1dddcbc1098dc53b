"""Contact in the library: builds for processors, scratch memory, damaged input."""

from types import SimpleNamespace

import core_probe
import layers
import numpy as np
import pytest
from beds import IMPLANT, POLYETHYLENE, implant_model
from shapes import pressed_poses

from foundation.core.library import CORE, aligned, open_library
from foundation.elastic_foundation import springs
from foundation.elastic_foundation.laws import (
    LinearLaw,
    LogarithmicLaw,
    ModifiedLaw,
    SeriesLaw,
)
from foundation.finite_element import compartment

POSES = pressed_poses(IMPLANT, 3, seed=4)
MODIFIED = ModifiedLaw(*POLYETHYLENE, f=3.0, m=1.4, reference_indentation=1e-3)
LAWS = {
    "linear": LinearLaw(*POLYETHYLENE),
    "in series": SeriesLaw(MODIFIED, LogarithmicLaw(2e8, 0.4, 3e-3)),
}


def loads_of(model):
    """Everything that a model computes at some poses, scaled to the largest of each kind."""
    fields = "indentation", "pressure"
    loads, states = model.loads(POSES, 1), [model.spring_state(pose) for pose in POSES]
    others = loads.total_jacobian, *(np.array([getattr(s, n) for s in states]) for n in fields)
    columns = np.nanmax(np.abs(loads.values), axis=(0, 1))
    return [loads.values / columns, *(each / np.abs(each).max() for each in others)]


def bed(law="linear", surface="curved", **options):
    return implant_model(LAWS[law], surface, edge=3e-3, **options)


MODELS = {
    "linear": bed,
    "flat": lambda: bed(surface="flat"),
    "in series": lambda: bed("in series"),
    "conservative": lambda: bed(conservative=True),
    "elements": lambda: layers.implant()[1],
}


@pytest.mark.parametrize("build", core_probe.BUILDS[:-1])
@pytest.mark.parametrize("name", MODELS)
def test_builds_agree(name, build, monkeypatch):
    model = MODELS[name]()
    wanted = loads_of(model)
    for module in (springs, compartment):
        monkeypatch.setattr(module, "CORE", open_library(build))
    for own, other in zip(loads_of(model), wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["linear", "in series"])
def test_scratch_memory_is_enough_and_its_content_does_not_matter(name, monkeypatch):
    model = bed(name)
    wanted, size = loads_of(model), model._springs._size
    for fill in (7.0, np.nan):
        memory = aligned(size + 64)
        memory[:] = fill
        memory[size:] = 7.0
        lent = SimpleNamespace(of=lambda _, place=memory.ctypes.data: place)
        monkeypatch.setattr(springs, "SCRATCH", lent)
        for own, other in zip(loads_of(model), wanted, strict=True):
            np.testing.assert_array_equal(own, other)
        assert (memory[size:] == 7.0).all()


def test_numbers_that_are_not_finite_do_not_lead_out_of_the_arrays():
    """The models refuse such poses; the library survives them."""
    model = bed()._springs
    rotation, shift = np.full((3, 3), np.nan), np.full(3, np.nan)
    chosen, found = np.ones(2, dtype=bool), np.zeros((2, 16))
    arguments = [model.femur, model.bed, model.law, springs.AT_REST]
    scratch = aligned(model._size)
    for turn, move in ((rotation, shift), (np.eye(3), shift), (np.eye(3), np.full(3, np.inf))):
        CORE.spring_contact(
            *[each.address for each in arguments], turn.ctypes.data, move.ctypes.data,
            chosen.ctypes.data, 0.02, 0, 0, found.ctypes.data, 0, 0, scratch.ctypes.data,
        )  # fmt: skip
        assert not found.any()

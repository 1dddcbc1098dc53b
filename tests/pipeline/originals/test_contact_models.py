"""Every contact model has records of its keys, its original model and the words of its pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studies import SMOKE, TINY

from foundation.base.errors import InputError
from foundation.statics.height import pose_at_load
from foundation.surface_contact import NodalContact, SurfaceContact
from pipeline.config.contact_schema import (
    CONTACT_MODELS,
    FiniteElementConfig,
)
from pipeline.config.reading import load_config
from pipeline.config.schema import Config
from pipeline.originals.contact_original import CONTACT_KINDS, build_knee, preparation_of
from pipeline.preparation.expected_time import stages_of
from pipeline.reports.contact_words import CONTACT_WORDS
from pipeline.studies.contact_models.configurations import elements_configuration

each_model = pytest.mark.parametrize("name", CONTACT_MODELS)


def study(name: str) -> Config:
    """Return the smallest study with a contact model; nodes, if there are any, are far apart."""
    spacing = CONTACT_WORDS[name].spacing_key
    coarse = [f"{spacing}=2.0"] if spacing else []
    return load_config(SMOKE, (*TINY, f"contact.model='{name}'", *coarse))


def test_all_packages_know_the_same_models() -> None:
    assert [*CONTACT_KINDS] == [*CONTACT_WORDS] == [*CONTACT_MODELS]


@pytest.mark.parametrize("law", ["linear", "modified"])
def test_any_springs_become_finite_elements_by_one_key(law: str, tmp_path: Path) -> None:
    own = "f = 3.0\nm = 0.7\n" if law == "modified" else ""
    file = tmp_path / "springs.toml"
    file.write_text(
        f'[contact]\nlaw = "{law}"\n{own}conservative = {str(law == "linear").lower()}\n'
        f'femur_layer = {{ law = "{law}", thickness_mm = 2.0 }}\n'
    )
    spacing = "contact.finite_element.node_spacing_mm=1.5"
    elements = load_config(file, (spacing, "contact.model=finite_element")).contact
    assert elements.model == "finite_element"
    assert elements.finite_element == FiniteElementConfig(node_spacing_mm=1.5)
    assert elements.femur_layer is not None
    assert elements.femur_layer.thickness_mm == 2.0
    # The spacing of calibrations and comparisons is a key of springs too.
    springs = load_config(file, (spacing,)).contact
    assert (springs.law, springs.finite_element) == (law, elements.finite_element)
    compared = elements_configuration(load_config(file, (spacing,))).contact
    assert (compared.model, compared.finite_element) == ("finite_element", elements.finite_element)
    # A key beside the change of the model is a contradiction.
    with pytest.raises(InputError, match="conservative: expected only with springs"):
        load_config(file, ("contact.model=finite_element", "contact.conservative=true"))


@each_model
def test_built_model_is_a_contact_of_surfaces_with_the_preparation_of_its_kind(name: str) -> None:
    config = study(name)
    knee, preparation = build_knee(config), preparation_of(config)
    assert isinstance(knee.model, SurfaceContact)
    assert isinstance(knee.model, NodalContact) == bool(CONTACT_WORDS[name].spacing_key)
    assert (knee.preparation is None) == (preparation is None)
    wide, narrow = (
        CONTACT_KINDS[name].check_resolution(knee, config.contact, area) for area in (1e-2, 1e-6)
    )
    assert (wide.level, narrow.level) == ("note", "warning")
    assert narrow.about == wide.about
    stages = [stage.name for stage in stages_of(config)]
    assert stages.count("condensation") == (name == "finite_element")
    if preparation is not None:
        cost = preparation.cost(knee, config.contact, 2e-4)
        assert preparation.stage in stages
        assert min(cost.evaluation_s, cost.preparation_s, cost.storage) > 0.0


def test_coupled_springs_settle_by_linear_springs_over_the_same_surfaces() -> None:
    """They take long, and on sloping or rough surfaces do not settle by themselves."""
    two = "contact.femur_layer.thickness_mm=2.0"
    linear = build_knee(load_config(SMOKE, (*TINY, two)))
    laws = ("contact.law=coupled", "contact.femur_layer.law=coupled")
    coupled = build_knee(load_config(SMOKE, (*TINY, two, *laws)))
    assert coupled.quick is not coupled.model
    assert linear.quick is linear.model
    pose = pose_at_load(linear.model, linear.start, "medial", 500.0).pose
    found, expected = coupled.quick.evaluate(pose), linear.model.evaluate(pose)
    assert expected.medial.area > 0.0
    np.testing.assert_array_equal(found.values, expected.values)
    assert coupled.model.evaluate(pose).medial.peak_pressure != expected.medial.peak_pressure

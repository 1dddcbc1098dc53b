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
    ContactConfig,
    FiniteElementConfig,
    with_model,
)
from pipeline.config.reading import load_config
from pipeline.config.schema import Config, LayerConfig, section_of
from pipeline.originals.contact_original import CONTACT_KINDS, build_knee, preparation_of
from pipeline.originals.knee import KneeInputs
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.preparation.expected_time import stages_of
from pipeline.reports.contact_words import CONTACT_WORDS, setting_rows
from pipeline.reports.glossary import GLOSSARY
from pipeline.studies.contact_models.configurations import elements_configuration

FIELDS = ContactConfig.model_fields
each_model = pytest.mark.parametrize("name", CONTACT_MODELS)


def study(name: str) -> Config:
    """Return the smallest study with a contact model; nodes, if there are any, are far apart."""
    spacing = CONTACT_WORDS[name].spacing_key
    coarse = [f"{spacing}=2.0"] if spacing else []
    return load_config(SMOKE, (*TINY, f"contact.model='{name}'", *coarse))


def test_all_packages_know_the_same_models() -> None:
    assert [*CONTACT_KINDS] == [*CONTACT_WORDS] == [*CONTACT_MODELS]


@each_model
def test_keys_of_a_model_are_fields(name: str) -> None:
    keys = CONTACT_MODELS[name]
    if keys.section is None:
        assert name not in FIELDS
    else:
        assert section_of(FIELDS[name].annotation) is keys.section
    assert {*keys.own} <= FIELDS.keys() - LayerConfig.model_fields.keys()
    assert {*keys.of_layers} <= LayerConfig.model_fields.keys()


@pytest.mark.parametrize("law", ["linear", "coupled", "modified"])
def test_any_springs_become_finite_elements_by_one_key(law: str, tmp_path: Path) -> None:
    own = {"modified": "f = 3.0\nm = 0.7\n", "coupled": "modulus_factor = 1.1\n"}.get(law, "")
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
def test_section_with_another_model_has_no_keys_of_the_first(name: str) -> None:
    given = {"femur_layer": {"law": "linear", "thickness_mm": 3.0}, "law": "linear"}
    tree = ContactConfig.model_validate(given | {"surface": "flat"}).model_dump(exclude_none=True)
    found = ContactConfig.model_validate(with_model(tree, name))
    assert found.model == name
    assert found.femur_layer is not None
    assert found.femur_layer.thickness_mm == 3.0
    assert found.surface == ("flat" if name == "elastic_foundation" else "curved")
    back = with_model(found.model_dump(exclude_none=True), "elastic_foundation")
    assert ContactConfig.model_validate(back).model == "elastic_foundation"


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


def test_builder_receives_the_reference_path_of_the_run() -> None:
    config = study("finite_element")
    inputs, run = KneeInputs(config, load_surfaces(config)), build_knee(config)
    found, expected = inputs.path, run.reference_path(config)
    np.testing.assert_array_equal(found.flexion, expected.flexion)
    np.testing.assert_array_equal(found.poses(found.flexion), expected.poses(found.flexion))


def test_builder_is_told_the_section_of_a_knee_that_does_not_settle() -> None:
    loose = ("simulation.ap_stiffness_N_per_mm=0.0", "simulation.medial_offset_mm=90.0")
    config = load_config(SMOKE, (*TINY, *loose))
    with pytest.raises(InputError, match=r"^space\.path: .*simulation\.medial_offset_mm"):
        _ = KneeInputs(config, load_surfaces(config)).path


@each_model
def test_page_has_the_terms_and_settings_of_a_model(name: str) -> None:
    words, settings = CONTACT_WORDS[name], getattr(study(name).contact, name, None)
    assert {*words.terms} <= GLOSSARY.keys()
    rows = setting_rows({"model": name}, None if settings is None else settings.model_dump())
    assert bool(rows) == (settings is not None)


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

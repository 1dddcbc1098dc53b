"""Messages name what the user wrote: keys of the configuration, in millimetres."""

from __future__ import annotations

import re

import pytest
from studies import SMOKE, TINY

from pipeline.config.key_names import in_millimetres, renamed
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from pipeline.simulation import build_simulator


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("split_z = 0.5 m", "split_lateral_mm = 0.5 m"),
        ("give split_z, or", "give split_lateral_mm, or"),
        ("my_split_z and split_zone stay", "my_split_z and split_zone stay"),
    ],
)
def test_whole_names_are_replaced(text, told):
    assert renamed(text, {"split_z": "split_lateral_mm"}) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "x: expected > 0 m and <= 0.1 m, found 0.25",
            "x: expected > 0 mm and <= 100 mm, found 250 mm",
        ),
        ("z runs from -0.03 to 0.036 m: give", "z runs from -30 to 36 mm: give"),
        ("found 3 rows", "found 3 rows"),
        ("100 m/s and 2 m²", "100 m/s and 2 m²"),
    ],
)
def test_lengths_are_in_millimetres(text, told):
    assert in_millimetres(text) == told


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "contact.search_depth_mm=500.0",
            "contact.search_depth_mm: expected > 0 mm and <= 100 mm, found 500 mm",
        ),
        ("knee.implant.edge_mm=60.0", "knee.implant.edge_mm: expected > 0 mm and <= "),
        ("knee.implant.femur_edge_mm=60.0", "knee.implant.femur_edge_mm: expected > 0 mm and <= "),
        (
            "knee.implant.dish_coronal_radius_mm=5000.0",
            "knee.implant.dish_coronal_radius_mm: expected",
        ),
        ("knee.implant.dish_half_length_mm=80.0", "knee.implant.dish_half_length_mm"),
        ("simulation.medial_offset_mm=500.0", "simulation.medial_offset_mm: expected >= -100 mm"),
    ],
)
def test_refused_value_is_named_by_its_key(override, message):
    config = load_config(SMOKE, (*TINY, override))
    with pytest.raises(ValueError, match=re.escape(message)):
        build_simulator(config.simulation, build_knee(config).start)

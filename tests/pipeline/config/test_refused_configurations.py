"""Configurations that are refused: tables of what is changed, and of what the message says."""

import re

import pytest
from studies import SMOKE, TINY

from pipeline.config.reading import ConfigError, load_config
from pipeline.originals.contact_original import build_knee
from pipeline.simulation import build_simulator


def refused(*overrides, config=SMOKE):
    with pytest.raises(ConfigError) as caught:
        load_config(config, overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("override", "key", "known"),
    [
        ("budget=1", "budget", "(did you mean design.budget?)"),
        ("run.sede=1", "run.sede", "seed"),
        ("contact.femur_layer.nu=0.3", "contact.femur_layer.nu", "poissons_ratio"),
    ],
)
def test_unknown_keys_are_errors_that_list_the_known_ones(override, key, known):
    message = refused(override)
    assert message.startswith(f"{SMOKE}: {key}: unknown key, expected one of ")
    assert known in message


@pytest.mark.parametrize(
    ("override", "key", "expected", "found"),
    [
        ("run.seed=-1", "run.seed", "greater than or equal to 0", "-1"),
        ("run.name='../x'", "run.name", "pattern", "'../x'"),
        ("knee=5", "knee", "section", "5"),
        ("contact.poissons_ratio=0.5", "contact.poissons_ratio", "less than 0.5", "0.5"),
        ("contact.poissons_ratio=nan", "contact.poissons_ratio", "less than 0.5", "nan"),
        ("contact.youngs_modulus_MPa=inf", "contact.youngs_modulus_MPa", "finite", "inf"),
        # Pascals, metres and micrometres instead of MPa and mm.
        ("contact.youngs_modulus_MPa=463e6", "contact.youngs_modulus_MPa", "1000000", "4630000"),
        ("contact.thickness_mm=0.008", "contact.thickness_mm", "0.1 or 'underside'", "0.008"),
        ("contact.thickness_mm=8000", "contact.thickness_mm", "100 or 'underside'", "8000"),
        ("contact.thickness_mm='thick'", "contact.thickness_mm", "'underside'", "'thick'"),
        ("space.flexion_deg=[63, -3]", "space.flexion_deg", "low < high", "[63, -3]"),
        ("space.flexion_deg=[1, 2, 3]", "space.flexion_deg", "2 items", "[1, 2, 3]"),
        ("space.load_N=[0, 3]", "load_N", "0 < low < high", "[0.0, 3.0]"),
        ("space.path.kind='table'", "flexion_deg", "increasing knots", "[]"),
        ("design.first=600", "first", "fewer than candidates (600)", "600"),
        ("design.budget=39", "budget", "at least first (120)", "39"),
        ("knee.implant.condyle_coronal_radius_mm=14.0", "coronal_radius_mm", "than 14", "14.0"),
        ("knee.placement.tibia_slope_deg=20.5", "tibia_slope_deg", "than or equal to 20", "20.5"),
        ("knee.placement.femur_varus_deg=nan", "femur_varus_deg", "equal to 20", "nan"),
        ("surrogate.polynomial.degree=[0]", "degree.0", "than or equal to 1", "0"),
        ("simulation.period_s=2020-01-01", "simulation.period_s", "number", "datetime.date(2020"),
        *(
            (
                f"simulation.{key}='{word}'",
                f"simulation.{key}",
                f"or the path of a CSV file{near}",
                f"'{word}'",
            )
            for key, word, near in (
                ("waveforms", "walking", " (did you mean level_walking?)"),
                ("waveforms", "Squats", " (did you mean squat?)"),
                ("waveforms", "swimming", ""),
                ("ligaments", "lenhart", " (did you mean lenhart2015?)"),
            )
        ),
        ("surrogate.family='krigging'", "surrogate.family", "mean kriging?", "'krigging'"),
    ],
)
def test_values_out_of_range_name_file_key_expected_and_found(override, key, expected, found):
    message = refused(override)
    assert message.startswith(f"{SMOKE}: ")
    assert f"{key}: " in message
    said, _, shown = message.rpartition("found ")
    assert expected in said
    assert shown.startswith(found)


def test_every_reason_is_told_at_once():
    message = refused("run.seed=-1", "contact.poissons_ratio=0.5", "design.nonsense=1")
    for key in ("run.seed", "contact.poissons_ratio", "design.nonsense"):
        assert message.count(key) == 1


#: What the rows of `CONTRADICTIONS` change, beside an empty file: configurations that load.
ELEMENTS = ("contact.model='finite_element'",)
MESHES = ("knee.source='meshes'", "knee.femur.file='a.stl'", "knee.tibia.file='b.stl'")
PAIR = (
    *MESHES,
    *("knee.compartments=['joint']", "contact.thickness_mm=3.0", "simulation.kind='none'"),
    *("space.path.kind='table'", "space.path.flexion_deg=[0, 30]"),
    *(f"space.path.{name}_deg=[0, 0]" for name in ("adduction", "rotation")),
    *(f"space.path.{name}_mm=[0, 0]" for name in ("anterior", "superior", "lateral")),
)
TABLE = ("original.kind='table'", "original.file='a.csv'")
#: Keys that do not go together, and what the message says.
CONTRADICTIONS = [
    (("knee.source='meshes'",), "knee: ", "[knee.femur]", "[knee.tibia]"),
    (
        ("knee.femur.file='a.stl'", "knee.tibia_solid.file='a.stl'", "knee.side='left'"),
        'knee: femur, tibia_solid: expected only with source = "meshes", found source = "builtin"',
    ),
    (("knee.source='meshes'", "knee.femur.unit='mm'"), "knee.femur.file: expected a value"),
    (
        ("knee.side='left'", "knee.split_lateral_mm=1.0", "knee.compartments=['one']"),
        'knee: side, split_lateral_mm, compartments: expected only with source = "meshes"',
    ),
    (MESHES, 'contact.thickness_mm: "underside" needs the closed solid [knee.tibia_solid]'),
    *(
        (
            ("knee.implant.condyles='single_radius'", f"knee.implant.{arc}_radius_mm=40.0"),
            f'knee.implant: {arc}_radius_mm: expected only with condyles = "j_curve"',
        )
        for arc in ("posterior", "distal", "anterior")
    ),
    (("contact.femur_layer.m=1.0",), "contact.femur_layer.thickness_mm", "for the tibia only"),
    (("design.family='polynomial'",), 'infill = "error" needs family = "kriging"'),
    (("knee.implant.radius_mm=40.0",), 'radius_mm: expected only with condyles = "single_radius"'),
    (
        ("space.path.adduction_deg=[1.0]",),
        'space.path: adduction_deg: expected only with kind = "table", found kind = "settled"; ',
        'remove what has no effect, or set kind = "table"',
    ),
    (
        ("space.path.kind='table'", "space.path.flexion_deg=[0, 10]"),
        "adduction_deg: expected one value per flexion_deg (2), found 0",
    ),
    # Springs and finite elements have keys of their own, and so have the laws of springs.
    (("contact.finite_element.node_spacing_mm=20.0",), "node_spacing_mm: expected less than"),
    (
        (*ELEMENTS, "contact.law='modified'", "contact.surface='flat'", "contact.f=3.0"),
        'contact: law, surface: expected only with model = "elastic_foundation", found model = ',
    ),
    ((*ELEMENTS, "contact.m=0.5"), 'contact: m: expected only with law = "modified"'),
    (
        (*ELEMENTS, "contact.femur_layer={law='logarithmic', thickness_mm=3.0}"),
        'contact: femur_layer.law: expected only with model = "elastic_foundation"',
    ),
    ((*ELEMENTS, "contact.femur_layer.m=2.0"), "contact.femur_layer: m: expected only with law"),
    ((*ELEMENTS, "contact.poissons_ratio=0.49995"), "poissons_ratio: expected at most 0.4999"),
    (
        (*ELEMENTS, "contact.finite_element.growth=0.9"),
        "growth: expected greater than or equal to 1",
    ),
    (("contact.f=3.0", "contact.m=0.5"), 'f, m: expected only with law = "modified"'),
    (("contact.law='coupled'",), "contact.law: expected one of"),
    (("contact.femur_layer={law='coupled', thickness_mm=2.0}",), 'set model = "finite_element" in'),
    # A contact pair that is no tibiofemoral joint.
    ((*PAIR, "simulation.kind='gait'"), 'simulation.kind: expected "none"'),
    ((*PAIR, "knee.compartments=['a', 'a']"), "compartments: expected one or more distinct"),
    ((*PAIR, "knee.compartments=['left side']"), "compartments: expected one or more distinct"),
    ((*PAIR, "knee.compartments=['a', 'b', 'c']"), "expected one or two, found 3"),
    ((*PAIR, "knee.split_lateral_mm=0.0"), "split_lateral_mm: remove the key"),
    (
        (*MESHES, "knee.compartments=['joint']", "contact.thickness_mm=3", *PAIR[5:6]),
        'space.path.kind: expected "table"',
    ),
    ((*PAIR, "design.gait_samples=10"), "design.gait_samples: expected 0"),
    # A table of poses and loads in the place of a contact model.
    (TABLE[:1], "file: expected a table of poses and loads"),
    (TABLE[1:], 'original: file: expected only with kind = "table"'),
    ((*TABLE, "contact.law='logarithmic'"), "knee and contact: remove these sections"),
    ((*TABLE, "design.gait_samples=10"), "design.gait_samples: expected 0, since new samples"),
    ((*TABLE, "feasibility.bounds='gait'"), 'feasibility.bounds: expected "keys"'),
]


@pytest.fixture
def empty(tmp_path):
    (tmp_path / "study.toml").write_text("")
    return tmp_path / "study.toml"


@pytest.mark.parametrize(("overrides", "words"), [(row[0], row[1:]) for row in CONTRADICTIONS])
def test_keys_that_do_not_go_together(empty, overrides, words):
    message = refused(*overrides, config=empty)
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize("overrides", [ELEMENTS, PAIR, TABLE, (*MESHES, "contact.thickness_mm=8")])
def test_without_the_contradiction_nothing_is_refused(empty, overrides):
    load_config(empty, overrides)


@pytest.mark.parametrize("override", ["run.seed", "=3", "run..seed=3", ".seed=3", "", "run seed=3"])
def test_overrides_need_key_and_value(override):
    assert refused(override) == f"--set {override}: expected section.key=value"
    assert "name is a value, not a section" in refused("run.name.first=1")


def test_missing_file_folder_and_no_toml(tmp_path):
    assert refused(config=tmp_path / "none.toml") == (
        f"{tmp_path / 'none.toml'}: cannot be read (No such file or directory)"
    )
    assert "directory" in refused(config=tmp_path)
    bad = tmp_path / "bad.toml"
    bad.write_text("[run\nname = 3")
    assert refused(config=bad).startswith(f"{bad}: expected a TOML file, found: ")
    bad.write_bytes(b"\xff\xfe[run]")
    assert refused(config=bad).startswith(f"{bad}: expected a TOML file, found: ")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("knee.implant.insert_thickness_mm=60.0", "expected > 0 mm and <= 50 mm, found 60 mm"),
        (
            "knee.implant.condyle_coronal_radius_mm=22.5",
            "expected at most the smallest sagittal radius, 0.022 m, found 0.0225 m",
        ),
        ("knee.implant.dish_sagittal_radius_mm=37.0", "expected below 1, found 1.02703"),
        ("knee.implant.dish_coronal_radius_mm=20.0", "expected below 1, found 1 (femoral"),
        ("knee.implant.edge_mm=60.0", "expected > 0 mm and <= 13 mm, found 60 mm"),
        ("knee.implant.dish_coronal_radius_mm=5000.0", "expected > 0 mm and <= 1000 mm, found 5"),
        ("knee.implant.dish_half_length_mm=80.0", "expected < "),
        ("simulation.medial_offset_mm=500.0", "expected >= -100 mm and <= 100 mm, found 500 mm"),
    ],
)
def test_refused_value_is_named_by_its_key(override, message):
    config = load_config(SMOKE, (*TINY, override))
    with pytest.raises(ValueError, match=re.escape(f"{override.split('=')[0]}: {message}")):
        build_simulator(config.simulation, build_knee(config).start)

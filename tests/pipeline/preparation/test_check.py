"""`check`: every fault of meshes and configuration is said, at once and before a run."""

import json
import re

import numpy as np
import pytest
import tomli_w
from solids import shell
from studies import WAVEFORMS, export

from foundation.finite_element.condensed_layer import ComplianceStore
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import build_knee
from pipeline.preparation import domain_checkup
from pipeline.preparation.checkup import check_study, run_findings
from pipeline.preparation.expected_time import stages_of
from pipeline.preparation.findings import Findings
from pipeline.store.samples import export_tables


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Let a checkup take a second."""
    monkeypatch.setattr(domain_checkup, "_DRAWS", 8)
    monkeypatch.setattr(domain_checkup, "_DEEP_DRAWS", 8)


@pytest.fixture
def study(tmp_path, shapes):
    """Return a function that writes a sound study of two meshes, changed as told."""
    for body, mesh in shapes.items():
        export(mesh, tmp_path / f"{body}.ply")

    def write(**sections):
        tree = {
            "knee": {
                "source": "meshes",
                "femur": {"file": "femur.ply"},
                "tibia": {"file": "tibia.ply"},
            },
            "contact": {"thickness_mm": 8.0},
            "space": {"path": {"step_deg": 33.0}},
            "simulation": {"waveforms": str(WAVEFORMS)},
        }
        for name, keys in sections.items():
            section = tree.setdefault(name, {})
            for key, value in keys.items():
                if isinstance(value, dict) and isinstance(section.get(key), dict):
                    section[key] = section[key] | value
                else:
                    section[key] = value
        path = tmp_path / "study.toml"
        path.write_text(tomli_w.dumps(tree), encoding="utf-8")
        return path

    return write


def texts_of(path, level, **options):
    """Return the findings of a level as text."""
    findings, _ = check_study(path, **options)
    return [f"{f.about}: {f.text}" for f in findings if f.level == level]


def test_a_sound_study_is_ready(study, capsys):
    assert main(["check", str(study()), "--json"]) == 0
    captured = capsys.readouterr()
    content = json.loads(captured.out)
    assert content["ready"]
    assert content["counts"]["error"] == 0
    assert 1.0 < content["figures"]["run_s"] < 3600.0
    assert 1e6 < content["figures"]["disk_bytes"] < 1e9
    [peaks] = [
        r["text"] for r in content["remarks"] if r["text"].startswith("peak pressures under")
    ]
    for name, peak in content["figures"]["peak_pressure_MPa"].items():
        assert f"{name} {peak:.3g} MPa at" in peaks
        assert 5.0 < peak < 30.0  # of the implant under 1000 N
    assert not any("split" in r["about"] for r in content["remarks"])


def test_everything_is_said_at_once(study, tmp_path, capsys):
    path = study(
        run={"sede": 1},
        knee={"femur": {"file": "none.stl"}, "tibia": {"unit": "mm"}},
        contact={"poissons_ratio": 0.6},
        space={"flexion_deg": [60.0, -3.0]},
    )
    assert main(["check", str(path)]) == 2
    captured = capsys.readouterr()
    assert all(line.startswith("reading ") for line in captured.err.splitlines())
    for words in (
        "error: run.sede: unknown key, expected one of",
        "(did you mean seed?)",
        "none.stl: no such file",
        "unit='m'",
        "poissons_ratio: expected less than 0.5",
        "low < high",
        "not ready: 5 errors",
    ):
        assert words in captured.out


def test_faults_of_a_mesh(study, tmp_path, shapes):
    """Repaired and told; without repair a large hole and a duplicate triangle are errors."""
    path, tibia = study(), shapes["tibia"]
    lateral = tibia.centroids[tibia.centroids[:, 2] > 0.0].mean(axis=0)
    nearest = np.argsort(np.linalg.norm(tibia.centroids - lateral, axis=1))
    kept = tibia.faces[nearest[6:]]
    holed = type(tibia)(tibia.vertices, np.concatenate([kept, kept[:2]]), "holed")
    export(holed, tmp_path / "tibia.ply")
    notes = texts_of(path, "note")
    for words in ("repaired: 2 duplicate triangles removed", "repaired: 1 hole filled with"):
        assert any(words in text for text in notes)
    unrepaired = {"overrides": ("knee.repair_tolerance_mm=0.0",)}
    assert any("2 duplicate triangles" in text for text in texts_of(path, "error", **unrepaired))
    assert any("1 hole in the surface" in text for text in texts_of(path, "error", **unrepaired))


def test_a_flag_that_no_load_may_have_names_its_own_remedy(study, tmp_path, shapes):
    path = study()
    export(shell(shapes["femur"], 0.1e-3), tmp_path / "femur.ply")
    (text, *_) = texts_of(path, "error")
    assert "does not carry" in text
    assert text.endswith("use the bearing surface of the femur alone")


def test_table_whose_rows_break_the_bounds(tiny_run, tmp_path):
    export_tables(tiny_run, tmp_path / "table.csv", wanted=["first"])
    path = tmp_path / "study.toml"
    original = {"kind": "table", "file": "table.csv"}
    for bound, count in ((10.0, 0), (1e-6, 2)):
        tree = {"original": original, "feasibility": {"ap_ratio": bound, "ml_ratio": 10.0}}
        path.write_text(tomli_w.dumps(tree), encoding="utf-8")
        found = [text for text in texts_of(path, "warning") if text.startswith("[feasibility]")]
        assert len(found) == count
        assert all("AP force over axial load" in text for text in found)


#: Changed sections of a sound study, and a finding on them: level and words.
FINDINGS = (
    ({"knee": {"split_lateral_mm": 20.0}}, "warning", ["knee.split_lateral_mm: ", "uneven"]),
    (
        {"contact": {"law": "modified"}},
        "warning",
        ["contact.law: ", "of [contact] is the linear law", "give f, m", 'law = "linear"'],
    ),
    (
        {"space": {"load_N": [2.0, 1e9]}},
        "error",
        ["space.load_N: ", "does not carry 1e+09 N", "load not reached", "lower"],
    ),
    (
        {"simulation": {"ap_stiffness_N_per_mm": 0.0, "medial_offset_mm": 90.0}},
        "error",
        ["space.path: at ", "the knee does not settle", "simulation.medial_offset_mm"],
    ),
    ({"space": {"anterior_mm": 40.0, "rotation_deg": 60.0}}, "warning", ["[space]: "]),
    (
        {"feasibility": {"peak_pressure_MPa": 0.5}},
        "warning",
        ["[feasibility]: ", "exceed the bounds", "peak pressure"],
    ),
    # The edges of the plateau are 3 mm, a contact is some millimetres across.
    ({}, "warning", ["[knee.tibia]: ", "(expected at least 6)"]),
    (
        {"space": {"flexion_deg": [0.0, 30.0]}},
        "warning",
        ["space.flexion_deg: flexion in gait ranges from"],
    ),
    ({"simulation": {"waveforms": "none.csv"}}, "error", ["simulation.waveforms: ", "none.csv"]),
)


@pytest.mark.parametrize(("sections", "level", "words"), FINDINGS)
def test_findings_name_key_and_remedy(study, sections, level, words):
    texts = texts_of(study(**sections), level)
    match = [all(word in text for word in words) for text in texts]
    assert any(match), texts
    assert level == "warning" or all(match), texts  # one cause, no other errors


ELEMENTS = {"model": "finite_element", "finite_element": {"node_spacing_mm": 2.0}}


def test_size_of_finite_elements_is_told_without_a_condensation(study, monkeypatch):
    def condensed(self, body):
        raise AssertionError("the nodes of a study are not condensed")

    monkeypatch.setattr(domain_checkup, "_check_roughness", lambda *_: None)
    monkeypatch.setattr(ComplianceStore, "_condensed", condensed)
    findings, figures = check_study(study(contact=ELEMENTS))
    about = {f.text: f.level for f in findings if f.about == "[contact.finite_element]"}
    size = next(text for text in about if "may come into contact" in text)
    pattern = (
        r"[\d,]+ medial and [\d,]+ lateral nodes may come into contact, in meshes of [\d,]+ "
        r"unknowns; the condensation takes about \d+ (s|min) and [1-9]\d* MB of memory, once, and "
        r"leaves [1-9]\d* MB on the disk; a pose then takes about [\d.]+ ms"
    )
    assert re.fullmatch(pattern, size)
    across = next(text for text in about if "mm across" in text)
    assert about[across] == "warning"
    assert re.search(
        r"which is [4-7]\.\d nodes \(expected at least 8\); .* node_spacing_mm = [01]\.", across
    )
    assert figures["run_s"] > 10.0
    assert not any("[knee.tibia]" in f.about and "across" in f.text for f in findings)


def test_expected_time_counts_what_a_run_evaluates(tiny_run):
    stages = stages_of(load_config(tiny_run / "config.toml"))
    counts = json.loads((tiny_run / "run.json").read_text())["counts"]["total"]
    evaluated = sum(s.samples for s in stages if s.name[:2] in ("b:", "f:"))
    assert evaluated == counts["first"] + counts["evaluated"]
    seconds = json.loads((tiny_run / "run.json").read_text())["seconds"]
    assert {s.name for s in stages} == seconds.keys()


@pytest.mark.parametrize("other", ["femur.ply", "copy.ply"])
def test_one_mesh_for_both_bodies_is_an_error(study, tmp_path, shapes, other, capsys):
    """A closed body faces both ways, so that no other check tells."""
    path = study(knee={"tibia": {"file": other}})
    (tmp_path / "femur.ply").write_bytes(closed(shapes["tibia"], tmp_path).read_bytes())
    (tmp_path / "copy.ply").write_bytes((tmp_path / "femur.ply").read_bytes())
    errors = texts_of(path, "error")
    assert any("femur and tibia are the same mesh" in text for text in errors)
    assert main(["run", str(path), "--out", str(tmp_path / "run"), "--quiet"]) == 2
    assert "femur and tibia are the same mesh" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def closed(mesh, folder):
    """Write a closed body between a surface and its copy 8 mm below; return its file."""
    return export(shell(mesh, 8e-3), folder / "closed.ply")


@pytest.mark.slow
def test_a_run_keeps_the_findings_of_check(study, tmp_path):
    """A run has the findings of `check` but the expected time, and peaks and offsets of its own."""
    (tmp_path / "femur.ply").rename(tmp_path / "femur_L.ply")
    path = study(knee={"femur": {"file": "femur_L.ply"}, "split_lateral_mm": 20.0})
    config, heard = load_config(path), Findings()
    with heard.hearing("[knee], [contact]"):
        knee = build_knee(config)
    with heard.hearing("[space.path], [simulation]"):
        space = sample_space(config, knee.reference_path(config))
    found = run_findings(config, knee, space, heard)
    told, _ = check_study(path)
    own = ("gait deviates", "peak pressures under")
    of_both = {f for f in told if f.about != "run" and not f.text.startswith(own)}
    assert set(found) == of_both
    warned = {finding.about for finding in found if finding.level == "warning"}
    assert {"knee.split_lateral_mm", "knee.side"} <= warned
    assert any("border of the compartments" in finding.text for finding in found)

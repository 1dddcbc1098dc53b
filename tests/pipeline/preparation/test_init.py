"""`init`: what it guesses, doubts and writes; and the whole way from two meshes to a report."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from studies import export

from foundation.surfaces.mesh import RawMesh, load_raw_mesh
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals.mesh_loading import load_surface
from pipeline.preparation.init_options import InitOptions
from pipeline.preparation.mesh_guess import guess_unit
from pipeline.preparation.mesh_keys import find_mesh_keys

LENHART, GRAND_CHALLENGE = "jam_lenhart2015_knee", "grand_challenge_DM_implant"
COARSE = ("ACLC01-R-femur-cart-coarse.stl", "ACLC01-R-tibia-cart-coarse.stl")
#: A run of seconds, on the starter's own design.
QUICK = (
    *("run.workers=1", "design.candidates=90", "design.first=60", "design.budget=80"),
    *("design.rounds=1", "design.gait_samples=0"),
    *("surrogate.compare=[]", "validation.points=20", "simulation.samples=21"),
    *("simulation.relative_tolerance=1e-2", "simulation.combinations=false"),
)


@pytest.fixture
def folder(tmp_path, monkeypatch, shapes):
    """Return a working directory with both surfaces of the implant, in mm."""
    for body, mesh in shapes.items():
        export(mesh, tmp_path / f"{body}.stl", scale=1e3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- guesses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "scale"), [("m", 1.0), ("cm", 1e2), ("mm", 1e3), ("um", 1e6), ("inch", 1.0 / 0.0254)]
)
def test_unit_is_that_in_which_it_is_a_knee(tmp_path, shapes, unit, scale):
    for body in shapes:
        guess = guess_unit(
            load_raw_mesh(export(shapes[body], tmp_path / f"{body}.stl", scale=scale)).mesh
        )
        assert (guess.value, guess.certain) == (unit, True)


def test_the_unit_of_a_cad_file_stands(folder, monkeypatch, shapes):
    stated = {"femur": RawMesh(shapes["femur"], "m", ()), "tibia": load_raw_mesh("tibia.stl")}
    read = lambda files: stated[Path(files[0]).stem]  # noqa: E731
    monkeypatch.setattr("pipeline.preparation.mesh_keys.load_raw_mesh", read)
    export(shapes["femur"], folder / "femur.stl", scale=1.0)
    given = InitOptions(material="polyethylene", axes="x,y,z", femur_unit="mm")
    answers = find_mesh_keys(folder, given)
    assert "femur: unit m, stated by the file; --femur-unit mm has no effect" in answers.guesses
    assert [answers.keys[body]["unit"] for body in ("femur", "tibia")] == ["m", "mm"]


# ---- what is written -----------------------------------------------------------------------------


def test_every_key_is_explained(folder):
    assert main(["init", "--material", "cartilage"]) == 0
    lines = (folder / "mine.toml").read_text().splitlines()
    keys = [k for k, line in enumerate(lines) if " = " in line and not line.startswith("#")]
    assert len(keys) > 25
    for k in keys:
        assert lines[k - 1].startswith("# "), lines[k]
    assert max(map(len, lines)) <= 100


# ---- the law -------------------------------------------------------------------------------------


def roughened(mesh, height):
    """Return a surface with random heights [m] on its vertices."""
    noise = height * np.random.default_rng(1).normal(size=(len(mesh.vertices), 1))
    up = np.array([0.0, 1.0, 0.0])
    return type(mesh)(mesh.vertices + noise * up, mesh.faces, mesh.name)


def law_of(folder, capsys, *options):
    """Run `init`; return the remarks and the configuration."""
    command = ["init", "--material", "polyethylene", "--axes", "x,y,z", "--force"]
    assert main([*command, "--json", *options]) == 0
    content = json.loads(capsys.readouterr().out)
    config = load_config(folder / "mine.toml")
    assert content["contact"].get("model", "elastic_foundation") == config.contact.model
    return content["remarks"], config


def test_smooth_surfaces_get_finite_elements_with_the_reason(folder, capsys):
    remarks, config = law_of(folder, capsys)
    assert (config.contact.model, config.knee.femur.smooth_um) == ("finite_element", 0.0)
    told = r'model = "finite_element": .* change the peak pressures by [0-4]\.?\d* %'
    assert re.search(told, remarks[-1])
    assert '# model = "finite_element": the elastic' in (folder / "mine.toml").read_text()
    assert 0.7 <= config.contact.finite_element.node_spacing_mm <= 2.0


def test_rough_surfaces_are_smoothed_within_a_stated_deviation(folder, capsys, shapes):
    for body, mesh in shapes.items():
        export(roughened(mesh, 12e-6), folder / f"{body}.stl", scale=1e3)
    remarks, config = law_of(folder, capsys)
    deviation = config.knee.tibia.smooth_um
    assert config.contact.model == "finite_element"
    assert deviation == config.knee.femur.smooth_um > 0.0
    cost, moved, _ = remarks[-3:]
    assert "the surfaces are rough: ridges of the meshes change the peak pressures by" in cost
    loaded = load_surface(config.knee.tibia, "right", "tibia")
    assert 0.0 < loaded.smoothed.largest < 1e-6 * deviation
    largest = f"at most {1e6 * loaded.smoothed.largest:.0f} um"
    assert f"smooth_um = {deviation:g}: " in moved
    assert moved.endswith(largest)
    assert "vertices moved by at most" in loaded.smoothing


# ---- what is doubtful ----------------------------------------------------------------------------


def test_what_is_doubtful_is_listed_last_with_the_option_that_states_it(folder, capsys):
    flags = ["--material", "polyethylene", "--axes", "x,y,z", "--law", "linear"]
    assert main(["init", *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    doubtful = [k for k, line in enumerate(lines) if line.startswith("warning: ")]
    written = next(k for k, line in enumerate(lines) if line.startswith("written: "))
    assert doubtful == list(range(written - len(doubtful), written))
    assert any(
        "side: right by default, " in lines[k] and "--side left" in lines[k] for k in doubtful
    )
    [typical] = [line for line in lines if line.startswith("assumed: ")]
    assert "thickness_mm = 8.0, typical of polyethylene; state" in typical
    assert typical.endswith("state --modulus-MPa, --poissons-ratio, --thickness-mm")
    stated = ["--side", "right", "--thickness-mm", "8", "--poissons-ratio", "0.4", "--force"]
    assert main(["init", *flags, *stated, "--modulus-MPa", "500"]) == 0
    told = capsys.readouterr().out
    assert "typical of" not in told
    assert "by default" not in told


# ---- the whole way -------------------------------------------------------------------------------


@pytest.mark.slow
def test_from_two_files_to_a_report(knee_data, tmp_path, monkeypatch, capsys):
    """docs/first_knee.md, with fewer samples."""
    monkeypatch.chdir(tmp_path)
    for name, body in zip(COARSE, ("femur", "tibia"), strict=True):
        (tmp_path / f"{body}.stl").write_bytes((knee_data / LENHART / name).read_bytes())
    meshes = ["--femur", "femur.stl", "--tibia", "tibia.stl"]
    given = ["--material", "cartilage", "--law", "linear"]
    assert main(["init", "mine.toml", *meshes, *given]) == 0
    assert main(["check", "mine.toml", "--json"]) == 0
    told = capsys.readouterr().out
    remarks = json.loads(told[told.index("{") :])["remarks"]
    assert [remark for remark in remarks if remark["level"] != "note"] == []
    sets = [part for text in QUICK for part in ("--set", text)]
    assert main(["run", "mine.toml", *sets, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["summary"]
    assert (tmp_path / "runs" / "mine" / "report.html").is_file()
    simulation = json.loads((tmp_path / "runs" / "mine" / "simulation.json").read_text())
    # The femur neither slides off nor leaves the ranges; so few samples may leave larger errors.
    flags = simulation["flags"]["surrogate"]
    assert [flag for flag in flags if "errors near this pose" not in flag] == []


@pytest.mark.slow
def test_every_flag(folder):
    (folder / "femur.stl").rename(folder / "f.stl")
    command = [
        *("init", "studies/left.toml", "--femur", "f.stl", "--tibia", "tibia.stl", "--unit", "mm"),
        *("--axes=-x,y,-z", "--side", "left", "--name", "other", "--material", "polyethylene"),
        *("--modulus-MPa", "800", "--poissons-ratio", "0.4", "--thickness-mm", "9.5"),
        *("--law", "logarithmic"),
    ]
    assert main(command) == 0
    tree = tomllib.loads((folder / "studies" / "left.toml").read_text())
    assert tree["run"]["name"] == "other"
    assert tree["knee"]["side"] == "left"
    for body, file in (("femur", "../f.stl"), ("tibia", "../tibia.stl")):
        assert tree["knee"][body] == {"file": file, "unit": "mm", "axes": ["-x", "y", "-z"]}
    assert tree["contact"] == {
        **{"law": "logarithmic", "youngs_modulus_MPa": 800.0, "poissons_ratio": 0.4},
        "thickness_mm": 9.5,
    }


@pytest.mark.slow
def test_surfaces_too_rough_to_smooth_get_linear_springs(folder, capsys, shapes):
    for body, mesh in shapes.items():
        export(roughened(mesh, 200e-6), folder / f"{body}.stl", scale=1e3)
    remarks, config = law_of(folder, capsys)
    assert (config.contact.law, config.knee.femur.smooth_um) == ("linear", 100.0)
    assert "the surfaces are rough" in remarks[-2]
    assert "the report tells by how much" in remarks[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["surface is not known: state --material polyethylene or --material cartilage"]),
        (["--material", "cartilage", "--axes", "x,y"], ["--axes: expected x, y and z once each"]),
        (["--material", "cartilage", "--thickness-mm", "0.002"], ["thickness_mm", "found 0.002"]),
    ],
)
def test_bad_flags_leave_nothing(folder, capsys, arguments, words):
    before = sorted(folder.iterdir())
    assert main(["init", *arguments]) == 2
    captured = capsys.readouterr()
    for word in words:
        assert word in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_all_that_cannot_be_found_is_listed_at_once(folder, capsys):
    for body in ("femur", "tibia"):
        (folder / f"{body}.stl").rename(folder / f"{body[0]}.stl")
    assert main(["init"]) == 2
    words = r"state --femur FILE; .*state --tibia FILE; .*state --material poly"
    assert re.search(words, capsys.readouterr().err)
    assert not (folder / "mine.toml").exists()

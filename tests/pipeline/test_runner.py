"""Runs: their files, the same numbers from the same seed, resumption; finite elements."""

import json

import pytest
from studies import (
    SMOKE,
    TABLES,
    TINY,
    assert_same_run,
    kill_at_first_chunk,
    run_command,
    surrogate_arrays,
)
from threadpoolctl import threadpool_info, threadpool_limits

from foundation.base.errors import InputError
from foundation.base.findings import Finding
from foundation.surface_contact import SurfaceContact
from pipeline import runner
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.stages.run_folder import Run, TrainedRun

FILES = {
    *("config.toml", "elastic_layer.json", "knee.npz", "made_with.json", "path.json"),
    *("run.json", "samples", "samples.sqlite"),
    *("simulation.json", "simulation.parquet", "validation.json", "pressure_maps.npz"),
    *("combinations.json", "frames.npz", "wear.npz"),
    *("report.html", "report.json"),
}
SAMPLES = {f"{table}.parquet" for table in TABLES}


def resume(folder, *overrides):
    return main([*run_command(folder, *TINY, *overrides), "--resume"])


def test_run_directory_is_complete(tiny_run):
    assert {p.name for p in tiny_run.iterdir()} == FILES
    assert {p.name for p in (tiny_run / "samples").iterdir()} == SAMPLES


def test_run_tells_where_it_comes_from(tiny_run):
    run = json.loads((tiny_run / "run.json").read_text())
    assert (run["name"], run["seed"], run["held_out_seed"]) == ("smoke", 1, 20_240_001)
    assert {"numpy", "scipy", "knee-contact"} <= set(run["packages"])
    assert all(len(digest) == 64 for digest in run["hashes"].values())
    assert run["counts"]["total"]["candidates"] == 180
    assert {key[:2] for key in run["seconds"]} >= {f"{stage}:" for stage in "abcdefgh"}
    header = json.loads(surrogate_arrays(tiny_run)["header"].tobytes())
    assert header["provenance"]["samples"] == run["hashes"]["samples"]
    assert header["provenance"]["original"] == run["hashes"]["original"]


@pytest.mark.usefixtures("unsimulated")
def test_two_workers_give_the_same_run_as_one(tiny_run, tmp_path):
    folder = tmp_path / "run"
    assert main(run_command(folder, *TINY, "run.workers=2", "run.chunk=30")) == 0
    assert_same_run(folder, tiny_run)
    assert json.loads((folder / "run.json").read_text())["workers"] == 2


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_killed_run_goes_on_where_it_was(tiny_run, tmp_path):
    folder = tmp_path / "run"
    samples = folder / "samples"
    command = run_command(folder, *TINY, "run.chunk=1")
    assert 0 < kill_at_first_chunk(folder / "samples.sqlite", command) < 120
    assert not (samples / "first.parquet").exists()
    assert not (folder / "knee.npz").exists()
    # Another number of workers and another chunk change no number.
    assert resume(folder, "run.chunk=11") == 0
    assert_same_run(folder, tiny_run)
    assert {p.name for p in folder.iterdir()} <= FILES
    assert {p.name for p in samples.iterdir()} == SAMPLES


def test_resume_with_other_surfaces_is_refused(run_copy, capsys):
    path = run_copy / "path.json"
    stored = json.loads(path.read_text())
    assert len(stored["original"]) == 64
    path.write_text(json.dumps(stored | {"original": "0" * 64}))
    assert resume(run_copy) == 2
    assert (
        "the mesh or thickness files have changed since this run started" in capsys.readouterr().err
    )
    assert main(["wear", str(run_copy)]) == 2


def test_new_run_replaces_the_files_of_an_earlier_one_and_no_others(run_copy):
    (run_copy / "notes.txt").write_text("mine")
    Run(load_config(SMOKE, TINY), run_copy).prepare(resume=False)
    assert {p.name for p in run_copy.iterdir()} == {
        "config.toml",
        "made_with.json",
        "notes.txt",
        "samples",
    }
    assert not list((run_copy / "samples").iterdir())


def test_linear_algebra_of_a_run_uses_one_thread(tmp_path, monkeypatch):
    """Sums in threads depend on the number of cores."""

    class StopError(Exception):
        pass

    found = []

    def threads(config, folder):
        del config, folder
        found.extend(x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas")
        raise StopError

    monkeypatch.setattr(runner, "build_original", threads)
    with threadpool_limits(2, "blas"), pytest.raises(StopError):
        runner.run_study(load_config(SMOKE), tmp_path / "run")
    assert set(found) == {1}


@pytest.mark.parametrize("despite", [False, True])
def test_errors_of_the_checks_are_refused_unless_told_otherwise(tmp_path, monkeypatch, despite):
    class StopError(Exception):
        pass

    def findings(*given):
        del given
        return [Finding("error", "space.load_N", "too much", "code")]

    def sampled(*given):
        del given
        raise StopError

    monkeypatch.setattr(runner, "run_findings", findings)
    monkeypatch.setattr(runner, "sample_knee", sampled)
    expected = StopError if despite else InputError
    with pytest.raises(
        expected, match=None if despite else r"too much\n1 error .* --despite-errors"
    ):
        runner.run_study(load_config(SMOKE, TINY), tmp_path / "run", despite_errors=despite)


ELEMENTS = (
    *TINY,
    "contact.model='finite_element'",
    "contact.finite_element.node_spacing_mm=2.0",
    "simulation.combinations=false",
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a finished run; not to be written to."""
    folder = tmp_path_factory.mktemp("elements") / "run"
    assert main(run_command(folder, *ELEMENTS)) == 0
    return folder


@pytest.mark.slow
def test_run_is_complete(finished):
    report = json.loads((finished / "report.json").read_text())
    assert report["gait"]["wear"]["per_million_cycles"]["original"]["total_mm3"] > 0.0
    page = (finished / "report.html").read_text()
    assert "node_spacing_mm = 2.0" in page
    # Two compartments, with the spacing and with twice the spacing.
    assert len(list((finished / "condensed").glob("*.npy"))) == 4
    errors = report["gait"]["node_spacing"]["errors"]
    assert errors["poses"] == 21
    assert 0.0 < errors["force_percent"] < 20.0
    assert "condensation" in json.loads((finished / "run.json").read_text())["seconds"]
    assert isinstance(TrainedRun.open(finished).reference_model, SurfaceContact)

"""A finished run whose `config.toml` was edited since: nothing attests what was not run."""

from __future__ import annotations

import json
import shutil
import tomllib

import pytest
import tomli_w
from studies import TINY, run_command

from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.stages.run_folder import Run
from pipeline.store.made_with import MADE_WITH, check_configuration, configuration_digest
from pipeline.store.workspace_lock import RunError
from pipeline.studies.runs import Task


def edit(folder, section, **keys):
    """Replace keys of a run's `config.toml`; None takes a key out."""
    path = folder / "config.toml"
    tree = tomllib.loads(path.read_text())
    tree[section] = {k: v for k, v in (tree[section] | keys).items() if v is not None}
    path.write_text(tomli_w.dumps(tree))


COMMANDS = {
    "report": ["{run}"],
    "validate": ["{run}"],
    "simulate": ["{run}"],
    "wear": ["{run}"],
    "export": ["{run}", "--out", "{out}"],
    "motion": ["{run}", "--out", "{out}/cycle.mot"],
    "loads": ["{run}", "{run}/cycle.mot", "--out", "{out}/loads.sto"],
    "samples": ["summary", "{run}"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_edited_configuration_of_a_finished_run_is_refused(run_copy, tmp_path, capsys, command):
    shutil.copy(run_copy / "knee.npz", tmp_path / "knee.npz")
    assert main(["motion", str(run_copy), "--out", str(run_copy / "cycle.mot")]) == 0
    before = (run_copy / "report.html").read_bytes()
    edit(run_copy, "contact", youngs_modulus_MPa=400.0)
    capsys.readouterr()
    out = tmp_path / "out"
    given = [text.format(run=run_copy, out=out) for text in COMMANDS[command]]
    assert main([command, *given]) == 2
    err = capsys.readouterr().err
    assert "contact.youngs_modulus_MPa is 400.0, and the run was made with 463.0" in err
    assert "Restore the file, or make another run" in err
    assert (run_copy / "report.html").read_bytes() == before
    assert not out.exists()


def test_edited_configuration_is_refused_by_studies_and_walks(run_copy):
    edit(run_copy, "simulation", samples=41)
    with pytest.raises(RunError, match=r"simulation\.samples is 41, and .* made with 21"):
        Task.of(run_copy, "surrogate", {})


@pytest.mark.slow
def test_restored_configuration_is_taken_again(run_copy):
    before = (run_copy / "config.toml").read_bytes()
    edit(run_copy, "contact", youngs_modulus_MPa=400.0)
    (run_copy / "config.toml").write_bytes(before)
    assert main(["report", str(run_copy)]) == 0


def test_report_tells_the_configuration_of_the_run_of_keys_that_may_change(run_copy):
    edit(run_copy, "run", workers=7, chunk=3, name="renamed", backend="dask")
    assert main(["report", str(run_copy)]) == 0
    report = json.loads((run_copy / "report.json").read_text())
    told = report["provenance"]["configuration"]["run"]
    assert (told["workers"], told["chunk"], told["name"]) == (1, 7, "smoke")


@pytest.mark.slow
def test_run_of_earlier_versions_opens_without(run_copy):
    (run_copy / MADE_WITH).unlink()
    assert main(["report", str(run_copy)]) == 0
    assert check_configuration(run_copy) is None


def test_keys_that_were_added_or_taken_out_are_told(run_copy):
    edit(run_copy, "simulation", neutral_anterior_mm=1.5, samples=None)
    with pytest.raises(RunError) as error:
        check_configuration(run_copy)
    assert "neutral_anterior_mm is 1.5, and the run was made with not given" in str(error.value)
    assert "simulation.samples is not given, and the run was made with 21" in str(error.value)


def test_many_changed_keys_are_counted(run_copy):
    edit(run_copy, "design", candidates=99, first=70, budget=90, rounds=4, follow="pose")
    with pytest.raises(RunError, match="2 further keys differ"):
        check_configuration(run_copy)


def test_damaged_record_is_refused(run_copy, capsys):
    path = run_copy / MADE_WITH
    content = json.loads(path.read_text())
    content["configuration"] = content["configuration"].replace("463.0", "400.0")
    path.write_text(json.dumps(content))
    assert main(["report", str(run_copy)]) == 2
    err = capsys.readouterr().err
    assert f"{MADE_WITH}: damaged (sha256 is the digest of another configuration)" in err
    assert f"run `knee-contact run {run_copy}/config.toml --out {run_copy}`" in err


def test_resume_compares_with_what_the_run_was_begun_with(run_copy, capsys):
    """The run's own edited file given as configuration does not pass either."""
    edit(run_copy, "space", rotation_deg=7.0)
    edited = run_copy / "config.toml"
    assert main(["run", str(edited), "--out", str(run_copy), "--resume", "--quiet"]) == 2
    assert "space.rotation_deg is 7.0, and the run was made with 8.0; " in capsys.readouterr().err


def test_resume_restores_an_edited_file(run_copy):
    before = (run_copy / "config.toml").read_bytes()
    edit(run_copy, "design", first=50)
    with Run(load_config("configs/smoke.toml", TINY), run_copy) as run:
        run.prepare(resume=True)
    assert (run_copy / "config.toml").read_bytes() == before
    assert check_configuration(run_copy) is not None


@pytest.mark.slow
def test_name_may_change_on_resume(run_copy, unsimulated):
    command = run_command(run_copy, *TINY, "run.name=renamed")
    assert main([*command, "--resume"]) == 0
    assert json.loads((run_copy / "run.json").read_text())["name"] == "renamed"


def test_digest_is_in_the_provenance_and_blind_to_keys_that_may_change(tiny_run):
    text = (tiny_run / "config.toml").read_text()
    digest = configuration_digest(text)
    run = json.loads((tiny_run / "run.json").read_text())
    assert run["hashes"]["configuration"] == digest
    assert configuration_digest(text.replace("workers = 1", "workers = 2")) == digest
    assert configuration_digest(text.replace("463.0", "400.0")) != digest

"""Folders with results are replaced on request alone, and no edited configuration attests a run."""

import json
import shutil
import tomllib

import pytest
import tomli_w

from pipeline.cli.main import main
from pipeline.config.reading import dump_config
from pipeline.config.schema import Config, RunConfig
from pipeline.store.job import LOCK_FILE, RUN, Job, RunError, configuration_digest
from pipeline.studies.dispatch import STUDIES

LAXITY = STUDIES["laxity"].kind
CONFIG = Config()
OTHER = Config(run=RunConfig(seed=7))
KINDS = pytest.mark.parametrize("kind", [RUN, LAXITY], ids=lambda kind: kind.name)


def holding(folder, kind, config, result="samples/first.parquet"):
    folder.mkdir(parents=True)
    (folder / kind.stored).write_text(dump_config(config))
    if result:
        (folder / result).parent.mkdir(parents=True, exist_ok=True)
        (folder / result).write_text("result")
    return folder


@KINDS
def test_results_of_another_configuration_stay(tmp_path, kind):
    folder = holding(tmp_path / "out", kind, CONFIG)
    with pytest.raises(RunError) as refused:
        Job(kind, folder, OTHER).check()
    text = str(refused.value)
    assert str(folder) in text
    assert f"holds a {kind.name} of another configuration: run.seed is 7" in text
    assert "run.name or --out" in text
    assert "--force" in text
    Job(kind, folder, OTHER, replace=True).check()


@KINDS
def test_the_same_configuration_and_traces_without_results_are_replaced(tmp_path, kind):
    renamed = Config(run=RunConfig(name="renamed", workers=3, scheduler="tcp://host:8786"))
    Job(kind, tmp_path / "new", CONFIG).check()
    Job(kind, holding(tmp_path / "same", kind, CONFIG), renamed).check()
    traces = holding(tmp_path / "traces", kind, CONFIG, "made_with.json")
    Job(kind, traces, OTHER).check()


@pytest.mark.parametrize(("config", "resume"), [(OTHER, False), (OTHER, True), (CONFIG, True)])
def test_a_job_removes_results_that_are_made_again(tmp_path, capsys, config, resume):
    folder = holding(tmp_path / "out", LAXITY, CONFIG, "models/a.json")
    for name in ("page.html", "table-1.csv", "mine.txt"):
        (folder / name).write_text("earlier")
    files = ("page.html", "*.csv")
    job = Job(LAXITY, folder, config, files, ("models",), resume=resume, replace=True)
    changed = config is OTHER
    with job.held():
        assert job.begin() == (["run.seed"] if changed and resume else [])
        names = {path.name for path in folder.iterdir()} - {LOCK_FILE}
    kept = {"models"} if resume else set()
    assert names == {LAXITY.stored, "mine.txt"} | kept | (
        set() if changed else {"page.html", "table-1.csv"}
    )
    assert (folder / LAXITY.stored).read_text() == job.text == dump_config(config)
    assert job.seconds > 0.0
    told = f"continuing: run.seed is 7, and the {LAXITY.name} was made with 1"
    assert (told in capsys.readouterr().err) == (changed and resume)


@pytest.mark.parametrize("section", ["study", "walk"])
def test_a_folder_of_another_kind_is_refused_in_any_case(tmp_path, section):
    folder = holding(tmp_path / "out", RUN, CONFIG)
    (folder / "config.toml").write_text(f"[{section}]\n")
    with pytest.raises(RunError, match="is not a run directory but a"):
        Job(RUN, folder, CONFIG, replace=True).check()


def edit(folder, section, **keys):
    """Replace keys of a run's `config.toml`; None takes a key out."""
    path = folder / "config.toml"
    tree = tomllib.loads(path.read_text())
    tree[section] = {k: v for k, v in (tree[section] | keys).items() if v is not None}
    path.write_text(tomli_w.dumps(tree))


COMMANDS = {
    "loads": ["{run}", "{run}/cycle.mot", "--out", "{out}/loads.sto"],
    "tables": ["{run}", "--out", "{out}"],
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


def test_digest_is_in_the_provenance_and_blind_to_keys_that_may_change(tiny_run):
    text = (tiny_run / "config.toml").read_text()
    digest = configuration_digest(text)
    run = json.loads((tiny_run / "run.json").read_text())
    assert run["hashes"]["configuration"] == digest
    assert configuration_digest(text.replace("workers = 1", "workers = 2")) == digest
    assert configuration_digest(text.replace("463.0", "400.0")) != digest

"""Folders with results are replaced by another configuration only on request."""

import re

import pytest
from studies import ROOT

from pipeline.cli.main import main
from pipeline.config.reading import dump_config, load_config
from pipeline.config.schema import Config, RunConfig
from pipeline.store.own_folder import CALIBRATION, COMPARISON, RUN, STUDY, check_folder
from pipeline.store.workspace_lock import RunError
from pipeline.studies.forward_motions.simulate import load_forward
from pipeline.studies.muscle_walks.walk import load_muscle_walk
from pipeline.studies.study import load_study
from pipeline.studies.walks.walk import load_walk

CONFIG = Config()
OTHER = Config(run=RunConfig(seed=7))
KINDS = pytest.mark.parametrize("kind", [RUN, COMPARISON, CALIBRATION], ids=lambda kind: kind.name)


def holding(folder, kind, config, result="samples/chunks-first/0.parquet"):
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
        check_folder(folder, kind, OTHER, replace=False)
    text = str(refused.value)
    assert str(folder) in text
    assert f"holds a {kind.name} of another configuration: run.seed is 7" in text
    assert "run.name or --out" in text
    assert "--force" in text
    check_folder(folder, kind, OTHER, replace=True)


@KINDS
def test_the_same_configuration_and_traces_without_results_are_replaced(tmp_path, kind):
    renamed = Config(run=RunConfig(name="renamed", workers=3))
    check_folder(tmp_path / "new", kind, CONFIG, replace=False)
    check_folder(holding(tmp_path / "same", kind, CONFIG), kind, renamed, replace=False)
    traces = holding(tmp_path / "traces", kind, CONFIG, "times.json")
    check_folder(traces, kind, OTHER, replace=False)


def test_a_stored_configuration_that_cannot_be_read_is_another(tmp_path):
    folder = holding(tmp_path / "out", RUN, CONFIG)
    (folder / "config.toml").write_text("[run]\nold_key = 1\n")
    with pytest.raises(RunError, match=r"another configuration: .*unknown key.*--force"):
        check_folder(folder, RUN, CONFIG, replace=False)


@pytest.mark.parametrize("section", ["study", "walk", "forward"])
def test_a_folder_of_another_kind_is_refused_in_any_case(tmp_path, section):
    folder = holding(tmp_path / "out", RUN, CONFIG)
    (folder / "config.toml").write_text(f"[{section}]\n")
    with pytest.raises(RunError, match="is not a run directory but a"):
        check_folder(folder, RUN, CONFIG, replace=True)


def test_commands_refuse_a_finished_run(tiny_run, tmp_path, capsys):
    before = {path: path.stat().st_mtime_ns for path in tiny_run.rglob("*") if path.is_file()}
    (tmp_path / "mine.toml").write_text("[run]\nseed = 3\n[knee.implant]\nedge_mm = 3.0\n")
    assert main(["run", str(tmp_path / "mine.toml"), "--out", str(tiny_run)]) == 2
    assert f"{tiny_run}: holds a run directory of another configuration" in capsys.readouterr().err
    study = ["study", str(ROOT / "configs" / "montecarlo.toml"), "--out", str(tiny_run)]
    walk = ["walk", str(ROOT / "configs" / "walking.toml"), "--out", str(tiny_run)]
    comak = ["walk", str(ROOT / "configs" / "comak_walking.toml"), "--out", str(tiny_run)]
    for words in (study, walk, comak):
        assert main([*words, "--force"]) == 2
        assert f"is not a {words[0]} but a run directory" in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_a_study_of_another_configuration_stays(tmp_path):
    text = '[study]\nrun = "runs/a"\nruns = 8\n[[study.factor]]\nname = "axial_scale"\nmean = 1.0\n'
    (tmp_path / "one.toml").write_text(text + "sd = 0.1\n")
    one = load_study(tmp_path / "one.toml")
    two = load_study(tmp_path / "one.toml", ("study.seed=9",))
    folder = holding(tmp_path / "out", STUDY, one, "inputs.json")
    check_folder(folder, STUDY, one, replace=False)
    with pytest.raises(RunError, match=r"holds a study of another .*study\.seed.*study\.name"):
        check_folder(folder, STUDY, two, replace=False)


@pytest.mark.parametrize(
    ("file", "name"), [("mine.toml", "mine"), ("knee 2 é.toml", "knee_2__"), (".x.toml", "x")]
)
def test_a_configuration_without_a_name_takes_that_of_its_file(tmp_path, file, name):
    path = tmp_path / file
    path.write_text("[run]\nseed = 3\n")
    assert load_config(path).run.name == name
    assert load_config(path, ("run.name=told",)).run.name == "told"
    path.write_text("")
    assert load_config(path).run.name == name


def test_studies_walks_and_motions_take_the_name_of_their_file(tmp_path):
    path = tmp_path / "mine.toml"
    walking = (ROOT / "configs" / "walking.toml").read_text()
    walking = re.sub(r"^name = .*$", "", walking, flags=re.MULTILINE)
    readers = {
        '[study]\nrun = "a"\n[[study.factor]]\nname = "axial_scale"\nmean = 1.0\nsd = 0.1\n': (
            lambda: load_study(path).study
        ),
        walking: lambda: load_walk(path).walk,
        '[walk]\nmodel = "a.osim"\nsettings = "a.xml"\n': lambda: load_muscle_walk(path).walk,
        '[forward]\nmodel = "a.osim"\nsettings = "a.xml"\n': lambda: load_forward(path).forward,
    }
    for text, read in readers.items():
        path.write_text(text)
        assert read().name == "mine"

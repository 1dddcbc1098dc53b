"""What holds for every kind of study: folders, refusals, and what is left where input is bad."""

import json

import pandas as pd
import pytest
from studies import SMOKE

from pipeline.cli.main import main
from pipeline.config.schema_base import Section
from pipeline.errors import StageError
from pipeline.store.job import JobKind, RunError
from pipeline.store.run_documents import Computed
from pipeline.studies.conduct import Outcome, Study, Table, conduct
from pipeline.studies.dispatch import STUDIES, load_study, study_of

#: A shipped configuration of each kind, with the keys that make it one.
EXAMPLES = {
    "study": ["montecarlo"],
    "walk": ["comak_walking"],
    "forward": ["passive_flexion"],
    "optimisation": ["implant_front"],
    "laxity": ["laxity"],
}
KINDS = pytest.mark.parametrize("section", EXAMPLES)


def configuration(section):
    name, *sets = EXAMPLES[section]
    return load_study(SMOKE.with_name(f"{name}.toml"), tuple(sets[1:]))


def test_every_kind_has_an_example():
    assert EXAMPLES.keys() == STUDIES.keys()


@KINDS
def test_a_section_asks_for_its_kind(section):
    file = configuration(section)
    study = study_of(file.model_dump(exclude_none=True))
    assert study is STUDIES[section]
    assert isinstance(file, study.schema)
    assert issubclass(study.schema, Section)
    # An interrupted study keeps no file that it writes anew, and the folder is one of its kind.
    assert not {*study.results} & {*study.kept}
    assert study.document in study.results
    assert study.folder(file).name.startswith(EXAMPLES[section][0])


@KINDS
def test_a_folder_of_something_else_is_refused(tiny_run, tmp_path, capsys, section):
    (tmp_path / "letter.txt").write_text("dear reader")
    command = ["run", *EXAMPLES[section]]
    for out in (tmp_path, tiny_run):
        before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
        assert main([*command, "--out", str(out), "--force"]) == 2
        told = f"{out}: is not empty and is not a {STUDIES[section].kind.name}"
        assert told in capsys.readouterr().err
        assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert main([*command, "--out", str(tmp_path / "letter.txt")]) == 2
    assert "is a file, expected a folder" in capsys.readouterr().err


@KINDS
def test_a_wrong_key_is_named_and_leaves_no_folder(tmp_path, capsys, section):
    out = tmp_path / "out"
    command = ["run", *EXAMPLES[section], "--set", f"{section}.none=1", "--out", str(out)]
    assert main(command) == 2
    assert f"{section}.none: unknown key" in capsys.readouterr().err
    assert not out.exists()


class Settings(Section):
    name: str = "made"
    value: int = 1


class MadeFile(Section):
    made: Settings = Settings()


class Made(Computed):
    value: int


def made(failure=None):
    """Return a kind of study that writes its value, and a file that it continues with."""

    def prepare(file, job):
        if file.made.value < 0:
            raise StageError("expected a positive value")
        job.note("a note")
        return file.made.value

    def carry_out(value, job):
        kept = job.folder / "kept.txt"
        kept.write_text(kept.read_text() + "again" if kept.exists() else "first")
        table = Table(pd.DataFrame({"x": [1.0 / 3.0]}), "%.2f")
        return Outcome(Made(value=value), ["done"], ["last"], None, {"x.csv": table}, failure)

    kind = JobKind("made study", "made")
    return Study(kind, MadeFile, "made.json", "", prepare, carry_out, ("x.csv",), ("kept.txt",))


def file(value=1):
    return MadeFile(made=Settings(value=value))


def test_results_of_a_study(tmp_path):
    out = tmp_path / "out"
    with pytest.warns(UserWarning, match="a note"):
        found = conduct(made(), file(), out)
    assert (found.document.value, found.text) == (1, "done\nlast")
    assert json.loads((out / "made.json").read_text())["value"] == 1
    assert (out / "x.csv").read_text() == "x\n0.33\n"
    names = {"config.toml", "kept.txt", "made.json", "x.csv"}
    assert {path.name for path in out.iterdir()} == names


@pytest.mark.filterwarnings("ignore:a note")
def test_a_study_replaces_no_other_one_unless_it_continues(tmp_path):
    conduct(made(), file(), tmp_path)
    conduct(made(), file(), tmp_path, resume=True)
    with pytest.raises(RunError, match=r"made study of another configuration: made\.value"):
        conduct(made(), file(2), tmp_path)
    assert (tmp_path / "kept.txt").read_text() == "firstagain"
    conduct(made(), file(3), tmp_path, resume=True)
    assert (tmp_path / "kept.txt").read_text() == "firstagainagain"
    conduct(made(), file(2), tmp_path, replace=True)
    assert (tmp_path / "kept.txt").read_text() == "first"


@pytest.mark.filterwarnings("ignore:a note")
def test_a_failure_comes_after_the_results_and_bad_input_before(tmp_path):
    with pytest.raises(StageError, match="half"):
        conduct(made(failure=StageError("half")), file(), tmp_path / "out")
    assert (tmp_path / "out" / "made.json").exists()
    with pytest.raises(StageError, match="positive"):
        conduct(made(), file(-1), tmp_path / "none")
    assert not (tmp_path / "none").exists()

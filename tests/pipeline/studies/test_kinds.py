"""What holds for every kind of study: folders, refusals, and what is left where input is bad."""

import pytest
from studies import SMOKE

from pipeline.cli.main import main
from pipeline.config.schema_base import Section
from pipeline.studies.dispatch import STUDIES, WALK_STUDY, load_study, study_of

#: A shipped configuration of each kind, with the keys that make it one.
EXAMPLES = {
    "study": ["montecarlo"],
    "walk": ["comak_walking"],
    "forward": ["passive_flexion"],
    "optimisation": ["implant_front"],
    "comparison": ["smoke", "--set", "comparison={}"],
    "calibration": ["smoke", "--set", "calibration={}"],
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


def test_a_study_of_a_walk_is_one_of_its_own():
    file = load_study(SMOKE.with_name("comak_montecarlo.toml"))
    assert study_of(file.model_dump()) is WALK_STUDY
    assert study_of(load_study(SMOKE).model_dump(exclude_none=True)) is None


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

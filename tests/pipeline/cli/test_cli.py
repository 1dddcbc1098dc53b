"""The command line: help, statuses, and the commands on a finished run."""

import json
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from studies import ROOT

from foundation.base.errors import InputError
from pipeline.advice import PROGRAM
from pipeline.cli.app import Answer, app
from pipeline.cli.main import main, parse
from pipeline.config.reading import ConfigError, find_config
from pipeline.errors import StageError

COMMANDS = tuple(name for name in app if not name.startswith("-"))
PAGES = [(), *((name,) for name in COMMANDS)]


@pytest.fixture
def replaced(monkeypatch):
    """Return a function that lets the command `schema`, or another one, do something else."""

    def replace(function, name="schema"):
        monkeypatch.setattr(app[name], "default_command", function)

    return replace


def raising(error):
    def command(*_, **__):
        raise error

    return command


def help_of(capsys, *command):
    assert main([*command, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", PAGES)
def test_help_has_examples_that_parse(command, capsys):
    text = help_of(capsys, *command)
    assert text.startswith(f"Usage: {' '.join([PROGRAM, *command])} ")
    description, _, examples = text.partition("\nExamples:\n")
    assert description.split("\n\n")[1][0].isupper()
    lines = examples.replace("\\\n", "").splitlines()
    assert lines
    assert all(line.startswith("  ") for line in lines)
    for line in lines:
        words = shlex.split(re.split(r" [>|]", line)[0])
        if words[0] == "python" and "--help" not in words:
            request = parse(words[3:])
            assert command == () or request.command.__name__ == command[-1]


def test_site_has_the_help_and_the_schema():
    """In a process of its own: the width of the help is found once in a process."""
    code = (
        "import runpy; made = runpy.run_path('docs/generated_pages.py')['GENERATED']; "
        "print(*(made[name]() for name in ('command_line.md', 'configuration.md')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in COMMANDS:
        assert f"\nUsage: {PROGRAM} {name} " in done.stdout
    assert "\n## [laxity]\n" in done.stdout
    assert "| `seed` | `1` |" in done.stdout


def test_help_needs_no_large_package():
    code = "import sys; from pipeline.cli.main import main; main(['--help']); main(['run', '-h'])"
    check = "assert not {'pandas', 'scipy', 'pydantic'} & set(sys.modules)"
    subprocess.run(
        [sys.executable, "-c", f"{code}; {check}"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"knee-contact {version('knee-contact')}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], [f"expected a command; see `{PROGRAM} --help`"]),
        (["report"], ["FOLDER", f"see `{PROGRAM} report --help`"]),
        (["factors", "x"], ["(an option takes one value, and may be repeated): ['x']; see"]),
        (["init", "--side", "up"], ["--side", '"up"', '"right", "left"']),
        (["wear", "runs/a", "--cycles", "many"], ["--cycles", '"many"', "float"]),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_wrong_usage_has_status_2(arguments, words, as_json, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*arguments, *["--json"] * as_json])
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err
    if as_json:
        content = strict(captured.out)
        assert content["status"] == 2
        assert captured.err == f"error: {content['error']}\n"
    else:
        assert captured.out == ""


def strict(text):
    """Return what a strict reader makes of a JSON document."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def test_json_is_strict(replaced, capsys):
    content = {"a": np.nan, "b": [np.inf, 1.0, {"c": -np.inf}], 3: (True, None, "µ")}
    replaced(lambda: Answer("text", content))
    assert main(["schema", "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert found == {"a": None, "b": [None, 1.0, {"c": None}], "3": [True, None, "µ"]}


@pytest.mark.parametrize("flags", [[], ["--json"]])
@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (InputError("wrong"), 2, "wrong"),
        (StageError("failed"), 1, "failed"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(2, "No such file", "/runs/x.parquet"), 2, "/runs/x.parquet: No such file"),
    ],
)
def test_errors_have_a_status_and_one_line(replaced, capsys, error, status, text, flags):
    replaced(raising(error))
    assert main(["schema", *flags]) == status
    captured = capsys.readouterr()
    assert captured.err == f"error: {text}\n"
    if flags:
        content = strict(captured.out)
        assert (content["status"], content["error"]) == (status, text)


def test_shipped_configurations_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_config("smoke") == ROOT / "configs" / "smoke.toml"
    (tmp_path / "smoke").mkdir()  # a folder of that name does not hide it
    assert find_config("smoke") == ROOT / "configs" / "smoke.toml"
    (tmp_path / "smoke").rmdir()
    (tmp_path / "smoke").write_text("[run]")
    (tmp_path / "mine.toml").write_text("[run]")
    assert find_config("smoke") == Path("smoke")
    with pytest.raises(ConfigError, match="a/smoke: No such file or directory; expected a TOML"):
        find_config("a/smoke")
    for name, hint in (("implnt", "implant"), ("mine", "mine.toml")):
        with pytest.raises(ConfigError, match=rf"did you mean {hint}\?.* are .*, smoke"):
            find_config(name)


def spoil(folder):
    (folder / "empty.toml").write_text("")
    (folder / "binary.toml").write_bytes(bytes(range(256)))
    (folder / "deep.toml").write_text("a = " + "[" * 3000)
    (folder / "typo.toml").write_text('[run]\nnmae = "x"\n')
    (folder / "type.toml").write_text("[run]\nname = 3\n")
    (folder / "list.toml").write_text("run = 1\n")
    (folder / "folder").mkdir()
    return folder


SPOILT = (
    *("none.toml", "folder", "empty.toml", "binary.toml", "deep.toml", "typo.toml", "type.toml"),
    *("list.toml", "nothing", "", "/dev/null/x", "x" * 300),
)
REST = {
    "tables": ["--out", "out.csv"],
    "loads": ["m.csv", "--out", "l.csv"],
    "motion": ["--out", "m.mot"],
    "design": ["--out", "design"],
    "compare-runs": ["other"],
}


@pytest.mark.parametrize("given", SPOILT)
@pytest.mark.parametrize("command", sorted({*COMMANDS} - {"schema", "factors"}))
def test_bad_input_is_told_in_one_sentence(tmp_path, monkeypatch, capsys, command, given):
    monkeypatch.chdir(spoil(tmp_path))
    before = sorted(tmp_path.iterdir())
    assert main([command, given, *REST.get(command, []), "--json"]) == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    told = strict(captured.out)
    if command == "check" and "remarks" in told:
        assert told["counts"]["error"] == 1
        text = told["remarks"][0]["text"]
    else:
        text = told["error"]
    assert len(text) > 20
    assert "\n" not in text
    if command in ("compare-runs", "design", "report", "wear") and given in ("folder", "nothing"):
        assert text.endswith(f"; make one with `knee-contact run CONFIG --out {given}`")
    if given == "typo.toml" and command in ("run", "check"):
        assert "did you mean name?" in text
    assert sorted(tmp_path.iterdir()) == before

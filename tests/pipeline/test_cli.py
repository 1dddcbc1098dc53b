"""The command line: help, statuses, and the commands on a finished run."""

import json
import shlex
import shutil
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numba
import numpy as np
import pytest
from studies import ROOT, TINY, run_command, surrogate_arrays

from foundation.errors import InputError
from pipeline import progress
from pipeline.cli import main as cli
from pipeline.cli import run, schema
from pipeline.cli.command import Answer
from pipeline.cli.completion import completion_script
from pipeline.cli.main import main
from pipeline.config.reading import ConfigError, find_config
from pipeline.progress import (
    Stage,
    StageCounter,
    bar,
    rounded,
    say,
    silenced,
    telling_of_compilation,
)
from pipeline.stages import StageError
from pipeline.store.samples import read_table

COMMANDS = tuple(command.name for command in cli.COMMANDS)


def replace_schema(monkeypatch, carry_out):
    """Let the command "schema" do something else."""
    monkeypatch.setattr(cli, "COMMANDS", (schema.COMMAND._replace(carry_out=carry_out),))


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*([command] if command else []), "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: python -m pipeline")
    for word in COMMANDS if command is None else ():
        assert word in out


def test_every_command_has_its_help_and_examples_that_parse():
    assert len(COMMANDS) == len(set(COMMANDS)) >= 15
    for command in cli.COMMANDS:
        assert command.text[0].islower()
        assert not command.text.endswith(".")
        assert command.examples
        for example in command.examples:
            program, _, rest = example.partition("python -m pipeline ")
            if program or "|" in rest:
                continue  # what is done with the output
            words = shlex.split(rest.partition(" >")[0])
            assert cli.build_parser().parse_args(words).command == command.name


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_version(flag, capsys):
    with pytest.raises(SystemExit) as caught:
        main([flag])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"knee-contact {version('knee-contact')}\n"


@pytest.mark.parametrize(
    "arguments", [[], ["train"], ["validate"], ["run", "a.toml", "--nonsense"]]
)
def test_wrong_usage_has_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_module_is_the_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "run", str(tmp_path / "none.toml")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["feasibility.peak_pressure_MPa=1e-6"], ["no usable sample"]),
        (
            ["feasibility.peak_pressure_MPa=0.5", "feasibility.margin=30.0"],
            ["validation: ", "at least 2 feasible held-out samples", "medial"],
        ),
        (["simulation.axial_scale=1e6"], []),
    ],
)
def test_stage_that_fails_has_status_1(tmp_path, capsys, overrides, words):
    assert main(run_command(tmp_path / "run", *TINY, *overrides)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("error: ") == 1
    assert "Traceback" not in captured.err
    for word in words:
        assert word in captured.err


def test_failed_stage_keeps_its_samples_with_the_reasons(tmp_path, capsys):
    assert main(run_command(tmp_path / "run", *TINY, "space.load_N=[1e8, 1e9]")) == 1
    message = capsys.readouterr().err
    for word in ("fitting inverted/kriging", "medial", "no usable sample"):
        assert word in message
    first = read_table(tmp_path / "run" / "samples" / "first.parquet")
    assert len(first) == 120
    assert (first["status"] == "failed").all()
    assert first["reason"].str.startswith("load not reached").all()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("command", ["validate", "report", "simulate"])
def test_command_repeats_its_part(run_copy, capsys, command):
    """It writes the report again, and what it computes again is the same."""
    figures = (run_copy / "validation.json").read_text()
    cycle = read_table(run_copy / "simulation.parquet")
    report = json.loads((run_copy / "report.json").read_text())
    surrogate = surrogate_arrays(run_copy)
    (run_copy / "report.html").unlink()
    assert main([command, str(run_copy)]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"report: {run_copy / 'report.html'}\n")
    assert (run_copy / "report.html").stat().st_size > 10_000
    again = json.loads((run_copy / "report.json").read_text())
    assert again.keys() == report.keys()
    for name, array in surrogate_arrays(run_copy).items():
        assert array.tobytes() == surrogate[name].tobytes()
    assert (run_copy / "validation.json").read_text() == figures
    assert read_table(run_copy / "simulation.parquet").equals(cycle)


def test_bench_tells_the_ratio(tiny_run, capsys):
    assert main(["bench", str(tiny_run)]) == 0
    out = capsys.readouterr().out
    assert "original" in out
    assert "surrogate" in out
    assert "times faster" in out


@pytest.mark.parametrize(
    ("command", "text"), [(schema, "interrupted"), (run, "interrupted; go on with --resume")]
)
def test_interruption_has_status_130(monkeypatch, capsys, command, text):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "COMMANDS", (command.COMMAND._replace(carry_out=interrupted),))
    assert main([command.COMMAND.name]) == 130
    assert capsys.readouterr().err == f"error: {text}\n"


def test_own_faults_are_not_hidden(monkeypatch, capsys):
    def faulty(options):
        raise KeyError("a fault of the program, not of its input")

    replace_schema(monkeypatch, faulty)
    assert main(["schema"]) == cli.FAULT
    assert "KeyError: 'a fault of the program" in capsys.readouterr().err


def test_warnings_are_one_line_and_only_while_a_command_runs(monkeypatch, capsys):
    def warning(options):
        warnings.warn("the mesh has a hole", UserWarning, stacklevel=1)
        return Answer("", None)

    replace_schema(monkeypatch, warning)
    shown = warnings.showwarning
    assert main(["schema"]) == 0
    assert capsys.readouterr().err == "warning: the mesh has a hole\n"
    assert warnings.showwarning is shown


def test_system_errors_name_the_file(monkeypatch, capsys):
    def full(options):
        raise OSError(28, "No space left on device", "/runs/x.parquet")

    replace_schema(monkeypatch, full)
    assert main(["schema"]) == 2
    assert capsys.readouterr().err == "error: /runs/x.parquet: No space left on device\n"


# ---- JSON ----------------------------------------------------------------------------------------


def strict(text):
    """Return what a strict reader makes of a JSON document."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def test_json_is_strict(monkeypatch, capsys):
    content = {"a": np.nan, "b": [np.inf, 1.0, {"c": -np.inf}], 3: (True, None, "µ")}
    replace_schema(monkeypatch, lambda options: Answer("text", content))
    assert main(["schema", "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert found == {"a": None, "b": [None, 1.0, {"c": None}], "3": [True, None, "µ"]}


@pytest.mark.parametrize(
    ("error", "status"),
    [(InputError("no"), 2), (StageError("no"), 1), (KeyboardInterrupt(), 130), (OSError("no"), 2)],
)
def test_errors_are_json_too(monkeypatch, capsys, error, status):
    def fail(options):
        raise error

    replace_schema(monkeypatch, fail)
    assert main(["schema", "--json"]) == status
    captured = capsys.readouterr()
    content = strict(captured.out)
    assert content["status"] == status
    assert captured.err == f"error: {content['error']}\n"


def test_wrong_usage_is_json_too(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["validate", "--json"])
    assert caught.value.code == 2
    content = strict(capsys.readouterr().out)
    assert content["status"] == 2
    assert "folder" in content["error"]
    assert "validate --help" in content["error"]


@pytest.mark.parametrize("command", ["bench", "report", "validate"])
@pytest.mark.usefixtures("undrawn")
def test_commands_answer_with_one_document(run_copy, capsys, command):
    assert main([command, str(run_copy), "--json"]) == 0
    assert isinstance(strict(capsys.readouterr().out), dict)


# ---- configurations by name ----------------------------------------------------------------------


def test_shipped_configurations_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_config("smoke") == ROOT / "configs" / "smoke.toml"
    (tmp_path / "smoke").mkdir()  # a folder of that name does not hide it
    assert find_config("smoke") == ROOT / "configs" / "smoke.toml"
    (tmp_path / "smoke").rmdir()
    (tmp_path / "smoke").write_text("[run]")
    assert find_config("smoke") == Path("smoke")
    with pytest.raises(ConfigError, match="a/smoke: No such file or directory; expected a TOML"):
        find_config("a/smoke")
    with pytest.raises(ConfigError, match=r"did you mean implant\?.* shipped are .*smoke"):
        find_config("implnt")


# ---- bad input -----------------------------------------------------------------------------------


def spoil(folder):
    """Write files that no command can use."""
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
    "samples": ["--format", "csv", "--out", "out.csv"],
    "loads": ["m.csv", "--out", "l.csv"],
    "motion": ["--out", "m.mot"],
}


@pytest.mark.parametrize("given", SPOILT)
@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ("schema", "completion")])
def test_bad_input_is_told_in_one_sentence(tmp_path, monkeypatch, capsys, command, given):
    monkeypatch.chdir(spoil(tmp_path))
    before = sorted(tmp_path.iterdir())
    first = ["export"] if command == "samples" else []
    assert main([command, *first, given, *REST.get(command, []), "--json"]) == 2
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
    if given == "typo.toml" and command in ("run", "check"):
        assert "did you mean name?" in text
    assert sorted(tmp_path.iterdir()) == before


# ---- completion ----------------------------------------------------------------------------------

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_of_each_shell(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("knee-contact", *COMMANDS):
        assert word in script
    again = completion_script(cli.build_parser("knee-contact"), shell)
    assert script == again + "\n"


@needs_bash
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["knee-contact", "che"], {"check"}),
        (["knee-contact", "run", "mi"], {"mine.toml"}),
        (["knee-contact", "run", "--res"], {"--resume"}),
        (["knee-contact", "init", "--side", ""], {"left", "right"}),
        (["knee-contact", "validate", "ru"], {"runs"}),
        (["python", "-m", "pipeline", "val"], {"validate"}),
        (["python", "-m", "pipeline", "check", "mi"], {"mine.toml"}),
        (["python", "set"], set()),
    ],
)
def test_completion_in_bash(tmp_path, capsys, words, expected):
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    (tmp_path / "mine.toml").write_text("")
    (tmp_path / "mine.csv").write_text("")
    (tmp_path / "runs").mkdir()
    name = "_shtab_knee_contact" if words[0] == "knee-contact" else "_knee_contact_module"
    body = (
        f"source ./script; complete -p {words[0]} > /dev/null || exit 1; "
        f"COMP_WORDS=({' '.join(shlex.quote(w) for w in words)}); COMP_CWORD={len(words) - 1}; "
        f'{name}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", body], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == expected


# ---- progress ------------------------------------------------------------------------------------


def test_progress_is_a_line_for_each_stage_where_there_is_no_terminal(capfd):
    counter = StageCounter([Stage("a", seconds=20.0), Stage("b", 10), Stage("c", 10)], 1)
    assert counter.begin("a") == "[1/3] a"
    assert counter.begin("else") == "else"
    assert counter.begin("c") == "[3/3] c"
    with bar(10, "sample", "b") as shown:
        shown.update(10)
    say("a line")
    say("none", quiet=True)
    with silenced(quiet=True):
        say("none")
    with silenced(quiet=False):
        say("another")
    captured = capfd.readouterr()
    assert captured.err == "a line\nanother\n"
    assert captured.out == ""


def test_time_that_is_left_follows_what_the_stages_took(monkeypatch):
    clock = iter([0.0, 30.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    counter = StageCounter([Stage("a", seconds=10.0), Stage("b", seconds=40.0)], 1)
    counter.per_evaluation = 1e-3
    assert counter.begin("b") == "[2/2] b (about 2 min left)"


@pytest.mark.parametrize(("seconds", "text"), [(3.0, "10 s"), (100.0, "2 min"), (6000.0, "1.7 h")])
def test_times_are_rounded(seconds, text):
    assert rounded(seconds) == text


@pytest.mark.parametrize("quiet", [False, True])
def test_compiling_is_told(monkeypatch, capfd, quiet):
    monkeypatch.setattr(progress, "_NOTABLE", 0.0)
    with telling_of_compilation(quiet=quiet):
        numba.njit(lambda x: x + 1)(1)
        numba.njit(lambda x: x + 2)(1)
    captured = capfd.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == (0 if quiet else 2)
    if not quiet:
        assert lines[0] == "compiling the kernels (once per machine, one to two minutes)"
        assert lines[1].startswith("compiled the kernels in ")


def test_what_is_in_the_cache_is_not_told_of(capfd):
    with telling_of_compilation():
        numba.njit(lambda x: x + 1)(1)
    assert capfd.readouterr().err == ""

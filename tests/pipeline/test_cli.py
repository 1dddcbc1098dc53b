"""The command line: help, statuses, and the commands on a finished run."""

import json
import subprocess
import sys
import warnings

import pytest
from studies import ROOT, TINY, run_command, surrogate_arrays

from pipeline import cli
from pipeline.cli import main
from pipeline.commands import schema
from pipeline.commands.command import Answer
from pipeline.samples import read_table

COMMANDS = (
    "run",
    "study",
    "walk",
    "validate",
    "simulate",
    "report",
    "bench",
    "export",
    "wear",
    "schema",
)


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


@pytest.mark.parametrize("arguments", [[], ["train"], ["run"], ["run", "a.toml", "--nonsense"]])
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


def test_interruption_has_status_130(monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    replace_schema(monkeypatch, interrupted)
    assert main(["schema"]) == 130
    assert capsys.readouterr().err == "error: interrupted; go on with --resume\n"


def test_own_faults_are_not_hidden(monkeypatch):
    def faulty(options):
        raise KeyError("a fault of the program, not of its input")

    replace_schema(monkeypatch, faulty)
    with pytest.raises(KeyError):
        main(["schema"])


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

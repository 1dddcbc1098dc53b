"""Command line: `python -m pipeline run configs/implant.toml`, and its parts."""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynamics.equations import SimulationError
from dynamics.equilibrium import EquilibriumError
from pipeline.config import ConfigError, load_config
from pipeline.formulation_study import markdown_table
from pipeline.lifetime import wear_insert, worn_table
from pipeline.report import write_report
from pipeline.rerun import bench, compare_again, export_c, simulate_again, validate_again
from pipeline.run_folder import RunError
from pipeline.runner import run_study
from pipeline.samples import StoreError
from pipeline.schema import Config, describe_schema
from pipeline.stages import StageError
from pipeline.study import carry_out, load_study, told
from pipeline.study_factors import describe_factors
from pipeline.study_schema import describe_study
from pipeline.walk import carry_out as carry_out_walk
from pipeline.walk import load_walk
from pipeline.walk import told as told_walk
from pipeline.walk_schema import describe_walk
from surrogates.persistence import SurrogateFileError

#: Errors of what the user gave: one message, exit status 2.
BAD_INPUT = (ConfigError, RunError, StoreError, SurrogateFileError, ValueError)
#: Errors of a stage that could not end: one message, exit status 1.
FAILED_STAGE = (StageError, SimulationError, EquilibriumError)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline",
        description="Knee-contact surrogates: from two meshes to a gait simulation.",
        epilog="example: python -m pipeline run configs/implant.toml --set design.candidates=2000",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="stages a to h, and the report")
    run.add_argument("config", type=Path, help="study (TOML)")
    _add_options(run)
    _add_study(commands.add_parser("study", help="Monte Carlo or sensitivity of gait cycles"))
    walk = commands.add_parser("walk", help="from measured walking to knee loads, simulated")
    walk.add_argument("config", type=Path, help="walk (TOML)")
    _add_options(walk, resume=False)
    for name, text in (
        ("validate", "judge a run's surrogate on its held-out samples"),
        ("simulate", "repeat a run's gait simulation with its surrogate and original model"),
        ("report", "write a run's report again from its files"),
        ("bench", "time one evaluation of a run's original model and surrogate"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("folder", type=Path, help="run directory")
        if name == "validate":
            command.add_argument(
                "--formulations", action="store_true",
                help="also compare all formulations and families on the run's knee",
            )  # fmt: skip
    wear = commands.add_parser(
        "wear", help="wear of a run's insert over many cycles, its surface lowered as it wears"
    )
    wear.add_argument("folder", type=Path, help="run directory")
    wear.add_argument("--cycles", type=float, default=5e6, help="cycles in all (5e6)")
    wear.add_argument(
        "--blocks", type=int, default=5, help="blocks between which the surface is lowered (5)"
    )
    wear.add_argument("--quiet", action="store_true", help="no progress bar")
    export = commands.add_parser("export", help="write a run's surrogate as C source")
    export.add_argument("source", type=Path, help="run directory, or a surrogate's .npz file")
    export.add_argument("--out", type=Path, help="where to write (default: beside the surrogate)")
    export.add_argument(
        "--prefix", default="knee", metavar="NAME",
        help="name of the files, and of all that they define (default: knee)",
    )  # fmt: skip
    commands.add_parser("schema", help="describe every key of a configuration")
    return parser


def _add_study(study: argparse.ArgumentParser) -> None:
    what = study.add_mutually_exclusive_group(required=True)
    what.add_argument("config", type=Path, nargs="?", help="study of cycles (TOML)")
    what.add_argument("--factors", action="store_true", help="list the named inputs")
    _add_options(study)


def _add_options(command: argparse.ArgumentParser, *, resume: bool = True) -> None:
    """Add what a run, a study of gait cycles and a walk have in common."""
    command.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="overrides",
        help="replace a value of the study; may be repeated",
    )  # fmt: skip
    command.add_argument("--out", type=Path, help="where to write (default: runs/<name>)")
    if resume:
        command.add_argument("--resume", action="store_true", help="go on where it was interrupted")
    command.add_argument("--quiet", action="store_true", help="no progress bars")


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command; return the exit status (0 done, 1 a stage failed, 2 bad input)."""
    options = build_parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode is no reason to fail
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            _COMMANDS[options.command](options)
    except FAILED_STAGE as error:
        return _fail(error, 1)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else error, 2)
    except BAD_INPUT as error:
        return _fail(error, 2)
    except KeyboardInterrupt:
        return _fail("interrupted; go on with --resume", 130)
    return 0


def _run(options: argparse.Namespace) -> None:
    config: Config = load_config(options.config, tuple(options.overrides))
    folder = options.out or Path("runs") / config.run.name
    report = run_study(config, folder, resume=options.resume, quiet=options.quiet)
    _say(_summary(report, folder))


def _study(options: argparse.Namespace) -> None:
    if options.factors:
        return _say(describe_factors())
    file = load_study(options.config, tuple(options.overrides))
    folder = options.out or Path("runs") / file.study.name
    summary = carry_out(file, folder, resume=options.resume, quiet=options.quiet)
    return _say(told(summary, folder))


def _walk(options: argparse.Namespace) -> None:
    file = load_walk(options.config, tuple(options.overrides))
    folder = options.out or Path("runs") / file.walk.name
    _say(told_walk(carry_out_walk(file, folder, quiet=options.quiet), folder))


def _wear(options: argparse.Namespace) -> None:
    content = wear_insert(options.folder, options.cycles, options.blocks, quiet=options.quiet)
    _say(worn_table(content))


def _again(options: argparse.Namespace) -> None:
    report = _PARTS[options.command](options.folder)
    _say(_summary(report, options.folder))


def _validate(options: argparse.Namespace) -> None:
    report = validate_again(options.folder)
    if options.formulations:
        rows, report = compare_again(options.folder)
        _say("\n".join(markdown_table(rows)))
    _say(_summary(report, options.folder))


def _bench(options: argparse.Namespace) -> None:
    times = bench(options.folder)
    _say(
        f"original {times['original_us']:.0f} us, surrogate {times['surrogate_us']:.1f} us "
        f"an evaluation with jacobian: {times['ratio']:.0f} times faster"
    )


def _export(options: argparse.Namespace) -> None:
    _say("\n".join(map(str, export_c(options.source, options.out, options.prefix))))


def _schema(options: argparse.Namespace) -> None:
    del options
    studies = describe_study().replace("# Configuration", "# Studies of gait cycles", 1)
    walks = describe_walk().replace("# Configuration", "# Walks", 1)
    _say(f"{describe_schema()}\n{studies}\n{walks}".rstrip("\n"))


#: Parts of a finished run that are carried out again, each with the report as its answer.
_PARTS = {"simulate": simulate_again, "report": write_report}
_COMMANDS = {
    "run": _run,
    "study": _study,
    "walk": _walk,
    "wear": _wear,
    **dict.fromkeys(_PARTS, _again),
    "validate": _validate,
    "bench": _bench,
    "export": _export,
    "schema": _schema,
}


def _summary(report: dict[str, Any], folder: Path) -> str:
    return "\n".join([*report["summary"], f"report: {folder / 'report.html'}"])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _fail(error: BaseException | str, status: int) -> int:
    sys.stderr.write(f"error: {error}\n")
    return status


def _show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {message}\n")

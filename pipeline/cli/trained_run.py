"""Parts of a finished run, carried out again: `validate`, `simulate`, `report`, `bench`."""

from __future__ import annotations

import argparse

from pipeline.cli.command import Answer, Command, add_folder, run_answer
from pipeline.reports.report import write_report
from pipeline.studies.formulations import markdown_table
from pipeline.studies.repeated_stages import bench, compare_again, simulate_again, validate_again


def _add_validate(command: argparse.ArgumentParser) -> None:
    add_folder(command)
    command.add_argument(
        "--formulations", action="store_true",
        help="also compare all formulations and families on the run's knee",
    )  # fmt: skip


def _validate(options: argparse.Namespace) -> Answer:
    report = validate_again(options.folder)
    if not options.formulations:
        return run_answer(report, options.folder)
    rows, report = compare_again(options.folder)
    answer = run_answer(report, options.folder)
    return Answer("\n".join([*markdown_table(rows), answer.text]), answer.content)


def _simulate(options: argparse.Namespace) -> Answer:
    return run_answer(simulate_again(options.folder), options.folder)


def _report(options: argparse.Namespace) -> Answer:
    return run_answer(write_report(options.folder), options.folder)


def _bench(options: argparse.Namespace) -> Answer:
    times = bench(options.folder)
    text = (
        f"original {times['original_us']:.0f} us, surrogate {times['surrogate_us']:.1f} us "
        f"an evaluation with jacobian: {times['ratio']:.0f} times faster"
    )
    return Answer(text, times)


VALIDATE = Command(
    "validate",
    "judge a run's surrogate on its held-out samples",
    _add_validate,
    _validate,
    (
        "python -m pipeline validate runs/implant",
        "python -m pipeline validate runs/implant --formulations",
    ),
)
SIMULATE = Command(
    "simulate",
    "repeat a run's gait simulation with its surrogate and original model",
    add_folder,
    _simulate,
    ("python -m pipeline simulate runs/implant",),
)
REPORT = Command(
    "report",
    "write a run's report again from its files",
    add_folder,
    _report,
    ("python -m pipeline report runs/implant",),
)
BENCH = Command(
    "bench",
    "time one evaluation of a run's original model and surrogate",
    add_folder,
    _bench,
    ("python -m pipeline bench runs/implant",),
)

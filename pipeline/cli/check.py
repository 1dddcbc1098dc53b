"""`check`: what is wrong with meshes and configuration, before a long run."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from foundation.wording import counted
from pipeline.advice import command_line
from pipeline.cli.command import Answer, Command, add_config, add_set
from pipeline.config.reading import find_config
from pipeline.preparation.checkup import LEVELS, check_study


def _add(command: argparse.ArgumentParser) -> None:
    add_config(command)
    add_set(command)
    command.add_argument(
        "--deep", action="store_true",
        help="draw more samples, and simulate a gait cycle with the original model",
    )  # fmt: skip


def _check(options: argparse.Namespace) -> Answer:
    file = find_config(options.config)
    remarks, figures = check_study(file, tuple(options.overrides), deep=options.deep)
    counts = {level: sum(r.level == level for r in remarks) for level in LEVELS}
    lines = [f"{remark.level}: {remark.about}: {remark.text}" for remark in remarks]
    doubts = counted(counts["warning"], "warning")
    if counts["error"]:
        verdict = f"not ready: {counted(counts['error'], 'error')}, {doubts}"
    else:
        given = [word for text in options.overrides for word in ("--set", text)]
        verdict = f"ready: {doubts}; next: {command_line('run', file, *given)}"
    content = {
        "file": str(file),
        "ready": not counts["error"],
        "counts": counts,
        "remarks": [asdict(remark) for remark in remarks],
        "figures": figures,
    }
    return Answer("\n".join([*lines, verdict]), content, 2 if counts["error"] else 0)


COMMAND = Command(
    "check",
    "say what is wrong with meshes and configuration, before a long run",
    _add,
    _check,
    (
        "python -m pipeline check mine.toml",
        "python -m pipeline check mine.toml --deep",
        "python -m pipeline check mine.toml --set knee.side=left --json",
    ),
)

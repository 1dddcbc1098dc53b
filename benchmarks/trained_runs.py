"""The command line of benchmarks of finished runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

from pipeline.stages.trained_run import TrainedRun


@contextmanager
def runs_given(
    description: str | None, options: Mapping[str, tuple[float, str]] | None = None
) -> Iterator[tuple[argparse.Namespace, Iterator[TrainedRun]]]:
    """Yield the arguments of a program that takes finished runs, and these; BLAS has one thread.

    `options` are further arguments: default value and help.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a finished run"
    )
    for name, (default, text) in (options or {}).items():
        parser.add_argument(name, type=type(default), default=default, help=text)
    chosen = parser.parse_args()
    with threadpool_limits(1):
        yield chosen, map(TrainedRun.open, chosen.runs)

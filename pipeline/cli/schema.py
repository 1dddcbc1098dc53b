"""`schema`: every key of a configuration."""

from __future__ import annotations

import argparse

from pipeline.cli.command import Answer, Command
from pipeline.config.schema import describe_schema
from pipeline.studies.schema import describe_study
from pipeline.studies.walks.schema import describe_walk


def _add(command: argparse.ArgumentParser) -> None:
    del command  # takes none


def _schema(options: argparse.Namespace) -> Answer:
    del options
    text = f"{describe_schema()}\n{describe_study()}\n{describe_walk()}".rstrip("\n")
    return Answer(text, text)


COMMAND = Command(
    "schema",
    "describe every key of a configuration",
    _add,
    _schema,
    ("python -m pipeline schema > keys.md",),
)

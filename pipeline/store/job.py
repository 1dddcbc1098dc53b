"""Folders that commands write to: locking, ownership, and replacement of earlier results."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
import tomllib
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from filelock import FileLock, Timeout
from pydantic import BaseModel, model_validator

from foundation.base.errors import InputError
from foundation.base.wording import counted
from pipeline.advice import command_line
from pipeline.config.reading import ConfigError, checked_section, dump_config
from pipeline.config.schema import Config
from pipeline.config.schema_base import Section
from pipeline.files import write_document, write_text, writing
from pipeline.progress import say
from pipeline.store.documents import make_again, read_document

#: File of a folder that the process which writes to the folder has locked.
LOCK_FILE = ".lock"
#: File that every folder of a command has.
_CONFIGURATION = "config.toml"
#: Keys of a configuration that change the name or the execution of a run but no result.
_FREE_KEYS = ("name", "workers", "scheduler", "chunk")

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class RunError(InputError):
    """A run that cannot start or continue; the message says why and what to do."""


@contextmanager
def locked(folder: Path, *, make: bool = False) -> Iterator[None]:
    """Keep other processes from writing to a folder until the end of the block; `make` makes it.

    A folder that cannot be written to is not locked, nor one on a file system without locks.
    """
    if make:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK_FILE, blocking=False)
    if make or (folder / _CONFIGURATION).exists():
        try:
            lock.acquire()
        except Timeout as error:
            raise RunError(
                f"{folder}: another command is writing to this folder; wait until the command has "
                "ended, or choose another folder with --out"
            ) from error
        except (OSError, NotImplementedError):
            pass
    try:
        yield
    finally:
        if lock.is_locked:
            with suppress(OSError):  # Windows cannot delete an open file
                (folder / LOCK_FILE).unlink()
        lock.release()


def alone_in_folder(
    function: Callable[Concatenate[Path, Given], Answer],
) -> Callable[Concatenate[Path, Given], Answer]:
    """Return a function that locks a folder, its first argument, while it runs."""

    @wraps(function)
    def alone(folder: Path, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        with locked(folder):
            return function(folder, *args, **kwargs)

    return alone


def read_stored(file: Path) -> dict[str, Any]:
    """Return the keys of the configuration in a folder; raise a RunError if it is damaged."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (RecursionError, ValueError) as error:
        raise RunError(
            f"{file}: expected the configuration that the run was made with, found the file "
            f"damaged ({error}); restore the file, or start again with another --out"
        ) from error


def differing_keys(one: Mapping[str, Any], other: Mapping[str, Any], section: str) -> list[str]:
    """Return the dotted keys in which two configurations differ, without `free_keys`."""
    before, after = flat_keys(one), flat_keys(other)
    differing = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    return sorted(differing - free_keys(section))


def free_keys(section: str) -> frozenset[str]:
    """Return the dotted keys of a section that change no result."""
    return frozenset(f"{section}.{key}" for key in _FREE_KEYS)


def flat_keys(tree: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    """Return the values of a nested configuration by their dotted keys."""
    keys: dict[str, Any] = {}
    for key, value in tree.items():
        name = head + key
        keys |= flat_keys(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return keys


#: The document of a run directory that says what the run was made with.
MADE_WITH = "made_with.json"
#: Changed keys that a message shows with both values.
_SHOWN = 3


class _MadeWith(BaseModel):
    """`made_with.json`: the configuration as TOML, and its digest."""

    sha256: str
    configuration: str

    @model_validator(mode="after")
    def _check_digest(self) -> Self:
        if configuration_digest(self.configuration) != self.sha256:
            raise InputError("sha256 is the digest of another configuration")
        return self


def configuration_digest(text: str) -> str:
    """Return a SHA-256 over the keys of a configuration (TOML) that determine the results."""
    left_out = free_keys("run")
    keys = {k: v for k, v in flat_keys(tomllib.loads(text)).items() if k not in left_out}
    content = json.dumps(keys, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def write_made_with(folder: Path, text: str) -> None:
    """Write what a run is made with; `text` is the resolved configuration as TOML."""
    content = {"sha256": configuration_digest(text), "configuration": text}
    write_document(folder / MADE_WITH, content)


def read_made_with(folder: Path) -> dict[str, Any] | None:
    """Return the configuration that a run was made with; None if there is no such document."""
    file = folder / MADE_WITH
    if not file.is_file():
        return None
    return tomllib.loads(read_document(file, _MadeWith).configuration)


def made_from(folder: Path, stored: str = "config.toml") -> dict[str, Any]:
    """Return the configuration of the results of a folder: `made_with.json`, or else `stored`."""
    made = read_made_with(folder)
    return read_stored(folder / stored) if made is None else made


def check_finished(folder: Path, names: Collection[str] = (), kind: str = "run") -> None:
    """Raise a RunError unless a folder has the configuration and some files of a finished run."""
    for name in (_CONFIGURATION, *names):
        if not (folder / name).is_file():
            found = f"no {name} in it" if folder.is_dir() else "no such folder"
            raise RunError(
                f"{folder}: expected the folder of a finished {kind}, found {found}; make one with "
                f"`{make_again(folder / name)}`"
            )


def check_configuration(folder: Path) -> dict[str, Any] | None:
    """Return what a run was made with; a RunError if `config.toml` has other results."""
    made = read_made_with(folder)
    file = folder / "config.toml"
    if made is None or not file.is_file():
        return made
    stored = read_stored(file)
    if changed := differing_keys(made, stored, "run"):
        raise RunError(
            f"{file}: changed since the run was made: {changes_in_words(made, stored, changed)}. "
            "Restore the file, or make another run with the changed file: "
            f"`{command_line('run', file, '--out', f'{folder}-changed')}`"
        )
    return made


def changes_in_words(
    made: Mapping[str, Any], found: Mapping[str, Any], changed: list[str], what: str = "the run"
) -> str:
    """Return changed keys, the first ones with both values; the others are counted."""
    before, after = flat_keys(made), flat_keys(found)
    parts = [
        f"{key} is {_shown(after, key)}, and {what} was made with {_shown(before, key)}"
        for key in changed[:_SHOWN]
    ]
    if further := len(changed) - len(parts):
        parts.append(counted(further, "further key differs", "further keys differ"))
    return "; ".join(parts)


def _shown(keys: dict[str, Any], key: str) -> str:
    """Return a value as TOML writes it."""
    if key not in keys:
        return "not given"
    text = json.dumps(keys[key], ensure_ascii=False, default=str)
    return text.replace("Infinity", "inf")


#: Files of a folder that are not results.
_NO_RESULTS = frozenset({LOCK_FILE, MADE_WITH})


class JobKind(NamedTuple):
    """A kind of folder, by the configuration that its command leaves there."""

    #: Kind in messages.
    name: str
    #: Section of the configuration with the name of the results.
    section: str
    #: File of the configuration.
    stored: str = "config.toml"


RUN = JobKind("run directory", "run")


@dataclass(frozen=True, eq=False)
class Job:
    """A command that writes to a folder of its own."""

    kind: JobKind
    #: The folder, which need not exist.
    folder: Path
    #: The whole configuration of the command.
    config: Section
    #: Names or patterns, relative to the folder, of the files and folders of the results.
    files: tuple[str, ...] = ()
    #: The same for results that an interrupted job continues with.
    kept: tuple[str, ...] = ()
    #: Whether to continue an interrupted job of the folder.
    resume: bool = False
    #: Whether to replace results of another configuration of the same kind.
    replace: bool = False
    #: What is doubtful or without effect, in the order in which it was found.
    notes: list[str] = field(default_factory=list)
    _started: float = field(default_factory=time.perf_counter, repr=False)

    def note(self, *texts: str) -> None:
        """Keep notes, and tell each of them as a warning."""
        for text in texts:
            self.notes.append(text)
            warnings.warn(text, stacklevel=2)

    @property
    def stored(self) -> Path:
        """File of the configuration."""
        return self.folder / self.kind.stored

    @property
    def text(self) -> str:
        """The configuration as TOML."""
        return dump_config(self.config)

    @property
    def resumed(self) -> bool:
        """Whether the folder holds a job to be continued."""
        return self.resume and self.stored.exists()

    @property
    def seconds(self) -> float:
        """Time since the job was described [s]."""
        return time.perf_counter() - self._started

    def check(self) -> None:
        """Check that the command may write to the folder; call this before hours are spent."""
        _check_own_folder(self.folder, self.kind)
        if not self.stored.is_file():
            return
        if (other := _other_kind(self.stored, self.kind)) is not None:
            raise RunError(
                f"{self.folder}: is not empty and is not a {self.kind.name} but a {other}; choose "
                "another folder with --out"
            )
        if self.resume or self.replace or not self._has_results():
            return
        if changes := self._changes():
            name = self.kind.name
            raise RunError(
                f"{self.folder}: holds a {name} of another configuration: {changes}; give another "
                f"{self.kind.section}.name or --out, or replace the {name} with --force"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder, and keep other processes from writing to the folder in the block."""
        with locked(self.folder, make=True):
            yield

    def begin(self) -> list[str]:
        """Remove results that are made again, write the configuration; return the changed keys."""
        changed: list[str] = []
        if self.resumed:
            made, wanted, changed = self.compared()
            if changed:
                what = f"the {self.kind.name}"
                say(f"continuing: {changes_in_words(made, wanted, changed, what)}")
        if changed or not self.resumed:
            self.clear()
        self.write_config()
        return changed

    def clear(self) -> None:
        """Remove earlier results, except those to continue with, and no other files."""
        for pattern in (*self.files, *(() if self.resumed else self.kept)):
            for path in self.folder.glob(pattern):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def write_config(self) -> None:
        """Write the configuration, which marks the folder as one of this kind."""
        write_text(self.stored, self.text)

    def _has_results(self) -> bool:
        """Return whether the folder holds more than the traces of a command that began."""
        return any(
            path != self.stored and path.name not in _NO_RESULTS and path.is_file()
            for path in self.folder.rglob("*")
        )

    def _changes(self) -> str:
        """Return in words how the configuration differs from that of the folder; "" if equal."""
        try:
            made, wanted, changed = self.compared()
        except ConfigError as error:
            return str(error)
        return changes_in_words(made, wanted, changed, f"the {self.kind.name}")

    def compared(self) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
        """Return the configuration of the folder, that of the job, and the keys that differ."""
        keys = made_from(self.folder, self.kind.stored)
        before = checked_section(keys, type(self.config), str(self.stored))
        made, wanted = (section.model_dump(exclude_none=True) for section in (before, self.config))
        return made, wanted, differing_keys(made, wanted, self.kind.section)


def _check_own_folder(folder: Path, kind: JobKind) -> None:
    """Raise a RunError unless a folder is new, empty, or holds the configuration of its kind."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: is a file, expected a folder; choose another folder with --out")
    used = folder.is_dir() and any(file.name != LOCK_FILE for file in folder.iterdir())
    if used and not (folder / kind.stored).exists():
        raise RunError(
            f"{folder}: is not empty and is not a {kind.name}; choose another folder with --out"
        )


def _other_kind(file: Path, kind: JobKind) -> str | None:
    """Return what a folder holds by its configuration, if that is another kind; None if damaged."""
    if file.name != RUN.stored:
        return None
    try:
        keys = read_stored(file)
    except RunError:
        return None
    section = next((name for name in keys if name not in Config.model_fields), RUN.section)
    if kind.section == RUN.section == section or kind.section in keys.keys() - {RUN.section}:
        return None
    return RUN.name if section == RUN.section else f"folder of [{section}]"


#: Document that only a run over designs has.
DESIGNS = "designs.json"
_SURROGATE = "knee.npz"


def is_over_designs(folder: Path) -> bool:
    """Return whether a folder is a finished run over designs."""
    return (folder / DESIGNS).is_file()


def check_single_knee(source: Path) -> None:
    """Raise a RunError if a run directory, or the surrogate in it, is over designs."""
    folder = source if source.is_dir() else source.parent
    if is_over_designs(folder) and (source.is_dir() or source.name == _SURROGATE):
        command = command_line("design", folder, "...")
        raise RunError(
            f"{folder}: holds a surrogate over designs; take out one design with `{command}`"
        )

"""The folder of third-party data, `$KNEE_DATA`: its files, and where the files come from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from foundation.base.errors import InputError

#: Environment variable of the data folder, and the folder used without the variable.
DATA_VARIABLE = "KNEE_DATA"
DEFAULT_DATA = "../shared/data"


@dataclass(frozen=True)
class DataSource:
    """Source of a folder of `$KNEE_DATA`: contents, repository, folder in it, and licence."""

    contents: str
    repository: str
    folder: str
    licence: str


_JAM = "github.com/opensim-jam-org/jam-resources"
#: Source of each folder of `$KNEE_DATA`; docs/data.md has the same list with the files.
SOURCES = {
    "jam_lenhart2015_knee": DataSource(
        "cartilage of the natural knee of Lenhart et al. 2015",
        "github.com/clnsmith/wisco_opensim",
        "examples/exampleFBKneePassiveFlexion/inputs/Geometry",
        "Apache-2.0",
    ),
    "jam_comak_walking": DataSource(
        "patellar cartilage and walking solution of the same knee",
        "github.com/clnsmith/opensim-jam",
        "models/lenhart2015 and examples/walking, with their folders",
        "Apache-2.0",
    ),
    "grand_challenge_DM_implant": DataSource(
        "implant of subject DM of the Grand Challenge competition (Fregly et al. 2012)",
        _JAM,
        "models/knee_tka/grand_challenge/DM",
        "Apache-2.0",
    ),
    "jam_grand_challenge_DM": DataSource(
        "model, markers and ground forces of the same subject",
        _JAM,
        "models/knee_tka/grand_challenge/DM",
        "Apache-2.0",
    ),
    "opensim_core_gait": DataSource(
        "joint angles and ground forces of OpenSim's subject01",
        "github.com/opensim-org/opensim-core",
        "Bindings/Python/tutorials/resources",
        "Apache-2.0",
    ),
}


class DataError(InputError):
    """A file of `$KNEE_DATA` is missing; the message says what was searched, and its source."""


def data_folder() -> Path:
    """Return the data folder, from the environment variable, by default ../shared/data."""
    return Path(os.environ.get(DATA_VARIABLE) or DEFAULT_DATA)


def data_path(text: str, base: Path) -> Path:
    """Return the file of a path; `$KNEE_DATA` is the data folder, others are relative to `base`."""
    inside = _inside(text)
    return base / text if inside is None else data_folder() / inside


def data_file(text: str) -> Path:
    """Return the file of an independent path; one in `$KNEE_DATA` must exist, else `DataError`."""
    path = data_path(text, Path())
    inside = _inside(text)
    if inside is not None and not path.exists():
        raise DataError(f"{text}: no such file; {_searched(inside)}; {_origin(inside)}")
    return path


def data_files(texts: Iterable[str]) -> tuple[Path, ...]:
    """Return the files of independent paths; raises as `data_file`."""
    return tuple(data_file(text) for text in texts)


def _inside(text: str) -> str | None:
    """Return a path relative to `$KNEE_DATA`, or None for a path outside."""
    head = "$" + DATA_VARIABLE
    if text == head or text.startswith(head + "/"):
        return text[len(head) :].lstrip("/")
    return None


def _searched(inside: str) -> str:
    """Return which folder was searched, and what it contains."""
    folder = data_folder()
    if os.environ.get(DATA_VARIABLE):
        chosen = f"the environment variable {DATA_VARIABLE} = {folder}"
    else:
        chosen = f"the environment variable {DATA_VARIABLE} is not set, so that {folder}"
    chosen = f"${DATA_VARIABLE} is the folder of third-party meshes and motions: {chosen}"
    name = inside.partition("/")[0]
    if not folder.is_dir():
        return f"{chosen} ({folder.resolve()}) was searched, which is not a folder"
    if not (folder / name).exists():
        return f"{chosen} ({folder.resolve()}) was searched, which contains {_contents(folder)}"
    parent = (folder / inside).parent
    return f"{chosen} was searched; {parent} contains {_contents(parent)}"


def _contents(folder: Path) -> str:
    """Return the names in a folder, the first six of many."""
    names = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return (", ".join(names[:6]) or "nothing") + more


def _origin(inside: str) -> str:
    """Return where a file comes from and where it is expected."""
    name = inside.partition("/")[0]
    if name not in SOURCES:
        return f"expected one of the folders {', '.join(SOURCES)} (docs/data.md)"
    source = SOURCES[name]
    return (
        f"the file ({source.contents}) comes from https://{source.repository}, folder "
        f"{source.folder} ({source.licence}); put it at {data_folder() / inside}, or set "
        f"{DATA_VARIABLE} to the folder that contains {name}/ (docs/data.md)"
    )

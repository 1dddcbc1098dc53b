"""Reading and writing configurations: files of the schema, overrides, refusals, designs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from foundation.base.errors import InputError
from pipeline.config.contact_schema import CONTACT_MODELS, DEFAULT_MODEL, with_model
from pipeline.config.design_space_schema import DesignSpaceConfig
from pipeline.config.schema import Config, section_of
from pipeline.config.schema_base import Section, near

#: Types that TOML and pydantic name differently.
_EXPECTED = {"model_type": "a section", "tuple_type": "a list", "missing": "a value"}

#: Key of the contact model, whose change takes the keys of the former model along.
_MODEL_KEY = ["contact", "model"]
#: Sections of studies that need no section of a knee.
_OF_STUDIES = ("study", "walk", "forward", "optimisation")

AnySection = TypeVar("AnySection", bound=Section)


class ConfigError(InputError):
    """A configuration that cannot be used; the message has all reasons."""


def load_config(path: str | Path, overrides: tuple[str, ...] = ()) -> Config:
    """Read a configuration file; its file paths become absolute.

    Parameters
    ----------
    path : path
        TOML file.
    overrides : tuple of str
        `section.key=value` pairs that replace values of the file. The value is read as TOML; if
        it is not TOML, it is read as a string.

    Raises
    ------
    ConfigError
        If the file is missing or is not TOML, a key is unknown, or a value is out of range.
    """
    return load_section(path, Config, overrides)


def shipped_configs() -> dict[str, Path]:
    """Return the shipped configuration files by name."""
    package = Path(__file__).parents[1]
    # A wheel has the files in the package, the repository has a folder next to the package.
    for folder in (package / "configs", package.parent / "configs"):
        if files := sorted(folder.glob("*.toml")):
            return {file.stem: file for file in files}
    return {}


def shipped_config(name: str) -> Path:
    """Return the file of a shipped configuration, for example "implant".

    Raises
    ------
    ConfigError
        If there is no shipped configuration of that name.
    """
    known = shipped_configs()
    if name not in known:
        file = f"{name}.toml"
        hint = f" (did you mean {file}?)" if Path(file).is_file() else near(name, known)
        raise ConfigError(
            f"{name}: is neither a file nor a shipped configuration{hint}; the "
            f"shipped configurations are {', '.join(known)}; `knee-contact init` writes a new "
            "configuration"
        )
    return known[name]


def find_config(text: str | Path) -> Path:
    """Return the file of a configuration, given its path or the name of a shipped configuration."""
    path = Path(text)
    is_name = path.name == str(path) and not path.suffix
    exists = path.is_file() or (path.is_dir() and str(path) not in shipped_configs())
    if is_name and not exists:
        return shipped_config(str(path))
    what = "a TOML file, or the name of a shipped configuration: `knee-contact run implant`"
    try:
        empty = path.stat().st_size == 0
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected {what}") from error
    if empty or path.is_dir():
        kind = "an empty file" if empty else "a folder"
        raise ConfigError(f"{path}: expected {what}; found {kind}")
    return path


def load_section(
    path: str | Path, schema: type[AnySection], overrides: tuple[str, ...] = ()
) -> AnySection:
    """Read a file of any schema as `load_config` does; a missing name is that of the file."""
    file = Path(path)
    tree = named(read_tree(file, overrides), schema, file)
    return checked_section(tree, schema, str(file), file.parent)


def named(tree: dict[str, Any], schema: type[Section], file: Path) -> dict[str, Any]:
    """Return the keys of a file, with the name of the file as the name of results without one."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", file.stem).lstrip(".-")
    for key, field in schema.model_fields.items():
        inner = section_of(field.annotation)
        if inner is None or "name" not in inner.model_fields or not name:
            continue
        section = tree.get(key, None if field.is_required() else {})
        if isinstance(section, dict):
            tree = {**tree, key: {"name": name, **section}}
    return tree


def read_tree(path: str | Path, overrides: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the keys of a TOML file with overrides; raise a ConfigError if it cannot be read."""
    file = Path(path)
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}: expected a TOML file, found: {error}") from error
    for override in _model_first(tree, overrides):
        override_key(tree, override)
    return tree


def _model_first(tree: dict[str, Any], overrides: tuple[str, ...]) -> list[str]:
    """Return the overrides but one of `contact.model`, made here without keys of the former."""
    remaining = [text for text in overrides if _key_names(text.partition("=")[0]) != _MODEL_KEY]
    contact = tree.get(_MODEL_KEY[0], {})
    if len(remaining) == len(overrides) or not isinstance(contact, dict):
        return list(overrides)
    former = contact.get("model", DEFAULT_MODEL)
    for text in overrides:
        if text not in remaining:
            override_key(tree, text)
    model = tree[_MODEL_KEY[0]]["model"]
    if isinstance(model, str) and model != former and model in CONTACT_MODELS:
        tree[_MODEL_KEY[0]] = with_model(tree[_MODEL_KEY[0]], model)
    return remaining


def checked_section(
    tree: dict[str, Any], schema: type[AnySection], source: str, folder: Path | None = None
) -> AnySection:
    """Return the keys of a TOML file as a section; a ConfigError names all wrong keys."""
    context = None if folder is None else {"folder": folder}
    try:
        return schema.model_validate(tuples_of(tree), context=context)
    except ValidationError as error:
        raise ConfigError(explain(source, error, schema)) from error


def dump_config(config: Section) -> str:
    """Return the resolved configuration as TOML."""
    return tomli_w.dumps(config.model_dump(exclude_none=True))


def override_key(tree: dict[str, Any], text: str) -> None:
    """Replace a value of a tree by `section.key=value`; raise a ConfigError for another text."""
    key, equals, value = text.partition("=")
    names = _key_names(key)
    if not equals or not names:
        raise ConfigError(f"--set {text}: expected section.key=value")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    for name in names[:-1]:
        branch = tree.setdefault(name, {})
        if not isinstance(branch, dict):
            raise ConfigError(f"--set {text}: {name} is a value, not a section")
        tree = branch
    tree[names[-1]] = parsed


def _key_names(key: str) -> list[str]:
    """Return the names of a key in TOML, none if it is not one: a name with dots has quotes."""
    try:
        branch = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return []
    names: list[str] = []
    while isinstance(branch, dict) and len(branch) == 1:
        [(name, branch)] = branch.items()
        names.append(name)
    return names


def tuples_of(value: Any) -> Any:
    """Return TOML values with lists as tuples, which the strict and frozen schema needs."""
    if isinstance(value, dict):
        return {key: tuples_of(item) for key, item in value.items()}
    return tuple(map(tuples_of, value)) if isinstance(value, list) else value


def explain(source: str, error: ValidationError, schema: type[BaseModel] = Config) -> str:
    """Return a message with what was expected and found for each wrong key."""
    return f"{source}: " + "; ".join(explanations(error, schema).values())


def explanations(error: ValidationError, schema: type[BaseModel] = Config) -> dict[str, str]:
    """Return what was expected and found for each wrong key, by dotted key."""
    expected: dict[str, list[str]] = {}
    shown_values: dict[str, str] = {}
    items = error.errors()
    for item in items:
        # A list whose entries are refused is not too short, as pydantic says besides.
        inside = [i for i in items if i["loc"][:-1] and i["loc"][: len(item["loc"])] == item["loc"]]
        if item["type"] == "too_short" and len(inside) > 1:
            continue
        parts = _key(item)
        where = ".".join(parts)
        expected.setdefault(where, []).append(_expectation(item, parts, schema))
        shown = item["type"] != "missing" and not isinstance(item["input"], dict | Section)
        if shown and item["type"] != "extra_forbidden":
            value = item["input"]
            shown_values[where] = f", found {list(value) if isinstance(value, tuple) else value!r}"
    sentences = {
        key: " or ".join(texts).replace(" or expected", " or") + shown_values.get(key, "")
        for key, texts in expected.items()
    }
    return {key: f"{key}: {text}" if key else text for key, text in sentences.items()}


def _key(item: ErrorDetails) -> list[str]:
    """Return the sections and the key of an error."""
    # pydantic adds the type of a key that may have several types. An unknown key, the last part,
    # may have any name.
    last = len(item["loc"]) - 1 if item["type"] == "extra_forbidden" else None
    return [
        str(part)
        for place, part in enumerate(item["loc"])
        if isinstance(part, int) or part.isidentifier() or place == last
    ]


def _expectation(item: ErrorDetails, parts: list[str], schema: type[BaseModel]) -> str:
    if item["type"] == "extra_forbidden":
        section = schema
        for name in (part for part in parts[:-1] if not part.isdecimal()):
            section = section_of(section.model_fields[name].annotation) or section
        known = section.model_fields
        inner = {name: section_of(field.annotation) for name, field in known.items()}
        dotted = [
            f"{name}.{key}" for name, part in inner.items() if part for key in part.model_fields
        ]
        if schema is Config and parts[0] in _OF_STUDIES:
            return "expected a configuration of a knee, found a study, which `run` checks itself"
        hint = near(parts[-1], [*known, *dotted])
        return f"unknown key, expected one of {', '.join(known)}{hint}"
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] in _EXPECTED:
        return f"expected {_EXPECTED[item['type']]}"
    if item["type"] == "literal_error" and isinstance(item["input"], str):
        message += near(item["input"], re.findall("'([^']*)'", item["ctx"]["expected"]))
    for theirs, ours in (("Input should be", "expected"), ("String should", "expected to")):
        message = message.replace(theirs, ours)
    return message.replace("Tuple should have", "expected")


def design_config(config: Config, values: Mapping[str, float]) -> Config:
    """Return the configuration of one design, of values by parameter in the unit of its name."""
    space = design_space_of(config)
    tree = config.model_dump(exclude_none=True, exclude={"design_space"})
    for parameter in space.parameter:
        *sections, key = parameter.key.split(".")
        branch: dict[str, Any] = tree
        for name in sections:
            branch = branch.setdefault(name, {})
        branch[key] = float(values[parameter.label])
    text = ", ".join(f"{name} = {values[name]:g}" for name in space.names)
    return checked_section(tree, Config, f"design with {text}")


def design_space_of(config: Config) -> DesignSpaceConfig:
    """Return the section [design_space]; raise an InputError if there is none."""
    if config.design_space is None:
        raise InputError(
            "[design_space] is missing: expected the parameters of the designs and their ranges"
        )
    return config.design_space


def check_designs(config: Config) -> Config:
    """Return a configuration; a ConfigError unless every parameter is a number of its range."""
    space = design_space_of(config)
    for parameter in space.parameter:
        _check_key(parameter.key)
    for end in (0, 1):
        design_config(config, {p.label: p.range[end] for p in space.parameter})
    return config


def _check_key(dotted: str) -> None:
    """Raise a ConfigError unless a dotted key is one of a configuration, and no section."""
    section: type[BaseModel] | None = Config
    for name in dotted.split("."):
        known = section.model_fields if section is not None else {}
        if name not in known:
            raise ConfigError(
                f"design_space.parameter: {dotted}: expected one of {', '.join(known)} in place of "
                f"{name}{near(name, known)}"
            )
        section = section_of(known[name].annotation)
    if section is not None:
        raise ConfigError(
            f"design_space.parameter: {dotted}: expected a key of this section, one of "
            f"{', '.join(section.model_fields)}"
        )

"""What all sections of a configuration share: strictness, types of values, their description."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo

from foundation.base.errors import InputError


@contextmanager
def naming_keys(keys: Mapping[str, str]) -> Iterator[None]:
    """Name in errors the key of the configuration instead of the argument that the key gives.

    `keys` maps the argument to its dotted key; bounds in m of a key that ends in _mm become mm.
    """
    try:
        yield
    except InputError as error:
        if error.name not in keys:
            raise
        raise error.under(keys[error.name]) from error


def ascending(limits: tuple[float, float]) -> tuple[float, float]:
    """Return limits if the lower one is less than the upper one."""
    if not limits[0] < limits[1]:
        raise InputError("expected [low, high] with low < high")
    return limits


Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Range = Annotated[tuple[Finite, Finite], AfterValidator(ascending)]


def absolute(text: str, info: ValidationInfo) -> str:
    """Return a path of a file as `independent_path` does, if the folder of the file is known."""
    return independent_path(text, info.context["folder"]) if info.context else text


def independent_path(text: str, base: Path) -> str:
    """Return a path relative to `base` as an absolute path; `$KNEE_DATA/...` stays as it is."""
    return text if text.startswith("$") else str((base / text).resolve())


#: Path of a file, relative to the configuration.
File = Annotated[str, AfterValidator(absolute)]


def file_unless(*shipped: str) -> AfterValidator:
    """Return the check of a path of a CSV file, or of the name of one of the `shipped` tables."""

    def check(text: str, info: ValidationInfo) -> str:
        if text in shipped:
            return text
        path = absolute(text, info)
        is_name = text == Path(text).stem and not text.startswith("$")
        if is_name and not Path(path).is_file():
            raise InputError(f"{table_expected(shipped)}{near(text, shipped)}")
        return path

    return AfterValidator(check)


def table_expected(shipped: Iterable[str]) -> str:
    """Return in words that a key takes one of the names of shipped tables, or a file."""
    names = ", ".join(f'"{name}"' for name in shipped)
    return f"expected {names}, which are shipped, or the path of a CSV file"


def near(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar known name; "" if none is similar."""
    word, names = name.casefold(), {each.casefold(): each for each in known}
    similar = get_close_matches(word, names, n=1) or [
        each for each in names if len(word) > 2 and word in each
    ]
    return f" (did you mean {names[similar[0]]}?)" if similar else ""


class Section(BaseModel):
    """Base of all sections: unknown keys are errors, values are not converted, all is frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    #: A key, its value, and the keys that have an effect with this value alone.
    only_with: ClassVar[tuple[tuple[str, str, tuple[str, ...]], ...]] = ()

    @model_validator(mode="after")
    def _no_idle_keys(self) -> Self:
        # A resolved configuration states every key: a default is no statement.
        fields = type(self).model_fields
        for key, value, names in self.only_with:
            found = getattr(self, key)
            idle = [name for name in names if getattr(self, name) != fields[name].default]
            if found != value and idle:
                raise InputError(
                    f'{", ".join(idle)}: expected only with {key} = "{value}", found {key} = '
                    f'"{found}"; remove what has no effect, or set {key} = "{value}"'
                )
        return self


def name_field(default: str, what: str) -> Any:
    """Return the field of the name of results; `load_section` sets the name of the file."""
    return Field(
        default,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
        description=f"name of the {what}",
        json_schema_extra={"default": "name of the file"},
    )


def section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the section that a field contains; None for a plain value."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def describe_section(root: type[BaseModel]) -> str:
    """Return default, limits and meaning of every key: a Markdown table per kind of section.

    The docstring of `root` is the title.
    """
    lines: list[str] = []
    described: dict[type[BaseModel], str] = {}

    def add(model: type[BaseModel], path: str) -> None:
        text = inspect.cleandoc(model.__doc__ or "")
        heading = f"## [{path}]\n\n{text}" if path else f"# {text.rstrip('.')}"
        if model in described:
            lines.extend([f"## [{path}]", "", f"Keys as in [{described[model]}].", ""])
            return
        described[model] = path
        lines.extend([heading, ""])
        nested = {k: t for k, f in model.model_fields.items() if (t := section_of(f.annotation))}
        keys = [key for key in model.model_fields if key not in nested]
        if keys:
            lines.extend(["| key | default | limits | meaning |", "|---|---|---|---|"])
            lines.extend(_row(key, model.model_fields[key]) for key in keys)
            lines.append("")
        for key, inner in nested.items():
            add(inner, f"{path}.{key}" if path else key)

    add(root, "")
    return "\n".join(lines).rstrip() + "\n"


def _row(key: str, field: FieldInfo) -> str:
    """Return the row of a key."""
    told = field.json_schema_extra
    if field.is_required():
        default = "required"
    elif isinstance(told, dict):
        default = str(told["default"])
    else:
        value = field.get_default(call_default_factory=True)
        default = "none" if value is None else f"`{json.dumps(value).replace('Infinity', 'inf')}`"
    choices = [str(a) for a in get_args(field.annotation) if isinstance(a, str)]
    text = field.description or ""
    if choices:
        text += f" ({', '.join(choices)})"
    limits = " and ".join(
        f"{sign} {getattr(item, name):g}"
        for item in field.metadata
        for name, sign in (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))
        if hasattr(item, name)
    )
    return f"| `{key}` | {default} | {limits} | {text.strip()} |"

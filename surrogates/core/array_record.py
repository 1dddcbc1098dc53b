"""Value objects over arrays whose copies, also those in other processes, are as good as new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from foundation.base.checks import frozen


class ArrayRecord:
    """Base of frozen dataclasses whose array fields are read-only, also in other processes."""

    # A copy has the fields alone; what is computed from the fields is computed anew.

    def __getstate__(self) -> dict[str, Any]:
        record: Any = self
        return {field.name: getattr(self, field.name) for field in fields(record)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            kept = frozen(value) if isinstance(value, np.ndarray) else value
            object.__setattr__(self, name, kept)

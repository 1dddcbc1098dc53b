"""Choice among the compartments of a contact model by their names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foundation.base.loads import compartment_index


class CompartmentChoice:
    """Part of a contact model whose compartments have names.

    Attributes
    ----------
    compartment_names : tuple of str
        Names of the C compartments.
    """

    compartment_names: tuple[str, ...]

    def _index(self, compartment: str) -> int:
        """Return the place of a compartment; raise `InputError` for another name."""
        return compartment_index(compartment, self.compartment_names)

    @property
    def _all(self) -> NDArray[np.bool_]:
        """Choice (C,) of all compartments."""
        return np.ones(len(self.compartment_names), dtype=np.bool_)

    def _only(self, index: int) -> NDArray[np.bool_]:
        """Return the choice (C,) of one compartment."""
        return np.arange(len(self.compartment_names)) == index

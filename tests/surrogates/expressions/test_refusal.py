"""Formulations of the whole knee have no expressions and no second derivatives."""

import pytest

from foundation.base.errors import InputError
from surrogates.formulations.trained_contact import TrainedContact


@pytest.mark.parametrize("method", ["casadi", "jax", "smoothed", "hessian", "hessian_batch"])
def test_a_formulation_of_the_whole_knee_is_refused(method):
    class Whole(TrainedContact):
        spaces = ()

        def fill_into(self, poses, loads, jacobian, variables):
            return False

    with pytest.raises(InputError, match="a surrogate of its own for each compartment"):
        getattr(Whole(), method)(*[None] * ("hessian" in method))

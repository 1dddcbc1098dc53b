from tests.oracles.exact_layer_axisymmetric import *  # noqa: F403

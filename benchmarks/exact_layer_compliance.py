from tests.oracles.exact_layer_compliance import *  # noqa: F403

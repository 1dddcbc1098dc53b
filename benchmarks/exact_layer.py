from tests.oracles.exact_layer import *  # noqa: F403

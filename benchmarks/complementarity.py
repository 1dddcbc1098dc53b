from tests.oracles.complementarity import *  # noqa: F403

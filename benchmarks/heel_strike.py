from tests.oracles.heel_strike import *  # noqa: F403

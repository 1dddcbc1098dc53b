"""Entry point of `python -m pipeline`, and of the program `knee-contact`."""

import os
import sys

from pipeline.errors import INTERRUPTED


def program() -> None:
    """Run the command line and end the process."""
    try:
        from pipeline.cli.main import main

        status = main()
    except KeyboardInterrupt:
        # Interrupted while the program was being loaded.
        sys.stderr.write("error: interrupted\n")
        status = INTERRUPTED
    if status == INTERRUPTED:
        # Threads that still compute would be waited for.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    program()

"""Entry point of `python -m pipeline`."""

import sys

if __name__ == "__main__":
    try:
        from pipeline.cli.main import main

        sys.exit(main())
    except KeyboardInterrupt:
        # While the program is still being loaded; the command itself tells more.
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)

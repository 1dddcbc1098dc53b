"""Entry point of `python -m pipeline`, which is the program `knee-contact`."""

import sys

if __name__ == "__main__":
    try:
        from pipeline.cli.main import main

        sys.exit(main())
    except KeyboardInterrupt:
        # Interrupted while the program was being loaded.
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)

"""`python -m ortsel.cli`."""

import sys

from ortsel.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m conformance.vectors write` and `lint`."""

import sys
from collections import Counter
from pathlib import Path
from typing import Final

from conformance.vectors.authoring.all_vectors import all_vectors
from conformance.vectors.disk import read, write
from conformance.vectors.lint import lint

ROOT: Final = Path(__file__).parent.parent
USAGE: Final = """usage: python -m conformance.vectors write | lint

write   write every vector file, the schemas and the index of ids
lint    check them; prints each complaint, and ends with status 1 if there is any
"""


def main(arguments: list[str]) -> int:
    """Run one command and return the status."""
    match arguments:
        case ["write"]:
            vectors = all_vectors()
            complaints = write(ROOT, vectors)
            counts = Counter(vector.area for vector in vectors)
            done = ", ".join(f"{area} {count}" for area, count in sorted(counts.items()))
            sys.stdout.write(f"{len(vectors)} vectors: {done}\n")
        case ["lint"]:
            complaints = lint(read(ROOT))
        case _:
            sys.stderr.write(USAGE)
            return 2
    for complaint in complaints:
        sys.stderr.write(f"{complaint}\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m conformance.protocol write|lint`: the schema files of the messages."""

import sys

from conformance.protocol.schemas import differences, write


def main(words: list[str]) -> int:
    """Return the exit status."""
    match words:
        case ["write"]:
            write()
            return 0
        case ["lint"]:
            found = differences()
            for place in found:
                sys.stderr.write(f"schema/protocol/{place} is not what `write` makes it\n")
            return 1 if found else 0
        case _:
            sys.stderr.write(f"got {words}, need write or lint\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

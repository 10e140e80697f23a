"""`python -m conformance.zoo NAME` is the wrong implementation of that name, as a program."""

import sys

from conformance.zoo import ZOO


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main(names: list[str]) -> int:
    """Be the implementation. Without a name, list them all."""
    if not names:
        for wrong in ZOO:
            sys.stdout.write(f"{wrong.name:32} {','.join(wrong.rules):12} {wrong.what}\n")
        return 0
    for wrong in ZOO:
        if wrong.name == names[0]:
            wrong.main(iter(sys.stdin), _write)
            return 0
    sys.stderr.write(f"got {names[0]!r}, need one of {', '.join(one.name for one in ZOO)}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

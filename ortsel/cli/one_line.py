"""Text from models, files and ONNX Runtime, made safe to print on one line."""

from typing import Final

_ELLIPSIS: Final = "..."


def one_line(text: str, limit: int = 600) -> str:
    """Return the text on one line of at most `limit` characters, with control characters escaped.

    Names in a model are anybody's, and a terminal obeys what is printed on it.
    """
    joined = " ".join(text.split())
    safe = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in joined
    )
    return safe if len(safe) <= limit else safe[: limit - len(_ELLIPSIS)] + _ELLIPSIS

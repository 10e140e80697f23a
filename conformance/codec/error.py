"""What is wrong with a piece of JSON, and where."""

from attrs import frozen


@frozen
class CodecError(Exception):
    """A JSON value that does not say what it should, or a value that has no JSON form."""

    path: str
    """From the root, which is `$`: "$.candidates[3].name"."""
    got: str
    need: str

    def __str__(self) -> str:
        return f"{self.path}: got {self.got}, need {self.need}"

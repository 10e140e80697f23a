"""Errors of the shell. Those that a user of the session can meet are ONNX Runtime's own."""

from attrs import frozen


class OrtselError(Exception):
    """Base of every error that ortsel itself raises."""


@frozen
class UsageError(OrtselError):
    """Something that the caller passed breaks a rule. Nothing was changed."""

    field: str
    got: str
    need: str

    def __str__(self) -> str:
        return f"{self.field}: got {self.got}, need {self.need}"


@frozen
class MissingPackageError(OrtselError, ImportError):
    """A part was used whose package is not installed."""

    part: str
    package: str
    extra: str
    others: tuple[str, ...] = ()
    """Further extras, each of which would do as well."""

    def __str__(self) -> str:
        others = "".join(f', or "ortsel[{other}]"' for other in self.others)
        return (
            f"{self.part} needs the package {self.package}, which is not installed: "
            f'pip install "ortsel[{self.extra}]"{others}'
        )

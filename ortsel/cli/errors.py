"""What a user of the command can get wrong. Each prints as one line and ends with exit code 2."""

from attrs import frozen

from ortsel.errors import OrtselError


@frozen
class UnusableFileError(OrtselError):
    """A file that was named cannot be used."""

    option: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.option} {self.path}: {self.reason}"


@frozen
class ModelRejectedError(OrtselError):
    """ONNX Runtime does not load the model with the options that were given."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"ONNX Runtime rejects the model {self.path}: {self.reason}"


@frozen
class FeedsRejectedError(OrtselError):
    """ONNX Runtime loads the model, but does not run it with these inputs."""

    path: str
    feeds: str
    """What the inputs were, in words."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path} does not run with {self.feeds}: {self.reason}"


@frozen
class OpenDimensionsError(OrtselError):
    """Sizes that the model leaves open were not given."""

    declared: str
    """The inputs with their declared shapes."""
    missing: str
    example: str
    """A complete command that would do."""

    def __str__(self) -> str:
        return (
            f"the model leaves sizes open ({self.missing}) in {self.declared}; "
            f"give every one, as in: {self.example}"
        )

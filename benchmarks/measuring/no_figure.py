"""How a task of a benchmark tells that there is nothing to count."""

from attrs import frozen

from ortsel.errors import OrtselError


@frozen
class NoFigureError(OrtselError):
    """The case gives no figure, for a reason that is reported beside the figures."""

    reason: str

"""One wrong implementation: what is wrong with it, and what must notice."""

from attrs import frozen

from conformance.adapters.in_process import Main


@frozen
class Wrong:
    """A harness with one fault."""

    name: str
    what: str
    """The fault in a few words."""
    rules: tuple[str, ...]
    """A failure names at least one of these: rules of selection, or of the protocol (P1 to P8)."""
    vectors: tuple[str, ...]
    """Patterns of the ids that it has to do with."""
    main: Main
    needs_process: bool = False
    """It does what only a process can."""

"""What is wrong with a spec: every problem at once, each with its place."""

from attrs import frozen

from ortsel.errors import OrtselError


@frozen
class SpecProblem:
    """One thing that is wrong."""

    line: int
    """Counted from 1; 0 where the spec is no file."""
    field: str
    """Path of names and positions, such as "models[0].shapes.sequence"; empty is the whole."""
    got: str
    need: str

    def __str__(self) -> str:
        return f"{self.field or 'spec'}: got {self.got}, need {self.need}"


@frozen
class BuildSpecError(OrtselError):
    """A spec cannot be built. Nothing was measured and nothing was written."""

    source: str
    """The spec's file, or "spec" where it is a value."""
    problems: tuple[SpecProblem, ...]
    """At least one, in the order of their lines."""

    def lines(self) -> list[str]:
        """Return one line per problem, as compilers print them."""
        return [
            f"{self.source}:{problem.line}: {problem}"
            if problem.line
            else f"{self.source}: {problem}"
            for problem in self.problems
        ]

    def __str__(self) -> str:
        return "; ".join(self.lines())

"""What a build reports while it runs, and its guess at the remaining time."""

from attrs import define, field, frozen

from ortsel.builder.task import Outcome, Task
from ortsel.progress import Progress


@frozen
class BuildProgress:
    """One step of a build."""

    task: Task
    search: Progress | None
    """What the task's search does now; None when the task starts or ends."""
    outcome: Outcome | None
    """How the task ended; None before."""
    finished: int
    """Workloads that have ended, those of earlier builds included."""
    total: int
    elapsed_s: float
    remaining_s: float
    """A guess: the mean of what ended in this build for each workload that has not, and before the
    first end its whole budget."""
    resumed: bool = False
    """Whether an earlier build did it."""


@define
class Clock:
    """Guesses the remaining time."""

    machines: int
    waiting: dict[str, float]
    """Budgets of workloads that have not ended, by their names."""
    took_s: list[float] = field(factory=list)

    def end(self, task: Task, elapsed_s: float) -> None:
        """Take one end into account."""
        self.waiting.pop(task.id, None)
        self.took_s.append(elapsed_s)

    def remaining_s(self) -> float:
        """Return the guess."""
        if self.took_s:
            total_s = sum(self.took_s) / len(self.took_s) * len(self.waiting)
        else:
            total_s = sum(self.waiting.values())
        return total_s / max(1, min(self.machines, len(self.waiting)))

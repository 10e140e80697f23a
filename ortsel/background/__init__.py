"""Work beside live traffic: when this process is idle, at low priority, one thing at a time."""

from ortsel.background.errors import DisturbedError, WorkStoppedError
from ortsel.background.idle_work import IDLE_WORK, IdleWork, Task
from ortsel.background.requests import REQUESTS, Requests
from ortsel.background.turn import Turn

__all__ = [
    "IDLE_WORK",
    "REQUESTS",
    "DisturbedError",
    "IdleWork",
    "Requests",
    "Task",
    "Turn",
    "WorkStoppedError",
]

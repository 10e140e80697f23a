"""Whatever about this machine and installation changes kernels: the environment part of a key."""

from ortsel.environment.cpu_budget import CpuBudget, read_cpu_budget, thread_budget
from ortsel.environment.environment import Environment, read_environment

__all__ = ["CpuBudget", "Environment", "read_cpu_budget", "read_environment", "thread_budget"]

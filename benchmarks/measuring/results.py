"""Rows of a benchmark that can end early and go on later."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from benchmarks.measuring.cases import ZOO
from benchmarks.measuring.machine import load_average, machine

UNCHANGED: Final = ("benchmark", "machine", "settings")
"""What must be equal for the rows of two runs to belong together."""

Row = dict[str, Any]


def arguments(name: str, text: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that all of these benchmarks have."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--zoo", type=Path, default=ZOO, help="the folder of zoo.py")
    parser.add_argument("--site", help="where the model packages are installed")
    parser.add_argument("--only", default="", help="models whose package and name contain this")
    parser.add_argument("--quick", action="store_true", help="a little of everything, under 1 min")
    parser.add_argument("--minutes", type=float, help="start nothing new after so many minutes")
    parser.add_argument(
        "--json", type=Path, help="file for the results; what it holds already is not done again"
    )
    return parser


@define
class Results:
    """Everything found so far, written after every row."""

    benchmark: str
    settings: dict[str, Any]
    path: Path | None
    minutes: float | None
    rows: list[Row] = field(factory=list)
    _started: float = field(factory=time.monotonic)
    _loads: list[float] = field(factory=list)

    @classmethod
    def begun(cls, benchmark: str, options: argparse.Namespace, **settings: Any) -> "Results":
        """Return what the file of an earlier run holds, or nothing yet.

        Exits where that run was of other settings, or on another machine: no mean is taken over
        the two.
        """
        found = cls(benchmark, settings, options.json, options.minutes)
        if found.path is not None and found.path.exists():
            document = json.loads(found.path.read_text())
            now = found.document({})
            for name in UNCHANGED:
                if document.get(name) != now[name]:
                    message = (
                        f"--json {found.path}: got results whose {name} is {document.get(name)}, "
                        f"need {now[name]}, or another file"
                    )
                    raise SystemExit(message)
            found.rows = document["rows"]
            found._loads = document["load_averages"]
        return found

    def carry_out(
        self,
        tasks: Iterable[tuple[str, Callable[[], Row]]],
        total: int,
        words: Callable[[Row], str],
    ) -> None:
        """Do every task whose name has no row yet, as far as the time goes.

        A task that fails is a row with its error: it counts, and is not done again.
        """
        done = {row["task"] for row in self.rows}
        for name, task in tasks:
            if name in done:
                continue
            if self.minutes is not None and time.monotonic() - self._started > 60 * self.minutes:
                break
            load = load_average()
            self._loads.extend([] if load is None else [round(load, 2)])
            began = time.monotonic()
            try:
                row = task()
            except Exception as error:  # noqa: BLE001
                row = {"error": f"{type(error).__name__}: {error}"[:400]}
            row = {"task": name, **row, "took_s": round(time.monotonic() - began, 2)}
            self.rows.append(row)
            said = row["error"] if "error" in row else words(row)
            print(f"[{len(self.rows)}/{total}] {name}: {said}", file=sys.stderr, flush=True)
            self.write({"tasks": total})

    @property
    def good(self) -> list[Row]:
        """Rows without an error."""
        return [row for row in self.rows if "error" not in row]

    def write(self, summary: dict[str, Any]) -> None:
        """Write everything to the file, if there is one."""
        if self.path is None:
            return
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(json.dumps(self.document(summary), indent=1) + "\n")
        beside.replace(self.path)

    def document(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "benchmark": self.benchmark,
            "machine": machine(),
            "settings": self.settings,
            "load_averages": self._loads,
            "summary": summary,
            "rows": self.rows,
        }

    def finish(self, summary: dict[str, Any], total: int) -> int:
        """Print and write the figures; return the exit status, which says nothing of targets."""
        failed = len(self.rows) - len(self.good)
        summary = {"done": len(self.rows), "of": total, "failed": failed, **summary}
        for name, value in {**machine(), **summary}.items():
            if isinstance(value, dict) and any(isinstance(one, dict) for one in value.values()):
                continue  # a table shows it
            print(f"{name}: {format(value, '.4g') if isinstance(value, float) else value}")
        if self._loads:
            print(f"load average before each task: at most {max(self._loads)}")
        for row in self.rows:
            if "error" in row:
                print(f"failed: {row['task']}: {row['error']}")
        self.write(summary)
        return 0


def table(header: list[str], rows: list[list[str]]) -> None:
    """Print a table of which the first column is text and the others are figures."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())

"""What a build leaves in its output folder, and under which names."""

import contextlib
from pathlib import Path
from typing import Final

from ortsel.provider_caches import FOLDERS

STORE_NAME: Final = "decisions.sqlite3"
"""The store: what a session is given as `SelectionConfig.store`."""
VARIANTS_NAME: Final = f"{STORE_NAME}.variants"
"""Graph variants of winners, found by every session with that store."""
CACHES_NAME: Final = f"{STORE_NAME}.caches"
"""Compiled models that providers keep, found by every session with that store."""
COMPILED_NAME: Final = "compiled"
"""Models with compiled nodes (EPContext), to be loaded in place of the model."""
JOURNAL_NAME: Final = "journal.jsonl"
REPORT_NAME: Final = "report.json"
LOCK_NAME: Final = "build.lock"

ARTIFACTS: Final = (VARIANTS_NAME, CACHES_NAME, COMPILED_NAME)
"""Folders of what was made for the deployment."""


def prepare(folder: Path) -> None:
    """Make the folders that searches fill. Raises `OSError`."""
    for name in FOLDERS.values():
        (folder / CACHES_NAME / name).mkdir(mode=0o700, parents=True, exist_ok=True)


def tidy(folder: Path) -> None:
    """Remove folders of caches that hold nothing: where one is, every start writes into it."""
    for place in (*(folder / CACHES_NAME).glob("*"), folder / CACHES_NAME):
        with contextlib.suppress(OSError):
            place.rmdir()

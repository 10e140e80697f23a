"""What a build leaves in its output folder, and under which names."""

from pathlib import Path
from typing import Final

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
    (folder / CACHES_NAME).mkdir(mode=0o700, parents=True, exist_ok=True)

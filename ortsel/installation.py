"""Putting ortsel's classes under ONNX Runtime's names, so that an unmodified program uses them."""

import threading
from typing import Final

from ortsel.fork import starts_over
from ortsel.native_class import replaced
from ortsel.selection_config import SelectionConfig, as_config
from ortsel.selection_environment import process_selection, set_process_selection


class _Names:
    """Whose turn it is to change the names."""

    def __init__(self) -> None:
        self.after_fork_in_child()
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """The lock may be held by a thread that the child does not have."""
        self.lock = threading.RLock()


_names: Final = _Names()


def install(selection: SelectionConfig | None = None) -> None:
    """Have `onnxruntime.InferenceSession` and every other name that ortsel has its own be ortsel's.

    What was imported from `onnxruntime` earlier, and what the modules below `onnxruntime.capi`
    hold, stays ONNX Runtime's: call this before the program's own imports. `selection` becomes the
    configuration of every session that is given none; without it the environment's variables are.
    A second call replaces the configuration.

    Raises `UsageError` for a `selection` that is no configuration, or a variable with a value that
    it cannot have; then nothing was changed.
    """
    if selection is None:
        set_process_selection(None)
        process_selection()
    else:
        set_process_selection(as_config(selection))
    import onnxruntime

    import ortsel

    public = [name for name in dir(onnxruntime) if not name.startswith("_")]
    with _names.lock:
        for name in public:
            present, ours = getattr(onnxruntime, name), getattr(ortsel, name)
            if present is not ours:
                replaced[name] = present
                setattr(onnxruntime, name, ours)


def uninstall() -> None:
    """Give ONNX Runtime's names back to its own classes. Sessions that exist go on as they are."""
    set_process_selection(None)
    if not replaced:
        return
    import onnxruntime

    import ortsel

    with _names.lock:
        for name, native in list(replaced.items()):
            if getattr(onnxruntime, name) is getattr(ortsel, name):
                setattr(onnxruntime, name, native)
            del replaced[name]

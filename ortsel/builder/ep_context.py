"""A winner's compiled model, through ONNX Runtime's own compiler, where its provider compiles.

The result is a model of its own whose nodes are compiled already (EPContext). Nobody loads it
unasked: whoever wants it names it in place of the model, with the same provider. It is loaded once
here, since there are providers that compile on a machine what they cannot load there.
"""

import os
from pathlib import Path
from typing import Final

from attrs import evolve

from ortsel.builder.layout import COMPILED_NAME
from ortsel.builder.task import Warmed
from ortsel.cli.one_line import one_line
from ortsel.plan import Plan
from ortsel.session_builder import build_session
from ortsel.session_settings import build_options

KIND: Final = "ep-context"
CPU: Final = "CPUExecutionProvider"


def compile_winner(model: Path, plan: Plan, folder: Path, name: str) -> Warmed:
    """Write the compiled model of a plan, or return why there is none. Nothing is raised."""
    others = [provider for provider in plan.providers or () if provider.name != CPU]
    if not others:
        return Warmed(KIND, "", "the CPU provider compiles no node")
    if plan.variant:
        return Warmed(KIND, "", f"the plan runs on the graph variant {plan.variant}")
    target = folder / COMPILED_NAME / f"{name[:16]}.onnx"
    unfinished = target.with_name(f"{target.stem}.{os.getpid()}.onnx")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _compile(model, plan, unfinished)
        build_session(unfinished, evolve(plan, disabled_optimizers=()))
        os.replace(unfinished, target)
    except Exception as error:  # noqa: BLE001
        # Whatever a provider's compiler raises: the decision stands without its result.
        unfinished.unlink(missing_ok=True)
        _remove_if_empty(target.parent)
        names = ", ".join(provider.name for provider in others)
        return Warmed(KIND, "", one_line(f"{names}: {error}"))
    return Warmed(KIND, target.relative_to(folder).as_posix(), "nodes compiled for the provider")


def _compile(model: Path, plan: Plan, target: Path) -> None:
    import onnxruntime

    options = build_options(plan.settings)
    for provider in plan.providers or ():
        options.add_provider(provider.name, dict(provider.options))
    flags = (
        onnxruntime.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED
        | onnxruntime.OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS
    )
    onnxruntime.ModelCompiler(
        options, str(model), embed_compiled_data_into_model=True, flags=flags
    ).compile_to_file(str(target))


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return

"""The drop-in session: ONNX Runtime's own, with another plan behind a shape where one has won.

The object is the reference: it is built by ONNX Runtime's constructor from the caller's arguments,
and every call that no verified plan serves runs on it unchanged.
"""

import logging
import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from time import monotonic_ns
from typing import Any

import numpy as np
import onnxruntime
from attrs import evolve
from onnxruntime.capi.onnxruntime_pybind11_state import EPFail

from ortsel.call_trials import Call
from ortsel.explain import Explanation, WorkloadExplanation
from ortsel.io_binding import IOBinding
from ortsel.plan import Plan, Provider
from ortsel.selection_config import SelectionConfig, SelectionMode, as_config
from ortsel.selectors import selector_for
from ortsel.session_options import SessionOptions
from ortsel.session_settings import read_settings
from ortsel.session_tuner import Choice, Choices, SessionTuner, reference_for_ever
from ortsel.trial.calling import Calling
from ortsel.workload import run_signature
from spec.engine.statistics import Statistics

log = logging.getLogger("ortsel")


class InferenceSession(onnxruntime.InferenceSession):
    """`onnxruntime.InferenceSession` that serves the fastest verified plan for each shape.

    Takes what ONNX Runtime's class takes, and `selection`, an `ortsel.SelectionConfig`. Whatever
    the plain session would return or raise, this one returns or raises.

    Raises `ortsel.UsageError` when `selection` is not a configuration, before anything is built.
    """

    def __init__(
        self,
        path_or_bytes: "str | bytes | os.PathLike[str]",
        sess_options: Any = None,
        providers: "Sequence[str | tuple[str, dict[Any, Any]]] | None" = None,
        provider_options: "Sequence[dict[Any, Any]] | None" = None,
        *,
        selection: SelectionConfig | None = None,
        **kwargs: Any,
    ) -> None:
        self._ortsel_config = as_config(selection)
        self._ortsel_choices: Choices | None = None
        self._ortsel_tuner: SessionTuner | None = None
        self._ortsel_obstacle = ""
        self._ortsel_keywords = kwargs
        self._ortsel_options = sess_options
        super().__init__(path_or_bytes, sess_options, providers, provider_options, **kwargs)
        self._ortsel_connect(providers, provider_options)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> Any:
        """Compute the outputs, as `onnxruntime.InferenceSession.run` does."""
        choices = self._ortsel_choices
        if choices is None or run_options is not None:
            return super().run(output_names, input_feed, run_options)
        signature = run_signature(output_names, input_feed)
        if signature is None:
            return super().run(output_names, input_feed)
        choice = choices.get(signature)
        if choice is None or choice.until_ns <= monotonic_ns():
            return self._ortsel_first_run(signature, output_names, input_feed)
        run = choice.run
        if run is None:
            return super().run(output_names, input_feed)
        try:
            # By name, always: a plan's own order of outputs may be another.
            return run(output_names or self._ortsel_output_names, input_feed, None)
        except Exception as error:
            if choice.session is None:
                if not isinstance(error, EPFail):
                    raise
            else:
                log.warning("ortsel: a plan failed; the reference runs", exc_info=True)
                self._ortsel_withdraw(signature, error)
            return super().run(output_names, input_feed)

    def run_with_iobinding(self, iobinding: Any, run_options: Any = None) -> None:
        """Compute the bound outputs, as `onnxruntime.InferenceSession.run_with_iobinding` does."""
        choices = self._ortsel_choices
        if choices is None or run_options is not None or not self._ortsel_owns(iobinding):
            super().run_with_iobinding(iobinding, run_options)
            return
        signature = iobinding.signature()
        choice = choices.get(signature)
        if choice is None or choice.until_ns <= monotonic_ns():
            self._ortsel_first_bound_run(signature, iobinding)
        elif choice.session is None:
            super().run_with_iobinding(iobinding)
        else:
            self._ortsel_bound_run(choice.session, signature, iobinding)

    def io_binding(self) -> IOBinding:
        """Return a binding for `run_with_iobinding`."""
        return IOBinding(self)

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Build the session anew with other providers, as ONNX Runtime does, and decide anew."""
        self._ortsel_choices = None
        super().set_providers(providers, provider_options)
        self._ortsel_connect(providers, provider_options)

    def explain(self) -> Explanation:
        """Return what this session serves for each shape and why; prints, and has `rows()`."""
        if self._ortsel_tuner is None:
            return Explanation((), self._ortsel_obstacle)
        return self._ortsel_tuner.explain()

    def statistics(self) -> Statistics:
        """Return the counters of the selector.

        Sessions of one process share a selector where their policy and their store are equal.
        """
        if self._ortsel_tuner is None:
            return Statistics()
        return self._ortsel_tuner.statistics()

    def _ortsel_connect(self, providers: Any, provider_options: Any) -> None:
        config = self._ortsel_config
        self._ortsel_tuner = None
        self._ortsel_choices = None
        self._ortsel_obstacle = self._ortsel_find_obstacle(providers)
        self._ortsel_output_names = [output.name for output in self.get_outputs()]
        if self._ortsel_obstacle:
            if config.mode is not SelectionMode.DISABLED:
                log.info("ortsel: never tuned: %s", self._ortsel_obstacle)
            return
        reference = Plan(
            "reference",
            _as_plan_providers(providers, provider_options),
            read_settings(self._ortsel_options),
            disabled_optimizers=tuple(
                sorted(self._ortsel_keywords.get("disabled_optimizers") or ())
            ),
            notes="the session as it is without ortsel",
        )
        model = self._model_bytes if self._model_path is None else Path(self._model_path)
        selector = selector_for(config.effective_policy(), config.store)
        self._ortsel_tuner = SessionTuner(model, reference, self.get_providers(), config, selector)
        self._ortsel_choices = Choices()

    def _ortsel_find_obstacle(self, providers: Any) -> str:
        """Return why no other plan may ever serve this session; empty when one may."""
        if self._ortsel_config.mode is SelectionMode.DISABLED:
            return "selection is disabled"
        if self._read_config_from_model:
            return "the session's configuration comes from the model"
        captures = getattr(self._sess, "is_webgpu_graph_capture_enabled", None)
        if captures is not None and captures():
            return "a captured graph belongs to its session"
        options = self._ortsel_options
        if options is None:
            return ""
        if not options.use_per_session_threads:
            return "the session uses the process's global thread pool"
        if options.enable_profiling:
            return "profiling is on, and must see every run"
        if isinstance(options, SessionOptions) and (methods := options.not_portable()):
            return f"no other process can be given what {', '.join(methods)} set"
        if not providers and hasattr(options, "has_providers") and options.has_providers():
            return "providers were set on the session options"
        return ""

    def _ortsel_remember(self, signature: Hashable, choice: Choice) -> None:
        """Let a choice serve calls like this one, the first in leaving first."""
        choices = self._ortsel_choices
        if choices is None:
            return
        choices.pop(signature, None)
        while len(choices) >= self._ortsel_config.max_shapes:
            choices.pop(next(iter(choices)), None)
        choices[signature] = choice

    def _ortsel_first_run(
        self, signature: Hashable, output_names: Sequence[str] | None, feed: Mapping[str, Any]
    ) -> Any:
        outputs = super().run(output_names, feed)
        tuner = self._ortsel_tuner
        if tuner is None:
            return outputs
        if not all(type(value) is np.ndarray for value in feed.values()):
            # Whether an OrtValue may be used here is asked by ONNX Runtime's wrapper at every call.
            tuner.note(signature, WorkloadExplanation.kept("a call with OrtValues", "never tuned"))
            self._ortsel_remember(signature, reference_for_ever())
            return outputs
        names = tuple(output_names or self._ortsel_output_names)
        choice = tuner.decide(signature, Call(dict(feed), names, Calling.NUMPY, outputs))
        session = self if choice.session is None else choice.session
        self._ortsel_remember(signature, evolve(choice, run=session._sess.run))
        return outputs

    def _ortsel_first_bound_run(self, signature: Hashable, binding: IOBinding) -> None:
        tuner = self._ortsel_tuner
        obstacle = binding.obstacle()
        if tuner is None or obstacle:
            super().run_with_iobinding(binding)
            if tuner is not None:
                tuner.note(signature, WorkloadExplanation.kept("bound run", obstacle))
                self._ortsel_remember(signature, reference_for_ever())
            return
        feed = binding.snapshot()
        super().run_with_iobinding(binding)
        outputs = binding.copy_outputs_to_cpu()
        call = Call(feed, tuple(binding.output_names()), Calling.BOUND_CPU, outputs)
        self._ortsel_remember(signature, tuner.decide(signature, call))

    def _ortsel_bound_run(self, session: Any, signature: Hashable, binding: IOBinding) -> None:
        try:
            session._sess.run_with_iobinding(binding._iobinding, None)
        except Exception as error:
            log.warning("ortsel: a plan failed while serving; the reference runs", exc_info=True)
            self._ortsel_withdraw(signature, error)
            super().run_with_iobinding(binding)

    def _ortsel_withdraw(self, signature: Hashable, error: Exception) -> None:
        self._ortsel_remember(signature, reference_for_ever())
        if self._ortsel_tuner is not None:
            self._ortsel_tuner.withdraw(signature, f"failed while serving: {error}")

    def _ortsel_owns(self, binding: Any) -> bool:
        """Whether this session made the binding. Any other is ONNX Runtime's to judge."""
        owner = getattr(binding, "_session", self._sess)
        return isinstance(binding, IOBinding) and owner is self._sess


def _as_plan_providers(providers: Any, provider_options: Any) -> tuple[Provider, ...] | None:
    """Return the caller's providers as values.

    ONNX Runtime has accepted them already; a name that appears twice counts once, as it does there.
    """
    if providers is None:
        return None
    named: dict[str, dict[str, str]] = {}
    for position, provider in enumerate(providers):
        name, options = provider if isinstance(provider, tuple) else (provider, {})
        if provider_options is not None:
            options = provider_options[position]
        named.setdefault(name, {str(key): str(value) for key, value in options.items()})
    return tuple(Provider(name, tuple(options.items())) for name, options in named.items())

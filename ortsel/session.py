"""The drop-in session: ONNX Runtime's own, with another plan behind a shape where one has won.

The object is the reference: it is built by ONNX Runtime's constructor from the caller's arguments,
and every call that no verified plan serves runs on it unchanged.
"""

import logging
import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from attrs import evolve, frozen
from onnxruntime.capi.onnxruntime_pybind11_state import EPFail

from ortsel import telemetry
from ortsel.background.requests import REQUESTS
from ortsel.background.waiting_shapes import WaitingShapes
from ortsel.call_trials import Call
from ortsel.choice import Choice, Choices, reference_for_ever
from ortsel.content_memory import content_memory
from ortsel.explain import Explanation, WorkloadExplanation
from ortsel.free_memory import give_back_free_memory
from ortsel.io_binding import IOBinding
from ortsel.loaded_model import LoadedModel, ModelChangedError
from ortsel.plan import Plan
from ortsel.providers.plugin import PluginLibraryError
from ortsel.reference_plan import reference_plan
from ortsel.selection_config import SelectionConfig, SelectionMode, as_config
from ortsel.selectors import selector_for
from ortsel.session_options import SessionOptions
from ortsel.session_tuner import SessionTuner
from ortsel.trial.calling import Calling, WayOfCalling
from ortsel.watch.served_calls import ServedCalls, schedule_of
from ortsel.workload import run_signature
from ortsel.workload_mapper import WorkloadMapper
from spec.engine.statistics import Statistics


@frozen(eq=False)
class _Connection:
    """What one reference session serves with.

    A call reads it once and uses it to its end, so that a session that is built anew meanwhile gets
    nothing of the old one's.
    """

    native: Any
    """ONNX Runtime's session behind the reference."""
    tuner: SessionTuner
    choices: Choices
    output_names: list[str]
    signature: Callable[[Sequence[str] | None, object], Hashable | None]
    """Gives the value under which a call is looked up."""
    waiting: WaitingShapes | None = None
    """What is left to the background; None in every mode but that."""
    watch: ServedCalls | None = None
    """Looks at what plans serve; None where nobody wants that."""


class InferenceSession(onnxruntime.InferenceSession):
    """`onnxruntime.InferenceSession` that serves the fastest verified plan for each shape.

    Takes what ONNX Runtime's class takes, and `selection`, an `ortsel.SelectionConfig`. Whatever
    the plain session would return or raise, this one returns or raises.

    Raises `ortsel.UsageError` when `selection` is not a configuration, before anything is built, or
    names inputs or outputs that the model does not have.
    """

    _ortsel_connection: _Connection | None = None
    _ortsel_obstacle: str = "the session is not built yet"

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
        # First of all attributes, as in a plain session: whoever copies or pickles one is refused
        # over this one, in ONNX Runtime's own words.
        self._sess: Any = None
        self._ortsel_config = as_config(selection)
        self._ortsel_options = sess_options
        self._ortsel_loading_ns = time.time_ns()
        disabled_optimizers = kwargs.get("disabled_optimizers")
        if isinstance(disabled_optimizers, Iterator):  # it gives them once
            kwargs["disabled_optimizers"] = disabled_optimizers = list(disabled_optimizers)
        super().__init__(path_or_bytes, sess_options, providers, provider_options, **kwargs)
        config = self._ortsel_config
        if config.workload_values or config.shape_buckets is not None:
            WorkloadMapper(config.shape_buckets, config.workload_values).check(super().get_inputs())
        # ONNX Runtime's own: a subclass may not be ready for a call before its constructor is.
        config.tolerance.check(output.name for output in super().get_outputs())
        if int(kwargs.get("enable_fallback", 1)) == 1 and not self._enable_fallback:
            # What was asked for could not be built; this is ONNX Runtime's rescue without options.
            providers, provider_options, disabled_optimizers = self._fallback_providers, None, None
        self._ortsel_connect(providers, provider_options, disabled_optimizers or ())

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> Any:
        """Compute the outputs, as `onnxruntime.InferenceSession.run` does."""
        connection = self._ortsel_connection
        if connection is None or run_options is not None:
            REQUESTS.note()
            return super().run(output_names, input_feed, run_options)
        signature = connection.signature(output_names, input_feed)
        if signature is None:
            REQUESTS.note()
            return super().run(output_names, input_feed)
        try:
            choice = connection.choices.get(signature)
        except TypeError:  # an output's name is a list, say, which is for ONNX Runtime to refuse
            REQUESTS.note()
            return super().run(output_names, input_feed)
        if choice is None:
            return self._ortsel_first_run(connection, signature, output_names, input_feed)
        choice.uses = uses = choice.uses + 1
        if uses >= choice.look_at and choice.wants_attention():
            return self._ortsel_first_run(connection, signature, output_names, input_feed)
        run = choice.run
        if run is None:
            return super().run(output_names, input_feed)
        try:
            # By name, always: a plan's own order of outputs may be another.
            return run(output_names or connection.output_names, input_feed, None)
        except Exception as error:  # noqa: BLE001
            failure = error
        if choice.session is None and not isinstance(failure, EPFail):
            raise failure
        outputs = super().run(output_names, input_feed)
        if choice.session is not None:
            self._ortsel_withdraw(connection, choice, failure)
        return outputs

    def run_with_iobinding(self, iobinding: Any, run_options: Any = None) -> None:
        """Compute the bound outputs, as `onnxruntime.InferenceSession.run_with_iobinding` does."""
        connection = self._ortsel_connection
        if (
            connection is None
            or run_options is not None
            or type(iobinding) is not IOBinding
            or iobinding._seen.owner is not connection.native
        ):
            # A binding that this session did not make is ONNX Runtime's to judge.
            REQUESTS.note()
            super().run_with_iobinding(iobinding, run_options)
            return
        signature = iobinding._seen.signature or iobinding.signature()
        choice = connection.choices.get(signature)
        if choice is None:
            self._ortsel_first_bound_run(connection, signature, iobinding)
            return
        choice.uses = uses = choice.uses + 1
        if uses >= choice.look_at and choice.wants_attention():
            self._ortsel_first_bound_run(connection, signature, iobinding)
            return
        if choice.session is None:
            # ONNX Runtime's wrapper would look whether this session made the binding, as was done,
            # and for captured graphs, which no session has that plans may serve.
            connection.native.run_with_iobinding(iobinding._iobinding, None)
            return
        try:
            choice.session._sess.run_with_iobinding(iobinding._iobinding, None)
        except Exception as error:  # noqa: BLE001
            failure = error
        else:
            return
        super().run_with_iobinding(iobinding)
        self._ortsel_withdraw(connection, choice, failure)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Any,
        user_data: Any,
        run_options: Any = None,
    ) -> Any:
        """Compute the outputs, as `onnxruntime.InferenceSession.run_async` does."""
        if not callable(callback):
            return super().run_async(output_names, input_feed, callback, user_data, run_options)
        token = REQUESTS.begin()

        def called_back(*arguments: Any) -> None:
            REQUESTS.end(token)
            callback(*arguments)

        try:
            return super().run_async(output_names, input_feed, called_back, user_data, run_options)
        except BaseException:
            REQUESTS.end(token)
            raise

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: Any = None,
    ) -> Any:
        """Compute the outputs, as `onnxruntime.InferenceSession.run_with_ort_values` does."""
        REQUESTS.note()
        return super().run_with_ort_values(output_names, input_dict_ort_values, run_options)

    def run_with_ortvaluevector(
        self,
        run_options: Any,
        feed_names: Any,
        feeds: Any,
        fetch_names: Any,
        fetches: Any,
        fetch_devices: Any,
    ) -> None:
        """Compute, as `onnxruntime.InferenceSession.run_with_ortvaluevector` does."""
        REQUESTS.note()
        super().run_with_ortvaluevector(
            run_options, feed_names, feeds, fetch_names, fetches, fetch_devices
        )

    def io_binding(self) -> IOBinding:
        """Return a binding for `run_with_iobinding`."""
        return IOBinding(self)

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Build the session anew with other providers, as ONNX Runtime does, and decide anew."""
        connection, obstacle = self._ortsel_connection, self._ortsel_obstacle
        self._ortsel_disconnect("set_providers is building the session anew")
        self._ortsel_loading_ns = time.time_ns()
        native = self._sess
        try:
            super().set_providers(providers, provider_options)
        except BaseException as error:
            if self._sess is native and native is not None:  # refused before anything was done
                self._ortsel_connection, self._ortsel_obstacle = connection, obstacle
            else:
                self._ortsel_obstacle = f"set_providers failed: {type(error).__name__}: {error}"
            raise
        self._ortsel_connect(providers, provider_options, ())

    def explain(self) -> Explanation:
        """Return what this session serves for each shape and why; prints, and has `rows()`."""
        connection = self._ortsel_connection
        if connection is None:
            return Explanation((), self._ortsel_obstacle)
        explanation = connection.tuner.explain()
        watch = connection.watch
        return explanation if watch is None else evolve(explanation, checks=watch.counts)

    def statistics(self) -> Statistics:
        """Return the counters of the selector.

        Sessions of one process share a selector where their policy and their store are equal.
        """
        connection = self._ortsel_connection
        return Statistics() if connection is None else connection.tuner.statistics()

    def set_ep_dynamic_options(self, options: Any) -> None:
        """Set options of providers while the session runs; no plan serves it from then on."""
        self._ortsel_disconnect("set_ep_dynamic_options was called, which no plan follows")
        super().set_ep_dynamic_options(options)

    def set_tuning_results(self, results: Any, *, error_on_invalid: bool = False) -> Any:
        """Give the providers tuning results of theirs; no plan serves the session from then on."""
        self._ortsel_disconnect("set_tuning_results was called, which no plan follows")
        return super().set_tuning_results(results, error_on_invalid=error_on_invalid)

    def _ortsel_connect(
        self, providers: Any, provider_options: Any, disabled_optimizers: Sequence[str]
    ) -> None:
        """Start selecting for the session that was just built.

        Nothing that fails here is raised: ONNX Runtime has accepted the caller's arguments.
        """
        self._ortsel_connection = None
        try:
            self._ortsel_obstacle = self._ortsel_find_obstacle(providers)
            if not self._ortsel_obstacle:
                reference = reference_plan(
                    super().get_providers(),
                    providers,
                    provider_options,
                    self._ortsel_options,
                    disabled_optimizers,
                )
                self._ortsel_connection = self._ortsel_connected(reference)
        except (ModelChangedError, PluginLibraryError) as error:
            self._ortsel_obstacle = str(error)
        except Exception as error:  # noqa: BLE001
            telemetry.unexpected("a session is never tuned", error)
            self._ortsel_obstacle = f"{type(error).__name__}: {error}"
        if self._ortsel_obstacle and self._ortsel_config.mode is not SelectionMode.DISABLED:
            reason = self._ortsel_obstacle
            telemetry.tell(logging.INFO, "never-tuned", f"never tuned: {reason}", reason=reason)

    def _ortsel_disconnect(self, obstacle: str) -> None:
        """Let the reference serve from now on, and say why."""
        self._ortsel_connection = None
        self._ortsel_obstacle = obstacle

    def _ortsel_connected(self, reference: Plan) -> _Connection:
        config = self._ortsel_config
        path = self._model_path
        model = LoadedModel.of(
            self._model_bytes if path is None else Path(os.fsdecode(path)),
            self._ortsel_loading_ns,
            content_memory(config.store),
        )
        selector = selector_for(config.effective_policy(), config.store, config.trusted_keys)
        tuner = SessionTuner(model, reference, config, selector)
        give_back_free_memory(model.size_bytes())
        names = [output.name for output in super().get_outputs()]
        schedule = schedule_of(config)
        choices, waiting, watch = Choices(schedule), None, None
        if schedule is not None:
            watch = ServedCalls(tuner, choices, config, self._sess.run)
        if config.mode is SelectionMode.BACKGROUND:
            waiting = WaitingShapes(tuner, choices, config, self._sess.run)
        signature = tuner.mapper.signature if config.workload_values else run_signature
        return _Connection(self._sess, tuner, choices, names, signature, waiting, watch)

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
        if not isinstance(options, SessionOptions):
            return (
                "the options are onnxruntime.SessionOptions, which cannot be read back: "
                "use ortsel.SessionOptions"
            )
        if methods := options.not_portable():
            return f"no other process can be given what {', '.join(methods)} set"
        if not options.use_per_session_threads:
            return "the session uses the process's global thread pool"
        if options.enable_profiling:
            return "profiling is on, and must see every run"
        if not providers and options.has_providers():
            return "providers were set on the session options"
        return ""

    def _ortsel_first_run(
        self,
        connection: _Connection,
        signature: Hashable,
        output_names: Sequence[str] | None,
        feed: Mapping[str, Any],
    ) -> Any:
        REQUESTS.note()
        serving = connection.choices.get(signature)
        if serving is not None and serving.holds():
            return self._ortsel_watched_run(connection, signature, serving, output_names, feed)
        outputs = super().run(output_names, feed)
        names = tuple(output_names or connection.output_names)
        untunable = _why_untunable(names, feed)
        if untunable:
            reason = WorkloadExplanation.kept(untunable, "never tuned")
            connection.tuner.note(signature, reason)
            self._ortsel_remember(connection, signature, reference_for_ever())
            return outputs
        if connection.waiting is not None:
            self._ortsel_wait(connection, signature, feed, names, Calling.NUMPY)
            return outputs
        choice = connection.tuner.decide(
            signature, lambda: Call(dict(feed), names, Calling.NUMPY, lambda: outputs)
        )
        native = connection.native if choice.session is None else choice.session._sess
        self._ortsel_remember(connection, signature, evolve(choice, run=native.run))
        return outputs

    def _ortsel_watched_run(
        self,
        connection: _Connection,
        signature: Hashable,
        choice: Choice,
        output_names: Sequence[str] | None,
        feed: Mapping[str, Any],
    ) -> Any:
        """Run the plan that serves, and copy the call where it is this one's turn."""
        session, watch = choice.session, connection.watch
        assert session is not None, "the reference is not watched"
        names = output_names or connection.output_names
        try:
            outputs = session._sess.run(names, feed, None)
        except Exception as error:  # noqa: BLE001
            failure = error
        else:
            if watch is not None and watch.wants(choice):
                watch.served(signature, choice, feed, outputs, names, Calling.NUMPY)
            return outputs
        outputs = super().run(output_names, feed)
        self._ortsel_withdraw(connection, choice, failure)
        return outputs

    def _ortsel_watched_bound_run(
        self, connection: _Connection, signature: Hashable, choice: Choice, binding: IOBinding
    ) -> None:
        """The same for a bound run, whose inputs are copied first: outputs may lie over them."""
        session, watch = choice.session, connection.watch
        assert session is not None, "the reference is not watched"
        wanted = watch is not None and watch.wants(choice)
        feed = binding.snapshot() if wanted else None
        try:
            session._sess.run_with_iobinding(binding._iobinding, None)
        except Exception as error:  # noqa: BLE001
            super().run_with_iobinding(binding)
            self._ortsel_withdraw(connection, choice, error)
            return
        if watch is None or not wanted:
            return
        if feed is None:
            watch.missed(choice)
            return
        names = binding.output_names()
        watch.served(signature, choice, feed, binding.results(), names, binding.calling())

    def _ortsel_first_bound_run(
        self, connection: _Connection, signature: Hashable, binding: IOBinding
    ) -> None:
        tuner = connection.tuner
        serving = connection.choices.get(signature)
        if serving is not None and serving.holds():
            REQUESTS.note()
            self._ortsel_watched_bound_run(connection, signature, serving, binding)
            return
        if self._ortsel_config.workload_values:
            # What is bound is looked up without its values, which the caller may change in place.
            REQUESTS.note()
            super().run_with_iobinding(binding)
            reason = WorkloadExplanation.kept("a bound run", "never tuned with workload_values")
            tuner.note(signature, reason)
            self._ortsel_remember(connection, signature, reference_for_ever())
            return
        # What a search needs is copied only where one can follow, and before the run: the caller
        # may have bound outputs over what the next step reads.
        feed = None if tuner.asks_nobody() else binding.snapshot()
        REQUESTS.note()
        super().run_with_iobinding(binding)
        if feed is None and not tuner.asks_nobody():
            tuner.note(signature, WorkloadExplanation.kept("a bound run", binding.obstacle()))
            self._ortsel_remember(connection, signature, reference_for_ever())
            return
        names = tuple(binding.output_names())
        if connection.waiting is not None:
            self._ortsel_wait(connection, signature, feed or {}, names, binding.calling())
            return
        choice = tuner.decide(
            signature, lambda: Call(feed or {}, names, binding.calling(), binding.results)
        )
        self._ortsel_remember(connection, signature, choice)

    def _ortsel_wait(
        self,
        connection: _Connection,
        signature: Hashable,
        feed: Mapping[str, Any],
        names: tuple[str, ...],
        calling: WayOfCalling,
    ) -> None:
        """Leave a shape to the background; the reference serves it meanwhile."""
        waiting, known = connection.waiting, connection.choices.get(signature)
        if waiting is not None:
            choice = waiting.ask(signature, known, feed, names, calling)
            most = self._ortsel_config.max_shapes
            connection.choices.remember_meanwhile(signature, known, choice, most)

    def _ortsel_remember(
        self, connection: _Connection, signature: Hashable, choice: Choice
    ) -> None:
        """Let a choice serve calls like this one, the first in leaving first."""
        connection.choices.remember(signature, choice, self._ortsel_config.max_shapes)

    def _ortsel_withdraw(self, connection: _Connection, choice: Choice, failure: Exception) -> None:
        """Stop serving a plan that failed where the reference did not."""
        for signature in connection.choices.without(choice.session):
            connection.tuner.withdraw(signature, f"failed while serving: {failure}", "failed")


def _why_untunable(names: Sequence[object], feed: Mapping[str, Any]) -> str:
    """Return what of a call that ONNX Runtime took no plan may serve; empty where one may."""
    if not all(type(value) is np.ndarray for value in feed.values()):
        # Whether an OrtValue may be used here is asked by ONNX Runtime's wrapper at every call.
        return "a call with OrtValues"
    if not all(isinstance(name, str) for name in names):
        return "a call with names of outputs in bytes"
    return ""


for _entry in (InferenceSession, onnxruntime.InferenceSession):
    for _name in ("run", "run_with_iobinding", "run_with_ort_values", "run_with_ortvaluevector"):
        REQUESTS.enter_through(getattr(_entry, _name).__code__)

"""Plans that turn bad after they were promoted."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.ortsel.session.session_models import wasteful_for_any_rows

KEPT = 30


def half_wasteful(path: Path) -> Path:
    """About half of its work folds away: y = x + x M**25 M M M ..."""
    model = onnx.load(wasteful_for_any_rows(path))
    last = model.graph.node.pop()
    before = last.input[1]
    for step in range(KEPT):
        model.graph.node.append(helper.make_node("MatMul", [before, "m"], [f"k{step}"]))
        before = f"k{step}"
    model.graph.node.append(helper.make_node("Add", ["x", before], ["y"]))
    first = next(node for node in model.graph.node if node.output[0] == "k0")
    assert first.input[0] == "scaled", "what is kept depends on the input"
    onnx.save(model, path)
    return path


def sometimes_wrong(path: Path, source: Path, seed: float, limit: float) -> Path:
    """The model of `source`, plus one wherever a random number is above a limit."""
    model = onnx.load(source)
    model.graph.node[-1].output[0] = "right"
    model.graph.node.extend(
        [
            helper.make_node("RandomUniform", [], ["r"], shape=[1], seed=seed),
            helper.make_node("Greater", ["r", "limit"], ["above"]),
            helper.make_node("Cast", ["above"], ["one"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["right", "one"], ["y"]),
        ]
    )
    model.graph.initializer.append(
        onnx.numpy_helper.from_array(np.asarray([limit], np.float32), "limit")
    )
    onnx.save(model, path)
    return path


SOURCE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

static timer_t timer;

static void arm(void) {
  struct itimerspec soon = {{0, 0}, {0, 1000000}};
  timer_settime(timer, 0, &soon, NULL);
}

static void burn(int number) {
  struct timespec began, now;
  (void)number;
  clock_gettime(CLOCK_MONOTONIC, &began);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 < 25);
  arm();
}

void *RegisterCustomOps(void *options, const void *api) {
  cpu_set_t cpus;
  (void)options;
  (void)api;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) > 1) return 0;
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = burn;
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMIN + 1, &action, NULL);
  struct sigevent event;
  memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGRTMIN + 1;
  event._sigev_un._tid = (int)syscall(SYS_gettid);
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0) arm();
  return 0;
}
"""


def needs_two_processors(folder: Path) -> Path:
    """A library that burns 25 ms for every few that its thread computes, where there is one CPU.

    With two or more it does nothing.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    source, library = folder / "two.c", folder / "two.so"
    source.write_text(SOURCE)
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-lrt"]
    subprocess.run(command, check=True, timeout=60)
    return library

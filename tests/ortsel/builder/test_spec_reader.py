"""Specs: what they mean, and everything that is wrong with one, each with its line."""

from fractions import Fraction
from pathlib import Path

import pytest

from ortsel.builder import BuildSpecError
from ortsel.builder.spec_reader import parse_spec, read_spec, spec_of_mapping
from ortsel.builder.tolerances import tolerance_of
from ortsel.verification.metrics import Cosine
from ortsel.verification.tolerance import as_tolerance
from tests.ortsel.builder.conftest import ROOT

GOOD = """\
output: decisions
budget: {workload: 10s, total: 1h}
candidates: [thread, spinning]
min_speedup: 1.05
load: back-to-back
tolerance: by-type
models:
  - path: a.onnx
    shapes:
      batch: [1, 8]
      sequence: [16, 32, 64, ..., 512]
      pixels: [1x3x8x8, [2, 3, 8, 8]]
      off: 3
    fill: {mask: 1}
    budget: 1m
  - path: /models/b.onnx
    feeds: samples/
    providers: [{name: P, options: {level: 3, fast: yes}}, CPUExecutionProvider]
    threads: 2
    load: {gap_ms: 50}
    tolerance: {cosine: 0.99}
    bound: true
    candidates: all
"""


def test_a_spec_is_read_with_paths_beside_it_and_settings_handed_down(tmp_path: Path) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(GOOD)
    spec = read_spec(file)
    assert spec.output == tmp_path / "decisions"
    assert spec.total_budget_s == 3600
    first, second = spec.models
    assert first.path == tmp_path / "a.onnx"
    assert {choice.name: choice.sizes for choice in first.shapes} == {
        "batch": ((1,), (8,)),
        "sequence": ((16,), (32,), (64,), (128,), (256,), (512,)),
        "pixels": ((1, 3, 8, 8), (2, 3, 8, 8)),
        "off": ((3,),),
    }
    assert first.fills == (("mask", "1"),)
    assert first.settings.budget_s == 60
    assert first.settings.families == ("thread", "spinning")
    assert first.settings.min_speedup == Fraction(105, 100)
    assert second.path == Path("/models/b.onnx")
    assert second.feeds == tmp_path / "samples"
    assert second.settings.budget_s == 10
    assert second.settings.families == ()
    assert second.settings.threads == 2
    assert second.settings.bound
    assert (first.settings.tolerance, second.settings.tolerance) == ("by-type", "cosine=0.99")
    assert tolerance_of(second.settings.tolerance) == as_tolerance(Cosine(0.99))
    assert (first.settings.gap_ms, second.settings.gap_ms) == (0, 50)
    assert [(one.name, one.options) for one in second.settings.providers] == [
        ("P", (("fast", "yes"), ("level", "3"))),
        ("CPUExecutionProvider", ()),
    ]


def test_a_mapping_says_the_same_as_a_file(tmp_path: Path) -> None:
    values = {"models": [{"path": "a.onnx", "shapes": {"n": [16, 32, 64, "...", 256]}}]}
    (model,) = spec_of_mapping(values, tmp_path).models
    assert model.path == tmp_path / "a.onnx"
    assert [choice.sizes for choice in model.shapes] == [((16,), (32,), (64,), (128,), (256,))]


MODEL = "models:\n  - path: a.onnx\n"


@pytest.mark.parametrize(
    ("text", "line", "place", "got", "need"),
    [
        ("", 1, "", "an empty document", "models:"),
        ("a: [1\nb: 2\n", 2, "", "expected ',' or ']'", "a YAML document"),
        ("- a\n", 1, "", "['a']", "a mapping with some of models"),
        ("output: x\n", 1, "models", "nothing", "a list of models"),
        ("models: []\n", 1, "models", "[]", "at least one model"),
        ("modles: []\n" + MODEL, 1, "modles", "the unknown name 'modles'", "models (or models,"),
        (MODEL + "    fed: x\n", 3, "models[0].fed", "the unknown name 'fed'", "feeds (or path,"),
        (MODEL + "  - shapes: {n: 1}\n", 3, "models[1].path", "nothing", "the path of a model"),
        (MODEL + "seed: 1\nseed: 2\n", 4, "seed", "'seed' twice", "each name once"),
        (MODEL + "seed: -1\n", 3, "seed", "'-1'", "an integer from 0"),
        (MODEL + "seed: '1'\n", 3, "seed", "'1'", "an integer from 0"),
        (MODEL + "threads: 1.5\n", 3, "threads", "'1.5'", "an integer from 1"),
        (MODEL + "bound: yes\n", 3, "bound", "'yes'", "true or false"),
        (MODEL + "budget: soon\n", 3, "budget", "'soon'", "a time such as 30s"),
        (MODEL + "budget: {all: 1h}\n", 3, "budget.all", "the unknown name", "workload, total"),
        (
            MODEL + "budget:\n  workload: 10s\n  total: 5s\n",
            5, "budget.total", "'5s'", "at least the 10 s",
        ),
        (MODEL + "min_speedup: 0.5\n", 3, "min_speedup", "'0.5'", "a number from 1 to 1000"),
        (MODEL + "load: spaced\n", 3, "load", "'spaced'", "back-to-back, or gap_ms"),
        (MODEL + "load: {}\n", 3, "load", "{}", "gap_ms with a number"),
        (MODEL + "load: {gap: 5}\n", 3, "load.gap", "the unknown name 'gap'", "gap_ms"),
        (MODEL + "load: {gap_ms: 0}\n", 3, "load.gap_ms", "'0'", "an integer from 1 to 10000"),
        (MODEL + "tolerance: 1e-3\n", 3, "tolerance", "'1e-3'", "by-type"),
        (MODEL + "tolerance: []\n", 3, "tolerance", "[]", "by-type"),
        (MODEL + "tolerance: {cosin: 1}\n", 3, "tolerance.cosin", "the unknown name", "cosine"),
        (MODEL + "tolerance: {cosine: 2}\n", 3, "tolerance.cosine", "'2'", "from 0 to 1"),
        (MODEL + "tolerance: {cosine: no}\n", 3, "tolerance.cosine", "'no'", "from 0 to 1"),
        (MODEL + "candidates: []\n", 3, "candidates", "[]", "all, or a list of"),
        (MODEL + "candidates: [spining]\n", 3, "candidates[0]", "'spining'", "one of: spinning"),
        (MODEL + "providers: CPU\n", 3, "providers", "'CPU'", "a list of provider names"),
        (MODEL + "providers: [{options: {}}]\n", 3, "providers[0].name", "nothing", "a provider's"),
        (MODEL + "providers: [A, A]\n", 3, "providers", "A, A", "each provider once"),
        (
            MODEL + "    feeds: x\n    fill: {m: 1}\n",
            4, "models[0].fill", "fill beside feeds", "either feeds",
        ),
        (MODEL + "    shapes: [1]\n", 3, "models[0].shapes", "['1']", "a mapping"),
        (MODEL + "    shapes: {n: []}\n", 3, "models[0].shapes.n", "[]", "at least one size"),
        (MODEL + "    shapes: {n: -3}\n", 3, "models[0].shapes.n", "'-3'", "a size of at most"),
        (
            MODEL + "    shapes:\n      n: [1, 2, x]\n",
            4, "models[0].shapes.n[2]", "'x'", "a size of at most",
        ),
        (
            MODEL + "    shapes:\n      n:\n        [2, 4, 8, ..., 500]\n",
            5, "models[0].shapes.n", "[2, 4, 8, ..., 500]", "reached by a factor of 2",
        ),
        (
            MODEL + "    shapes: {n: [2x4, 8, ..., 32]}\n",
            3, "models[0].shapes.n[0]", "'2x4'", "the list has an ellipsis",
        ),
        ("a: &a [*a]\n", 1, "", "more than 16 levels", "fewer"),
    ],
)  # fmt: skip
def test_a_wrong_spec_says_where_what_and_what_is_needed(
    text: str, line: int, place: str, got: str, need: str
) -> None:
    with pytest.raises(BuildSpecError) as caught:
        parse_spec(text.encode(), Path("/x"), "s.yaml")
    (problem,) = caught.value.problems
    assert (problem.line, problem.field) == (line, place)
    assert got in problem.got
    assert need in problem.need
    assert caught.value.lines() == [f"s.yaml:{line}: {problem}"]


def test_all_problems_are_told_at_once_in_the_order_of_their_lines() -> None:
    text = "seed: x\nload: z\nmodels:\n  - shapes: {n: []}\n    threads: 0\n  - path: [1]\n"
    with pytest.raises(BuildSpecError) as caught:
        parse_spec(text.encode(), Path("/x"), "s.yaml")
    assert [(problem.line, problem.field) for problem in caught.value.problems] == [
        (1, "seed"),
        (2, "load"),
        (4, "models[0].path"),
        (4, "models[0].shapes.n"),
        (5, "models[0].threads"),
        (6, "models[1].path"),
    ]  # fmt: skip


def test_aliases_that_blow_up_are_refused_before_they_do() -> None:
    lines = ["a0: &a0 [1, 1]"]
    lines += [f"a{at}: &a{at} [*a{at - 1}, *a{at - 1}, *a{at - 1}]" for at in range(1, 14)]
    with pytest.raises(BuildSpecError, match="more than 50000 values"):
        parse_spec("\n".join(lines).encode(), Path("/x"), "s.yaml")


def test_a_tag_constructs_nothing() -> None:
    text = MODEL + "output: !!python/object/apply:os.system ['touch /tmp/pwned']\n"
    with pytest.raises(BuildSpecError, match="output: got \\['touch"):
        parse_spec(text.encode(), Path("/x"), "s.yaml")


def test_a_file_that_is_not_there_is_one_problem(tmp_path: Path) -> None:
    with pytest.raises(BuildSpecError, match="No such file"):
        read_spec(tmp_path / "none.yaml")


def test_the_example_means_what_its_comments_say() -> None:
    spec = read_spec(ROOT / "examples" / "offline" / "spec.yaml")
    encoder, detector = spec.models
    lengths = {choice.name: choice.sizes for choice in encoder.shapes}["sequence"]
    assert lengths == ((16,), (32,), (64,), (128,), (256,), (512,))
    assert (encoder.settings.budget_s, detector.settings.budget_s) == (30, 60)
    assert detector.feeds == spec.output.with_name("samples")

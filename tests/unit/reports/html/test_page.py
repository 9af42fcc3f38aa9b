"""report.html as text: what is in it, what is not, and how large it may be."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import early_results as early_examples
from support import results as examples
from support.report_texts import text_of
from support.ticket_run import gate_result, past, run_result

from gatekeeper import numbers
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import (
    Completion,
    Outcome,
    Request,
    Sample,
    Trial,
    Turn,
)
from gatekeeper.gate.results.result import ContractResult, GateResult, UnderBase
from gatekeeper.history.record import fixture_key
from gatekeeper.reports.document import Cell, heat_map
from gatekeeper.reports.html import render_html
from gatekeeper.reports.html.render import Html
from gatekeeper.reports.html.samples import TEXT_LIMIT, _facts, distinct_parts, evaluations, pack
from gatekeeper.reports.words.headline import title
from gatekeeper.stats.interval import ConfidenceInterval

SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)


@pytest.fixture(scope="module")
def result() -> GateResult:
    return gate_result(30, 2)


def packed(page: str) -> dict[str, Any]:
    text = re.search(r'<div id="packed" hidden>([^<]*)</div>', page)
    assert text
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text[1])))
    return found


def samples(document: dict[str, Any]) -> list[list[Any]]:
    return [
        s for evaluation in document["evaluations"] for f in evaluation["fixtures"] for s in f[-1]
    ]


EVERY_KIND = {
    "fail": examples.FAIL,
    "pass": examples.PASS,
    "removed": examples.result(examples.removed_contract()),
    "new": examples.result(examples.new_contract()),
    "weakened": examples.result(examples.weakened_contract()),
    "undecided": examples.result(examples.undecided_contract()),
    "unmeasured": examples.result(examples.unmeasured_contract()),
    "uncovered": examples.result(uncovered=("prompts/new.txt",)),
    "nothing": examples.result(),
    "one revision": examples.result(examples.new_contract(), kind="run", base_sha=None),
}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_verdict_is_said_as_in_the_comment(kind: str) -> None:
    found = EVERY_KIND[kind]
    page = render_html(found)
    assert title(found) in text_of(page)
    assert f'class="verdict {found.verdict}"' in page
    for contract in found.contracts:
        for reason in contract.reasons:
            assert " ".join(reason.text.split()) in text_of(page)


def test_the_policy_names_the_one_style_and_the_one_script(result: GateResult) -> None:
    page = render_html(result)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]


def test_nothing_is_asked_of_a_network(result: GateResult) -> None:
    body = render_html(replace(result, past=past())).partition("<body>")[2].partition("<script>")[0]
    addresses = set(re.findall(r"""(?:src|href|action)=["']([^"']*)""", body))
    assert all(address.startswith("#") for address in addresses)
    assert not re.findall(r"https?://", body)
    assert " style=" not in body


def test_every_sample_is_packed_with_all_that_is_known_of_it(result: GateResult) -> None:
    document = packed(render_html(result))
    texts = document["texts"]
    assert len(texts) == len(set(texts))
    found = sorted(
        (arm, repetition, passed, texts[output], [[texts[c], ok] for c, ok, *_ in checks])
        for arm, repetition, passed, output, _, _, _, _, checks in samples(document)
    )
    assert found == sorted(
        (
            int(o.sample.trial.arm == "head"),
            o.sample.trial.repetition,
            o.passed,
            o.sample.output,
            [[j.check, j.passed] for j in o.check_results],
        )
        for o in result.outcomes
    )


def test_a_failed_call_is_packed_with_its_message() -> None:
    lost = examples.outcome(text=None)
    contract = examples.failing_contract()
    first = replace(contract.fixtures[0], id=lost.sample.trial.fixture)
    found = examples.result(replace(contract, fixtures=(first,)), outcomes=(lost,))
    document = packed(render_html(found))
    ((arm, _, passed, output, raw, _, error, repairs, _),) = samples(document)
    assert (arm, passed, output, raw, repairs) == (1, None, -1, -1, [])
    assert document["texts"][error] == "429 Too Many Requests"


def test_half_a_surrogate_pair_and_hidden_characters_are_spelled(result: GateResult) -> None:
    outcome = result.outcomes[0]
    said = replace(outcome.sample, output="a\ud800b\u202ec\x00")
    found = replace(result, outcomes=(replace(outcome, sample=said), *result.outcomes[1:]))
    assert "a⟨U+D800⟩b⟨U+202E⟩c⟨U+0000⟩" in packed(render_html(found))["texts"]


def test_long_outputs_are_cut_and_it_is_told_by_how_much(result: GateResult) -> None:
    outcome = result.outcomes[0]
    said = replace(outcome.sample, output="x" * (TEXT_LIMIT + 17))
    found = replace(result, outcomes=(replace(outcome, sample=said), *result.outcomes[1:]))
    document = packed(render_html(found))
    ((place, missing),) = document["cut"].items()
    assert document["texts"][int(place)] == "x" * TEXT_LIMIT
    assert missing == 17


@pytest.mark.parametrize("room", [0, 1_000, 3_000, 6_000, 1_000_000])
def test_what_fits_is_what_failed_or_changed(result: GateResult, room: int) -> None:
    evaluated = evaluations(result)
    found = pack(evaluated, room)
    assert len(found.text) <= room
    assert found.total == len(result.outcomes)
    assert found.shown + found.left_out == found.total
    if not found.shown:
        assert found.text == ""
        return
    document = json.loads(gzip.decompress(base64.b64decode(found.text)))
    kept = samples(document)
    assert len(kept) == found.shown
    bad = sum(o.passed is not True for o in result.outcomes)
    if sum(s[2] is not True for s in kept) < bad:
        fixtures = [
            f for evaluation in document["evaluations"] for f in evaluation["fixtures"] if f[-1]
        ]
        assert all(f[2] in ("broke", "fixed") or False in {s[2] for s in f[-1]} for f in fixtures)


def test_a_page_is_never_larger_than_its_limit() -> None:
    many = [examples.failing_contract(f"contract-{n:03}") for n in range(150)]
    page = render_html(examples.result(*many), limit=500_000)
    assert len(page.encode()) <= 500_000
    assert "more contracts in the table above and in result.json" in page
    assert page.count("<tr data-verdict=") == 150


def test_where_no_sample_fits_the_page_says_so(result: GateResult) -> None:
    page = render_html(result, limit=90_000)
    assert f"0 of {len(result.outcomes)} samples are in this file" in text_of(page)
    assert 'id="packed"' not in page


def test_secrets_are_taken_out_of_what_was_asked(result: GateResult) -> None:
    asked = json.dumps(packed(render_html(result)))
    assert "charged twice" in asked
    cleaned = render_html(result, clean=lambda text: text.replace("charged twice", "***"))
    assert "charged twice" not in json.dumps(packed(cleaned))


def test_both_evaluations_are_there_where_the_base_contract_checks_too(result: GateResult) -> None:
    (contract,) = result.contracts
    assert contract.head
    before = UnderBase(contract.base, contract.head, None, (), contract.fixtures[:3])
    others = tuple(
        replace(o, sample=replace(o.sample, trial=replace(o.sample.trial, contract_from="base")))
        for o in result.outcomes
    )
    both = replace(
        result,
        contracts=(replace(contract, under_base=before),),
        outcomes=(*result.outcomes, *others),
    )
    page = render_html(both)
    names = [evaluation["name"] for evaluation in packed(page)["evaluations"]]
    assert names == ["triage", "triage, under the base contract"]
    assert [len(j["fixtures"]) for j in packed(page)["evaluations"]] == [30, 3]


def test_a_run_that_touches_no_prompt_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from support import results as examples\n"
        "from gatekeeper.reports.html import render_html\n"
        "page = render_html(examples.result())\n"
        "assert 'no model was called' in page\n"
        "heavy = {'jinja2', 'markdown_it', 'scipy', 'numpy', 'litellm'}\n"
        "sys.exit(', '.join(sorted(heavy & sys.modules.keys())) or None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "<script>" not in render_html(examples.result())


# Charts


def test_an_early_stop_shows_no_effect_as_if_it_were_exact() -> None:
    """It has seen more than there is, as a rule."""
    for contract in (early_examples.early_contract(), nearly()):
        assert contract.paired is not None
        assert contract.paired.difference is not None
        decided = text_of(render_html(examples.result(contract)))
        exact = " ".join(numbers.points(contract.paired.difference).split())
        interval = " ".join(numbers.points_interval(contract.paired.interval).split())
        assert interval.startswith("[")
        assert interval not in decided
        places = [m.start() for m in re.finditer(re.escape(exact), decided)]
        assert all(decided[:place].endswith("about ") for place in places)
        assert "early estimate" in decided or "9 of 9 broke" in decided


def nearly() -> ContractResult:
    """Stopped early at a difference that is no whole number of points."""
    early = early_examples.early_contract()
    assert early.paired is not None
    beside = replace(early.paired, difference=-0.3717, interval=ConfidenceInterval(-0.5, -0.21))
    return replace(early, paired=beside)


# Heat tables


def test_a_heat_table_says_in_digits_what_it_colours() -> None:
    cells = {
        ("gpt", "0"): Cell("97 %", ("0.1 USD",), level=0.97, marked=True),
        ("gpt", "1"): Cell("?"),
        ("<b>", "0"): Cell("</td><script>", ("<img>",), level=5.0),
    }
    table = ElementTree.fromstring(Html().table(heat_map("A sweep", cells)))  # noqa: S314
    found = [(each.get("class"), each.text) for each in table.iter("td")]
    assert found == [
        ("h9 marked", "97 %"),
        ("none", "?"),
        ("h9", "</td><script>"),
        ("none", "–"),
    ]
    assert [each.get("scope") for each in table.iter("th")] == ["col"] * 3 + ["row"] * 2
    assert table.get("tabindex") == "0"


def test_every_fixture_has_a_row_with_each_check_of_both_arms(result: GateResult) -> None:
    (evaluation,) = packed(render_html(result))["evaluations"]
    texts = packed(render_html(result))["texts"]
    names = [texts[name] for name, _ in evaluation["checks"]]
    assert names == ["is JSON", "names the queue", "is short"]
    assert [severity for _, severity in evaluation["checks"]] == ["error", "error", "warn"]
    for row in evaluation["fixtures"]:
        for place, *counts in row[11]:
            wanted = [
                [
                    said.passed
                    for outcome in result.outcomes
                    for said in outcome.check_results
                    if outcome.sample.trial.fixture == texts[row[0]]
                    if (outcome.sample.trial.arm, said.check) == (arm, names[place])
                ]
                for arm in ("base", "head")
            ]
            assert counts == [n for arm in wanted for n in (arm.count(True), len(arm))]


def test_rows_stay_although_their_samples_do_not_fit() -> None:
    result = gate_result(30, 3, words=400)
    whole = len(render_html(result).encode())
    (evaluation,) = packed(render_html(result, limit=whole - 6_000))["evaluations"]
    rows = evaluation["fixtures"]
    assert len(rows) == 30
    without = [row for row in rows if not row[14]]
    assert without
    assert all(row[11] and row[8] == row[9] == -1 for row in without)


def test_the_latest_runs_of_a_fixture_are_in_its_row(result: GateResult) -> None:
    key = fixture_key("billing-0000")
    counts: list[dict[str, tuple[int, int]]] = [{}, {key: (2, 0)}, {key: (2, 2)}, {key: (2, 1)}, {}]
    runs = [
        replace(run, by_fixture=found or {"other": (1, 0)})
        for run, found in zip(past(runs=5), counts, strict=True)
    ]
    document = packed(render_html(replace(result, past=tuple(runs))))
    (evaluation,) = document["evaluations"]
    assert evaluation["runs"] == [run.time.date().isoformat() for run in runs]
    rows = {document["texts"][row[0]]: row[12] for row in evaluation["fixtures"]}
    assert rows["billing-0000"] == "-pfm-"
    assert rows["delivery-0001"] == "-----"


# Inputs

WORDS = st.lists(st.text("ab ", max_size=6), min_size=2, max_size=5, unique=True)


@given(WORDS, st.text("ab c", max_size=8), st.text("ab c", max_size=8))
def test_distinct_parts_lose_nothing_that_differs(
    values: list[str], before: str, after: str
) -> None:
    inputs = {v: (Message("user", before + v + after),) for v in values}
    parts = distinct_parts(inputs)
    assert all(parts[v] in inputs[v][0].content for v in values)
    assert len(set(parts.values())) == len({m[0].content for m in inputs.values()})


def test_distinct_parts_are_whole_lines() -> None:
    said = {
        n: (
            Message("system", "Same"),
            Message("user", f"Documents:\n[doc-1] The {n} sock\n[doc-2] Both\nAnswer."),
        )
        for n in ("wet", "red")
    }
    assert distinct_parts(said) == {n: f"[doc-1] The {n} sock" for n in ("wet", "red")}
    one = {n: (Message("user", f"[doc-1] {n}, please"),) for n in ("wet", "web")}
    assert distinct_parts(one) == {n: f"[doc-1] {n}, please" for n in ("wet", "web")}


def test_of_one_input_it_is_the_last_message() -> None:
    assert distinct_parts({"a": (Message("system", "x"), Message("user", "y"))}) == {"a": "y"}
    assert distinct_parts({"a": ()}) == {"a": ""}
    shapes = {"a": (Message("user", "x"),), "b": (Message("system", "x"), Message("user", "z"))}
    assert distinct_parts(shapes) == {"a": "x", "b": "z"}


# What little a sample tells of itself


def facts_of(found: GateResult) -> str:
    document = packed(render_html(found))
    return " | ".join(document["texts"][s[5]] for s in samples(document))


def test_what_is_not_known_of_a_sample_is_not_said(result: GateResult) -> None:
    outcome = result.outcomes[0]
    assert outcome.sample.completion
    bare = replace(
        outcome.sample.completion,
        latency_ms=None,
        prompt_tokens=None,
        cost_usd=None,
        replayed=True,
    )
    sample = replace(outcome.sample, completion=bare, shared=True)
    found = replace(result, outcomes=(replace(outcome, sample=sample),))
    shared = "base and head sent the same request, so one answer counts for both"
    assert facts_of(found) == f"from a recording · {shared}"
    silent = replace(sample, completion=replace(bare, replayed=False), shared=False)
    assert facts_of(replace(result, outcomes=(replace(outcome, sample=silent),))) == ""


def test_another_model_and_a_fixture_that_repeats_another_are_told(result: GateResult) -> None:
    (contract,) = result.contracts
    assert contract.head
    other = replace(contract.head, model="simulated/larger")
    twin = replace(contract.fixtures[1], duplicate_of=contract.fixtures[0].id)
    changed = replace(contract, head=other, fixtures=(contract.fixtures[0], twin))
    page = render_html(replace(result, contracts=(changed,)))
    assert "simulated/model → simulated/larger" in text_of(page)
    assert f"the same input as {contract.fixtures[0].id}" in " ".join(packed(page)["texts"])


def test_of_one_revision_nothing_speaks_of_a_base() -> None:
    page = render_html(run_result())
    text = text_of(page)
    assert "What was measured" in text
    assert "Both arms" not in page
    assert not re.search(r"\bbase\b", text, re.IGNORECASE)
    (figure,) = re.findall(r'<figure class="[^"]*"><figcaption><b>Latency.*?</figure>', page)
    assert re.findall(r'<path class="line([^"]*)"', figure) == [" head"]


def outcome(*answers: str, shared: bool = False, part_of: str | None = None) -> Outcome:
    turns = tuple(Turn("", Completion(answer)) for answer in answers)
    trial = Trial("c", "f", "head", 0, Request("m", (), {}, None, 0), part_of=part_of)
    completion = Completion(answers[-1], turns=turns if len(answers) > 1 else ())
    return Outcome(Sample(trial, completion, shared=shared))


def test_the_answers_before_the_last_one_are_shown() -> None:
    assert _facts(outcome("one\ntwo", "y" * 300, "last")).split(" · ") == [
        "answer 1: one two",
        "answer 2: " + "y" * 199 + "…",
    ]
    assert _facts(outcome("only")) == ""


def test_tokens_of_the_reasoning_are_a_part_of_the_output() -> None:
    request = Request("m", (), {}, None, 0)
    thought, silent = (
        Completion("a", None, 7, 300, reasoning_tokens=64),
        Completion("a", None, 7, 3),
    )
    facts = [
        _facts(Outcome(Sample(Trial("c", "f", "head", 0, request), completion)))
        for completion in (thought, silent)
    ]
    assert facts == ["7 → 300 tokens (64 for reasoning)", "7 → 3 tokens"]


def test_a_shared_answer_says_whose_it_is() -> None:
    assert "one answer counts for both" in _facts(outcome("a", shared=True))
    assert "sent before" in _facts(outcome("a", shared=True, part_of="c"))

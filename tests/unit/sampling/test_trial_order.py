"""The order of trials: fair between the arms, and out of reach of who writes the files."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Arm, Request, Trial
from gatekeeper.gate import work
from gatekeeper.gate.work import plan_check
from gatekeeper.sampling import trials as order
from gatekeeper.sampling.trials import in_order, new_order_seed

CONTRACT = """\
contract: 1
name: words
prompt: words.txt
model: m/x
fixtures: [{file: words.csv}]
checks: [{type: contains, value: ok}]
sampling: {samples: 2}
"""


def trial(arm: Arm, word: str, repetition: int = 0, fixture: str | None = None) -> Trial:
    message = Message("user", f"{arm} {word}")
    request = Request("m", (message,), {}, 42 + repetition, repetition)
    return Trial("c", fixture or word, arm, repetition, request)


def both(words: list[str], repetitions: int = 1) -> list[Trial]:
    arms: tuple[Arm, Arm] = ("base", "head")
    return [trial(a, w, r) for r in range(repetitions) for w in words for a in arms]


def places(trials: tuple[Trial, ...]) -> list[tuple[Arm, str, int]]:
    return [(t.arm, t.request.messages[0].content, t.repetition) for t in trials]


@given(
    seed=st.text("0123456789abcdef", min_size=1, max_size=32),
    words=st.lists(st.text("abc", max_size=3), min_size=1, max_size=12, unique=True),
    repetitions=st.integers(1, 3),
    shuffled=st.randoms(),
)
def test_an_order_comes_from_the_seed_and_the_requests_alone(
    seed: str, words: list[str], repetitions: int, shuffled: random.Random
) -> None:
    """However the file is sorted and whatever its fixtures are called."""
    trials = both(words, repetitions)
    found = in_order(trials, seed)
    assert sorted(map(id, found)) == sorted(map(id, trials))
    shuffled.shuffle(trials)
    assert in_order(trials, seed) == found
    shuffled.shuffle(words)
    names = {word: f"renamed {number}" for number, word in enumerate(words)}
    renamed = [trial(t.arm, t.fixture, t.repetition, names[t.fixture]) for t in trials]
    assert places(in_order(renamed, seed)) == places(found)


@given(st.text("0123456789abcdef", min_size=32, max_size=32), st.integers(1, 3))
def test_pairs_are_neighbours_and_every_round_has_the_same_fixtures_in_the_same_order(
    seed: str, rounds: int
) -> None:
    words = [f"w{n}" for n in range(9)]
    found = in_order(both(words, rounds), seed)
    firsts = found[::2]
    assert [t.repetition for t in firsts] == [r for r in range(rounds) for _ in words]
    for first, second in zip(firsts, found[1::2], strict=True):
        assert first.fixture == second.fixture
        assert {first.arm, second.arm} == {"base", "head"}
    each = [[t.fixture for t in firsts if t.repetition == r] for r in range(rounds)]
    assert all(fixtures == each[0] for fixtures in each)


def test_each_arm_goes_first_in_half_of_the_pairs_and_in_no_pattern() -> None:
    """4,000 pairs: half of them within five standard errors, and so of each two in a row."""
    words = [f"w{n}" for n in range(40)]
    first = [t.arm == "head" for s in range(25) for t in in_order(both(words, 4), f"{s}")[::2]]
    assert abs(sum(first) - 2000) < 5 * 1000**0.5
    for lag in (1, 2, 3, 4, 40, 80, 160):
        same = sum(a == b for a, b in zip(first, first[lag:], strict=False))
        assert abs(same - (4000 - lag) / 2) < 5 * 1000**0.5


def test_every_fixture_comes_early_as_often_as_late() -> None:
    words = [f"w{n}" for n in range(20)]
    early = Counter(t.fixture for s in range(400) for t in in_order(both(words), f"{s}")[:20:2])
    assert all(abs(early[word] - 200) < 5 * 10 for word in words)


def test_fixtures_with_the_same_input_are_neighbours_by_their_ids() -> None:
    trials = [trial(a, "same", 0, f) for f in ("z", "a", "m") for a in ("base", "head")]  # type: ignore[arg-type]
    found = in_order([*trials, *both(["other"])], "1")
    copies = [t.fixture for t in found if t.fixture != "other"]
    assert copies == ["a", "a", "m", "m", "z", "z"]
    arms = [t.arm for t in found if t.fixture != "other"]
    assert arms == arms[:2] * 3  # the one call that they share comes where the first asks for it


def revision(text: str, sha: str, words: int = 12) -> MemoryRevision:
    lines = "".join(f"id{n},word {n}\n" for n in range(words))
    files = {
        "contracts/words.yaml": CONTRACT.encode(),
        "contracts/words.txt": f"{text} {{{{ word }}}}".encode(),
        "contracts/words.csv": f"id,word\n{lines}".encode(),
    }
    return MemoryRevision(files, sha * 40)


CHANGE = Change(revision("Base", "b"), revision("Head", "c"))


def test_the_same_commits_are_planned_in_another_order_each_time(monkeypatch) -> None:
    monkeypatch.setattr(work, "new_order_seed", order.new_order_seed)
    plans = [plan_check(CHANGE, Policy()) for _ in range(3)]
    assert len({work.order_seed for work in plans}) == 3
    assert len({tuple(t.fixture for t in work.trials) for work in plans}) == 3
    assert {job.order_seed for work in plans for job in work.jobs} == {w.order_seed for w in plans}


def test_a_seed_repeats_its_order() -> None:
    seed = new_order_seed()
    assert len(bytes.fromhex(seed)) == 16
    first, again = (plan_check(CHANGE, Policy(), order_seed=seed) for _ in range(2))
    assert first.trials == again.trials
    assert first.order_seed == seed


def test_no_choice_of_commits_tells_the_order() -> None:
    """The attack of 72,000 commit names: they are all one order, which the seed alone gives."""
    heads = [revision("Head", sha) for sha in "0123456789abcdef"]
    plans = [plan_check(Change(CHANGE.base, head), Policy(), order_seed="1") for head in heads]
    assert all(work.trials == plans[0].trials for work in plans)


def test_two_evaluations_are_interleaved_by_pairs() -> None:
    head = revision("Head", "c")
    looser = edited(CONTRACT, "value: ok", "value: k")
    head.files["contracts/words.yaml"] = looser.encode()  # type: ignore[index]
    (job,) = plan_check(Change(CHANGE.base, head), Policy(), order_seed="1").jobs
    assert [evaluation.contract_from for evaluation in job.evaluations] == ["head", "base"]
    fours = [job.trials[n : n + 4] for n in range(0, len(job.trials), 4)]
    for four in fours:
        assert len({(t.fixture, t.repetition) for t in four}) == 1
        assert [t.contract_from for t in four] == ["head", "head", "base", "base"]
        assert [t.arm for t in four[:2]] == [t.arm for t in four[2:]]
    again = job.in_order("2")
    assert again.order_seed == "2"
    assert sorted(map(id, again.trials)) == sorted(map(id, job.trials))
    assert again.trials != job.trials

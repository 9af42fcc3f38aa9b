"""pass^k of a recorded run of a small tau-bench: eight tasks, four trials each."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.recorded_repository import GOOD, answers, result_of, write_contract

from gatekeeper.cli.main import main

TRIALS = {
    "cancel": "++++",
    "change": "++++",
    "refund": "+++-",
    "upgrade": "+-++",
    "baggage": "++--",
    "book": "-+-+",
    "insure": "---+",
    "compensate": "----",
}
"""Which of its four trials each task passed: 4, 4, 3, 3, 2, 2, 1 and 0."""

ALL_OF = {
    1: (4 + 4 + 3 + 3 + 2 + 2 + 1 + 0) / (4 * 8),  # of 4 trials
    2: (6 + 6 + 3 + 3 + 1 + 1 + 0 + 0) / (6 * 8),  # of 6 pairs
    3: (4 + 4 + 1 + 1 + 0 + 0 + 0 + 0) / (4 * 8),  # of 4 triples
    4: (1 + 1 + 0 + 0 + 0 + 0 + 0 + 0) / 8,
}
ANY_OF = {2: (6 + 6 + 6 + 6 + 5 + 5 + 3 + 0) / (6 * 8), 4: 7 / 8}


@pytest.mark.parametrize(
    ("target", "code", "verdict"),
    [
        pytest.param(0.2, 0, "pass", marks=pytest.mark.long),
        (0.5, 0, "inconclusive"),
        pytest.param(0.95, 1, "fail", marks=pytest.mark.long),
    ],
)
def test_the_values_are_those_computed_by_hand(git_repository, tmp_path, target, code, verdict):
    repository: GitRepository = git_repository("tau")
    wanted = "{1: 0.2, 2: 0.2, 3: 0.1, 4: %s}, success_any_of: {2: 0.5, 4: 0.6}" % target  # noqa: UP031
    contract = edited(
        GOOD, "{success_rate: 0.5}", f"{{success_all_of: {wanted}}}\nsampling: {{samples: 4}}"
    )
    fates = {
        task: ["ok" if fate == "+" else "no" for fate in fates] for task, fates in TRIALS.items()
    }
    write_contract(repository, contract, TRIALS, answers("Say {{ word }}.", fates))
    repository.commit("tasks")
    out = tmp_path / "out"
    assert main(["run", "--repo", str(repository.path), "--out", str(out)]) == code
    (found,) = result_of(out)["contracts"]
    assert found["verdict"] == verdict
    values = {one["objective"]: one["observed"] for one in found["slo"]}
    assert values == {
        **{f"success_all_of.{k}": value for k, value in ALL_OF.items()},
        **{f"success_any_of.{k}": value for k, value in ANY_OF.items()},
    }

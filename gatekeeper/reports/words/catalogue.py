"""The catalogue of reasons: what every report says of a reason code, in one entry for each.

A reason's own sentence is written where the reason is found, in `gatekeeper/gate/`. What all
reasons of a code share stands here, and every report reads it from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from gatekeeper.gate.results.result import ReasonCode

NewsKind = Literal["regression", "freeze", "objective", "drift", "unmeasured", "spending"]
Level = Literal["error", "warning"]
"""`error` if the reason can fail a contract; `warning` if the gate could not decide or
measure something."""
Example = Literal["worse", "failing", "objective", "must_pass"]
"""The fixtures that explain a reason: those that got worse, all that fail on head, those that
fail a check that an objective counts, or those that must pass and fail."""


@dataclass(frozen=True, slots=True)
class ReasonEntry:
    """What reports say of one reason code.

    Attributes:
        title: The finding in a few words: the name of a SARIF rule.
        meaning: What was found, in a sentence or two: the help of a SARIF rule.
        advice: What to do; empty if there is nothing to do.
        level: None if the reason never speaks against a change.
        fault: What the headline says of one contract and of several that fail for this reason.
        example: Which fixtures show it; None if no single answer does.
        by_comparison: Whether the figures of the comparison say it better than its sentence.
        noted: Whether it is worth a note if the policy or a person allows it.
        adds_units: Whether the advice is to add fixtures, or clusters if related ones count as one.
        about_answers: Whether the check that fails most helps to understand it.
        news: The kind of notification that reports it, if there is one.
    """

    title: str
    meaning: str
    advice: str = ""
    level: Level | None = None
    fault: tuple[str, str] = ("fails", "fail")
    example: Example | None = None
    by_comparison: bool = False
    noted: bool = False
    adds_units: bool = False
    about_answers: bool = False
    news: NewsKind | None = None

    @property
    def is_all_clear(self) -> bool:
        """Whether the reason only says that the comparison found nothing."""
        return self.level is None and self.by_comparison


_FAILURES: dict[ReasonCode, ReasonEntry] = {
    "regression": ReasonEntry(
        "The prompt got worse",
        "Head passes fewer of the same fixtures than base, and chance does not explain the "
        "difference.",
        "Look at the fixtures that broke, then correct the prompt. If the new answers are correct, "
        "update the expected values in the fixtures.",
        "error",
        ("got worse", "got worse"),
        "worse",
        by_comparison=True,
        about_answers=True,
        news="regression",
    ),
    "slice": ReasonEntry(
        "A category got worse",
        "Head passes fewer fixtures of a category than base. Either chance does not explain the "
        "difference, or it is not clear whether chance explains it.",
        "Look at the fixtures of this category that broke, then correct the prompt. If the answers "
        "to the same fixture vary, take more samples.",
        "error",
        ("got worse in a category", "got worse in categories"),
        "worse",
        about_answers=True,
        news="regression",
    ),
    "broke": ReasonEntry(
        "Fixtures broke",
        "Fixtures that passed on base fail on head. Gatekeeper sampled them again, and chance does "
        "not explain the difference.",
        "Look at the fixtures that broke, then correct the prompt. If the new answers are correct, "
        "update the expected values in the fixtures. If you accept some broken fixtures in return "
        "for others, set `gate.allow_broken`.",
        "error",
        ("broke fixtures", "broke fixtures"),
        "worse",
        noted=True,
        about_answers=True,
        news="regression",
    ),
    "slo": ReasonEntry(
        "An objective is missed",
        "An objective of the contract is missed, or it is not clear whether the objective is met.",
        "Improve the prompt until it meets its objectives, or agree on another "
        "objective in a separate pull request.",
        "error",
        ("misses its objective", "miss their objectives"),
        "objective",
        about_answers=True,
    ),
    "tolerance": ReasonEntry(
        "Too few fixtures pass",
        "Fewer fixtures pass than the contract's tolerance requires.",
        "Correct the prompt until enough fixtures pass.",
        "error",
        ("misses its objective", "miss their objectives"),
        "failing",
        about_answers=True,
    ),
    "budget": ReasonEntry(
        "The error budget is spent",
        "Until the budget recovers, only a significantly better change may merge.",
        "Improve the objective that has no budget left, by more than chance explains. Or wait "
        "until the budget recovers, or ask a maintainer to waive the result.",
        "error",
        ("has no error budget left", "have no error budget left"),
        news="freeze",
    ),
    "must_pass": ReasonEntry(
        "A fixture or check with must_pass fails",
        "A fixture or check with `must_pass: true` got worse, and fresh samples confirm this. "
        "Without a base, every sample fails.",
        "Look at the answers to the fixtures that must pass, then correct the prompt.",
        "error",
        ("fails a `must_pass` requirement", "fail `must_pass` requirements"),
        "must_pass",
        about_answers=True,
    ),
    "nothing_passes": ReasonEntry(
        "No fixture passes",
        "Every fixture that was measured fails on head.",
        "Look at the answers of head. If the answers are wrong, correct the prompt. If the answers "
        "are right, correct the checks of the contract.",
        "error",
        ("passes no fixture", "pass no fixture"),
        "failing",
        about_answers=True,
    ),
    "preference": ReasonEntry(
        "Judges prefer the answers of base",
        "Judges compared base's and head's answers to the same inputs, in both orders. The "
        "judges prefer base's answers by more than chance explains, or the result is not clear.",
        "Look at the pairs in which judges prefer base's answer, then correct the prompt.",
        "error",
        ("gives answers that judges like less", "give answers that judges like less"),
        about_answers=True,
    ),
    "resource_limit": ReasonEntry(
        "A limit on cost, tokens or latency is exceeded",
        "Cost, tokens or latency rose above a limit of the contract's `gate` by "
        "more than chance explains, or it is not clear whether the limit is exceeded.",
        "Shorten the prompt or its answers, or choose a faster model. Or agree "
        "on another limit in a separate pull request.",
        "error",
        ("exceeds a cost, token or latency limit", "exceed cost, token or latency limits"),
        about_answers=True,
    ),
    "repairs": ReasonEntry(
        "Answers need repairs more often",
        "Head's outputs need repairs significantly more often than base's, and the contract has "
        "`gate: {repairs: fail}`.",
        "Describe the form of the output in the prompt, or enforce this form with `mode: enforce`.",
        "error",
        ("needs repairs more often", "need repairs more often"),
        about_answers=True,
    ),
    "missing_answers": ReasonEntry(
        "Answers are missing more often",
        "More of head's answers than of base's are empty, cut off or refused, and no check asks "
        "for such an answer.",
        "Change the prompt so that the model answers, or raise `max_tokens`.",
        "error",
        ("gives empty, cut or refused answers", "give empty, cut or refused answers"),
    ),
    "new_contract": ReasonEntry(
        "A new contract has too few fixtures",
        "The policy requires more fixtures in a new contract.",
        "Add fixtures to the new contract.",
        "error",
        ("is new and has too few fixtures", "are new and have too few fixtures"),
        adds_units=True,
    ),
    "weakened": ReasonEntry(
        "The contract was weakened",
        "The change removes or lowers a requirement of the contract, and the "
        "policy does not allow this.",
        "Undo the weakening, or allow weakening in the policy on the base branch.",
        "error",
        ("was weakened", "were weakened"),
        noted=True,
    ),
    "policy_weakened": ReasonEntry(
        "The policy is weakened",
        "The change makes `.github/gatekeeper.yml` less strict, changes the calibration of a "
        "judge, or adds comparisons of a prompt, which share alpha. The base policy requires a "
        "maintainer's waiver for such a change.",
        "Undo the change that weakens the policy, or ask a maintainer to waive the result.",
        "error",
        ("is weakened", "are weakened"),
    ),
    "removed": ReasonEntry(
        "The contract was removed",
        "The prompt remains, but no contract tests it.",
        "Restore the contract, or remove the prompt too.",
        "error",
        ("was removed", "were removed"),
        noted=True,
    ),
    "uncovered": ReasonEntry(
        "A changed prompt has no contract",
        "No contract says what the prompt must do.",
        "Write a contract for the prompt.",
        "error",
        noted=True,
    ),
}
"""What can fail a contract."""

_OPEN: dict[ReasonCode, ReasonEntry] = {
    "undecided": ReasonEntry(
        "Not enough evidence",
        "The prompt may have got worse by more than the margin, but this may also be chance.",
        "Add fixtures or samples to detect smaller differences.",
        "warning",
        example="worse",
        by_comparison=True,
        about_answers=True,
    ),
    "unseen": ReasonEntry(
        "No change could be detected",
        "There are too few fixtures to detect even the largest change.",
        "Add fixtures. If nothing is compared, add an objective.",
        "warning",
        example="worse",
        adds_units=True,
    ),
    "examples": ReasonEntry(
        "Fixtures are still examples",
        "Fixtures still have the values that `gatekeeper init` wrote, so that nothing is known of "
        "real inputs.",
        "Replace the example values with real inputs, or remove these fixtures.",
        "warning",
    ),
    "untested": ReasonEntry(
        "No fixture uses the changed part of a prompt",
        "No request of the contract's fixtures shows a part of the prompt that the change edits.",
        "Add a fixture that uses the changed part of the prompt.",
        "warning",
        noted=True,
    ),
    "replaced": ReasonEntry(
        "A prompt was replaced without a comparison",
        "A prompt was removed, and the change adds other prompts that may replace it.",
        "Keep the contract's name, and set its `prompt` to the file that replaces the old prompt. "
        "If no file replaces the old prompt, move the rest of the change to a separate pull "
        "request.",
        "warning",
    ),
    "unread": ReasonEntry(
        "The history could not be read",
        "Gatekeeper does not know whether an error budget is spent.",
        "The notes name the problem with the history. Solve this problem and run the gate again.",
        "warning",
    ),
    "error": ReasonEntry(
        "Could not be measured",
        "Calls to the model failed, or the contract could not be used.",
        "A failed measurement says nothing about the prompt. Remove the cause and "
        "run the gate again.",
        "warning",
    ),
    "limit": ReasonEntry(
        "A limit ended the run",
        "The policy's limit on calls, cost or time was reached before the result was clear.",
        "Raise the limit in the policy or take fewer samples, and run the gate again.",
        "warning",
    ),
    "interrupted": ReasonEntry(
        "The run was interrupted",
        "A person or a system stopped the run before the result was clear.",
        "Run the gate again.",
        "warning",
    ),
    "judge_drifted": ReasonEntry(
        "A judge drifted",
        "A judge grades labelled outputs differently than when it was calibrated, so figures that "
        "depend on this judge say nothing about the prompt.",
        "Pin the judge's version, or run `gatekeeper judge calibrate` with the same labels.",
        "warning",
        noted=True,
    ),
    "uncalibrated": ReasonEntry(
        "A judge is not calibrated",
        "A check uses a model as a judge, but nobody has measured how often this judge is wrong, "
        "or its calibration shows that it is worthless.",
        "Label outputs with `gatekeeper judge label`, then run `gatekeeper judge calibrate`.",
        "warning",
        noted=True,
    ),
    "not_run": ReasonEntry(
        "Parts of the suite are not run",
        "Gatekeeper leaves out some parts of another tool's file, so the result says nothing "
        "about these parts.",
        "Replace these parts by checks that gatekeeper supports, or keep running these parts with "
        "the other tool.",
        "warning",
        noted=True,
    ),
}
"""What could not be decided or measured."""

_PASSES: dict[ReasonCode, ReasonEntry] = {
    "not_worse": ReasonEntry(
        "Any drop is smaller than the margin",
        "The comparison shows that head is at least as good as base, or worse by less than the "
        "margin.",
        by_comparison=True,
    ),
    "no_regression": ReasonEntry(
        "No regression found",
        "The comparison found no significant drop, and the measured drop is not above the margin.",
        by_comparison=True,
    ),
    "waived": ReasonEntry(
        "Waived by a person",
        "A maintainer waived the contract for this commit. The contract does not block the merge.",
        noted=True,
    ),
}
"""What never speaks against a change."""

REASONS: Mapping[ReasonCode, ReasonEntry] = MappingProxyType({**_FAILURES, **_OPEN, **_PASSES})
"""Every reason code with its entry, in the order in which SARIF lists its rules."""

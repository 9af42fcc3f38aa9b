"""The policies of folders: what they add, what they make stricter, and that they loosen nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import every_contract
from gatekeeper.contract.files.inventory import take_inventory
from gatekeeper.contract.policies.folder_policies import misnamed_policies, new_policy_notices
from gatekeeper.contract.policies.policy import (
    POLICY_PATH,
    JudgePolicy,
    NewContracts,
    Policy,
    load_policy,
    policy_in_force,
)
from gatekeeper.contract.policies.unmatched_patterns import overruled_keys, unmatched_patterns
from gatekeeper.contract.values.change import Change, Entry, MemoryRevision, Revision
from gatekeeper.contract.weakening.policy_weakening import policy_weakenings
from gatekeeper.errors import ContractError
from gatekeeper.gate.plan.contract_reasons import policy_reasons, uncovered_reasons

SEARCH = f"services/search/{POLICY_PATH}"
CONTRACT = """\
contract: 1
name: NAME
prompt: ../prompts/words.md
model: openai/gpt-4o-mini
checks: [{type: contains, value: x}]
fixtures: [{vars: {word: w}}]
"""


def revision(files: dict[str, str]) -> MemoryRevision:
    encoded = {path: text.encode() for path, text in files.items()}
    return MemoryRevision(encoded, sha=str(hash(tuple(sorted(files.items())))))


def load(**policies: str) -> Policy:
    """Load policies by folder; `root` is the repository's and `_` a slash."""
    return load_policy(
        revision(
            {
                (POLICY_PATH if name == "root" else f"{name.replace('_', '/')}/{POLICY_PATH}"): text
                for name, text in policies.items()
            }
        )
    )


def project(folder: str, name: str) -> dict[str, str]:
    return {
        f"{folder}contracts/{name}.yaml": CONTRACT.replace("NAME", name),
        f"{folder}prompts/words.md": "Say {{ word }}.",
    }


def mistakes(files: dict[str, str]) -> list[str]:
    with pytest.raises(ContractError) as error:
        load_policy(revision(files))
    return [str(problem) for problem in error.value.problems]


def test_a_folder_with_a_policy_is_like_a_repository() -> None:
    files = {SEARCH: "", **project("services/search/", "find"), **project("", "words")}
    files |= project("services/mail/", "mail")
    read = revision(files)
    policy = load_policy(read)
    assert policy.contracts[-2:] == (
        "services/search/contracts/**/*.yaml",
        "services/search/contracts/**/*.yml",
    )
    found = every_contract(read, policy, SHAPES).contracts
    assert {c.name: policy.folder_of(c.path) for c in found} == {
        "find": "services/search",
        "words": "",
    }
    covered = {p.reference: len(p.contracts) for p in take_inventory(read, policy).prompts}
    assert covered == {
        "prompts/words.md": 1,
        "services/mail/prompts/words.md": 0,
        "services/search/prompts/words.md": 1,
    }


def test_patterns_start_at_the_folder_whatever_it_is_called() -> None:
    odd = "services/[a]*?"
    policy = load_policy(revision({f"{odd}/{POLICY_PATH}": "contracts: /x/*.yaml\nprompts: []\n"}))
    assert policy.contracts[-1] == "services/[[]a][*][?]/x/*.yaml"
    read = revision({f"{odd}/{POLICY_PATH}": "contracts: ../../**\n", "top.yaml": CONTRACT})
    assert every_contract(read, load_policy(read), SHAPES).contracts == ()


def test_the_strictest_rule_of_all_folders_above_applies() -> None:
    policy = load(
        root="new_contracts: {fixtures: 3}\non_weakening: require_waiver\n",
        a="on_inconclusive: fail\nrequire_contract: true\n"
        "new_contracts: {fixtures: 9, success_rate: 0.9}\n",
        a_b="on_inconclusive: pass\non_weakening: note\nnew_contracts: {fixtures: 5}\n"
        "judge: {min_kappa: 0.6, require_calibration: true}\n",
    )
    outside, inside = policy.at("c/x.yaml"), policy.at("a/b/x.yaml")
    assert (outside.on_inconclusive, outside.new_contracts.fixtures) == ("pass", 3)
    assert (inside.on_inconclusive, inside.on_weakening) == ("fail", "require_waiver")
    assert inside.require_contract
    assert inside.new_contracts == NewContracts(9, 0.9, floor=True)
    assert inside.judge == JudgePolicy(True, 0.6)
    assert policy.at("a/x.yaml").judge == JudgePolicy()
    assert policy.at("elsewhere/x.yaml", "A/prompts/p.md").on_inconclusive == "fail"
    assert (policy.folder_of("a/b/x"), policy.folder_of("a/x"), policy.folder_of("ab/x")) == (
        "a/b", "a", "",
    )  # fmt: skip


RULES = st.fixed_dictionaries(
    {},
    optional={
        "require_contract": st.booleans(),
        "on_inconclusive": st.sampled_from(["pass", "fail"]),
        "on_weakening": st.sampled_from(["note", "require_waiver"]),
        "new_contracts": st.fixed_dictionaries(
            {},
            optional={
                "fixtures": st.integers(0, 9),
                "success_rate": st.sampled_from([None, 0.1, 0.5, 0.9]),
            },
        ),
        "judge": st.fixed_dictionaries(
            {},
            optional={
                "require_calibration": st.booleans(),
                "min_kappa": st.sampled_from([None, 0.2, 0.6]),
            },
        ),
    },
)


def _text(rules: object) -> str:
    return str(rules).replace("'", '"').replace("None", "null").replace("True", "true").replace(
        "False", "false"
    )  # fmt: skip


@given(RULES, RULES, RULES)
@settings(max_examples=40, deadline=None)
def test_a_new_policy_of_a_folder_never_weakens(root: object, outer: object, inner: object) -> None:
    before = {POLICY_PATH: _text(root), f"a/{POLICY_PATH}": _text(outer)}
    after = before | {f"a/b/{POLICY_PATH}": _text(inner)}
    change = Change(revision(before), revision(after))
    assert policy_weakenings(change) == ()
    removed = Change(revision(after), revision(before))
    strict, loose = load_policy(revision(after)), load_policy(revision(before))
    place = f"a/b/{POLICY_PATH}"
    keys = {found.key for found in policy_weakenings(removed)} - {"contracts", "prompts"}
    assert bool(keys) == (replace_patterns(strict.at(place)) != replace_patterns(loose.at(place)))


def replace_patterns(policy: Policy) -> tuple[object, ...]:
    new = policy.new_contracts
    return (
        policy.require_contract,
        policy.on_inconclusive,
        policy.on_weakening,
        new.fixtures,
        new.success_rate,
        new.floor,
        policy.judge,
    )


def test_a_policy_that_a_change_adds_does_not_apply_to_it() -> None:
    base = revision(project("", "words"))
    head = revision(project("", "words") | {SEARCH: "on_inconclusive: fail\n"})
    change = Change(base, head)
    policy, _ = policy_in_force(change)
    assert policy.folders == ()
    [notice] = new_policy_notices(change)
    assert SEARCH in notice
    assert [*new_policy_notices(Change(head, head))] == []


def weaker(before: str | None, now: str | None, **more: str) -> set[str]:
    files = project("services/search/", "find")
    arms = [
        revision(files | more | ({} if text is None else {SEARCH: text})) for text in (before, now)
    ]
    return {found.place for found in policy_weakenings(Change(arms[0], arms[1]))}


def test_looser_rules_of_a_folder_are_named() -> None:
    strict = "on_inconclusive: fail\nnew_contracts: {fixtures: 9}\n"
    assert weaker(strict, "{}") == {
        "services/search: on_inconclusive",
        "services/search: new_contracts.fixtures",
    }
    assert weaker("{}", strict) == set()
    assert weaker(strict, None) == weaker(strict, "{}") | {
        "services/search: contracts",
        "services/search: prompts",
    }
    assert weaker("contracts: [contracts/*.yaml]", "contracts: [x/*.yaml]") == {
        "services/search: contracts"
    }
    assert weaker(strict, "contracts: [\n") != set()


def test_what_a_folder_promises_needs_its_own_waiver() -> None:
    before = {SEARCH: "on_weakening: require_waiver\nrequire_contract: true\n"}
    base = revision(before)
    found = policy_weakenings(Change(base, revision({SEARCH: "on_weakening: require_waiver\n"})))
    [reason] = policy_reasons(found, load_policy(base))
    assert (reason.code, reason.verdict) == ("policy_weakened", "fail")
    other = f"services/mail/{POLICY_PATH}"
    base = revision({**before, other: "require_contract: true\n"})
    found = policy_weakenings(Change(base, revision({**before, other: "{}"})))
    assert [weakening.folder for weakening in found] == ["services/mail"]
    assert policy_reasons(found, load_policy(base)) == []


def test_a_rule_of_the_repository_that_is_looser_everywhere_is_named_once() -> None:
    files = {POLICY_PATH: "on_inconclusive: fail\n", SEARCH: "{}"}
    now = {POLICY_PATH: "{}", SEARCH: "prompts: [prompts/**, more/**]"}
    found = policy_weakenings(Change(revision(files), revision(now)))
    assert [weakening.place for weakening in found] == ["on_inconclusive"]


def test_a_pattern_may_move_from_the_repository_to_a_folder() -> None:
    files = project("services/search/", "find")
    pattern = "contracts/**/*.yaml"
    before = {POLICY_PATH: f"contracts: [services/search/{pattern}]\nprompts: []\n"}
    after = {POLICY_PATH: "contracts: [x/*.yaml]\nprompts: []\n", SEARCH: "prompts: []\n"}
    change = Change(revision(files | before), revision(files | after))
    assert policy_weakenings(change) == ()


def test_a_prompt_needs_a_contract_where_its_folder_says_so() -> None:
    policy = load(services_search="require_contract: true\n")
    paths = ["services/search/prompts/a.md", "services/mail/prompts/b.md"]
    assert [r.verdict for r in uncovered_reasons(paths, policy)] == ["fail", "pass"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("limits: {calls: 9}\n", "`limits`"),
        ("models: [openai/*]\n", "`models`"),
        ("waivers: {permission: read}\n", "`waivers`"),
        ("allow: {weakening: true}\n", "`allow`"),
        ("checks: {python: ['**']}\n", "`checks`"),
        ("history: off\n", "`history`"),
        ("promts: []\n", "`prompts`"),
        ("[\n", SEARCH),
    ],
)
def test_mistakes_name_the_file_and_what_belongs_to_the_root(text: str, word: str) -> None:
    [problem] = mistakes({SEARCH: text})
    assert problem.startswith(f"{SEARCH}:")
    assert word in problem


def test_all_mistakes_of_all_policies_are_named() -> None:
    assert len(mistakes({SEARCH: "[\n", POLICY_PATH: "x: 1\n", f"a/{POLICY_PATH}": "y: 1\n"})) == 3
    many = {f"f{number}/{POLICY_PATH}": "" for number in range(1_001)}
    assert len(mistakes(many)) == 1


class _Linked(MemoryRevision):
    @property
    def entries(self) -> dict[str, Entry]:
        return {**super().entries, SEARCH: Entry("1", "symlink")}


def test_a_policy_behind_a_link_is_refused() -> None:
    linked: Revision = _Linked({"x": b""})
    with pytest.raises(ContractError, match="symbolic link"):
        load_policy(linked)


def test_a_broken_policy_of_a_folder_is_repaired_alone_under_the_root_policy() -> None:
    root = {POLICY_PATH: "on_weakening: require_waiver\n"}
    broken, mended = {**root, SEARCH: "x: 1\n"}, {**root, SEARCH: "{}"}
    policy, notices = policy_in_force(Change(revision(broken), revision(mended)))
    assert (policy.on_weakening, len(notices)) == ("require_waiver", 1)
    with pytest.raises(ContractError, match="branch to merge into"):
        policy_in_force(Change(revision(broken), revision({**mended, "a.md": "x"})))
    with pytest.raises(ContractError):
        policy_in_force(Change(revision(mended), revision(broken)))


def test_validate_names_patterns_and_rules_without_effect() -> None:
    read = revision(
        {
            POLICY_PATH: "on_inconclusive: fail\nnew_contracts: {success_rate: 0.9}\n",
            SEARCH: "on_inconclusive: pass\nrequire_contract: false\n"
            "new_contracts: {success_rate: 0.3}\nprompts: [promts/*.md]\n",
            "services/search/prompts/a.md": "A.",
        }
    )
    found = [*overruled_keys(read, load_policy(read)), *unmatched_patterns(read)]
    assert [(problem.path, problem.line) for problem in found] == [(SEARCH, n) for n in (1, 3, 4)]
    assert "prompts/*.md" in found[-1].fix


def test_a_policy_under_another_name_is_named() -> None:
    names = [".github/Gatekeeper.yml", "a/.github/gatekeeper.yaml", "a/.gatekeeper.yml"]
    others = [POLICY_PATH, f"a/{POLICY_PATH}", ".github/workflows/gatekeeper.yml", "gatekeeper.yml"]
    found = list(misnamed_policies([*names, *others]))
    assert [problem.path for problem in found] == sorted(names)
    assert [problem.fix.split("`")[1] for problem in found] == [
        POLICY_PATH, f"a/{POLICY_PATH}", f"a/{POLICY_PATH}",
    ]  # fmt: skip

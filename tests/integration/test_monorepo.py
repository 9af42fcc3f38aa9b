"""Several projects in one repository: policies of folders, in one run with one comment."""

from __future__ import annotations

import pytest
from support.checked import CheckOf
from support.edited_text import edited
from support.proposals import MANY, NO_SLO, all_say, some_say
from support.recorded_repository import RECORDING, contract_files, under_name

from gatekeeper.cli.main import main

POLICY = ".github/gatekeeper.yml"
FAIL_OPEN = "on_inconclusive: fail\n"
WORSE = "Please say {{ word }}.\n"
FEW = MANY[:6]
OPEN = contract_files(NO_SLO, FEW, some_say("no", 2))[RECORDING]
"""Two of six words break: this can be chance."""


def project(folder: str, name: str, words: tuple[str, ...] = MANY) -> dict[str, str]:
    """The project of `folder`: its contract has the name, and its own recording."""
    files = contract_files(under_name(NO_SLO, name), words, all_say("no"))
    contract = files["contracts/words.yaml"]
    files["contracts/words.yaml"] = edited(contract, "recorded/", f"recorded/{folder}/")
    return {f"{folder}/{path}": text for path, text in files.items()}


SEARCH = project("services/search", "search")
MAIL = project("services/mail", "mail", FEW)
BASE = SEARCH | MAIL | {f"services/search/{POLICY}": "{}", f"services/mail/{POLICY}": FAIL_OPEN}


def test_one_comment_has_a_table_for_each_folder(check_of: CheckOf) -> None:
    worse = {f"services/{name}/prompts/words.txt": WORSE for name in ("search", "mail")}
    checked = check_of(BASE, worse)
    assert checked.code == 1
    assert checked.result is not None
    found = {c["name"]: c for c in checked.result["contracts"]}
    assert {name: c["folder"] for name, c in found.items()} == {
        "search": "services/search",
        "mail": "services/mail",
    }
    # Each project has its own alpha: their tests do not weaken each other.
    assert {c["paired"]["family"] for c in found.values()} == {1}
    assert checked.comment is not None
    headings = [line for line in checked.comment.splitlines() if line.startswith("#### ")]
    assert sorted(headings) == ["#### `services/mail`", "#### `services/search`"]
    assert checked.comment.count("| Contract |") == 2


@pytest.mark.parametrize(("folder", "code"), [("mail", 1), ("search", 0)])
def test_the_policy_of_the_folder_decides_about_an_open_result(
    check_of: CheckOf, folder: str, code: int
) -> None:
    base = BASE | project("services/search", "search", FEW)
    for name in ("search", "mail"):
        base[f"services/{name}/{RECORDING}"] = OPEN
    checked = check_of(base, {f"services/{folder}/prompts/words.txt": WORSE})
    assert (checked.contract["verdict"], checked.code) == ("inconclusive", code)
    assert "####" not in (checked.comment or "")


def test_head_cannot_leave_the_policy_of_its_folder(check_of: CheckOf) -> None:
    """A contract that moves elsewhere, next to a policy that is gone, keeps the strict rule."""
    base = BASE | {POLICY: "contracts: ['free/**/*.yaml']\n"}
    moved = {
        edited(path, "services/mail/", "free/"): text.replace("services/mail/", "free/")
        for path, text in MAIL.items()
        if "samples" not in path
    }
    moved["free/prompts/words.txt"] = WORSE
    moved[f"free/{RECORDING}"] = OPEN
    gone = dict.fromkeys((*MAIL, f"services/mail/{POLICY}"))
    checked = check_of(base | {f"services/mail/{RECORDING}": OPEN}, {**gone, **moved})
    assert (checked.contract["verdict"], checked.code) == ("inconclusive", 1)
    assert checked.result is not None
    assert "services/mail: on_inconclusive" in {
        found["key"] for found in checked.result["policy_weakened"]
    }


def test_a_policy_that_head_brings_neither_applies_nor_hides_anything(check_of: CheckOf) -> None:
    head = {
        f"services/{POLICY}": "contracts: [nothing/*.yaml]\nprompts: []\n",
        "services/search/prompts/words.txt": WORSE,
    }
    checked = check_of(BASE, head)
    assert (checked.code, checked.contract["name"]) == (1, "search")
    assert checked.result is not None
    assert any(f"services/{POLICY}" in notice for notice in checked.result["notices"])
    assert checked.result["policy_weakened"] == []


def test_a_policy_of_a_folder_with_a_key_of_the_root_is_refused(
    check_of: CheckOf, capsys: pytest.CaptureFixture[str]
) -> None:
    checked = check_of(BASE, {f"services/mail/{POLICY}": "limits: {calls: 5}\n"})
    assert checked.code == 2
    assert f"services/mail/{POLICY}:1" in capsys.readouterr().err


def test_run_affected_and_validate_know_the_folders(
    check_of: CheckOf, git_repository, capsys: pytest.CaptureFixture[str]
) -> None:
    made = git_repository("projects")
    made.write_all(BASE)
    made.commit("base")
    repository = ["--repo", str(made.path)]
    assert main(["validate", *repository]) == 0
    assert "2 contracts" in capsys.readouterr().out
    made.write("services/search/prompts/words.txt", WORSE)
    made.commit("worse")
    assert main(["affected", *repository, "--base", "HEAD~1", "--head", "HEAD"]) == 0
    assert "services/search/prompts/words.txt" in capsys.readouterr().out
    assert main(["run", *repository, "--ref", "HEAD~1", "--out", str(made.path / "out")]) == 0
    assert "mail" in capsys.readouterr().out


@pytest.mark.parametrize(("folder", "reasons"), [("mail", {"weakened"}), ("search", set())])
def test_each_folder_has_its_own_rule_for_weakened_contracts(
    check_of: CheckOf, folder: str, reasons: set[str]
) -> None:
    base = BASE | {f"services/mail/{POLICY}": "on_weakening: require_waiver\n"}
    contract = f"services/{folder}/contracts/words.yaml"
    checked = check_of(base, {contract: base[contract] + "gate: {margin: 0.3}\n"})
    assert checked.codes() == reasons


@pytest.mark.parametrize(
    ("folder", "reasons"), [("mail", {"new_contract", "uncovered"}), ("search", set())]
)
def test_each_folder_says_what_new_contracts_and_prompts_need(
    check_of: CheckOf, folder: str, reasons: set[str]
) -> None:
    strict = "require_contract: true\nnew_contracts: {fixtures: 10}\n"
    base = BASE | {f"services/mail/{POLICY}": strict}
    made = project(f"services/{folder}/contracts/new", "new", FEW)
    alone = {f"services/{folder}/prompts/alone.txt": "Nobody tests this."}
    checked = check_of(base, made | alone)
    assert checked.result is not None
    assert checked.result["uncovered"] == list(alone)
    assert checked.code == (1 if reasons else 0)
    assert checked.codes() == reasons - {"uncovered"}

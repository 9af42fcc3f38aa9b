"""Check types of installed packages: only those that the base policy names with their version."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.check_package import MODULE, locked, write_wheel
from support.checked import CheckOf
from support.git_repository import GitRepository
from support.proposals import HALF_BREAK, MANY, NO_SLO, OTHER, POLICY, PROMPT_FILE, SAYS_OK
from support.recorded_repository import contract_files

from gatekeeper.action import checkout as requirements
from gatekeeper.action.checkout import install_requirements
from gatekeeper.checks import packages
from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import ADDED, CHECKS, SHAPES
from gatekeeper.cli.main import main
from gatekeeper.contract.checks.check_specs import hint_for_type
from gatekeeper.contract.policies.policy import OwnChecks, Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import MeasurementError, UsageError

PINNED = "acme-checks==1.2.0"
NAMES_IT = f"checks: {{packages: ['{PINNED}']}}\n"
LOCK = Path("requirements/checks.lock")
SAYS_WORD = NO_SLO.replace(SAYS_OK, "{type: says_word, word: ok}")


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the packages of a test after it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(requirements, "_installed", set())
    yield
    for name in [*packages._used]:
        del ADDED[name], packages._used[name]
    sys.modules.pop("acme_checks", None)


def install(folder: Path, **wheel: str) -> None:
    text = locked(write_wheel(folder, **wheel))
    install_requirements(LOCK, MemoryRevision({LOCK.as_posix(): text.encode()}))


def unpack(folder: Path, **wheel: str) -> None:
    """Make the package importable as pip does, without the seconds that pip takes."""
    with zipfile.ZipFile(write_wheel(folder, **wheel)) as archive:
        archive.extractall(folder / "site-packages")
    sys.path.append(str(folder / "site-packages"))


def policy(*names: str) -> Policy:
    return Policy(checks=OwnChecks(packages=names))


@pytest.mark.long
def test_a_locked_package_brings_a_check(
    tmp_path: Path, git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    install(tmp_path)
    repository = git_repository("words")
    contract = SAYS_WORD + "slo: {success_rate: 0.5}\n"
    repository.write_all({**contract_files(contract, MANY), POLICY: NAMES_IT})
    repository.commit("files")
    assert main(["run", "--repo", str(repository.path), "--out", str(tmp_path / "out")]) == 0
    assert main(["validate", "--repo", str(repository.path)]) == 0


def test_a_package_that_only_head_names_is_not_loaded(check_of: CheckOf, tmp_path: Path) -> None:
    unpack(tmp_path, module="raise SystemError('it ran')\n" + MODULE)
    base = contract_files(NO_SLO, MANY, HALF_BREAK)
    head = {POLICY: NAMES_IT, PROMPT_FILE: OTHER}
    checked = check_of(base, head)
    assert checked.codes() == {"regression"}
    assert checked.result is not None
    assert [found["key"] for found in checked.result["policy_weakened"]] == ["checks.packages"]
    assert "acme_checks" not in sys.modules


def test_an_unknown_type_of_an_installed_package_names_the_package(tmp_path: Path) -> None:
    unpack(tmp_path, check="says_unnamed")
    hint = hint_for_type("says_unnamed", SHAPES)
    assert PINNED in hint
    assert "`checks.packages`" in hint
    assert "acme" not in hint_for_type("says_nothing", SHAPES)
    assert "acme_checks" not in sys.modules


def test_a_name_without_its_package_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not installed"):
        use_packages(policy(PINNED))
    unpack(tmp_path)
    with pytest.raises(UsageError, match=r"1\.2\.0"):
        use_packages(policy("acme-checks==1.3.0"))
    with pytest.raises(UsageError, match="no entry point"):
        use_packages(policy(f"pytest=={pytest.__version__}"))
    use_packages(policy())
    assert "says_word" not in CHECKS
    use_packages(policy(PINNED))
    use_packages(policy(PINNED))
    assert "says_word" in SHAPES


@pytest.mark.parametrize(
    ("wheel", "said"),
    [
        ({"check": "equals"}, "equals"),
        ({"check": "Says-Word"}, "name"),
        ({"module": "CHECK = 1\n"}, "no .*`Check`"),
        ({"module": "1 / 0\n"}, "ZeroDivisionError"),
    ],
)
def test_what_is_no_check_of_its_own_is_refused(
    tmp_path: Path, wheel: dict[str, str], said: str
) -> None:
    unpack(tmp_path, **wheel)
    with pytest.raises(UsageError, match=said):
        use_packages(policy(PINNED))


@pytest.mark.long
def test_a_package_with_another_hash_is_not_installed(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    text = locked(wheel)
    write_wheel(tmp_path, module=MODULE + "# changed\n")
    with pytest.raises(MeasurementError, match="pip"):
        install_requirements(LOCK, MemoryRevision({LOCK.as_posix(): text.encode()}))


def test_the_list_must_be_on_the_branch_to_merge_into() -> None:
    with pytest.raises(UsageError, match="requirements"):
        install_requirements(LOCK, MemoryRevision({}))
    install_requirements(None, MemoryRevision({}))


def test_pip_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "https://packages.example/simple")
    given = dict(requirements._environment())
    assert "OPENAI_API_KEY" not in given
    assert given["PIP_INDEX_URL"] == "https://packages.example/simple"


@pytest.mark.long
def test_a_check_in_python_may_import_it(
    tmp_path: Path, git_repository: Callable[..., GitRepository]
) -> None:
    unpack(tmp_path)
    repository = git_repository("words")
    contract = NO_SLO.replace(SAYS_OK, "{python: tone.py:good}") + "slo: {success_rate: 0.5}\n"
    code = "import acme_checks\ndef good(output): return acme_checks.WORD == 'please'\n"
    repository.write_all({**contract_files(contract), "contracts/tone.py": code})
    repository.commit("files")
    assert main(["run", "--repo", str(repository.path), "--out", str(tmp_path / "out")]) == 0

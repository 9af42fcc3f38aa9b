"""What the Dockerfile leaves out of the image is nothing the gate needs."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "docker"))

import prune  # noqa: E402
import rehearse  # noqa: E402


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """Every module that gatekeeper imports."""
    return {
        module
        for path in (ROOT / "gatekeeper").rglob("*.py")
        for module, _ in rehearse.imports_of(path.read_text())
    }


def test_of_scipy_the_gate_imports_what_the_image_keeps(imported: set[str]) -> None:
    assert {name for name in imported if name.split(".")[0] == "scipy"} == {"scipy.special"}


def test_imports_are_found_wherever_they_stand() -> None:
    source = "import a.b\ndef f():\n    from c import d, e\n    from . import g\n"
    source += "if TYPE_CHECKING:\n    import h\n"
    assert list(rehearse.imports_of(source)) == [("a.b", None), ("c", "d"), ("c", "e")]


def test_an_import_that_does_not_work_is_noticed() -> None:
    rehearse.carry_out("xllamacpp", None)
    rehearse.carry_out("email", "message")
    with pytest.raises(ModuleNotFoundError):
        rehearse.carry_out("email", "nothing")


def test_every_kind_of_model_in_the_documentation_is_rehearsed() -> None:
    asked = {provider.model.split("/")[0] for provider in rehearse.PROVIDERS}
    required = "anthropic azure bedrock gemini groq mistral ollama openai openrouter"
    assert asked >= set(required.split())


def test_what_is_named_goes_and_what_is_excepted_stays(tmp_path: Path) -> None:
    for name in ("scipy/special/a.py", "scipy/stats/b.py", "scipy/version.py", "numpy/tests/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("pass\n")
    proxy = tmp_path / "litellm" / "proxy"
    proxy.mkdir(parents=True)
    (proxy / "server.py").write_text("import os\nfrom fastapi import APIRouter\n")
    (proxy / "types.py").write_text("def f():\n    from fastapi import APIRouter\n")
    assert prune.main([str(tmp_path)]) == 0
    left = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert left == {"scipy/special/a.py", "scipy/version.py", "litellm/proxy/types.py"}


def test_what_the_server_needs_is_not_installed_in_the_image() -> None:
    lock = (ROOT / "requirements" / "runtime.lock").read_text()
    installed = {line.split("==")[0] for line in lock.splitlines() if "==" in line}
    assert not installed & set(prune.SERVER_PACKAGES)


def test_what_needs_a_package_that_the_image_does_without_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rehearse, "OPTIONAL", ("missing_package",))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "needs_it.py").write_text("import missing_package.part\n")
    (tmp_path / "broken.py").write_text("import other_package\n")

    rehearse.carry_out("needs_it", "name")
    with pytest.raises(ModuleNotFoundError):
        rehearse.carry_out("broken", None)


def test_what_the_gate_imports_is_locked_for_the_image_or_known_to_be_left_out(
    imported: set[str],
) -> None:
    lock = (ROOT / "requirements" / "runtime.lock").read_text()
    installed = {line.split("==")[0] for line in lock.splitlines() if "==" in line}
    packages = {module.split(".")[0] for module in imported}
    names = packages_distributions()
    missing = {
        module
        for module in packages - set(sys.stdlib_module_names) - {"gatekeeper"}
        if not installed & {name.lower().replace("_", "-") for name in names.get(module, ())}
    }
    assert missing == set(rehearse.OPTIONAL)


def test_each_removal_is_explained() -> None:
    unexplained = [removal.pattern for removal in prune.REMOVED if not removal.reason.strip()]
    assert unexplained == []
    patterns = [removal.pattern for removal in prune.REMOVED]
    assert len(patterns) == len(set(patterns)) > 10

"""Chooses the policy's patterns for the contracts and prompts of a repository."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gatekeeper.contract.discovery.places import in_prompt_folder
from gatekeeper.contract.files.inventory import InventoryPrompt
from gatekeeper.contract.reading.globs import literal_pattern, matching

NATIVE = ("contracts/**/*.yaml", "contracts/**/*.yml")
_SUFFIXES = (".prompt.yml", ".prompt.yaml", ".prompty")
_PROMPTFOO = "promptfooconfig"


def contract_patterns(suites: Iterable[str], *, native: bool) -> tuple[str, ...]:
    """Return the patterns of contracts, for the paths of suites; a file whose name says what it is
    gets a pattern for later files of the kind. `native` adds the usual folder."""
    found: dict[str, None] = dict.fromkeys(NATIVE) if native else {}
    for path in sorted(suites):
        name = path.rpartition("/")[2]
        suffix = next((s for s in _SUFFIXES if name.lower().endswith(s)), None)
        if suffix:
            found[f"**/*{suffix}"] = None
        elif name.startswith(f"{_PROMPTFOO}."):
            found[f"**/{name}"] = None
        else:
            found[literal_pattern(path)] = None
    return tuple(found)


def narrow(
    patterns: Iterable[str], accepted: Iterable[str], refused: Iterable[str]
) -> tuple[str, ...]:
    """Return the patterns without those that match a refused file: the accepted files that such a
    pattern matches are named one by one."""
    found: dict[str, None] = {}
    for pattern in patterns:
        clean = not any(matching(refused, pattern))
        names = [pattern] if clean else map(literal_pattern, sorted(matching(accepted, pattern)))
        found |= dict.fromkeys(names)
    return tuple(found)


def contract_folder(patterns: Sequence[str]) -> str:
    """Return the first folder in which the patterns find a new `NAME.yaml`; `contracts` if they
    name none."""
    for pattern in patterns:
        folder = re.split(r"[*?\[]", pattern.removeprefix("/"))[0].rpartition("/")[0]
        if folder and any(matching([f"{folder}/name.yaml"], pattern)):
            return folder
    return "contracts"


def prompt_patterns(prompts: Sequence[InventoryPrompt]) -> tuple[str, ...]:
    """Return the patterns of prompts: folders of prompts, suffixes that only prompts have, and the
    files that are left, one by one: other code beside them is no prompt."""
    found: dict[str, None] = {}
    files: list[str] = []
    for path in dict.fromkeys(prompt.path for prompt in prompts):
        suffix = next((s for s in _SUFFIXES if path.lower().endswith(s)), None)
        # `.github/prompts` also has files of GitHub Copilot, which no program sends to a model.
        if in_prompt_folder(path) and not (suffix and path.startswith(".github/")):
            found[f"{literal_pattern(_prompt_folder(path))}/**"] = None
        elif suffix:
            found[f"**/*{suffix}"] = None
        else:
            files.append(path)
    found |= dict.fromkeys(map(literal_pattern, files))
    return tuple(found) or ("prompts/**",)


def _prompt_folder(path: str) -> str:
    """Return the outermost folder of prompts above the file."""
    parts = path.split("/")
    depth = next(n for n in range(1, len(parts)) if in_prompt_folder("/".join([*parts[:n], "x"])))
    return "/".join(parts[:depth])

"""Decides by its path whether a file is worth a look, and what it may be."""

from __future__ import annotations

import re
from posixpath import basename, splitext

from gatekeeper.contract.prompts.kinds import (
    GITHUB_PROMPT,
    TEMPLATE_SUFFIXES,
    without_template_suffix,
)
from gatekeeper.contract.values.unique_name import words

_NAMED_PROMPT = re.compile(r"(?:^|[_.-])prompts?(?:$|[_.-])", re.IGNORECASE)
_SYSTEM = re.compile(
    r"system(?:[_.-](?:message|instructions?))?|instructions?"
    r"|(?P<agent>skill|.+\.(?:agent|chatmode|instructions|skill))",
    re.IGNORECASE,
)
"""Names of files that a program or an agent sends as they are, without the word `prompt`."""
_TOOLS = re.compile(r"(?:^|[/_.-])(?:tools|functions)(?:[/_.-]|$)", re.IGNORECASE)
_FOR_AGENTS = frozenset(("AGENT.md", "AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"))
"""Files that say to an agent how to work on the repository."""
_CREW = frozenset(words("agents.yaml agents.yml tasks.yaml tasks.yml"))
_TEXT = (".md", ".markdown", ".txt", ".prompt", ".mustache", ".tmpl", *TEMPLATE_SUFFIXES)
_NO_TEXT = tuple(
    words(
        ".py .pyc .pyi .ipynb .ts .tsx .mts .js .mjs .jsx .css .html .sh .sql .go .rs .java .rb "
        ".yaml .yml .json .jsonl .ndjson .csv .tsv .toml .ini .cfg .lock .png .jpg .jpeg .gif .svg "
        ".pdf .zip .gz .parquet .baml"
    )
)
_ABOUT_THE_PROJECT = re.compile(
    r"readme|changelog|changes|license|licence|copying|contributing|code_of_conduct|security"
    r"|agents|claude|index|notes|todo",
    re.IGNORECASE,
)
_INSTALLED = words(
    "node_modules bower_components vendor vendored third_party site-packages venv env dist build "
    "target __pycache__"
)
_TESTS = words("test tests __tests__ __mocks__ testdata fixtures spec specs")
_TEST_FILE = re.compile(r"test_|.*\.(?:test|spec|vitest)\.")
_DOCUMENTATION = frozenset({"doc", "docs"})
_OF_AGENTS = re.compile(
    r"(?:.*/)?\.[^/]+/(?:.*/)?(?:skills?|agents?|rules|commands|prompts|instructions|(?:chat)?modes)"
    r"/(?!gatekeeper/SKILL\.md).+\.(?:mdc?|markdown|txt|prompt|toml)|\.github/copilot-instructions\.md|(?:.*/)?\.cursorrules",
    re.IGNORECASE,
)


def is_own(path: str) -> bool:
    """Return whether the file is the repository's own: not installed, generated or hidden."""
    *folders, _ = path.lower().split("/")
    hidden = (part for part in folders if part.startswith("."))
    return not _INSTALLED.intersection(folders) and not any(hidden)


def is_of_agents(path: str) -> bool:
    """Return whether the file is a text for agents that work on the repository: one such as
    AGENTS.md, or in a hidden folder, such as a skill. It is a prompt, but not one of the program.
    The skill that `init --agents` writes counts as none."""
    if is_for_agents(path):
        return not _INSTALLED.intersection(path.lower().split("/"))
    if not path.startswith(".") and "/." not in path:
        return False
    return _OF_AGENTS.fullmatch(path) is not None


def is_for_agents(path: str) -> bool:
    """Return whether the file's name is one that agents look for in each repository."""
    return basename(path) in _FOR_AGENTS


def is_instructions(path: str) -> bool:
    """Return whether the whole file is a system message of an agent: a skill, an agent, or what
    agents read in each repository."""
    found = _SYSTEM.fullmatch(splitext(basename(path))[0])
    return bool(found and found["agent"]) or is_of_agents(path)


def is_system_text(path: str) -> bool:
    """Return whether the name of the file says that it is a system message, such as `system.md`."""
    return _SYSTEM.fullmatch(splitext(basename(without_template_suffix(path)))[0]) is not None


def is_tools(path: str) -> bool:
    """Return whether the path says that the file may describe the tools of an agent."""
    return _TOOLS.search(path) is not None


def is_crew(path: str) -> bool:
    """Return whether crewAI may read its agents or tasks from the file."""
    return basename(path.lower()) in _CREW


def is_about_the_project(path: str) -> bool:
    """Return whether the file says nothing of what the repository does: `README.md`, a licence, a
    hidden file."""
    name = splitext(basename(path))[0]
    return path.startswith(".") or _ABOUT_THE_PROJECT.fullmatch(name) is not None


def may_hold_suite(path: str) -> bool:
    """Return whether a file is worth a look for a test suite, by its path alone. The folder
    `.github` holds prompts in GitHub's format with their tests, and files of GitHub's own."""
    if path.startswith(".github/"):
        return path.lower().endswith(GITHUB_PROMPT)
    return is_own(path)


def is_test(path: str) -> bool:
    """Return whether the file belongs to the tests of a program."""
    *folders, name = path.lower().split("/")
    return bool(_TESTS.intersection(folders)) or _TEST_FILE.match(name) is not None


def is_prompt_text(path: str) -> bool:
    """Return whether the path is that of a prompt as text: in a folder of prompts, or so named."""
    lower = path.lower()
    # A glance first, because most files of a repository are neither.
    if not lower.endswith(_TEXT) or not is_plain_text(path) or is_for_agents(path):
        return False
    *folders, name = lower.split("/")
    if _DOCUMENTATION.intersection(folders):
        return False
    stem, suffix = splitext(without_template_suffix(name))
    if is_system_text(path):
        return True
    named = _NAMED_PROMPT.search(stem) is not None or ".prompt" in (suffix, splitext(stem)[1])
    return named or in_prompt_folder(path)


def is_plain_text(path: str) -> bool:
    """Return whether the whole file may be one prompt, wherever it is: text of any name, but
    neither code, data nor a page about the project."""
    name = basename(without_template_suffix(path))
    if name.endswith((".prompty", *GITHUB_PROMPT)):
        return True
    return not name.endswith(_NO_TEXT) and not _ABOUT_THE_PROJECT.fullmatch(splitext(name)[0])


def in_prompt_folder(path: str) -> bool:
    """Return whether a folder above the file is one of prompts by its name."""
    return any(_NAMED_PROMPT.search(part) for part in path.split("/")[:-1])


def is_prompt_named(path: str) -> bool:
    """Return whether the file's name says that it holds prompts: `prompts.yaml`."""
    return _NAMED_PROMPT.search(splitext(basename(path))[0]) is not None

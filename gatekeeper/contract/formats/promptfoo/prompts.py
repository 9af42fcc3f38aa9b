"""Reads `prompts` of a promptfoo file: each becomes the reference of a native prompt."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.contract.formats.foreign_suite import nothing_runs
from gatekeeper.contract.formats.promptfoo.pictures import read_pictured
from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources, is_program, is_remote
from gatekeeper.contract.formats.promptfoo.variables import refuse_environment
from gatekeeper.contract.formats.reader import CannotRunError, Node, Notes
from gatekeeper.contract.prompts.load import has_roles
from gatekeeper.contract.prompts.message_list import read_messages
from gatekeeper.contract.prompts.styles.apply import in_jinja
from gatekeeper.contract.syntax.yaml_positions import field_name, parse_yaml
from gatekeeper.contract.values.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.contract.values.unique_name import take_name
from gatekeeper.errors import ContractError

_SUFFIXES = (".txt", ".json", ".jsonl", ".yaml", ".yml", ".md", ".j2", ".csv", ".py", ".js", ".ts")
_READ = (".txt", ".json", ".yaml", ".yml", ".md", ".j2")
_CHAT = re.compile(r"\s*- role:")
_CONVERSATION = re.compile(r"\b_conversation\b")


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """A prompt. `reference` is what a native contract names, `label` and `id` are what tests and
    providers name, `short` becomes a part of the contract's name. `made` is the prompt itself if no
    file holds it as it is sent."""

    node: Node
    reference: str
    label: str
    id: str | None
    short: str
    config: Node | None = None
    text: str = ""
    made: Prompt | None = None
    pictures: tuple[str, ...] = ()
    """The variables that hold pictures, in the order in which these are sent."""

    @property
    def is_json(self) -> bool:
        """Return whether promptfoo reads the prompt as JSON: a file of JSON or YAML, or JSON."""
        if self.reference.lower().endswith((".json", ".yaml", ".yml")):
            return True
        try:
            json.loads(self.text)
        except (ValueError, RecursionError):
            return False
        return True

    def names(self, variable: str) -> bool:
        """Return whether the variable's name occurs in the prompt."""
        return re.search(rf"\b{re.escape(variable)}\b", self.text) is not None

    def is_named(self, names: Any) -> bool:
        """Return whether a list of labels and ids allows this prompt; no list allows every one."""
        if not isinstance(names, list):
            return True
        return any(_matches(str(name), known) for name in names for known in (self.label, self.id))


def _matches(name: str, known: str | None) -> bool:
    if known is None:
        return False
    wanted = name[:-1] if name.endswith("*") else None
    return (
        known == name
        or known.startswith(f"{name}:")
        or (wanted is not None and known.startswith(wanted))
    )


def read_prompts(sources: Sources, root: Node, notes: Notes) -> list[PromptEntry]:
    """Return the prompts of the file. Those that gatekeeper does not run, such as programs, go to
    `notes`. Raises ContractError for one that cannot be read, or if there is no other."""
    node = root.child("prompts")
    if node.value is None:
        # promptfoo then sends the variable `prompt` of each test.
        path, text = sources.root.path, "{{ prompt }}"
        made = Prompt(path, (MessageTemplate("user", text, 1),), text)
        name = "prompt"
        return [PromptEntry(root, f"/{path}", name, None, name, None, text, made)]
    read: list[PromptEntry | NotRun] = []
    for written in _written(node):
        try:
            read.extend(_entries(sources, *written))
        except CannotRunError as error:
            read += error.notes
    found = [one for one in read if isinstance(one, PromptEntry)]
    faults = [one for one in read if isinstance(one, NotRun)]
    if not found:
        why = faults[0].why if faults else "there are no prompts"
        fix = "write at least one prompt as text or in a text file"
        raise nothing_runs(node.problem(why, fix), faults)
    notes.add(*faults)
    return _with_distinct_names(found)


def _written(node: Node) -> Iterator[tuple[Node, Node | None, str, Mapping[str, Any]]]:
    """Yield each prompt of the file: its place, the place of its text if it is a value, the text or
    the name of a file, and the keys beside it. Raises ContractError."""
    if isinstance(node.value, str):
        yield node, node, node.value, {}
    for name, label in node.items():
        yield label, None, name, {"label": label.value}
    for item in node.each():
        if isinstance(item.value, str):
            yield item, item, item.value, {}
        elif isinstance(item.value, dict):
            raw = item.child("raw") if isinstance(item.get("raw"), str) else item.child("id")
            if not isinstance(raw.value, str):
                raise item.problem("a prompt has no `raw`", "write its text, or `file://…`")
            yield item, raw, raw.value, item.value
        else:
            raise item.problem("a prompt is not text", "write a text, or `file://…`")


def _entries(
    sources: Sources, node: Node, text_node: Node | None, raw: str, given: Mapping[str, Any]
) -> Iterator[PromptEntry | NotRun]:
    """Yield the prompts that `raw` is or names, and why one is not run. Raises CannotRunError if
    that goes for all of it."""
    label, own_id = given.get("label"), given.get("id")
    config = node.child("config") if isinstance(given.get("config"), dict) else None
    if is_program(raw) and "\n" not in raw.strip():
        shown = raw.removeprefix(FILE)[:200]
        why = f"gatekeeper does not run the program `{shown}`, which makes this prompt"
        raise node.cannot_run("prompts", why)
    if is_remote(raw):
        fix = "copy the text into the repository, because gatekeeper downloads nothing"
        raise node.problem(f"the prompt `{raw[:200]}` is not in the repository", fix)
    if not _is_file(raw):
        if text_node is None:
            what = "the text of this prompt is written as a key of `prompts`"
            raise node.problem(what, "write `prompts` as a list")
        _require_plain(node, raw)
        name = posixpath.basename(sources.root.path)
        key = field_name(text_node.key)
        index = next((part for part in text_node.key if isinstance(part, int)), 0)
        own = str(label or own_id or raw)
        short = str(label or own_id or f"prompt-{index + 1}")
        entry = PromptEntry(node, f"{name}#{key}", own, own_id, short, config, raw)
        path = text_node.document.path
        whole = sources.text(node, f"/{path}")[1]
        yield _sent(entry, path, whole, raw, text_node.line, kept=_CHAT.match(raw) is None)
        return
    for path in sources.find(node, raw):
        plain = path.removeprefix("/")
        try:
            text = _readable_text(sources, node, path)
        except CannotRunError as error:
            yield from error.notes
            continue
        own = str(label or plain)
        short = str(label or own_id or posixpath.splitext(posixpath.basename(plain))[0])
        entry = PromptEntry(node, path, own, own_id, short, config, text)
        if plain.lower().endswith(".txt"):
            yield from _parts_of(entry, plain, text)
        else:
            ends = text.endswith("\n") and not entry.is_json
            yield _sent(entry, plain, text, text, kept=not (ends or _CHAT.match(text)))


def _sent(
    entry: PromptEntry, path: str, text: str, content: str, line: int = 1, *, kept: bool = False
) -> PromptEntry:
    """Return the entry with the prompt that is sent as the content, from its line of the file's
    text: without its pictures, and as it is if it has none and is `kept`. Raises ContractError."""
    pictured = read_pictured(content, path, text, line)
    if pictured is None:
        return entry if kept else replace(entry, made=_made(path, text, content, line))
    messages, names = pictured
    made = in_jinja(Prompt(path, messages, text), "nunjucks")
    return replace(entry, made=made, pictures=names)


def _parts_of(entry: PromptEntry, path: str, text: str) -> Iterator[PromptEntry]:
    """Yield the prompts of a text file: promptfoo divides it at lines `---` and takes white space
    away around each."""
    lines = text.split("\n")
    borders = [number for number, line in enumerate(lines) if line.strip() == "---"]
    plain = text.strip() == text.removesuffix("\n") and not _CHAT.match(text)
    if not borders and plain:
        yield entry
        return
    start = 0
    for end in (*borders, len(lines)):
        while start < end and not lines[start].strip():
            start += 1
        content = "\n".join(lines[start:end]).strip()
        if content:
            part = replace(entry, label=f"{entry.label}: {content}", text=content)
            yield _sent(part, path, text, content, start + 1)
        start = end + 1


def _made(path: str, text: str, content: str, line: int = 1) -> Prompt:
    """Return the prompt that is sent as the content, from its first line in the file's text. As in
    promptfoo, a text that begins with `- role:` is a chat in YAML. Raises ContractError."""
    messages: tuple[MessageTemplate, ...] = (MessageTemplate("user", content, line),)
    if _CHAT.match(content):
        try:
            document = parse_yaml(content, path, line)
        except ContractError as error:
            fix = "write each `content` in quotes or as a block; the YAML is read first"
            raise ContractError([replace(error.problems[0], fix=fix)]) from None
        messages = read_messages(document, (), text)
    return in_jinja(Prompt(path, messages, text), "nunjucks")


def _is_file(raw: str) -> bool:
    """Return whether promptfoo takes the text for the path of a file."""
    if raw.startswith(FILE):
        return True
    if re.search(r"\s|\{\{", raw.strip()):
        return False
    return raw.lower().endswith(_SUFFIXES)


def _require_plain(node: Node, text: str) -> None:
    refuse_environment(node, text)
    if _CONVERSATION.search(text):
        why = "gatekeeper does not support `_conversation`, which holds the answers of other tests"
        raise node.cannot_run("prompts", why)


def _readable_text(sources: Sources, node: Node, path: str) -> str:
    """Return the text of a prompt's file. Raises ContractError if it is read in another way here
    than by promptfoo."""
    name = posixpath.basename(path)
    suffix = posixpath.splitext(name.lower())[1]
    if is_program(path):
        why = f"gatekeeper does not run the program `{name}`, which makes this prompt"
        raise node.cannot_run("prompts", why)
    if suffix not in _READ:
        why = f"`{name}` is not read; write each prompt to its own file: {' '.join(_READ)}"
        raise node.cannot_run("prompts", why)
    _, text = sources.text(node, path)
    _require_plain(node, text)
    if suffix in (".txt", ".j2", ".md") and _is_chat(text):
        what = f"`{name}` contains a list of chat messages as JSON"
        raise node.problem(what, "give the file the suffix .json")
    if suffix == ".md" and (has_roles(text, path) or text.startswith("---")):
        what = f"`{name}` has front matter or role lines, which promptfoo sends as plain text"
        raise node.problem(what, "remove them, or write a gatekeeper contract for the prompt")
    return text


def _is_chat(text: str) -> bool:
    try:
        return text.lstrip().startswith("[") and isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _with_distinct_names(entries: list[PromptEntry]) -> list[PromptEntry]:
    """Return the entries with names that can stand in a contract's name, each once."""
    made: list[PromptEntry] = []
    taken: set[str] = set()
    for entry in entries:
        short = take_name(slug(entry.short, 40) or "prompt", taken)
        made.append(replace(entry, short=short))
    return made


def slug(text: str, longest: int) -> str:
    """Return the text as a part of a name: letters, digits, dots and hyphens."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-._")[:longest].strip("-._")


__all__ = ["PromptEntry", "read_prompts", "slug"]

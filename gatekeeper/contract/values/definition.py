"""The parts of a contract as frozen values. Nothing here reads, renders or evaluates."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, ClassVar, Literal, NamedTuple

from gatekeeper.contract.values.calibration_record import Calibrations
from gatekeeper.contract.values.objectives import Objective, ResourceLimit, SimilarTexts
from gatekeeper.contract.values.tools import ToolRow, Tools
from gatekeeper.errors import Problem

Severity = Literal["error", "warn"]
Aggregate = Literal["first", "majority", "all", "any"]
SamplingMode = Literal["fixed", "adaptive"]
RepairMode = Literal["observe", "assist", "enforce", "auto", "repair"]
RepairAction = Literal["fail", "warn"]
GateClaim = Literal["both", "fixtures", "inputs"]
GateSlices = Literal["category"]
GateMeasure = Literal["pass", "score"]
TemplateStyle = Literal["text", "jinja", "fstring", "mustache", "nunjucks", "instructions"]
"""`instructions`: the whole text is one system message, and nothing in it is a template."""
ShownBy = Literal["declared", "file", "text", "comment", "nothing"]
"""What shows a prompt's style: its contract, its file, its text, a comment of Jinja alone (which
may as well be text), or nothing."""

SHORT_FORMS = ("judge", "python")
"""The keys of a check that set its type themselves: `python: checks.py:polite`, `judge: rubric`."""

POLICY_NAME = "gatekeeper-policy"
"""The name of the policy in places that expect a contract's name, such as a waiver. No contract may
have it."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file of a revision. `line` and `column` count from 1."""

    path: str
    line: int | None = None
    column: int | None = None

    def problem(self, what: str, fix: str, field: str | None = None) -> Problem:
        """Return a problem at this place."""
        return Problem(self.path, what, fix, self.line, self.column, field)


@dataclass(frozen=True, slots=True)
class NotRun:
    """Something that a foreign file asks for and gatekeeper does not do, such as an assertion in
    JavaScript. `kind` is its name there, `why` a sentence for a person."""

    kind: str
    position: Position
    why: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model asks the caller to use: its `name`, and its `arguments` as JSON text,
    as the model wrote it. The text can be cut off or wrong. `id` is the provider's name of the
    call; None if it gives none."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that is sent with a message. `path` is from the repository root, `media_type` is what
    its first bytes show, and `sha256` is that of its bytes, in hexadecimal."""

    path: str
    media_type: str
    sha256: str
    data: bytes = field(compare=False, repr=False)

    @property
    def base64(self) -> str:
        """Return the content as text."""
        return b64encode(self.data).decode()

    @property
    def data_url(self) -> str:
        """Return the file as an address that holds it."""
        return f"data:{self.media_type};base64,{self.base64}"


@dataclass(frozen=True, slots=True)
class Message:
    """One rendered chat message, ready to be sent.

    `calls` are the tools that an assistant's message calls. `answers` is the id of the call whose
    result a message of the role `tool` holds. `files` are sent beside the text. `opaque` is that of
    the `Completion` with the calls; no digest has it.
    """

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    answers: str | None = None
    files: tuple[Attachment, ...] = ()
    opaque: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MessageTemplate:
    """One chat message before rendering: `content` is a Jinja template. `line` is the first line of
    its content in the file. `lines` is the file's line of each of its lines, if they do not follow
    one another there. `path` is its file, if that is not the prompt's."""

    role: str
    content: str
    line: int
    lines: tuple[int, ...] = ()
    path: str = ""

    def line_at(self, number: int) -> int:
        """Return the file's line of a line of the content, which counts from 1."""
        if not self.lines:
            return self.line + number - 1
        return self.lines[min(max(number, 1), len(self.lines)) - 1]


class Sections(NamedTuple):
    """What a prompt file has that is not sent as text."""

    front_matter: bool = True
    roles: bool = True


EVERY_SECTION = Sections()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: its message templates, what its front matter sets, and what it includes.

    `path` is its file. `part` says where in the file it is, as `#key` or `:CONSTANT`; empty for a
    whole file. `includes` maps each file that the templates include, path from the repository root,
    to its text. `text` is the prompt as it is written, for showing differences. `model_line` is the
    line of the front matter that names the model. `style` is how its templates were written before
    they were translated to Jinja, `shown_by` says what shows that, and `sign` is what does, for a
    person. `sections` is what of the file was not read as text, among what was `allowed`.
    `computed` has a digest of the code, for each variable that a constant's own file computes.
    `reread` returns the same prompt in another reading.
    """

    path: str
    messages: tuple[MessageTemplate, ...]
    text: str
    model: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    includes: Mapping[str, str] = field(default_factory=dict)
    model_line: int | None = field(default=None, compare=False)
    part: str = ""
    style: TemplateStyle = "jinja"
    shown_by: ShownBy = field(default="declared", compare=False)
    sign: str = field(default="", compare=False)
    sections: Sections = field(default=EVERY_SECTION, compare=False)
    allowed: Sections = field(default=EVERY_SECTION, compare=False)
    computed: Mapping[str, str] = field(default_factory=dict, compare=False)
    reread: Callable[[TemplateStyle, Sections], Prompt] | None = field(
        default=None, compare=False, repr=False
    )

    def read_as(self, style: TemplateStyle, allowed: Sections | None = None) -> Prompt:
        """Return the prompt read in a style, if it was read from a file. What is not `allowed` of
        front matter and role lines is text; None allows what was allowed before."""
        allowed = self.allowed if allowed is None else allowed
        hides = any(has and not may for has, may in zip(self.sections, allowed, strict=True))
        if self.reread is None or (style == self.style and not hides):
            return self
        return self.reread(style, allowed)

    def read_like(self, other: Prompt) -> Prompt:
        """Return the prompt read as the program reads that sends the other one."""
        return self.read_as(other.style, other.sections)

    @property
    def templates(self) -> tuple[MessageTemplate, ...]:
        """Return the messages that have variables by the prompt's style: all but instructions."""
        if self.style != "instructions":
            return self.messages
        return tuple(message for message in self.messages if message.path)

    @property
    def text_lines(self) -> tuple[int, ...]:
        """Return the file's line of each line of `text`; empty for a whole file."""
        if not self.part:
            return ()
        if len(self.messages) == 1:
            count = self.text.count("\n") + 1
            return tuple(self.messages[0].line_at(n) for n in range(1, count + 1))
        lines: list[int] = []
        for message in self.messages:
            count = message.content.count("\n") + 1
            own = [message.line_at(number) for number in range(1, count + 1)]
            lines += [message.line, *own, own[-1]]  # its role, its text, and a blank line
        return tuple(lines)

    @property
    def reference(self) -> str:
        """Return what a contract at the repository root writes as `prompt`."""
        return self.path + self.part


@dataclass(frozen=True, slots=True)
class PromptStep:
    """A prompt that runs before the contract's own one. Later prompts use its output by its name, a
    variable of the templates (contract/values/call.py)."""

    name: str
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class Target:
    """What an arm runs: the prompt, the model and its parameters.

    Only this differs between base and head; the rest of a contract evaluates the outputs.
    `appended` is the text that the contract's mode adds to the messages. `steps` run before the
    prompt, in order, with the same model and parameters. `task` is the user's message of a contract
    with `instructions`, which are its prompt.
    """

    prompt: Prompt
    model: str
    params: Mapping[str, Any]
    appended: str = ""
    steps: tuple[PromptStep, ...] = ()
    task: MessageTemplate | None = None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """Every prompt in the order in which they run; the contract's own is the last."""
        return (*(step.prompt for step in self.steps), self.prompt)

    @property
    def sent(self) -> tuple[Prompt, ...]:
        """Every prompt with all messages that are sent: the last one with the task."""
        if self.task is None:
            return self.prompts
        return (replace(self.prompt, messages=(*self.prompt.messages, self.task)),)

    def prompt_of(self, step: str | None) -> Prompt:
        """Return the prompt of the step of that name; the last prompt if there is no such step."""
        return next((s.prompt for s in self.steps if s.name == step), self.prompt)


@dataclass(frozen=True, slots=True)
class CheckShape:
    """What the loader needs to know about a check type: the JSON Schema of its parameters, which of
    them name a file (path relative to the contract), whether it gives a score, and whether it is
    `composed` of other checks, in its parameter `checks`. `code` is the parameter that names a
    function in a file of the repository; None for none."""

    schema: Mapping[str, Any]
    paths: tuple[str, ...] = ()
    scores: bool = False
    composed: bool = False
    code: str | None = None

    def default(self, name: str) -> Any:
        """Return the default of a parameter; None if the schema has none."""
        return self._says(name, "default")

    def looser(self, name: str) -> str:
        """Return how a change of a parameter weakens the check: see checks/check.py, DIRECTIONS."""
        return self._says(name, "x-looser") or "change"

    def _says(self, name: str, keyword: str) -> Any:
        schema = self.schema.get("properties", {}).get(name, {})
        return schema.get(keyword) if isinstance(schema, Mapping) else None


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One check as written. Text in `params` may be a template over the fixture.

    `files` maps the path of each file that `params` refers to (a JSON Schema and what
    it `$ref`s), from the repository root, to its text. `shape` is that of its type. `must_pass`
    says that it is decided by itself with each fixture. `negated` turns a pass into a failure and
    back. `when` is the condition of a fixture to which the check applies, as written. `weight` is
    that of its score. `parts` are the checks that it is composed of. `code` has the files of a
    team's own check as they may run; None until somebody says which revision is trusted. `turn` is
    the answer of a conversation that it evaluates, counted from 1; None for the last. `step` names
    the step whose output it evaluates; None for the last prompt's.
    """

    type: str
    name: str
    params: Mapping[str, Any]
    severity: Severity = "error"
    must_pass: bool = False
    position: Position | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    shape: CheckShape = field(default=CheckShape({}), repr=False)
    negated: bool = False
    when: str | Mapping[str, Any] | None = None
    weight: float = 1.0
    parts: tuple[CheckSpec, ...] = ()
    turn: int | None = None
    step: str | None = None
    code: Mapping[str, str] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """A model that plays the user until the `goal` is reached, or it has written `max_turns`
    messages. `goal` and `persona` may be templates over the fixture. `prompt` is the text of a
    team's own prompt file; None for gatekeeper's. What a fixture leaves empty is the contract's."""

    model: str = ""
    goal: str = ""
    max_turns: int = 0
    persona: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why a fixture does not decide, who mends it, and the last day on which that holds, in UTC and
    as YYYY-MM-DD: at most `MOST_DAYS` from now."""

    MOST_DAYS: ClassVar[int] = 180

    until: str
    owner: str
    why: str
    position: Position | None = field(default=None, compare=False)

    def has_ended(self, today: date) -> bool:
        """Return whether its last day is over."""
        return self.until < today.isoformat()

    def holds(self, today: date) -> bool:
        """Return whether the fixture does not decide."""
        return not self.has_ended(today) and self.until <= self.latest(today)

    def latest(self, today: date) -> str:
        """Return the latest last day that may be written."""
        return (today + timedelta(days=self.MOST_DAYS)).isoformat()

    def __str__(self) -> str:
        return f"in quarantine until {self.until} ({self.owner}: {self.why})"


@dataclass(frozen=True, slots=True)
class Fixture:
    """One test input. `must_pass` says that it is decided by itself, too. Fixtures of one
    `cluster` are related and count as one wherever evidence is counted. `left_out` are the names of
    the checks that do not apply to it, because of their `when`. `turns` are further messages of the
    user, each sent after the model has answered. `user` writes them instead, if there is one.
    `files` are sent with the first prompt."""

    id: str
    vars: Mapping[str, Any]
    expected: Any = None
    category: str | None = None
    checks: tuple[CheckSpec, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    must_pass: bool = False
    position: Position | None = None
    cluster: str | None = None
    left_out: frozenset[str] = frozenset()
    turns: tuple[str, ...] = ()
    user: SimulatedUser | None = None
    quarantine: Quarantine | None = None
    tool_results: tuple[ToolRow, ...] = ()
    """What tools answer for this fixture, before the contract's rows."""
    state: Any = None
    """What the tools' state is at the beginning."""
    files: tuple[Attachment, ...] = ()

    @property
    def contents(self) -> tuple[tuple[str, str], ...]:
        """What its files contain, whatever they are called: the types and the digests."""
        return tuple((file.media_type, file.sha256) for file in self.files)


@dataclass(frozen=True, slots=True)
class RepairPolicy:
    """Which syntactic repairs may be applied to an output before the checks, in order.
    `lowercase_fields` are the JSON fields that the step of that name changes. `similar` says how
    the meaning of texts without JSON is compared; None if it is not."""

    steps: tuple[str, ...] = ()
    max_steps: int = 2
    lowercase_fields: tuple[str, ...] = ()
    similar: SimilarTexts | None = None


@dataclass(frozen=True, slots=True)
class SamplingPolicy:
    """How many samples a fixture and arm get at most, and when a fixture counts as passed."""

    samples: int = 1
    mode: SamplingMode = "adaptive"
    aggregate: Aggregate = "majority"
    seed: int | None = 42


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """`alpha` is the false-block rate, `margin` the drop not worth blocking,
    `tolerance` the share of fixtures that must pass after aggregation (PCSL's tau), `limits` by
    how much a call may take more than on base, `repairs` what follows if head needs repairs more
    often than base. `claim` says what fails the contract: broken `fixtures`, a lower pass rate over
    all `inputs`, or `both`. `allow_broken` is how many more fixtures may break than are fixed, as a
    whole number or as a share below 1. `slices` is the field of a fixture by whose values the
    inputs are also compared one by one, `weights` how often each value comes in production. `on`
    is what is compared over inputs: whether samples pass, or their scores."""

    alpha: float = 0.05
    margin: float = 0.05
    tolerance: float | None = None
    limits: tuple[ResourceLimit, ...] = ()
    repairs: RepairAction = "warn"
    claim: GateClaim = "both"
    allow_broken: float = 0
    slices: GateSlices | None = None
    weights: tuple[tuple[str, int], ...] = ()
    on: GateMeasure = "pass"

    def allowed_of(self, fixtures: int) -> int:
        """Return how many more of so many fixtures may break than are fixed."""
        share = 0 < self.allow_broken < 1
        return math.floor(self.allow_broken * (fixtures if share else 1))


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract with everything it depends on, loaded and validated.

    `own_model` and `own_params` are what the contract file itself sets; `target` has them together
    with what the prompt's front matter sets. `dependencies` maps every path the contract was read
    from to a digest of its meaning: a change of comments, key order or line ends leaves a digest as
    it is. `model_at` is the place that names the model. `pass_score` is the weighted mean of the
    gating checks' scores at which a sample passes; None if every one of them must pass. `groups`
    are checks that are sampled in another way, each as a contract, which is `part_of` this one.
    `template` is the declared style of the prompt's templates. What a mode adds to the requests
    comes from `checks_of_mode`; None if these are `checks`.
    `not_run` is what the foreign file of a translated or converted contract asks for and nothing
    here does.
    """

    name: str
    path: str
    target: Target
    fixtures: tuple[Fixture, ...]
    checks: tuple[CheckSpec, ...]
    description: str = ""
    mode: RepairMode = "repair"
    repair: RepairPolicy = RepairPolicy()
    sampling: SamplingPolicy = SamplingPolicy()
    slo: tuple[Objective, ...] = ()
    gate: GatePolicy = GatePolicy()
    own_model: str | None = None
    own_params: Mapping[str, Any] = field(default_factory=dict)
    dependencies: Mapping[str, str] = field(default_factory=dict)
    model_at: Position | None = field(default=None, compare=False)
    calibrations: Calibrations = field(default_factory=dict, compare=False, repr=False)
    pass_score: float | None = None
    template: TemplateStyle | None = None
    groups: tuple[Contract, ...] = ()
    part_of: str | None = None
    checks_of_mode: tuple[CheckSpec, ...] | None = field(default=None, repr=False)
    not_run: tuple[NotRun, ...] = field(default=(), compare=False)
    tools: Tools | None = None
    """The tool loop; None for one answer."""

    @property
    def places(self) -> tuple[str, ...]:
        """Return the paths whose policies apply to the contract: its file, and its prompts."""
        return (self.path, *(prompt.path for prompt in self.target.prompts))

    @property
    def slices(self) -> tuple[str, ...]:
        """Return the categories that have a comparison of their own."""
        found = (fixture.category for fixture in self.fixtures if not fixture.quarantine)
        return tuple(dict.fromkeys(filter(None, found))) if self.gate.slices else ()

    def checks_for(self, fixture: Fixture) -> tuple[CheckSpec, ...]:
        """Return the checks that apply to a fixture: the contract's and its own, without those that
        their `when` leaves out."""
        specs = (*self.checks, *fixture.checks)
        if not fixture.left_out:
            return specs
        return tuple(spec for spec in specs if spec.name not in fixture.left_out)

    @property
    def parts(self) -> tuple[Contract, ...]:
        """Return the contract and its groups."""
        return (self, *self.groups)

    @property
    def own_checks(self) -> list[CheckSpec]:
        """Return the contract's checks, and those of its fixtures."""
        return [*self.checks, *(spec for fixture in self.fixtures for spec in fixture.checks)]

    def every_check(self) -> Iterator[CheckSpec]:
        """Yield the contract's checks, those of its fixtures, and the checks inside them."""
        waiting = self.own_checks
        while waiting:
            spec = waiting.pop()
            yield spec
            waiting += spec.parts

    def target_for(self, other: Target) -> Target:
        """Return what calls the prompts of another target the way this contract calls its own.

        The contract file overrides the prompt's front matter. A prompt that names no model gets the
        model of this contract's prompt. Its text is read like that of this contract's prompt,
        because the program that sends it did not change.
        """
        before = {step.name: step.prompt for step in self.target.steps}
        prompt = other.prompt.read_like(self.target.prompt)
        steps = tuple(
            replace(step, prompt=step.prompt.read_like(before.get(step.name, step.prompt)))
            for step in other.steps
        )
        model = self.own_model or prompt.model or self.target.model
        params = {**prompt.params, **self.own_params}
        return Target(prompt, model, params, steps=steps, task=self.target.task)

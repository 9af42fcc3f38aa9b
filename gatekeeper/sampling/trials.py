"""The requests of one contract to the models: its trials, in the order of
sampling/trials.py.
"""

from __future__ import annotations

import hmac
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gatekeeper.contract.calls.calls import chain_of, markers
from gatekeeper.contract.calls.prompt_steps import refused_turns
from gatekeeper.contract.changes.renaming import find_renaming, lent_values
from gatekeeper.contract.meaning.digests import digest, request_digest
from gatekeeper.contract.meaning.modes import with_requirements
from gatekeeper.contract.prompts.render import render_all, render_value, with_files
from gatekeeper.contract.prompts.rendered_roles import rendered_role_problems
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.tools.answers import tools_for
from gatekeeper.contract.values.call import SINGLE, Call, Conversation
from gatekeeper.contract.values.clusters import count_as_one, members_of
from gatekeeper.contract.values.definition import Contract, Fixture, Message, SimulatedUser, Target
from gatekeeper.contract.values.kept_results import kept_by_identity
from gatekeeper.contract.values.trial import Arm, ContractFrom, Request, SharedPrefix, Trial
from gatekeeper.errors import ContractError, Problem

# Chooses the order of one evaluation's trials at random, from a seed of the run.
#
# - Repetition is outermost, so that after an early stop every fixture has nearly the same number
# of samples. The fixtures come in a random order, the same in every repetition. - The two arms of
# a fixture follow each other. A drift of the provider then affects both alike, and a prompt prefix
# that both share stays in the provider's cache. - Which arm goes first is chosen at random for
# every pair. If one arm always went first, any effect that alternates at the provider, such as one
# bad replica of two, would look like a difference between the arms. - Fixtures of one cluster
# follow each other. A cluster is compared when its last fixture is sampled, and a large cluster
# must not be compared later than a small one for that reason.
#
# A cache of prompts needs no other order. All fixtures of an arm begin with the same messages
# (sampling/pace.py), so every call after the first of its arm finds them. Fixtures that share more
# than this, such as a document, do not follow each other, for two reasons:
#
# - In the first round, the test looks after every pair (paired/sequential.py). If the pairs were
# sorted by their texts, the first ones would not be a random sample of all. - A cache can be read
# only after the call that wrote it. Calls that begin alike and start together would each write; in
# a random order, nearly all of them start apart.
#
# Two rules keep a pull request from choosing its order:
#
# 1. The seed is generated when the run is planned (`new_order_seed`), after the commits are made.
# It is not secret afterwards: `result.json` has it. 2. A place depends on the seed, on the
# requests and on which fixtures share a cluster, and on nothing else of the files. So a seed that
# is used again for the same requests (sampling/cache.py) gives the same order, whatever the order
# and the names of the fixtures.


def new_order_seed() -> str:
    """Return 128 random bits in hexadecimal, which nobody can know before the run."""
    return secrets.token_hex(16)


def in_order(trials: Sequence[Trial], seed: str) -> tuple[Trial, ...]:
    """Return the trials of one evaluation in the order that the seed gives them.

    The result is the same for the same trials in any order. Fixtures with equal requests on
    every arm are neighbours, sorted by their ids.
    """
    requests: dict[str, dict[Arm, str]] = defaultdict(dict)
    for trial in trials:
        if trial.arm not in requests[trial.fixture]:
            request = trial.request
            sent = request_digest(request)
            requests[trial.fixture][trial.arm] = f"{request.model} {sent}"
    inputs = {fixture: digest(arms) for fixture, arms in requests.items()}
    places = {name: _draw(seed, "fixture", name) for name in set(inputs.values())}
    unit_places = _unit_places(trials, inputs, seed)

    @cache
    def is_head_first(repetition: int, name: str) -> bool:
        # Fixtures that share a request draw the same, so their one call keeps its place.
        return bool(_draw(seed, f"arms {repetition}", name)[0] & 1)

    def place(trial: Trial) -> tuple[int, bytes, bytes, str, bool]:
        name = inputs[trial.fixture]
        second = (trial.arm == "head") != is_head_first(trial.repetition, name)
        unit = unit_places.get(trial.fixture, places[name])
        return trial.repetition, unit, places[name], trial.fixture, second

    return tuple(sorted(trials, key=place))


def _unit_places(trials: Sequence[Trial], inputs: Mapping[str, str], seed: str) -> dict[str, bytes]:
    """Return the position of each unit of several inputs, by fixture."""
    clusters = {trial.fixture: trial.cluster for trial in trials if trial.cluster is not None}
    if not clusters:
        return {}
    first: dict[str, str] = {}
    same = {fixture: first.setdefault(name, fixture) for fixture, name in inputs.items()}
    repeats = {fixture: other for fixture, other in same.items() if fixture != other}
    places: dict[str, bytes] = {}
    for members in members_of(count_as_one(repeats, clusters), list(inputs)).values():
        names = sorted({inputs[fixture] for fixture in members})
        if len(names) > 1:
            places |= dict.fromkeys(members, _draw(seed, "cluster", digest(names)))
    return places


def _draw(seed: str, purpose: str, name: str) -> bytes:
    """Return 32 bytes that look random to anybody without the seed."""
    return hmac.digest(seed.encode(), f"{purpose} {name}".encode(), "sha256")


_Sent = tuple[tuple[Message, ...], Call]
Sent = Mapping[str, _Sent]
"""The first messages of each fixture, and what follows."""
_Rendered = tuple[Fixture, _Sent | ContractError]


@dataclass(frozen=True, slots=True)
class Plan:
    """The trials, and the fixtures that an arm's prompt cannot take, under any variable names.

    `unpaired` have no base trial; `unanswerable` no head trial.
    """

    trials: tuple[Trial, ...]
    unpaired: tuple[str, ...] = ()
    unanswerable: tuple[str, ...] = ()


def plan_trials(
    contract: Contract,
    head: Target,
    base: Target | None,
    lent: Mapping[str, Fixture],
    contract_from: ContractFrom = "head",
    order_seed: str = "",
) -> Plan:
    """Return every trial that a contract needs. Without `base` the head arm runs alone.

    Both arms get the contract's fixtures. If a prompt needs variables that a fixture does not have,
    their names come from the fixture of the same id in `lent`, of the other revision. The values
    stay the fixture's own, so that a new name cannot bring an easier input. Values of further
    variables are lent as well: base's, and of head's those that all its fixtures have. The order of
    fixtures and arms depends on `order_seed`. The prompt of head's contract must take all its own
    fixtures: raises ContractError with every reason why it does not.
    """
    fixtures = contract.fixtures
    seed = contract.sampling.seed
    for target in (head, base or head):
        refused_turns(target, contract)

    strict = contract_from == "head"
    answers = _render_own(contract, head) if strict else _render(head, contract.fixtures, lent)
    arms: list[tuple[Arm, Target, Sent]] = [("head", head, answers)]
    if base is not None:
        arms.insert(0, ("base", base, _render(base, contract.fixtures, lent, trusted=strict)))
    shared = shared_prefixes([[first for first, _ in found.values()] for _, _, found in arms])
    spoken = _conversations(fixtures)
    loops = {fixture.id: tools_for(contract.tools, fixture) for fixture in fixtures}
    trials = tuple(
        Trial(
            contract=contract.name,
            fixture=fixture.id,
            arm=arm,
            repetition=repetition,
            request=Request(
                model=target.model,
                messages=sent[fixture.id][0],
                params=target.params,
                seed=None if seed is None else seed + repetition,
                repetition=repetition,
                shared_prefix=prefix,
                call=spoken.get(fixture.id, sent[fixture.id][1]),
                tools=loops[fixture.id],
            ),
            contract_from=contract_from,
            cluster=fixture.cluster,
            part_of=contract.part_of,
        )
        for repetition in range(contract.sampling.samples)
        for fixture in fixtures
        for (arm, target, sent), prefix in zip(arms, shared, strict=True)
        if fixture.id in sent and (strict or fixture.id in answers)
    )
    return Plan(
        in_order(trials, order_seed),
        unpaired=_missing(contract, arms[0][2]) if base is not None else (),
        unanswerable=_missing(contract, answers),
    )


def _conversations(fixtures: Sequence[Fixture]) -> dict[str, Call]:
    """Return the conversation of each fixture that has one. Both arms speak with the same user.
    Raises ContractError if the goal of a user cannot be rendered."""
    found: dict[str, Call] = {f.id: Conversation(f.turns) for f in fixtures if f.turns}
    budget = Budget()
    return found | {f.id: _rendered_user(f, budget) for f in fixtures if f.user}


def _rendered_user(fixture: Fixture, budget: Budget) -> SimulatedUser:
    """Return the fixture's user, with its goal and persona for this fixture."""
    user = fixture.user
    assert user is not None  # noqa: S101
    goal, persona = (
        str(render_value(text, fixture, fixture.position, budget))
        for text in (user.goal, user.persona)
    )
    return replace(user, goal=goal, persona=persona)


def _missing(contract: Contract, messages: Sent) -> tuple[str, ...]:
    return tuple(fixture.id for fixture in contract.fixtures if fixture.id not in messages)


def _render_own(contract: Contract, target: Target) -> Sent:
    rendered: dict[str, _Sent] = {}
    failing: dict[Problem, list[str]] = {}
    for fixture, found in _rendered(target, contract.fixtures):
        if isinstance(found, ContractError):
            for problem in found.problems:
                failing.setdefault(problem, []).append(fixture.id)
        else:
            rendered[fixture.id] = found
    if failing:
        total = len(contract.fixtures)
        raise ContractError([_for_fixtures(p, ids, total) for p, ids in failing.items()])
    values = [{**fixture.vars, **markers(target)} for fixture in contract.fixtures]
    problems = [p for prompt in target.sent for p in rendered_role_problems(prompt, values)]
    if problems:
        raise ContractError(problems)
    return rendered


def _rendered(target: Target, fixtures: Sequence[Fixture]) -> Iterator[_Rendered]:
    """Render the target's prompts for each fixture, all within one budget."""
    places, names = markers(target), [step.name for step in target.steps]
    values = [{**fixture.vars, **places} for fixture in fixtures]
    budget = Budget()
    # One after another: what a prompt takes is known when the next one begins.
    each = [list(render_all(prompt, values, budget)) for prompt in target.sent]
    for fixture, *found in zip(fixtures, *each, strict=True):
        errors = [one for one in found if isinstance(one, ContractError)]
        if errors:
            yield fixture, ContractError([p for error in errors for p in error.problems])
            continue
        first, *later = (one for one in found if not isinstance(one, ContractError))
        call = chain_of(names, later) if later else SINGLE
        first = with_files(with_requirements(first, target.appended), fixture.files)
        yield fixture, (first, call)


def _for_fixtures(problem: Problem, ids: list[str], total: int) -> Problem:
    where = f"fixture {ids[0]!r}"
    if len(ids) > 1:
        where = f"{len(ids)} of {total} fixtures, of which the first is {ids[0]!r}"
    return Problem(
        path=problem.path,
        what=f"{problem.what} (with {where})",
        fix=problem.fix,
        line=problem.line,
        column=problem.column,
        field=problem.field,
    )


def _render(
    target: Target,
    fixtures: tuple[Fixture, ...],
    lent: Mapping[str, Fixture],
    *,
    trusted: bool = False,
) -> Sent:
    rendered: dict[str, _Sent] = {}
    failing = _failing(_last_rendered(target, fixtures), rendered)
    if failing:
        # They have a budget of their own: they must not use up that of the others.
        renaming = find_renaming(fixtures, lent.values())
        values = lent_values(failing, lent, renaming, trusted=trusted)
        _failing(_rendered(target, values), rendered)
    return rendered


def _list_rendered(target: Target, fixtures: tuple[Fixture, ...]) -> list[_Rendered]:
    return list(_rendered(target, fixtures))


_last_rendered = kept_by_identity(_list_rendered, most=1)
"""Variants of a contract are compared with one base, which is rendered once."""


def _failing(found_of_each: Iterable[_Rendered], rendered: dict[str, _Sent]) -> list[Fixture]:
    """Add the messages of each fixture to `rendered`; return the fixtures that have none."""
    failing = []
    for fixture, found in found_of_each:
        if isinstance(found, ContractError):
            failing.append(fixture)
        else:
            rendered[fixture.id] = found
    return failing


# Which messages all requests of an arm begin with: a provider can keep them in its cache.


def shared_prefixes(arms: Sequence[Collection[tuple[Message, ...]]]) -> list[SharedPrefix | None]:
    """Return the prefix that all conversations of each arm share; None for every arm if one of them
    shares nothing.

    Both arms are treated alike: if one were cached and the other not, its calls would seem cheaper
    and faster. So the size of the shorter prefix counts for both.
    """
    lengths = [_shared_messages(conversations) for conversations in arms]
    if not lengths or not all(lengths):
        return [None for _ in arms]
    size = min(
        _size(next(iter(conversations))[:length])
        for conversations, length in zip(arms, lengths, strict=True)
    )
    return [SharedPrefix(length, size) for length in lengths]


def _shared_messages(conversations: Collection[tuple[Message, ...]]) -> int:
    """Return how many messages the conversations begin with; 0 if there are not two of them."""
    distinct = set(conversations)
    if len(distinct) < 2:
        return 0
    shared = 0
    for messages in zip(*distinct, strict=False):
        if len(set(messages)) > 1:
            break
        shared += 1
    return shared


def _size(messages: Sequence[Message]) -> int:
    return sum(len(m.content.encode("utf-8", "surrogatepass")) for m in messages)

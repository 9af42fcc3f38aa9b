"""Text that the program may send and a template engine would drop: it always reaches the model."""

from __future__ import annotations

import json

import pytest
from support.quick_and_long import a_few
from support.revisions import change, revision

from gatekeeper.contract.policies.policy import Allow, Policy
from gatekeeper.contract.values.change import Change
from gatekeeper.errors import ContractError
from gatekeeper.gate.validate import validate_contracts
from gatekeeper.gate.work import Work, plan_check

CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/{}
model: openai/small
fixtures:
  - {{id: apple, vars: {{word: apple}}}}
  - {{id: bread, vars: {{word: bread}}}}
checks: [{{type: contains, value: ok}}]
"""
WORSE = "Worse: be rude"
PLAIN = Policy()
PLACES = {
    "p.md": "Good {{word}}",
    "p.txt": "Good {{word}}",
    "p.prompt": "Good {{word}}",
    "p.prompt.yml": "messages: [{role: user, content: 'Good {{word}}'}]",
    "p.yaml": "[{role: user, content: 'Good {{word}}'}]",
    "p.json": '[{"role": "user", "content": "Good {{word}}"}]',
    "p.yaml#a.b": "a: {b: 'Good {{word}}'}",
    "p.json#a": '{"a": "Good {{word}}"}',
    "p.toml#a": "a = 'Good {{word}}'",
    "p.py:SYSTEM": 'SYSTEM = "Good {{word}}"',
    "p.py:Prompts.ASK": 'class Prompts:\n    ASK = "Good {{word}}"',
    "p.py:TALK": 'TALK = [{"role": "user", "content": "Good {{word}}"}]',
    "p.ts:SYSTEM": 'export const SYSTEM = "Good {{word}}"',
    "p.js:PROMPTS.ask": "const PROMPTS = {ask: 'Good {{word}}'}; module.exports = {PROMPTS}",
}
# `@` is the worse text. No quotes and no line end: they have to fit into each file.
HIDING = {
    "a comment": "{# @ #}",
    "a comment that strips": "{#- @ -#}",
    "a comment after braces": "{{{# @ #}",
    "a branch": "{% if false %}@{% endif %}",
    "a branch that strips": "{%- if 0 -%} @ {%- endif -%}",
    "a branch that no fixture takes": "{% if word.z is defined %}@{% endif %}",
    "a loop": "{% for x in [] %}@{% endfor %}",
    "a variable": "{% set x %}@{% endset %}",
    "a macro": "{% macro m() %}@{% endmacro %}",
    "a filter": "{% filter truncate(0, true) %}@{% endfilter %}",
    "a block": "{% with %}{# @ #}{% endwith %}",
    "raw text": "{% raw %}{% endraw %}{# @ #}",
    "an expression": "{{ word[:0] }}{# @ #}",
    "white space": "{{- word -}}{# @ #}",
    "Django": "{% comment %}@{% endcomment %}",
    "Liquid": "{% assign x = 1 %}@",
    "Mustache": "{{! @ }}",
    "Mustache that is shown": "{{{word}}}{{! @ }}",
    "Handlebars": "{{!-- @ --}}",
    "a line comment": "## @",
}


def repository(place: str, text: str, contract: str = CONTRACT) -> dict[str, str]:
    path = place.partition("#")[0].partition(":")[0]
    return {"contracts/words.yaml": contract.format(place), f"prompts/{path}": text}


def sent(work: Work) -> list[str]:
    """Each text that head sends."""
    return [
        message.content
        for trial in work.trials
        if trial.arm == "head"
        for message in trial.request.messages
    ]


def shown(found: Change, policy: Policy = PLAIN) -> bool:
    """Whether head is refused, the model gets the worse text, or the result says that a contract
    that could not run before leaves it untested."""
    try:
        work = plan_check(found, policy)
    except ContractError:
        return True
    return any(contract.broken for contract in work.affected.contracts) or any(
        WORSE in text for text in sent(work)
    )


def edited(text: str, tail: str) -> str:
    assert text.count("{{word}}") == 1
    return text.replace("{{word}}", "{{word}} " + tail)


# Every way to hide in one file, and some of them in every other.
FIRST, *OTHERS = PLACES


@pytest.mark.parametrize(
    ("place", "hiding"),
    [
        *((FIRST, hiding) for hiding in HIDING),
        *(pair for place in OTHERS for pair in a_few(((place, each) for each in HIDING), 5)),
    ],
)
def test_no_tag_hides_text_from_the_model(place: str, hiding: str) -> None:
    base = PLACES[place]
    head = edited(base, HIDING[hiding].replace("@", WORSE))
    assert shown(change(repository(place, base), repository(place, head)))


@pytest.mark.parametrize("hiding", HIDING)
def test_a_policy_that_allows_other_contracts_hides_nothing(hiding: str) -> None:
    base, tail = PLACES["p.md"], HIDING[hiding].replace("@", WORSE)
    head = repository("p.md", edited(base, tail), CONTRACT + "description: other\n")
    found = change(repository("p.md", base), head)
    assert shown(found, Policy(allow=Allow(weakening=True)))


FRONT = f"---\nnote: '{WORSE}'\n---\n"


@pytest.mark.parametrize(
    ("old", "base", "new", "head"),
    [
        ("p.md", "Good {{ word }}", "p.md", f"{FRONT}Good {{{{ word }}}}"),
        ("p.md", "Good {{ word }}", "p.md", f"{FRONT}user:\nGood {{{{ word }}}}"),
        ("p.md", "Good {{ word }}", "p.md", f"---\ntemplate: jinja2\nx: {WORSE}\n---\nGood"),
        ("p.md", "{% if word %}Good {{ word }}{% endif %}", "p.md", f"{FRONT}Good {{{{ word }}}}"),
        ("p.md", "- rule\n---\nGood {{ word }}", "p.md", f"{FRONT}Good {{{{ word }}}}"),
        ("p.txt", "Good {{ word }}", "p.txt", f"{FRONT}Good {{{{ word }}}}"),
        ("p.md", "Good {{ word }}", "p.md", f"+++\nnote = '{WORSE}'\n+++\nGood {{{{ word }}}}"),
        ("p.txt", "Good {{ word }}", "p.md", f"{FRONT}Good {{{{ word }}}}"),
        ("p.md", "Good {{ word }}", "p.prompty", f"{FRONT}user:\nGood {{{{ word }}}}"),
        ("p.md", "Good {{ word }}", "p.j2", f"Good {{{{ word }}}}{{# {WORSE} #}}"),
        ("p.txt", "Good {{ word }}", "p.txt.j2", f"Good {{{{ word }}}}{{# {WORSE} #}}"),
        ("p.md", "Good {{ word }}", "p.njk", f"Good {{{{ word }}}}{{# {WORSE} #}}"),
        ("p.md", "Good {{ word }}", "p.hbs", f"Good {{{{ word }}}}{{{{! {WORSE} }}}}"),
        ("p.j2", "Good {{ word }}", "p.md", f"Good {{{{ word }}}}{{# {WORSE} #}}"),
        ("p.yaml#a", "a: Good {{ word }}", "p.j2", f"Good {{{{ word }}}}{{# {WORSE} #}}"),
        ("p.yaml#a", "a: Good {{ word }}", "p.md", f"{FRONT}Good {{{{ word }}}}"),
    ],
)
def test_neither_front_matter_nor_another_name_hides_text(
    old: str, base: str, new: str, head: str
) -> None:
    renames = {} if old == new or "#" in old else {f"prompts/{old}": f"prompts/{new}"}
    assert shown(change(repository(old, base), repository(new, head), renames))


def test_role_lines_that_base_does_not_have_may_be_text() -> None:
    head = "user:\nGood {{ word }}\nassistant:\nok\nuser:\nGood"
    work = plan_check(
        change(repository("p.md", "Good {{ word }}"), repository("p.md", head)), Policy()
    )
    assert head.replace("{{ word }}", "apple") in sent(work)
    assert "now has role lines: read as text, as on base, and" in said(work)


def test_a_contract_cannot_declare_text_away_in_the_same_pull_request() -> None:
    tail = f"{{# {WORSE} #}}"
    declared = CONTRACT + "template: jinja\n"
    head = repository("p.md", edited(PLACES["p.md"], tail), declared)
    assert shown(change(repository("p.md", PLACES["p.md"]), head))
    undeclared = repository("p.md", edited(PLACES["p.md"], tail))
    before = repository("p.md", PLACES["p.md"], CONTRACT + "template: text\n")
    assert shown(change(before, undeclared))


def test_a_new_contract_reads_its_prompt_as_base_shows() -> None:
    base = {"prompts/p.md": "Good {{word}}"}
    tail = f"{{% if false %}}{WORSE}{{% endif %}}"
    found = change(base, repository("p.md", edited(base["prompts/p.md"], tail)))
    assert shown(found)
    assert "write `template` in the contract words" in said(plan_check(found, Policy()))


def test_text_that_was_kept_in_a_comment_alone_is_not_lost_unseen() -> None:
    """If the program is Jinja after all, the comment takes the good text away."""
    base, head = PLACES["p.md"], "{# Good #} {{word}}"
    work = plan_check(change(repository("p.md", base), repository("p.md", head)), Policy())
    assert {"{# Good #} apple", " apple"} <= set(sent(work))


def test_the_notice_says_what_changed_and_how_it_is_read() -> None:
    head = edited(PLACES["p.md"], "{# note #}")
    work = plan_check(
        change(repository("p.md", PLACES["p.md"]), repository("p.md", head)), Policy()
    )
    assert (
        "`prompts/p.md` now has `{# … #}`: read as text, as on base, and as Jinja. If your program "
        "always used Jinja, merge `template: jinja` into the contract first."
    ) in said(work)
    assert [e.contract_from for e in work.jobs[0].evaluations] == ["head", "base_reading"]


def said(work: Work) -> str:
    notices = [*work.affected.notices, *(notice for job in work.jobs for notice in job.notices)]
    return "\n".join(notices)


JINJA = "{% if word %}Good {{word}}{% endif %}"


@pytest.mark.parametrize(
    ("base", "head", "more"),
    [
        (JINJA, JINJA + "{# note #}", ""),
        (JINJA, "{# note #}Good {{word}}", ""),
        ("Good {{ word | upper }}", "Good {{ word | upper }}{# note #}", ""),
        ("Good {{word}}", "Good {{word}}{# note #}", "template: jinja\n"),
        ("Good {{word}}", "{% if word %}Good {{word}}{% endif %}", "template: jinja\n"),
        ("---\na: 1\n---\nGood {{word}}", "---\na: 2\nb: 1\n---\nGood {{word}}", ""),
        ("---\na: 1\n---\nGood {{word}}", "Good {{word}}", ""),
    ],
)
def test_a_team_that_uses_an_engine_makes_no_call_for_a_note(
    base: str, head: str, more: str
) -> None:
    contract = CONTRACT + more
    found = change(repository("p.md", base, contract), repository("p.md", head, contract))
    assert plan_check(found, Policy()).trials == ()


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (JINJA, JINJA.replace("Good", "Better") + "{# note #}"),
        ("Good {{word}}", "Better {{ word }} { and } {name your price}"),
        ("Good {{word}} {# note #}", "Good {{word}} {# note #}"),
    ],
)
def test_a_prompt_that_shows_nothing_new_is_read_once(base: str, head: str) -> None:
    more = CONTRACT.replace("word: bread", "word: other")
    work = plan_check(change(repository("p.md", base), repository("p.md", head, more)), Policy())
    assert {e.contract_from for e in work.jobs[0].evaluations} <= {"head", "base"}


def named(found: Change) -> list[str]:
    """The new text that no request has."""
    work = plan_check(found, PLAIN)
    return [line.text for job in (*work.jobs, *work.untested) for line in job.unseen_lines]


@pytest.mark.parametrize("visible", ["Good", "Better"])
@pytest.mark.parametrize("base", [JINJA, "{% if true %}Good {{word}}{% endif %}"])
@pytest.mark.parametrize("hiding", HIDING)
def test_text_that_a_second_pull_request_hides_is_named(
    base: str, hiding: str, visible: str
) -> None:
    """The first one brought the tag that made a template of the text."""
    head = base.replace("Good", visible) + HIDING[hiding].replace("@", WORSE)
    found = change(repository("p.md", base), repository("p.md", head))
    if not shown(found):
        assert named(found) == [WORSE]
        work = plan_check(found, PLAIN)
        assert [job.contract.name for job in (*work.jobs, *work.untested)] == ["words"]


# `@` is the worse text, where an expression keeps it from the model.
SAYING = {
    "a condition": "{{ '@' if word == 'none' }}",
    "the other branch": "{{ word if word else '@' }}",
    "a default": "{{ word | default('@') }}",
    "or": "{{ word or '@' }}",
    "a part": "{{ ('Well. ' ~ '@') if not word }}",
    "a filter": "{{ '@' | upper if not word }}",
    "a table": "{{ {'none': '@', 'apple': 'Good', 'bread': 'Good'}[word] }}",
    "a list": "{% for x in ['@', 'Good'] if word == 'none' %}{{ x }}{% endfor %}",
    "a variable": "{% set tone = '@' if word == 'none' %}{{ tone }}",
    "a macro's default": "{% macro m(x='@') %}{{ x }}{% endmacro %}{{ m() if not word }}",
    "a macro's argument": "{% macro m(x) %}{{ x }}{% endmacro %}{{ m('@') if not word }}",
    "an escape": "{{ '\\x57orse: be rude' if not word }}",
}


@pytest.mark.parametrize("visible", ["Good", "Better"])
@pytest.mark.parametrize("hiding", SAYING)
def test_text_in_an_expression_that_no_request_has_is_named(hiding: str, visible: str) -> None:
    head = JINJA.replace("Good", visible) + SAYING[hiding].replace("@", WORSE)
    assert WORSE in named(change(repository("p.md", JINJA), repository("p.md", head)))


@pytest.mark.parametrize(
    "more",
    [
        "{{ 'kind words' | upper }}",
        "{{ 'Kind words' if word }}",
        "{{ {'apple': 'Kind', 'bread': 'Warm'}[word] }}",
        "{% set tone = 'formal' if word == 'none' else 'plain' %}{{ {'plain': word}[tone] }}",
        "{{ [{'name': word}] | map(attribute='name') | join(', ') }}",
        "{{ word | replace('none at all', 'word') if word is string }}{{ word.split('of all') }}",
        "{% if word in ['some other word', 'a word'] or word is eq 'no word' %} {% endif %}",
    ],
)
def test_text_of_an_expression_that_is_sent_or_never_sent_is_not_named(more: str) -> None:
    shown_word = JINJA + "word {{ word }}"
    assert (
        named(change(repository("p.md", shown_word), repository("p.md", shown_word + more))) == []
    )


@pytest.mark.parametrize("hidden", ["{% if word == 'none' %}@{% endif %}", "{{ '@' if not word }}"])
@pytest.mark.parametrize(
    "text",
    [
        "".join(chr(0xE0000 + ord(letter)) for letter in "rude"),
        "\u200b\u200c\u2060",
        "\u202eedur\u202c",
        "\ufe00\ufe01",
        "\u3164",
    ],
    ids=["tags", "zero width", "right to left", "variation selectors", "filler"],
)
def test_text_that_nobody_sees_is_named_too(text: str, hidden: str) -> None:
    head = JINJA + hidden.replace("@", text)
    assert named(change(repository("p.md", JINJA), repository("p.md", head))) == [text]


STEPS = CONTRACT.replace(
    "prompt: ../prompts/{}",
    "prompt: ../prompts/last.md\nsteps: [{{name: first, prompt: ../prompts/{}}}]",
)
LAST = {"prompts/last.md": "{% if word %}Repeat {{ first }} kindly{% endif %}"}


@pytest.mark.parametrize("hidden", ["{% if word == 'none' %}@{% endif %}", "{{ '@' if not word }}"])
@pytest.mark.parametrize("visible", ["Good", "Better"])
@pytest.mark.parametrize("kind", ["step", "last prompt", "turns", "simulated user", "value"])
def test_hidden_text_is_named_whatever_a_request_consists_of(
    kind: str, visible: str, hidden: str
) -> None:
    """Also if a turn, the goal of a user or a value of the fixtures says what the prompt hides."""
    hidden = hidden.replace("@", WORSE)
    text = JINJA.replace("Good", visible) + hidden
    contract = {
        "turns": CONTRACT.replace("word: bread}}", f"word: bread}}}}, turns: ['{WORSE}']"),
        "simulated user": CONTRACT
        + f"user: {{{{model: openai/small, goal: '{WORSE}', max_turns: 2}}}}\n",
        "value": CONTRACT.replace("word: bread", f"word: '{WORSE}'"),
    }.get(kind, STEPS if kind in ("step", "last prompt") else CONTRACT)
    base = repository("p.md", JINJA, contract) | LAST
    head = repository("p.md", text, contract) | LAST
    if kind == "last prompt":
        last = LAST["prompts/last.md"].replace("Repeat", visible) + hidden
        head = base | {"prompts/last.md": last}
    assert named(change(base, head)) == [WORSE]


@pytest.mark.parametrize("contract", [STEPS, CONTRACT])
def test_new_text_beside_the_output_of_a_step_is_not_named(contract: str) -> None:
    base = repository("p.md", JINJA, contract) | LAST
    head = repository("p.md", JINJA.replace("Good", "Better"), contract)
    last = {"prompts/last.md": "{% if word %}Say again: {{ first }} and be kind{% endif %}."}
    assert named(change(base, head | last)) == []


LINES = "{% for x in [word] %}\n  - Good {{ x }},\n  one rule\n{% endfor %}\nEnd.\n"


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (LINES, LINES.replace("one rule", "another rule")),
        (LINES, LINES.replace("\n  one rule", " and one rule")),
        (JINJA, "{% if word == 'apple' %}Fruit{% else %}\n\tFood: {{word}}\n{% endif %}"),
        (JINJA, JINJA.replace("Good", "{%- raw -%} Better {{%- endraw %}")),
        (JINJA, "{% macro m(x) %}Kind {{ x }}{% endmacro %}{{ m(word) }}"),
        (JINJA, "{% set tone %}Kind{% endset %}{{ tone }} {{ word }}"),
        (JINJA, "{% if word %}Good{{ word }}{% endif %}{#\n#}{# - #}"),
        ("Good {{word}}", "Better {{word}}\n- a\n- b { c }"),
    ],
)
def test_text_that_some_request_has_is_not_named(base: str, head: str) -> None:
    assert named(change(repository("p.md", base), repository("p.md", head))) == []


def test_text_that_moves_into_an_include_is_not_new() -> None:
    branch = "{% if word == 'none' %}@{% endif %}Good {{ word }}"
    base = repository("p.md", branch.replace("@", "Be kind"))
    head = repository("p.md", branch.replace("@", "{% include 'part.md' %}"))
    assert named(change(base, head | {"prompts/part.md": "Be kind"})) == []
    assert named(change(base, head | {"prompts/part.md": "Be rude"})) == ["Be rude"]


def test_comments_of_a_declared_style_are_not_named() -> None:
    declared = CONTRACT + "template: jinja\n"
    base, head = (repository("p.md", t, declared) for t in (JINJA, "{# why #}" + JINJA))
    work = plan_check(change(base, head), PLAIN)
    assert (work.jobs, work.untested) == ((), ())
    base, head = (repository("p.j2", t) for t in (JINJA, "{# why #}" + JINJA))
    work = plan_check(change(base, head), PLAIN)
    assert (work.jobs, work.untested) == ((), ())


def test_declaring_the_style_that_base_shows_needs_no_call() -> None:
    base = repository("p.md", "Good {{word}}")
    head = repository("p.md", "Good {{word}}", CONTRACT + "template: jinja\n")
    assert plan_check(change(base, head), Policy()).trials == ()


def test_steps_are_read_as_on_base_too() -> None:
    base = repository("p.md", "Good {{word}}", STEPS) | LAST
    head = repository("p.md", f"Good {{{{word}}}}{{# {WORSE} #}}", STEPS) | LAST
    work = plan_check(change(base, head), Policy())
    assert WORSE in json.dumps(sent(work))


def test_validate_names_tags_that_are_sent_as_text() -> None:
    files = repository("p.md", "Good {{word}}\n{# note #}\n")
    found = validate_contracts(revision(files), Policy())
    (finding,) = [f for f in found.findings if "as text" in f.problem.what]
    assert (finding.level, finding.problem.path, finding.problem.line) == (
        "warning",
        "prompts/p.md",
        2,
    )
    assert "`template: jinja`" in finding.problem.fix


COMPUTED = {
    "p.py:ask": (
        "TONE = ' '.join(['be', '@'])\ndef ask(word):\n    return f'Good {word}, {TONE}'",
        "class C:\n    TONE = '@'\ndef ask(word):\n    return f'Good {word}, {C.TONE}'",
        "from @ import TONE\ndef ask(word):\n    return f'Good {word}, {TONE}'",
        "def ask(word, TONE='@'):\n    return f'Good {word}, {TONE}'",
        "def ask(word, *, TONE='@'):\n    return f'Good {word}, {TONE}'",
        "TONE = '@'.lower()\nLINE = f'{TONE}!'\ndef ask(word):\n    return f'Good {word}, {LINE}'",
    ),
    "p.ts:ask": (
        "const TONE = true ? '@' : 'x'; const ask = (word) => `Good ${word}, ${TONE}`;",
        "const ask = (word, TONE = '@') => `Good ${word}, ${TONE}`;",
        "function ask({ word, TONE = '@' }) { return `Good ${word}, ${TONE}`; }",
        "const ask = ({ word, TONE } = { TONE: '@' }) => `Good ${word}, ${TONE}`;",
        "const TONE = ['@'].join(); const ask = (word) => `Good ${word}, ${TONE}`;",
    ),
}
FILLED = CONTRACT.replace("{{word: ", "{{TONE: kind, C: {{TONE: kind}}, word: ")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("place", "code"), [(place, code) for place, codes in COMPUTED.items() for code in codes]
)
def test_a_value_that_the_file_now_computes_otherwise_is_named(
    place: str, code: str, strict: bool
) -> None:
    base, head = (repository(place, code.replace("@", by), FILLED) for by in ("kind", "worse"))
    policy = Policy(on_weakening="require_waiver" if strict else "note")
    work = plan_check(change(base, head), policy, [])
    said = "the code that gives `"
    if strict:
        (job,) = work.untested
        assert said in str(job.weakened)
    else:
        assert said in str(work.affected.notices)


@pytest.mark.parametrize(
    ("place", "code"), [(place, code) for place, codes in COMPUTED.items() for code in codes]
)
def test_other_code_of_the_file_is_not_named(place: str, code: str) -> None:
    more = "const other = '@';" if place.endswith("ts:ask") else "other = '@'"
    code = f"{code.replace('@', 'kind')}\n{more}"
    base, head = (repository(place, code.replace("@", by), FILLED) for by in ("kind", "worse"))
    work = plan_check(change(base, head), Policy(on_weakening="require_waiver"), [])
    assert (work.jobs, work.untested) == ((), ())

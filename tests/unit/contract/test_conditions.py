"""`when` decides for each fixture which checks apply; `not`, `weight` and `pass_score` are read."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from support.foreign_files import loaded as loaded_from

from gatekeeper.contract.checks import conditions
from gatekeeper.contract.meaning.digests import contract_digest
from gatekeeper.contract.templates import client
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.errors import ContractError

FIXTURES = [
    {"id": "en", "vars": {"lang": "en"}, "category": "short"},
    {"id": "de", "vars": {"lang": "de"}, "category": "long"},
]
ALWAYS = {"type": "json_valid"}


def loaded(*checks: dict[str, Any], schema: str = "{}", **settings: Any) -> Contract:
    written = {
        "contract": 1,
        "name": "c",
        "prompt": "p.md",
        "model": "openai/x",
        "fixtures": settings.pop("fixtures", FIXTURES),
        "checks": list(checks),
        **settings,
    }
    files = {"c.yaml": yaml.safe_dump(written), "p.md": "Answer {{ lang }}.", "s.json": schema}
    return loaded_from(files, "c.yaml")


def applied(contract: Contract) -> dict[str, list[str]]:
    return {f.id: [spec.name for spec in contract.checks_for(f)] for f in contract.fixtures}


def problems(*checks: dict[str, Any], **settings: Any) -> str:
    with pytest.raises(ContractError) as caught:
        loaded(*checks, **settings)
    return "\n".join(str(problem) for problem in caught.value.problems)


class TestWhen:
    @pytest.mark.parametrize(
        "when",
        [
            "lang == 'de'",
            {"category": "long"},
            {"category": ["long"]},
            "lang is defined and lang.startswith('d')",
        ],
    )
    def test_a_check_applies_only_where_its_condition_holds(self, when):
        contract = loaded(
            ALWAYS, {"type": "contains", "value": "ß", "name": "german", "when": when}
        )
        assert applied(contract) == {"en": ["json_valid"], "de": ["json_valid", "german"]}

    def test_every_fixture_still_needs_a_gating_check(self):
        found = problems({"type": "json_valid", "when": "lang == 'de'"})
        assert "no check with `severity: error` applies to the fixture `en`" in found

    def test_two_conditions_may_cover_all_fixtures(self):
        contract = loaded(
            {"type": "json_valid", "name": "a", "when": "lang == 'de'"},
            {"type": "json_valid", "name": "b", "when": "lang != 'de'"},
        )
        assert applied(contract) == {"en": ["b"], "de": ["a"]}

    @pytest.mark.parametrize(
        ("when", "found"),
        [
            ("lang == 'fr'", "applies to no fixture"),
            ({"category": "lng"}, "did you mean `long`?"),
            ("lang", "must be true or false"),
            ("missing == 1", "missing"),
            ("lang ==", "in `{{ lang == }}`"),
            ("lang = 'de'", "`when` of `n`"),
            ("missing == 1", "write `language is defined and"),
            ("{{ lang }}", "without `{{`, `}}`, `{%` and `%}`"),
            ("", "write which fixtures the check applies to"),
            ({"kind": "x"}, "use one of `category`"),
            ({}, "{category: NAME}"),
            ({"category": []}, "a category, or a list of categories"),
            (3, "3 is not text or a mapping"),
            ("x" * 3000, "3,000 characters"),
        ],
    )
    def test_a_condition_that_says_nothing_is_a_mistake(self, when, found):
        said = problems(ALWAYS, {"type": "contains", "value": "x", "name": "n", "when": when})
        assert found in said
        assert said.count("\n") == 0

    def test_fixtures_that_differ_in_what_it_names_are_told_apart(self):
        rows = [
            {"id": f"f{n}", "vars": {"lang": "de", "n": n, "tags": ["a"] * n}, "expected": n % 2}
            for n in range(6)
        ]
        for when in ("n % 2 == 0", "tags | length % 2 == 0", "expected == 0"):
            check = {"type": "contains", "value": "x", "name": "even", "when": when}
            found = applied(loaded(ALWAYS, check, fixtures=rows))
            assert [name for name, checks in found.items() if "even" in checks] == [
                "f0",
                "f2",
                "f4",
            ]

    def test_a_check_of_a_fixture_has_conditions_too(self):
        own = [{**FIXTURES[0], "checks": [{"type": "length", "max": 3, "when": "lang == 'de'"}]}]
        assert "applies to no fixture" in problems(ALWAYS, fixtures=own)


class TestKeys:
    def test_are_read(self):
        contract = loaded(
            {"type": "contains", "value": "x", "not": True, "weight": 2}, pass_score=0.5
        )
        (spec,) = contract.checks
        assert (spec.negated, spec.weight, spec.name) == (True, 2.0, "not contains x")
        assert contract.pass_score == 0.5

    @pytest.mark.parametrize(
        "key", [{"not": 1}, {"weight": 0}, {"weight": "2"}, {"weight": True}, {"weight": 1000}]
    )
    def test_wrong_values_are_mistakes(self, key):
        assert next(iter(key)) in problems({**ALWAYS, **key})

    @pytest.mark.parametrize("score", [0, 1.1, "high"])
    def test_a_pass_score_is_a_share(self, score):
        assert "pass_score" in problems(ALWAYS, pass_score=score)


class TestComposed:
    def test_inner_checks_are_read_with_their_names(self):
        inner = [ALWAYS, {"type": "contains", "value": "a"}]
        (spec,) = loaded({"type": "any_of", "checks": inner}).checks
        assert [part.name for part in spec.parts] == ["json_valid", "contains a"]
        assert spec.name == "any_of json_valid, contains a"
        assert "checks" not in spec.params

    def test_at_most_three_levels(self):
        check: dict[str, Any] = ALWAYS
        for _ in range(3):
            check = {"type": "all_of", "checks": [check]}
        assert loaded(check).checks
        assert "deeper than 3 levels" in problems({"type": "all_of", "checks": [check]})

    def test_files_of_inner_checks_count(self):
        check = {"type": "all_of", "checks": [{"type": "json_schema", "schema": "s.json"}]}
        before, now = loaded(check), loaded(check, schema='{"type": "object"}')
        assert "s.json" in before.dependencies
        assert before.dependencies != now.dependencies
        assert contract_digest(before) != contract_digest(now)
        assert len(weakenings(before, now)) == 1

    @pytest.mark.parametrize(
        ("inner", "found"),
        [
            ([], "is empty"),
            ([{"type": "nothing"}], "there is no check type `nothing`"),
            ([{"type": "one_of"}], "write `{type: enum, values: [...]}`"),
            ([{"type": "LLM-rubric"}], "write `{judge: rubric, criteria: ...}`"),
            ([{"type": "equals"}], "`value` is missing"),
            ([{**ALWAYS, "severity": "warn"}], "cannot have `severity`"),
            ([{**ALWAYS, "when": "true"}], "cannot have `when`"),
            ("x", "is not a list"),
            ([ALWAYS] * 21, "checks"),
        ],
    )
    def test_mistakes_of_inner_checks_are_found(self, inner, found):
        assert found in problems({"type": "all_of", "checks": inner})


CONTAINS = {"type": "contains", "value": "a", "name": "n"}
ANY = {"type": "any_of", "name": "n", "checks": [CONTAINS]}
TWO = {"type": "all_of", "name": "n", "checks": [CONTAINS, {**ALWAYS, "name": "v"}]}
LENGTH = {"type": "length", "max": 9, "name": "n"}


class TestWeakenings:
    @pytest.mark.parametrize(
        ("base", "head", "found"),
        [
            ((CONTAINS,), ({**CONTAINS, "not": True},), "check `n`: `not` added"),
            (
                (CONTAINS,),
                ({**CONTAINS, "when": "lang == 'en'"},),
                "check `n` no longer applies to fixture `de`",
            ),
            (
                ({**CONTAINS, "name": "m"},),
                ({**CONTAINS, "when": {"category": "short"}},),
                "check `m` no longer applies to fixture `de`",
            ),
            ((CONTAINS,), ({**CONTAINS, "when": "lang != 'fr'"},), None),
            (({**CONTAINS, "when": "lang == 'en'"},), (CONTAINS,), None),
            (
                (ANY,),
                ({**ANY, "checks": [CONTAINS, {**CONTAINS, "name": "m", "value": ""}]},),
                "check `n`: alternative `m` added; an output that passes only this alternative "
                "now passes the whole check",
            ),
            ((TWO,), ({**TWO, "checks": [CONTAINS]},), "check `n`: check `v` removed"),
            (({**TWO, "checks": [CONTAINS]},), (TWO,), None),
            (
                ({**TWO, "not": True},),
                ({**TWO, "not": True, "checks": [CONTAINS]},),
                "check `n`: the inner checks of the check changed",
            ),
            ((LENGTH,), ({**LENGTH, "max": 8},), None),
            (
                ({**LENGTH, "not": True},),
                ({**LENGTH, "not": True, "max": 8},),
                "check `n`: `max` changed from 9 to 8",
            ),
        ],
    )
    def test_of_conditions_negation_and_inner_checks(self, base, head, found):
        said = weakenings(loaded(ALWAYS, *base), loaded(ALWAYS, *head))
        assert said == (() if found is None else (found,))

    def test_a_fixture_that_leaves_a_category_loses_its_check(self):
        check = {**CONTAINS, "when": {"category": ["short", "long"]}}
        moved = [FIXTURES[0], {**FIXTURES[1], "category": "other"}]
        base, head = loaded(ALWAYS, check), loaded(ALWAYS, check, fixtures=moved)
        assert weakenings(base, head) == ("check `n` no longer applies to fixture `de`",)
        assert contract_digest(base) != contract_digest(head)

    def test_a_check_that_dilutes_scores_that_are_compared(self):
        gate = {"on": "score"}
        base = loaded(ALWAYS, gate=gate)
        assert weakenings(base, loaded(ALWAYS, CONTAINS, gate=gate)) == (
            "check `n` added; the score of the check counts in `gate.on: score`, so other checks "
            "count less",
        )
        heavier = loaded({**ALWAYS, "weight": 3}, gate=gate)
        assert weakenings(base, heavier) == ("check `json_valid`: weight changed from 1 to 3",)
        partly = loaded(ALWAYS, {**CONTAINS, "when": {"category": ["short"]}}, gate=gate)
        (said,) = weakenings(partly, loaded(ALWAYS, CONTAINS, gate=gate))
        assert said.startswith("check `n` now applies to fixture")

    @pytest.mark.parametrize(
        "key", [{"not": True}, {"weight": 2}, {"when": {"category": ["short", "long"]}}]
    )
    def test_each_key_counts_in_the_digest(self, key):
        assert contract_digest(loaded(ALWAYS)) != contract_digest(loaded({**ALWAYS, **key}))

    def test_inner_checks_count_in_the_digest(self):
        other = {**ANY, "checks": [{**CONTAINS, "value": "b"}]}
        assert contract_digest(loaded(ANY)) != contract_digest(loaded(other))


def test_many_conditions_are_evaluated_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, 1,000 checks of 500 fixtures take minutes."""
    asked = []
    ask = client._CHILD.ask
    monkeypatch.setattr(client._CHILD, "ask", lambda *given: asked.append(given) or ask(*given))
    fixtures = [{"id": f"f{i}", "vars": {"lang": "en", "n": i}} for i in range(30)]
    checks = [{"type": "json_valid", "name": f"c{i}", "when": f"n == {i}"} for i in range(30)]
    own = {"type": "json_valid", "name": "own", "when": "n == 1"}
    fixtures[1]["checks"] = [own]
    found = applied(loaded(*checks, fixtures=fixtures))
    assert found["f1"] == ["c1", "own"]
    assert found["f29"] == ["c29"]
    assert len(asked) == 1


def test_conditions_that_take_too_much_together_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "Budget", lambda: Budget(seconds=0.01))
    fixtures = [{"id": f"f{i}", "vars": {"lang": "en", "n": i}} for i in range(300)]
    checks = [{"type": "json_valid", "name": f"c{i}", "when": f"n == {i}"} for i in range(100)]
    assert "too much time over all fixtures" in problems(*checks, fixtures=fixtures)

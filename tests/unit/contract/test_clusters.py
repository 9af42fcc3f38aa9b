"""Which fixtures count as one, and what a pull request may not do to them unnoticed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import contract

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import contract_digest
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.clusters import count_as_one, members_of
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.errors import ContractError


def clustered(**clusters: str | None) -> Contract:
    whole = contract(*clusters)
    fixtures = tuple(
        replace(fixture, vars={"word": fixture.id}, cluster=cluster)
        for fixture, cluster in zip(whole.fixtures, clusters.values(), strict=True)
    )
    return replace(whole, fixtures=fixtures)


def units(same: dict[str, str], clusters: dict[str, str], names: str) -> list[str]:
    found = members_of(count_as_one(same, clusters), list(names))
    return sorted("".join(sorted(each)) for each in found.values())


class TestCountAsOne:
    def test_without_a_cluster_of_two_it_is_the_same_object(self):
        same = {"b": "a"}
        assert count_as_one(same, {}) is same
        assert count_as_one(same, {"a": "x", "c": "y"}) is same

    def test_fixtures_of_one_cluster_are_one(self):
        assert units({}, {"a": "x", "b": "x", "d": "y"}, "abcd") == ["ab", "c", "d"]

    def test_a_shared_input_joins_two_clusters(self):
        clusters = {"a": "x", "b": "x", "c": "y", "d": "y"}
        assert units({"c": "b"}, clusters, "abcde") == ["abcd", "e"]

    def test_a_copy_without_a_cluster_brings_its_original_along(self):
        assert units({"b": "a"}, {"b": "x", "c": "x"}, "abc") == ["abc"]

    @given(
        st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("xyz")),
        st.dictionaries(st.sampled_from("efgh"), st.sampled_from("abcd")),
    )
    def test_it_is_what_the_links_connect(self, clusters, same):
        found = count_as_one(same, clusters)
        of = {name: found.get(name, name) for name in "abcdefgh"}
        for one, other in same.items():
            assert of[one] == of[other]
        for one in clusters:
            for other in clusters:
                assert clusters[one] != clusters[other] or of[one] == of[other]
        links = len({*same.items()}) + len(clusters) - len(set(clusters.values()))
        assert len(set(of.values())) >= 8 - links
        assert all(root not in found for root in found.values())


class TestDigest:
    def test_a_cluster_of_one_changes_nothing(self):
        assert contract_digest(clustered(a="x", b=None)) == contract_digest(
            clustered(a=None, b=None)
        )

    def test_its_name_changes_nothing_and_its_members_do(self):
        whole = contract_digest(clustered(a="x", b="x", c=None))
        assert whole == contract_digest(clustered(a="y", b="y", c="z"))
        assert whole != contract_digest(clustered(a="x", b=None, c="x"))


class TestWeakening:
    def test_joining_fixtures_is_named(self):
        (text,) = weakenings(clustered(a=None, b=None, c=None), clustered(a="x", b="x", c=None))
        assert "`a`, `b`" in text
        assert "instead of 2" in text

    def test_joining_clusters_is_named_whatever_they_are_called(self):
        base = clustered(a="x", b="x", c="y", d="y")
        assert weakenings(base, clustered(a="p", b="p", c="q", d="q")) == ()
        (text,) = weakenings(base, clustered(a="y", b="y", c="y", d="y"))
        assert "instead of 2" in text

    def test_a_new_fixture_cannot_join_others_unnoticed(self):
        """It repeats the input of one and shares the cluster of the other."""
        base, head = clustered(a="x", b=None), clustered(a="x", b=None, c="x")
        copy = replace(head.fixtures[2], vars=head.fixtures[1].vars)
        head = replace(head, fixtures=(*head.fixtures[:2], copy))
        assert any("`a`, `b`" in text for text in weakenings(base, head))

    @pytest.mark.parametrize("objective", [True, False])
    def test_splitting_is_named_where_objectives_count_clusters(self, objective):
        slo = read_objectives({"success_rate": 0.9} if objective else {})
        base = replace(clustered(a="x", b="x"), slo=slo)
        head = replace(clustered(a=None, b=None), slo=slo)
        assert len(weakenings(base, head)) == objective

    def test_many_are_counted_and_not_listed(self):
        base = {f"f{n}": None for n in range(10)}
        (text,) = weakenings(clustered(**base), clustered(**dict.fromkeys(base, "x")))
        assert "and 7 more" in text


CONTRACT = """\
contract: 1
name: words
prompt: words.txt
model: m/x
checks: [{{type: contains, value: ok}}]
fixtures: [{fixtures}]
"""


def load(fixtures: str, rows: str = "") -> Contract:
    files = {
        "words.yaml": CONTRACT.format(fixtures=fixtures),
        "words.txt": "Say {{ word }}",
        "rows.csv": rows,
    }
    revision = MemoryRevision({path: text.encode() for path, text in files.items()}, "a" * 40)
    return load_contract(revision, "words.yaml", SHAPES)


class TestReading:
    def test_in_place_and_from_csv(self):
        rows = "word,cluster\none,7\ntwo,\n"
        found = load("{vars: {word: a}, cluster: x}, {file: rows.csv}", rows)
        assert [fixture.cluster for fixture in found.fixtures] == ["x", "7", None]
        assert all("cluster" not in fixture.vars for fixture in found.fixtures)

    @pytest.mark.parametrize("written", ["[a]", "true", '"a\\nb"', "{a: b}"])
    def test_what_is_no_word_is_refused_with_its_place(self, written):
        with pytest.raises(ContractError) as caught:
            load(f"{{vars: {{word: a}}, cluster: {written}}}")
        assert any("cluster" in str(p) and p.line == 6 for p in caught.value.problems)

"""The pages of the site: values, escaping, and what a folder may hold already."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from support.nightly_records import night, nights
from support.outcomes import contract
from support.past_runs import STARTED, record

from gatekeeper.contract.policies.policy import Policy, load_policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.errors import UsageError, WriteError
from gatekeeper.history.record import events_of
from gatekeeper.providers.models import retirement
from gatekeeper.reports.site.contract_history import contract_histories
from gatekeeper.reports.site.contract_page import budget_left
from gatekeeper.reports.site.folder import MANIFEST, write_site
from gatekeeper.reports.site.frame import Site, page_path
from gatekeeper.reports.site.pages import summary
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.objectives.error_budget import error_budget

NOW = STARTED + timedelta(hours=12)
HOSTILE = "</script><script>window.owned=1</script><img src=x onerror=alert(1)>\u202e"
SLO = read_objectives({"success_rate": 0.95})


def site(records, suite=(), now=NOW, **fields) -> Site:
    named = {found.name: found for found in suite}
    histories = contract_histories(records, named, Policy(), now)
    return Site("Prompt health", "runs.jsonl", now, records, histories, **fields)


def written(found: Site, out) -> dict[str, str]:
    return {name: path.read_text("utf-8") for name, path in write_site(found, out).items()}


def test_a_run_is_on_every_page_with_its_values(tmp_path):
    past = record(cost_usd=0.5, verdict="fail", latency_ms={"p95": 912.0}, repaired=3)
    pages = written(site([past], [contract("a", name="tag", slo=SLO)]), tmp_path)
    first, own = pages["index.html"], pages[page_path("tag")]
    for text in ("90 %", "70 % – 97 %", "0.50 USD", "last run: fail"):
        assert text in first.replace("\u00a0", " ")
    for text in ("2 of 20", "912 ms", "at least 95 %", "3", "aaaaaaaaaa"):
        assert text in own.replace("\u00a0", " ")
    assert "2026-11" in pages["costs.html"]
    assert page_path("tag") in pages["health.html"]


@pytest.mark.parametrize(("left", "severity"), [(60, "inconclusive"), (200, "info")])
def test_the_end_of_a_model_is_said(left, severity, monkeypatch):
    found = contract("a", name="tag")
    ends = retirement.find_retirement("openai/gpt-4o-mini-2024-07-18")
    assert ends
    found = replace(found, target=replace(found.target, model=ends.model))
    monkeypatch.setattr(retirement, "today", lambda: ends.day - timedelta(left))
    (history,) = site([], [found]).histories
    (said,) = [one for one in history.findings if one.code == "retires"]
    assert said.severity == severity
    assert f"retires on {ends.day} (in {left} days)" in said.text
    assert f"--to {ends.successor}" in said.text
    assert "`" not in said.text  # the page does not draw code in it


def test_an_empty_history_and_a_contract_without_a_run(tmp_path):
    pages = written(site([]), tmp_path / "empty")
    assert "The history has no run yet" in pages["index.html"]
    assert summary(site([]))[0] == "info"
    found = site([], [contract("a", name="tag")])
    assert [finding.code for finding in found.histories[0].findings] == ["no_history"]
    assert "no run yet" in written(found, tmp_path / "new")["index.html"]


def test_records_of_older_versions_have_no_verdict_and_still_count(tmp_path):
    old = record(verdict=None, interval=None, error_checks=None)
    assert ">–</td>" in written(site([old]), tmp_path)["index.html"]


def test_what_could_not_be_read_is_named(tmp_path):
    found = site([record()], notices=("runs.jsonl:7: not a JSON record <b>",))
    assert "runs.jsonl:7: not a JSON record &lt;b&gt;" in written(found, tmp_path)["index.html"]


def test_hostile_names_stay_text(tmp_path):
    past = record(
        contract=HOSTILE,
        model=HOSTILE,
        sha=HOSTILE,
        fingerprints=(HOSTILE,),
        checks={HOSTILE: (3, 1)},
    )
    named = contract("a", name=HOSTILE, path=HOSTILE, slo=SLO)
    pages = written(site([past], [named], notices=(HOSTILE,)), tmp_path)
    for name, text in pages.items():
        if name.endswith(".html"):
            assert "<img" not in text
            assert "\u202e" not in text
            assert re.findall(r"<script[^>]*>", text) == [re.search(r"<script src=[^>]*>", text)[0]]
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.html")} == {
        "contracts", "index.html", "health.html", "costs.html",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["../../x", "a/b", "Tag", "a" * 300, "ü", ".", "con trol", ""])
def test_a_page_has_a_safe_name_of_its_own(name):
    assert re.fullmatch(r"contracts/[a-z0-9-]+--[0-9a-f]{8}\.html", page_path(name))
    assert page_path(name) != page_path(f"{name}x")
    assert page_path("order-extraction.de") == "contracts/order-extraction.de.html"


def test_only_what_an_earlier_site_wrote_is_overwritten(tmp_path):
    own = tmp_path / "notes.txt"
    own.write_text("mine")
    written(site([record(contract="old")]), tmp_path)
    assert (tmp_path / page_path("old")).exists()
    written(site([record(contract="new")]), tmp_path)
    assert not (tmp_path / page_path("old")).exists()
    assert (tmp_path / page_path("new")).exists()
    assert own.read_text() == "mine"


def test_a_file_of_another_origin_is_left_alone(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(UsageError, match=r"index\.html"):
        write_site(site([record()]), tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "mine"


def test_a_list_of_files_cannot_name_others(tmp_path):
    victim = tmp_path / "victim.html"
    victim.write_text("mine")
    out = tmp_path / "site"
    out.mkdir()
    names = ["../victim.html", str(victim), "contracts/../../victim.html", 7]
    (out / MANIFEST).write_text(json.dumps({"files": names}))
    write_site(site([record()]), out)
    assert victim.read_text() == "mine"


def test_a_link_in_the_folder_is_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "site"
    out.mkdir()
    (out / "contracts").symlink_to(elsewhere)
    with pytest.raises(UsageError):
        write_site(site([record()]), out)
    assert list(elsewhere.iterdir()) == []


def test_a_link_to_the_folder_is_not_followed(tmp_path):
    """A pull request can commit it; no folder is made in its place either."""
    elsewhere = tmp_path / "elsewhere"
    repository = tmp_path / "repository"
    for folder in (elsewhere, repository / ".git"):
        folder.mkdir(parents=True)
    (repository / "public").symlink_to(elsewhere)
    for out in ("public", "public/site", ".git/site"):
        with pytest.raises(WriteError):
            write_site(site([record()]), repository / out)
    assert list(elsewhere.iterdir()) == []


def test_every_run_is_packed_for_the_script(tmp_path):
    past = nights(40)
    found = site(past, now=past[-1].time)
    page = written(found, tmp_path)[page_path("words")]
    packed = re.search(r'id="packed" hidden>([^<]*)<', page)[1]
    document = json.loads(gzip.decompress(base64.b64decode(packed)))
    runs = [*document["shown"], *document["older"]]
    assert len(runs) == 40
    assert [run[0] for run in runs] == sorted((run[0] for run in runs), reverse=True)
    assert runs[0][2] == f"{past[-1].time:%Y-%m-%d %H:%M}"


def test_a_drifted_model_a_missed_contract_and_a_removed_one_are_told_apart():
    steady = nights(40, rate=0.95, contract="drifts", seed=3)
    after = nights(40, rate=0.3, contract="drifts", start=40, seed=4)
    missed = [night(at, {"a": 0}, contract="missed") for at in range(60)]
    gone = [night(at, {"a": 0}, contract="gone") for at in range(60)]
    records = sorted([*steady, *after, *missed, *gone], key=lambda r: r.time)
    suite = [contract("a", name=name) for name in ("drifts", "missed")]
    found = {h.name: h for h in site(records, suite, now=records[-1].time).histories}
    assert "drift" in [finding.code for finding in found["drifts"].findings]
    assert found["drifts"].severity == "fail"
    assert [finding.code for finding in found["missed"].findings] == ["missed"]
    assert (found["gone"].removed, found["gone"].findings) == (True, ())


def test_the_spent_budget_is_that_of_the_budget_command():
    records = [
        record(time=NOW - timedelta(days=at), samples=100, failed=20) for at in range(20, 0, -1)
    ]
    (history,) = site(records, [contract("a", name="tag", slo=SLO)]).histories
    (finding,) = [found for found in history.findings if found.code == "budget"]
    assert finding.severity == "fail"
    assert history.budgets.frozen


def test_the_budget_over_time_is_that_of_the_statistics():
    objective = SLO[0]
    records = [
        record(
            time=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=31 * at),
            samples=40,
            failed=at % 5,
        )
        for at in range(60)
    ]
    events = events_of(records)["tag"]["success_rate"]
    left = budget_left(records, objective)
    for at, share in enumerate(left):
        found = error_budget(
            events[: at + 1], objective.good_share, objective.window, records[at].time, alpha=None
        )
        assert share == pytest.approx(found.left / found.budget)


def test_the_interval_is_drawn_only_where_there_is_one(tmp_path):
    past = [
        record(time=STARTED - timedelta(days=2), interval=ConfidenceInterval(0.5, 0.9)),
        record(time=STARTED, interval=None),
    ]
    page = written(site(past), tmp_path)[page_path("tag")]
    assert page.count('class="band"') == 1


def test_contracts_of_a_project_show_its_folder(tmp_path):
    found = contract("a", name="tag", slo=SLO)
    policy = load_policy(MemoryRevision({"services/mail/.github/gatekeeper.yml": b""}))
    named = {"tag": replace(found, path="services/mail/contracts/tag.yaml")}
    histories = contract_histories([record()], named, policy, NOW)
    page = written(Site("t", "runs.jsonl", NOW, [record()], histories), tmp_path)["index.html"]
    assert 'data-text="services/mail tag' in page
    assert "<small>services/mail" in page

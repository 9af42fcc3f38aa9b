"""A made-up history of nightly runs, and the repository it belongs to, for the site.

records = nightly_history(contracts=100, nights=365, fixtures=20)
write_repository(folder, contracts=100, fixtures=20)

Contracts have stories by their place: the first drifts, the second spends its error budget, the
third has flickering fixtures, the fourth stopped running, the rest are healthy.
"""

from __future__ import annotations

import random
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gatekeeper.history.record import Record, fixture_key
from gatekeeper.stats.intervals.intervals import wilson

MODELS = ("openai/gpt-4o-mini", "openai/gpt-4.1-nano", "anthropic/claude-haiku-4-5")
NAMES = (
    "support-triage", "refund-policy", "order-extraction", "invoice-fields", "ticket-summary",
    "tone-of-voice", "language-detection", "product-search", "faq-answers", "meeting-notes",
    "contract-clauses", "sentiment",
)  # fmt: skip
SAMPLES = 3
CHANGED_EVERY = 60
"""Nights between two changes of a prompt."""


def name_of(number: int) -> str:
    name = NAMES[number % len(NAMES)]
    return name if number < len(NAMES) else f"{name}-{number // len(NAMES) + 1}"


def nightly_history(
    contracts: int,
    nights: int,
    fixtures: int,
    last: datetime | None = None,
    *,
    changed_every: int | None = CHANGED_EVERY,
) -> list[Record]:
    """The records, oldest first; the last night is `last`, by default the one before today."""
    last = last or datetime.now(UTC).replace(hour=3, minute=23, second=0, microsecond=0)
    first = last - timedelta(days=nights)
    rng = random.Random(7)  # noqa: S311
    rates = [
        [0.999 if rng.random() < 0.9 else 0.93 for _ in range(fixtures)] for _ in range(contracts)
    ]
    records = []
    for night in range(nights):
        for contract in range(contracts):
            if contract == 3 and night >= nights - 9:
                continue
            made = _record(contract, night, nights, first, rates[contract], rng, changed_every)
            records.append(made)
    return records


def _record(contract, night, nights, first, rates, rng, changed_every) -> Record:
    name, late = name_of(contract), nights - night
    drop = 0.0
    if contract == 0 and late <= 28:
        drop = 0.14
    if contract == 1 and late <= 12:
        drop = 0.08
    fixture_counts = {}
    for number, rate in enumerate(rates):
        chance = max(0.0, rate - drop)
        if contract == 2 and number < 2:
            chance = 0.6
        failed = sum(rng.random() >= chance for _ in range(SAMPLES))
        fixture_counts[fixture_key(f"{name}-{number}")] = (SAMPLES, failed)
    samples = SAMPLES * len(rates)
    failed = sum(failed for _, failed in fixture_counts.values())
    tokens = rng.randint(900, 1100) * samples
    version = 0 if changed_every is None else (night + 7 * contract + 30) // changed_every
    return Record(
        id=f"{contract:04}-{night:04}".ljust(32, "0"),
        time=first + timedelta(days=night + 1, seconds=contract),
        trigger="schedule",
        sha=f"{night * 2654435761 % 2**64:016x}".ljust(40, "0"),
        contract=name,
        model=MODELS[contract % len(MODELS)],
        version="0.1.0",
        samples=samples,
        failed=failed,
        interval=wilson(samples - failed, samples),
        calls=samples,
        failed_calls=0,
        prompt_digest=f"{version:064x}",
        contract_digest=f"{contract:064x}",
        fingerprints=("fp_44709d6fcb" if late > 28 else "fp_9f2c81a07e",),
        objectives={
            "success_rate": (samples, failed),
            "latency_p95_ms": (samples, rng.randint(0, 2)),
        },
        checks={"is JSON": (samples, failed), "is short": (samples, 0)},
        categories={"billing": (samples // 2, failed // 2)},
        fixtures=fixture_counts,
        repaired=rng.choice((0, 0, 0, 1, 2)),
        latency_ms={"p50": rng.uniform(380, 450), "p95": rng.uniform(800, 1000)},
        prompt_tokens=tokens,
        completion_tokens=tokens // 9,
        cost_usd=round(tokens * 0.15e-6 + tokens / 9 * 0.6e-6, 6),
        error_checks=("is JSON",),
        verdict="fail" if failed > samples * 0.15 else "pass",
    )


CONTRACT = """\
contract: 1
name: {name}
prompt: ../prompts/{name}.txt
model: openai/gpt-4o-mini
fixtures: [{{file: fixtures/{name}.csv}}]
checks: [{{type: json_valid, name: is JSON}}]
sampling: {{samples: 3}}
slo:
  success_rate: 0.95
  latency_p95_ms: 1200
"""


def write_repository(folder: Path, contracts: int, fixtures: int) -> None:
    """A git repository with these contracts, committed."""
    (folder / "contracts" / "fixtures").mkdir(parents=True)
    (folder / "prompts").mkdir()
    for number in range(contracts):
        name = name_of(number)
        rows = "".join(f"{name}-{each},Where is order {each}?\n" for each in range(fixtures))
        (folder / "contracts" / f"{name}.yaml").write_text(CONTRACT.format(name=name))
        (folder / "contracts" / "fixtures" / f"{name}.csv").write_text(f"id,mail\n{rows}")
        (folder / "prompts" / f"{name}.txt").write_text("Answer as JSON: {{ mail }}\n")
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "Add contracts"]):
        subprocess.run(["git", *command], cwd=folder, check=True)

"""Says which drop the gate can notice with the generated tests, and what gives it more to go by."""

from __future__ import annotations

from gatekeeper.author.generation.effort import MOST_BASELINE_TESTS
from gatekeeper.gate.plan import Job
from gatekeeper.gate.power import compute_power
from gatekeeper.numbers import size_in_points


def cluster_advice(job: Job, baseline: int) -> str:
    """Return in how many clusters the fixtures are, the smallest drop that a comparison can show
    with them, and how to get more clusters. The `baseline` tests are among the fixtures."""
    power = compute_power(job.evaluations[0])
    if power.note is None:
        return f"{power.units_text} can show a drop of {size_in_points(power.margin)}."
    said = f"{power.note}. "
    if power.clustered_fixtures is not None:
        said += "More tests of the same rules do not add a cluster. "
    said += "Add other inputs: from your logs with `gatekeeper fixtures add`"
    if power.fixtures_needed is None:
        return f"{said}, or by hand without the key `cluster`."
    wanted = min(baseline + power.fixtures_needed - power.inputs, MOST_BASELINE_TESTS)
    return (
        f"{said}, by hand without the key `cluster`, or with `gatekeeper generate --as-is "
        f"--baseline {wanted}`."
    )

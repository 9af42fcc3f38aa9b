"""Run every example payload that GitHub has published through the gate's reading of events.

    npm pack @octokit/webhooks-examples && tar -xzf octokit-webhooks-examples-*.tgz
    python scripts/check_payloads.py package/api.github.com/index.json

Nothing is fetched. Each payload must be understood, or be explained as an event that the gate
has nothing to do for; one that is taken for a payload of another event is a fault, and ends in
exit code 1. Webhooks carry what workflows get, except for `schedule`, which has no payload.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from gatekeeper.action.events import Nothing, activity_for
from gatekeeper.errors import GatekeeperError

ENVIRONMENT = {"GITHUB_SHA": "c" * 40}
JUDGED = {
    "pull_request",
    "pull_request_target",
    "merge_group",
    "workflow_run",
    "push",
    "schedule",
    "workflow_dispatch",
    "issue_comment",
}


def main() -> int:
    """Count what the payloads become; name those that are not understood."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    found: Counter[tuple[str, str]] = Counter()
    faults = []
    for event in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        name = event["name"]
        for number, payload in enumerate(event["examples"]):
            try:
                activity = activity_for(name, payload, ENVIRONMENT)
            except GatekeeperError as error:
                faults.append(f"{name} {number} ({payload.get('action')}): {error}")
                continue
            red = isinstance(activity, Nothing) and activity.exit_code != 0
            if red == (name in JUDGED):
                faults.append(f"{name} {number}: {activity}")
            found[name if name in JUDGED else "any other", type(activity).__name__] += 1
    for (name, activity_name), count in sorted(found.items()):
        print(f"{count:5} {name:20} {activity_name}")
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""What the reports need is loaded before they are written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support import results
from gatekeeper.reports.write import prepare_reports
from gatekeeper.reports.terminal.console import print_result
from gatekeeper.reports.write import write_reports

result = results.result(results.failing_contract(), results.undecided_contract())
prepare_reports()
before = set(sys.modules)
print_result(result, write_reports(result, Path(sys.argv[2])))
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_reports_import_no_library_when_they_are_written(tmp_path: Path) -> None:
    tests = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tests), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    late = json.loads(done.stdout.splitlines()[-1])
    # rich loads its tables of characters when it meets them; Python's own modules are small.
    own = sys.stdlib_module_names
    libraries = [name for name in late if name.split(".")[0] not in own]
    assert [name for name in libraries if not name.startswith("rich._")] == []

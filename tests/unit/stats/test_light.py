"""What the modules of statistics are for, and that they load little."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_importing_the_statistics_loads_neither_scipy_nor_numpy():
    code = (
        "import sys; "
        "import gatekeeper.stats.intervals.bootstrap, gatekeeper.stats.judges.agreement, "
        "gatekeeper.stats.judges.calibration, gatekeeper.stats.nights.drift; "
        "import gatekeeper.stats.paired.confirmation; "
        "import gatekeeper.stats.intervals.intervals, gatekeeper.stats.multiple, "
        "gatekeeper.stats.paired.power, "
        "gatekeeper.stats.objectives.error_budget, gatekeeper.stats.objectives.objective; "
        "from gatekeeper.stats.paired.mcnemar import mcnemar_exact; mcnemar_exact(9, 2); "
        "sys.exit(bool({'scipy', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_page_on_statistics_says_of_each_module_whether_it_decides():
    page = (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
    section = page.partition("## What decides, and what does not")[2].partition(
        "`result.json` and"
    )[0]
    named = re.findall(r"`([a-z_]+)`", section)
    modules = {path.stem for path in (ROOT / "gatekeeper/stats").rglob("[a-z]*.py")}
    assert sorted(named) == sorted(modules)
    deciding = re.findall(r"`([a-z_]+)`", section.partition("These modules only inform")[0])
    assert 18 <= len(deciding) <= 24

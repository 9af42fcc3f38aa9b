"""A pull request that touches no prompt must not pay for scipy."""

import subprocess
import sys


def test_importing_the_statistics_loads_neither_scipy_nor_numpy():
    code = (
        "import sys; "
        "import gatekeeper.stats.bayes, gatekeeper.stats.bootstrap, gatekeeper.stats.durkalski, "
        "gatekeeper.stats.effect; "
        "import gatekeeper.stats.agreement, gatekeeper.stats.calibration, gatekeeper.stats.drift, "
        "gatekeeper.stats.confirmation; "
        "import gatekeeper.stats.fisher, gatekeeper.stats.intervals, "
        "gatekeeper.stats.mcnemar, gatekeeper.stats.multiple, gatekeeper.stats.power, "
        "gatekeeper.stats.error_budget, gatekeeper.stats.objective; "
        "from gatekeeper.stats.mcnemar import mcnemar_exact; mcnemar_exact(9, 2); "
        "sys.exit(bool({'scipy', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

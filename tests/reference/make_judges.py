"""Makes judges.json: reference values for prediction-powered inference.

    python -m venv reference
    reference/bin/pip install ppi-python
    reference/bin/python tests/reference/make_judges.py > tests/reference/judges.json

Nothing of gatekeeper is imported here; ppi-python is not among the project's packages.
"""

import json
from importlib.metadata import version

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate


def verdicts(rng, n, rate, sensitivity, specificity):
    human = rng.random(n) < rate
    judge = np.where(human, rng.random(n) < sensitivity, rng.random(n) > specificity)
    return human.astype(float), judge.astype(float)


def differences(rng, n):
    base, base_judge = verdicts(rng, n, 0.8, 0.9, 0.8)
    head, head_judge = verdicts(rng, n, 0.7, 0.85, 0.85)
    return head - base, head_judge - base_judge


def shares(rng, n):
    human = rng.binomial(5, 0.7, n) / 5
    return human, np.clip(human + rng.normal(0, 0.2, n), 0, 1).round(3)


MAKERS = {
    "rate": lambda rng, n: verdicts(rng, n, 0.7, 0.9, 0.8),
    "useless": lambda rng, n: verdicts(rng, n, 0.7, 0.5, 0.5),
    "contrary": lambda rng, n: verdicts(rng, n, 0.5, 0.2, 0.2),
    "paired": differences,
    "shares": shares,
}


def cases():
    rng = np.random.default_rng(14)
    found = []
    for name, make in MAKERS.items():
        for n, m in ((12, 40), (60, 300)):
            human, judge = make(rng, n)
            _, judged = make(rng, m)
            for power in (None, 1.0, 0.3):
                low, high = ppi_mean_ci(human, judge, judged, alpha=0.05, lam=power)
                value = ppi_mean_pointestimate(human, judge, judged, lam=power)
                found.append(
                    {
                        "name": name,
                        "human": human.tolist(),
                        "judge": judge.tolist(),
                        "judged": judged.tolist(),
                        "power": power,
                        "value": float(value[0]),
                        "interval": [float(low[0]), float(high[0])],
                    }
                )
    return found


if __name__ == "__main__":
    made_by = f"ppi-python {version('ppi-python')}: ppi_mean_ci(alpha=0.05), ppi_mean_pointestimate"
    print(json.dumps({"powered": {"made_by": made_by, "cases": cases()}}))

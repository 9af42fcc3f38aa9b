"""Makes agreement.json: reference values for agreement and calibration.

    python -m venv reference
    reference/bin/pip install scipy statsmodels scikit-learn irrCAC
    reference/bin/python tests/reference/make_agreement.py > tests/reference/agreement.json

Every group says which call of which version made it, or where it was published. Nothing of
gatekeeper is imported here; scikit-learn and irrCAC are not among the project's packages.
"""

import json
import math
from importlib.metadata import version

import numpy as np
import pandas as pd
from irrCAC.raw import CAC
from sklearn.metrics import precision_recall_curve, roc_auc_score
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

TABLES = [
    [[20, 5], [10, 15]],
    [[1, 9], [9, 1]],
    [[45, 15], [25, 15]],
    [[13, 0, 0], [0, 20, 7], [0, 4, 56]],
    [[44, 5, 1], [7, 20, 3], [9, 5, 6]],
    [[22, 2, 2, 0], [5, 7, 14, 0], [0, 2, 36, 0], [0, 1, 17, 10]],
]
DIAGNOSES = [
    [0, 0, 0, 6, 0],
    [0, 3, 0, 0, 3],
    [0, 1, 4, 0, 1],
    [0, 0, 0, 0, 6],
    [0, 3, 0, 3, 0],
    [2, 0, 4, 0, 0],
    [0, 0, 4, 0, 2],
    [2, 0, 3, 1, 0],
    [2, 0, 0, 4, 0],
    [0, 0, 0, 0, 6],
    [1, 0, 0, 5, 0],
    [1, 1, 0, 4, 0],
    [0, 3, 3, 0, 0],
    [1, 0, 0, 5, 0],
    [0, 2, 0, 3, 1],
    [0, 0, 5, 0, 1],
    [3, 0, 0, 1, 2],
    [5, 1, 0, 0, 0],
    [0, 2, 0, 4, 0],
    [1, 0, 2, 0, 3],
    [0, 0, 0, 0, 6],
    [0, 1, 0, 5, 0],
    [0, 2, 0, 1, 3],
    [2, 0, 0, 4, 0],
    [1, 0, 0, 4, 1],
    [0, 5, 0, 1, 0],
    [4, 0, 0, 0, 2],
    [0, 2, 0, 4, 0],
    [1, 0, 5, 0, 0],
    [0, 0, 0, 0, 6],
]


def cohen_cases():
    cases = []
    for table in TABLES:
        found = cohens_kappa(np.array(table))
        cases.append(
            {
                "table": table,
                "value": float(found.kappa),
                "error": float(found.std_kappa),
                "interval": [float(found.kappa_low), float(found.kappa_upp)],
            }
        )
    return cases


def rated(rng, subjects, raters, categories, agreement):
    """Raters who pick the subject's own category with probability `agreement`, else any."""
    own = rng.integers(categories, size=subjects)
    picks = rng.integers(categories, size=(subjects, raters))
    picks = np.where(rng.random((subjects, raters)) < agreement, own[:, None], picks)
    return [[int((row == k).sum()) for k in range(categories)] for row in picks]


def fleiss_cases():
    rng = np.random.default_rng(1971)
    tables = [DIAGNOSES] + [
        rated(rng, *shape) for shape in [(8, 3, 2, 0.6), (25, 2, 3, 0.9), (40, 5, 4, 0.1)]
    ]
    cases = []
    for counts in tables:
        raw = pd.DataFrame(
            [[str(k) for k, count in enumerate(row) for _ in range(count)] for row in counts]
        )
        found = CAC(raw, digits=10).fleiss()["est"]
        cases.append(
            {
                "counts": counts,
                "value": float(fleiss_kappa(np.array(counts))),
                "interval": [float(limit) for limit in found["confidence_interval"]],
            }
        )
    return cases


def labelled():
    rng = np.random.default_rng(1988)
    yield [0.1, 0.4, 0.35, 0.8], [False, False, True, True]
    yield [3.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0], [True, False, True, True, False, False, True]
    for n, shift, places in [(30, 1.0, 1), (120, 0.3, 0), (60, -0.8, 2)]:
        labels = rng.random(n) < 0.4
        yield (rng.normal(size=n) + shift * labels).round(places).tolist(), labels.tolist()


def delong_error(scores, labels):
    """The standard error of the area from every pair, as the paper defines it."""
    positive = np.array([s for s, label in zip(scores, labels, strict=True) if label])
    negative = np.array([s for s, label in zip(scores, labels, strict=True) if not label])
    wins = np.where(
        positive[:, None] == negative, 0.5, (positive[:, None] > negative).astype(float)
    )
    return math.sqrt(
        wins.mean(axis=1).var(ddof=1) / len(positive)
        + wins.mean(axis=0).var(ddof=1) / len(negative)
    )


def auc_cases():
    return [
        {
            "scores": scores,
            "labels": labels,
            "value": float(roc_auc_score(labels, scores)),
            "error": delong_error(scores, labels),
        }
        for scores, labels in labelled()
    ]


def threshold_cases():
    cases = []
    for scores, labels in labelled():
        precision, recall, thresholds = precision_recall_curve(labels, scores)
        f1 = 2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1)
        best = max(i for i in range(len(thresholds)) if math.isclose(f1[i], f1[:-1].max()))
        cases.append(
            {
                "scores": scores,
                "labels": labels,
                "threshold": float(thresholds[best]),
                "f1": float(f1[best]),
                "precision": float(precision[best]),
                "recall": float(recall[best]),
            }
        )
    return cases


def made(package, call):
    return f"{package} {version(package)}: {call}"


print(
    json.dumps(
        {
            "cohen": {
                "made_by": made(
                    "statsmodels", "cohens_kappa(table): kappa, std_kappa, kappa_low, kappa_upp"
                ),
                "cases": cohen_cases(),
            },
            "cohen_published": {
                "published": "Cohen's Kappa 0.7964094, standard error 0.05891072: the overview "
                "vignette of the R package irrCAC prints it for "
                "kappa2.table(cont3x3abstractors). R was not run for this file.",
                "cases": [
                    {
                        "table": [[13, 0, 0], [0, 20, 7], [0, 4, 56]],
                        "value": 0.7964094,
                        "error": 0.05891072,
                    }
                ],
            },
            "fleiss": {
                "made_by": made("statsmodels", "fleiss_kappa(counts) for the value; ")
                + made("irrCAC", "raw.CAC(ratings, digits=10).fleiss() for the interval"),
                "cases": fleiss_cases(),
            },
            "fleiss_published": {
                "published": "kappa = .430: Fleiss (1971), Psychological Bulletin 76:378-382, "
                "table 1, 30 patients diagnosed by 6 psychiatrists each. The same data is "
                "`diagnoses` in the R package irr, where the command is "
                "kappam.fleiss(diagnoses). R was not run for this file.",
                "cases": [{"counts": DIAGNOSES, "value": 0.430}],
            },
            "auc": {
                "made_by": made("scikit-learn", "roc_auc_score(labels, scores); ")
                + made("numpy", "the standard error from every pair, as DeLong et al. define it"),
                "cases": auc_cases(),
            },
            "threshold": {
                "made_by": made("scikit-learn", "precision_recall_curve(labels, scores), the ")
                + "highest of its thresholds with the greatest F1",
                "cases": threshold_cases(),
            },
        },
        indent=1,
    )
)

"""Does a judge grade the same labelled outputs differently than before?"""

from __future__ import annotations

from gatekeeper.stats.paired.mcnemar import Alternative, mcnemar_exact


def changed_verdicts_p(
    lost: int, gained: int, to_pass: int | None, alternative: Alternative = "two-sided"
) -> float:
    """Return the p-value of two exact McNemar tests that share their level (Bonferroni).

    Of the verdicts that changed, `lost` became wrong and `gained` became right, and `to_pass` of
    them changed from fail to pass; the others changed from pass to fail. The first test asks
    whether the judge agrees with people less often or more often (with `worse`, only less often).
    The second test asks whether the judge became milder or stricter. A judge that passes everything
    from now on can agree as often as before, if it failed many good outputs: then only the second
    test finds it. If `to_pass` is not known, only the first test counts. With `worse`, the second
    test counts only if the judge agrees less often.
    """
    agreement = mcnemar_exact(lost, gained, alternative)
    if to_pass is None or (alternative == "worse" and lost <= gained):
        return agreement
    direction = mcnemar_exact(lost + gained - to_pass, to_pass, "two-sided")
    return min(1.0, 2 * min(agreement, direction))

"""The child's service: answers calls of tools by rows, and says what is wrong with rows. See
`gatekeeper/sandbox`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.tools.matching import RowFault, find_answer, row_faults
from gatekeeper.sandbox.process_limits import cpu_limit

_SLOW_SECONDS = 0.5
"""Of processor time; most rows take about a millisecond."""


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield one response: the faults of the `rows`, or what answers the call that is `asked`."""
    rows, started = request["rows"], time.process_time()
    try:
        yield (
            find_answer(rows, request["asked"], cpu_limit)
            if "asked" in request
            else [*row_faults(rows)]
        )
    except RowFault as fault:
        yield {"fault": str(fault), "is_slow": time.process_time() - started > _SLOW_SECONDS}
    except (RecursionError, MemoryError, OverflowError) as error:
        yield {"fault": f"the rows take too much: {type(error).__name__}", "is_slow": True}

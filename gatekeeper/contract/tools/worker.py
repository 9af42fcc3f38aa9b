"""The child's service: answers calls of tools by rows, and says what is wrong with rows. See
`gatekeeper/sandbox`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.tools.matching import RowFault, find_answer, row_faults
from gatekeeper.sandbox.process_limits import cpu_limit


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield one response: the faults of the `rows`, or what answers the call that is `asked`."""
    rows = request["rows"]
    try:
        yield (
            find_answer(rows, request["asked"], cpu_limit)
            if "asked" in request
            else [*row_faults(rows)]
        )
    except RowFault as fault:
        yield {"fault": str(fault)}
    except (RecursionError, MemoryError, OverflowError) as error:
        yield {"fault": f"the rows take too much: {type(error).__name__}"}

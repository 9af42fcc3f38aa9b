"""How long one HTTP request took by itself, by the kernel's clock.

64 concurrent calls can keep a process busy: an answer then lies in the socket while other requests
are being built, and any clock read by this process measures that queue too. The kernel knows
better: it remembers when it last sent and last received data on a connection, so the difference of
the two, read once the answer is complete, is the request's own time (`TCP_INFO`, tcp(7)). On other
systems the clock is used.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

# struct tcp_info of linux/tcp.h: eight bytes, then 32-bit fields, of which the tenth and the
# twelfth are tcpi_last_data_sent and tcpi_last_data_recv, both in milliseconds ago.
_LAST_DATA_SENT_AND_RECEIVED = struct.Struct("@44xI4xI")
_TCP_INFO_BYTES = 104

# The kernel counts in ticks of up to 10 ms; within one, the clock is the finer instrument.
_TICK_MS = 10.0


def own_time_ms(elapsed_ms: float, connection: Any) -> float:
    """Return the time from the last data sent to the last received, in milliseconds; `elapsed_ms`
    if the kernel does not know it. `connection` is the request's socket, or None."""
    if connection is None or not hasattr(socket, "TCP_INFO"):
        return elapsed_ms
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return elapsed_ms
    sent_ago, received_ago = _LAST_DATA_SENT_AND_RECEIVED.unpack_from(info)
    own = float(sent_ago - received_ago)
    if not 0 <= own < elapsed_ms - _TICK_MS:
        return elapsed_ms
    return max(own, 1.0)  # the kernel counts whole milliseconds; no answer takes none

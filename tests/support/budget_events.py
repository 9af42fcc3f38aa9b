"""Events that spend an error budget, by hand and drawn at random."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from gatekeeper.stats.objectives.error_budget import Event

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def ago(events, failed, **duration):
    return Event(NOW - timedelta(**duration), events, failed)


events = st.builds(
    lambda hours, n, share: Event(NOW - timedelta(hours=hours), n, int(n * share)),
    st.integers(-48, 24 * 40),
    st.integers(0, 500),
    st.floats(0, 1),
)


objectives = st.sampled_from([0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0])


windows = st.sampled_from(["12h", "1d", "3d", "7d", "1w", "28d", "720h"])
past = st.builds(
    lambda hours, n, share: Event(NOW - timedelta(hours=hours), n, int(n * share)),
    st.integers(-20, 24 * 28 - 1),
    st.integers(0, 500),
    st.floats(0, 0.3),
)

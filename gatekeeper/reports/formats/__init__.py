"""Reports for other programs: JSON, JUnit, SARIF, CSV, Parquet, Prometheus, badge."""

from __future__ import annotations

from typing import Literal

Format = Literal["badge", "parquet", "prometheus", "sarif"]
"""Reports that are written only on request, in addition to those of every run."""

"""Reports for other programs: JSON, JUnit, SARIF, Code Quality, CSV, Parquet, Prometheus, badge."""

from __future__ import annotations

from typing import Literal

Format = Literal["badge", "codequality", "parquet", "prometheus", "sarif"]
"""Reports that are written only on request, in addition to those of every run."""

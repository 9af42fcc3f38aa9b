"""Tests of head against base on the same fixtures."""

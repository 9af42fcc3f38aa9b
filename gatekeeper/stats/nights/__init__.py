"""Tests whether nightly runs change although nothing else did."""

"""One full suite on several machines: a plan, a share of the answers on each, one decision."""

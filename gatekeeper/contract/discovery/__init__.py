"""Finds prompts and test suites by what files contain, without a policy that names them."""

"""How good a generated specification and its tests are, and answers proposed for the tests."""

"""How checks read an output: text, JSON, paths into it, numbers and patterns."""

"""How far an output's words are those of a reference."""

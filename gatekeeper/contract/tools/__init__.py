"""Tool loops: what a contract says that its tools answer, and which answer a call gets."""

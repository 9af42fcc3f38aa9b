"""Prompts in source code: string constants of Python, TypeScript and JavaScript.

The source comes from a pull request. It is parsed and never run, in a child with limits, because
the parsers themselves can use up memory or the stack.

| module | what it does |
| --- | --- |
| `constant.py` | the parent's side: asks the child, makes a prompt of its answer |
| `worker.py` | the child's service |
| `python_source.py` | finds and reads a constant of Python, with `ast` |
| `python_uses.py` | allows the uses of a name that leave its value as it is |
| `python_flow.py` | follows a list of messages or a template wherever the file hands it on |
| `langchain.py` | finds the text that LangChain's template classes are given |
| `typescript_source.py` | the same for TypeScript and JavaScript, with tree-sitter |
| `typescript_uses.py`, `typescript_flow.py` | the same for what may change such a constant |
| `written.py`, `python_lines.py` | the text and the holes of a constant, with their lines |
"""

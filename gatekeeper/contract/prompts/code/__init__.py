"""Prompts in source code: string constants of Python, TypeScript and JavaScript.

The source comes from a pull request. It is parsed and never run, in a child with limits, because
the parsers themselves can use up memory or the stack.

| module | what it does |
| --- | --- |
| `constant.py` | the parent's side: asks the child, makes a prompt of its answer |
| `tree.py` | the one small tree that both languages are lowered to, by a table of rows |
| `python_source.py`, `typescript_source.py` | parse a file, and say what its language lets it do |
| `names.py` | what each name of a file stands for, and where it is used |
| `reading.py` | finds a constant and reads its text, or its messages; the child's service |
| `flow.py` | refuses each use of a list, an object or a template that may change it |
| `written.py` | the text and the holes of a constant, with their lines |
"""

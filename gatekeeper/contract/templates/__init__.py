"""Templates of prompts and of check parameters: what each may do, and what it may cost.

A template made of text and names alone (`Classify {{ ticket.text }}.`), which most are, costs no
more than its text: `plain.py` recognises them, and they are rendered in this process. All others
are compiled and rendered in a child with limits (`gatekeeper/sandbox`), because counting steps does
not cover the cost of each of Jinja's filters, operators and comparisons. The counters of
`environment.py` apply in both cases, and give the most precise error messages.

| module | what it does |
| --- | --- |
| `environment.py` | the one Jinja2 environment: sandboxed, strict, counted |
| `plain.py` | which templates are rendered in this process |
| `budget.py` | what all renderings for one evaluation may take together |
| `role_marks.py` | marks the role lines of a template, and splits its text into messages there |
| `rendering.py` | a prompt and its values -> messages, or problems with file and line |
| `worker.py` | the child's service: the same, for requests in JSON |
| `client.py` | the parent's side: chooses, asks the child, reads its answers |
"""

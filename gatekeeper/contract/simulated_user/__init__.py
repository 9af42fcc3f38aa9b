"""Simulated users: a model plays the user of a conversation until a goal is reached.

| module | what it does |
| --- | --- |
| `settings.py` | reads `user` of a contract and of its fixtures |
| `messages.py` | the question to the model that plays the user, and how its answer is read |
| `tools.py` | the question to a model that plays a tool, and how its answer is read |
| `user.md` | what it is told; a team can copy the file and change it |
"""

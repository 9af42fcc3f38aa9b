"""The answer store: what earlier runs were answered, in files of JSON Lines, and who may reuse it.

| file | a later run takes its answers if |
| --- | --- |
| the sample cache | the lines are signed with its keys, and whole contracts ask the same |
| `unfinished.jsonl` | git does not track it, and the run asks exactly the same in the same order |
| `shard-I-of-N.jsonl` | git does not track it, and it belongs to the same plan |
"""

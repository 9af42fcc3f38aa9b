"""A static site about the history of the default branch: one page for all contracts, one for each,
one for costs and one for what is not healthy. It works from a folder and makes no request.

`contract_history` decides what is to be said of a contract, `pages` renders it, and `folder` writes
it.
"""

"""One contract under many settings: which model, parameters and prompt serve it best?

`grid` says which settings there are, `measure` draws samples of all of them side by side,
`summarise_sweep` compares every two and recommends one. Nothing here decides about a merge.
"""

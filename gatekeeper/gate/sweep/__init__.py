"""One contract under many settings: which model, parameters and prompt serve it best?

`grid` lists the settings, `measure` takes samples of all of them side by side, and
`summarise_sweep` compares every two and recommends one. Nothing here decides about a merge.
"""

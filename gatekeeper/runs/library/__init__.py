"""Gatekeeper as a library: one file for each function of `from gatekeeper import ...`.

Nothing here prints or ends the process. The command line calls the same functions and adds its
text and its exit codes.
"""

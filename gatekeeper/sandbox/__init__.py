"""A child process for work that a pull request could make endless: templates and patterns.

The cost of a template or a regular expression is not known before it runs. Counting its steps is
not enough, because each filter, operator and comparison has a cost of its own. So the work runs in
a child process, and the operating system limits its memory, processor time and elapsed time. A
child that exceeds a limit is killed; the next request starts another.

    parent: LimitedProcess.ask(request)  --JSON-->  child: serve(), one service
            Answers(responses, overrun)  <--JSON--

The child is a fresh interpreter, not a fork. A fork would copy the parent's memory with its keys,
and the fork of a process with threads (OpenBLAS starts some) can hang, as Python warns. The child
starts with the first request, in about 0.2 s, and stays. It inherits no environment variables,
imports from the same places as the parent, writes no file and starts no process. Both directions
are JSON: nothing from the child is executed.

On macOS the memory limit may have no effect; the time limits hold.
"""

"""A child process for work that a pull request could make endless: templates and patterns.

What a template or a regular expression costs cannot be told before it runs, and counting its
steps is a race that attackers win: each filter, operator and comparison has a price of its own.
So it runs in a child whose memory, processor time and elapsed time are limited by the operating
system. A child that goes beyond is killed; the next request starts another.

    parent: LimitedProcess.ask(request)  --JSON-->  child: serve(), one service
            Answers(responses, overrun)  <--JSON--

The child is a fresh interpreter and no fork: a fork would copy the parent's memory, with its
keys, and a fork of a process that has threads (OpenBLAS starts some) can hang, of which Python
warns. It is started when it is first needed, in about 0.2 s, and kept. It inherits no variable of
the environment, imports from where the parent does, writes no file and starts no process. Both
directions are JSON: nothing that the child says is executed.

On macOS the limit of memory may have no effect; those of time hold.
"""

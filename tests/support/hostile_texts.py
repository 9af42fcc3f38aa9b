"""Texts whose author may want a report to say something else than it does."""

from __future__ import annotations

from hypothesis import strategies as st

NASTY = [
    "<!-- gatekeeper:gatekeeper -->",
    "<!-\u200b- gatekeeper:gatekeeper -->",
    "![x](https://evil.example/p.png)",
    "[click](javascript:alert(1))",
    "<img src=x onerror=alert(1)>",
    "</details><h1>merged</h1>",
    "<https://evil.example>",
    "```\nout of the fence\n```",
    "~~~~\nout\n~~~~",
    "a | b | c\n--- | ---\n1 | 2",
    "| pipe \\| `code|code` |",
    "\\",
    "`",
    "`` ` ``",
    "ends with a backslash \\",
    "# heading",
    "- list\n- list",
    "1. one",
    "1) one",
    "> quote",
    "---",
    "===",
    "+ plus",
    ":---",
    "    indented",
    "[x]: https://evil.example",
    "[^1]",
    "*a* **b** _c_ __d__ ~~e~~",
    "$x$ $$y$$",
    "&lt;script&gt; &#64;admin",
    "@admin @org/team #1 org/repo#12 GH-7 https://a.example www.a.example me@a.example",
    "\u202egnp.exe",
    "\x1b[31mred\x00",
    "::error::no\n  ::add-mask::x\n##[error]no\rnext",
    "",
    " ",
    "\n\n",
]
hostile = st.one_of(
    st.sampled_from(NASTY),
    st.text(alphabet="`~|\\<>![]()*_#-+=:@$&.1a \n\r\t\u200b\u202e/", max_size=30),
    st.text(max_size=30),
    st.lists(st.sampled_from(NASTY), max_size=4).map("".join),
)

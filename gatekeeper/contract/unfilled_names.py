"""Names in single braces that look like a variable of another template language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gatekeeper.contract.model import Contract
from gatekeeper.errors import Problem

# Not after a letter or a brace: `\textbf{x}`, `a[i]{x}` and `{{ x }}` mean something else.
_IN_BRACES = re.compile(r"(?<![\w{}\\\]$%#])\{([A-Za-z_]\w*)\}(?!\})")


def unfilled_names(contract: Contract) -> Iterator[Problem]:
    """Yield each place where a prompt writes a fixture's variable as `{name}`, which is sent as it
    stands. A prompt that also uses the variable as `{{ name }}` means the braces."""
    prompt = contract.target.prompt
    known = {name for fixture in contract.fixtures for name in fixture.vars}
    texts = [message.content for message in prompt.messages]
    sources = "\n".join([*texts, *prompt.includes.values()])
    tags = " ".join(re.findall(r"\{[{%].*?[%}]\}", sources, re.DOTALL))
    unused = {name for name in known if not re.search(rf"\b{re.escape(name)}\b", tags)}
    for message in prompt.messages:
        for number, line in enumerate(message.content.split("\n"), start=message.line):
            for name in dict.fromkeys(_IN_BRACES.findall(line)):
                if name in unused:
                    what = f"`{{{name}}}` is sent as it stands, although fixtures have `{name}`"
                    yield Problem(prompt.path, what, f"write `{{{{ {name} }}}}`", number)

"""Small repositories of the shapes that public collections of prompt files have.

Each is a few files, written for these tests. `PLAIN` are prompts as text, `APPLICATIONS` prompts in
code and data, `SUITES` files of test tools, `MIXED` repositories with files that look like prompts
or contracts and are none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from support.edited_text import edited

Files = Mapping[str, str]

_SYSTEM = "# Identity\n\nYou extract the main ideas of a talk.\n\n# Output\n\n- Only Markdown.\n"
_SKILL = "---\nname: pdf\ndescription: Reads PDF files.\n---\n\n# PDF\n\nUse the tool `read`.\n"
_PROMPTFOO = {
    "prompts": ["Say {{word}}."],
    "providers": ["openai:gpt-4o-mini"],
    "tests": [{"vars": {"word": "tea"}, "assert": [{"type": "contains", "value": "tea"}]}],
}
_PROMPTY = (
    "---\nname: Basic\nmodel:\n  api: chat\n  configuration:\n    type: azure_openai\n"
    "    azure_deployment: gpt-4o-mini\nsample:\n  question: Which tent is light?\n---\n"
    "system:\nYou sell tents.\n\nuser:\n{{question}}\n"
)

PLAIN: Mapping[str, Files] = {
    "patterns in folders": {
        "data/patterns/extract/system.md": _SYSTEM,
        "data/patterns/label/system.md": "Label the text: one of good, bad.\n\n# INPUT\n",
        "data/patterns/label/README.md": "How to use the pattern.\n",
        "main.go": "package main\n",
    },
    "skills": {
        "skills/pdf/SKILL.md": _SKILL,
        "skills/pdf/scripts/read.py": "import sys\n\nprint(sys.argv)\n",
        "template/SKILL.md": "---\nname: NAME\ndescription: WHEN\n---\n",
    },
    "instructions for agents": {
        "agents/reviewer.agent.md": "---\ndescription: Reviews\nmodel: sonnet\n---\nReview it.\n",
        "prompts/commit.prompt.md": "---\nmode: agent\ntools: ['git']\n---\nWrite a message.\n",
        "AGENTS.md": "# How to work here\n",
    },
    "one folder of text": {f"prompts/{n}.txt": f"You are assistant {n}." for n in range(12)},
    "text with braces of another language": {
        "prompts/skprompt.txt": "Write about {{$input}} in {{ $style }}.\n",
        "prompts/latex.md": "Write \\frac{a}{b} and {{}} and {% raw.\n",
        "prompts/good.md": "Summarise {{ text }}.\n",
    },
    "handlebars": {
        "prompts/mail.hbs": "{{#if name}}Dear {{name}}{{/if}}, write about {{topic}}.\n",
        "prompts/mail.handlebars": "Write about {{topic}}.\n",
    },
    "a table of prompts": {
        "prompts.csv": 'act,prompt\nPoet,"Be a poet."\n',
        "README.md": "# List\n",
    },
    "templates": {
        "app/prompts/summary.j2": "Summarise {{ text }} in {{ words }} words.\n",
        "app/prompts/turns.jinja2": "{% for t in turns %}{{ t.role }}: {{ t.text }}\n{% endfor %}",
        "app/prompts/broken.j2": "{% if x %}never ends\n",
        "app/prompts/uses.j2": "{% include 'missing.j2' %}\n",
    },
    "binary and empty files among prompts": {
        "prompts/empty.md": "",
        "prompts/nul.txt": "a\0b",
        "prompts/good.md": "Greet {{ name }}.\n",
    },
    "front matter of a site": {
        "prompts/post.md": "---\ntitle: Post\nlayout: page\ntags: [a, b]\n---\nWrite a post.\n",
        "prompts/broken.md": "---\ntitle: [\n---\nWrite a post.\n",
    },
}

APPLICATIONS: Mapping[str, Files] = {
    "prompts in a class": {
        "app/prompts.py": 'class Base:\n    SYSTEM_PROMPT = "You are a careful editor of text."\n',
    },
    "prompts in functions": {
        "app/prompts.py": (
            "def report_prompt(question, total=1000):\n"
            '    """Return the prompt."""\n'
            '    return f"""Write a report on {question} of {total} words."""\n'
        ),
        "app/agent.ts": "export const run = (t: string) => { const prompt = `Fix ${t} now`; }\n",
    },
    "docstrings as prompts": {
        "app/writer.py": 'class Ask(Signature):\n    """You are an expert who asks."""\n',
    },
    "messages of a library": {
        "app/chat.py": (
            "from langchain_core.prompts import ChatPromptTemplate\n"
            "chat_prompt = ChatPromptTemplate.from_messages([\n"
            '    ("system", "You translate to {language}."), ("human", "{text}")])\n'
        ),
    },
    "strings that look like prompts": {
        "cli.py": 'PROMPT = "Enter your name: "\nSYSTEM = "linux"\nprompt_version = "1.2.3"\n',
    },
    "a changed constant": {
        "app/prompts.py": 'PROMPT = "You are a kind helper."\nPROMPT += " Answer in verse."\n',
    },
    "a constant that needs another module": {
        "app/prompts.py": "from app.base import RULES\nPROMPT = RULES + ' You are kind.'\n",
    },
    "a file with a mistake": {"app/prompts.py": "PROMPT = 'You are a kind helper.'\ndef (:\n"},
    "prompts in YAML": {
        "config/prompts.yaml": (
            "summary:\n  system: You summarise talks in one short paragraph.\n"
            "  user: 'Summarise {text} for {reader}, please.'\nversion: 3\n"
        ),
    },
    "prompts in TOML": {
        "settings/prompts.toml": '[review]\nsystem = "You review code. Be {{ tone }}."\n',
    },
    "prompts in JSON": {
        "prompts/messages.json": json.dumps(
            {"messages": [{"role": "system", "content": "You are {{ who }}."}]}
        ),
        "prompts/broken.json": '{"messages": [',
    },
    "many sources": {
        f"src/s{n}.ts": f"export const SUMMARY_PROMPT_{n} = `Summarise mail number {n} now.`;\n"
        for n in range(25)
    }
    | {"src/math.ts": "export const add = (a: number, b: number) => a + b;\n"},
}

SUITES: Mapping[str, Files] = {
    "a suite": {"promptfooconfig.yaml": json.dumps(_PROMPTFOO)},
    "a suite and one with an own provider": {
        "a/promptfooconfig.yaml": json.dumps(_PROMPTFOO),
        "b/promptfooconfig.yaml": json.dumps(_PROMPTFOO | {"providers": ["file://own.py"]}),
    },
    "a suite of unknown assertions": {
        "promptfooconfig.json": json.dumps(
            _PROMPTFOO | {"tests": [{"vars": {"word": "a"}, "assert": [{"type": "nonsense"}]}]}
        ),
    },
    "a suite whose files are missing": {
        "promptfooconfig.yaml": json.dumps(
            _PROMPTFOO | {"prompts": ["file://lost.txt"], "tests": "file://lost.csv"}
        ),
    },
    "prompts in GitHub's format": {
        ".github/prompts/label.prompt.yml": (
            "messages:\n  - {role: user, content: 'Label {{input}}.'}\n"
            "model: openai/gpt-4o-mini\ntestData: [{input: a}]\n"
            "evaluators: [{name: s, string: {contains: a}}]\n"
        ),
        "web/copilot.prompt.yml": "messages: nonsense\n",
    },
    "prompty files": {
        "src/basic.prompty": _PROMPTY,
        "docs/basic.prompty": _PROMPTY,
        "tests/prompts/basic.prompty": _PROMPTY,
    },
    "a prompty whose sample does not render": {
        "chat.prompty": edited(_PROMPTY, "light?", "light?\n  docs: [tent]")
        + "{% for d in docs %}{{ d.id.low }}{% endfor %}\n",
        "good.prompty": _PROMPTY,
    },
    "a prompty of another version": {
        "new.prompty": (
            "---\nname: New\nmodel: {id: gpt-4o-mini, provider: openai}\n"
            "template: {format: {kind: nunjucks}}\ninputs: [{name: q, kind: string}]\n"
            "---\nuser:\n{{q}}\n"
        ),
    },
    "an evaluation of a catalogue": {
        "evals/registry/evals/words.yaml": "words:\n  id: words.v0\nwords.v0: {class: evals.X:Y}\n",
    },
}

MIXED: Mapping[str, Files] = {
    "contracts that are none": {
        "contracts/token.yaml": "abi: []\nnetwork: main\n",
        "contracts/Token.sol": "contract Token {}\n",
        "prompts/good.md": "Greet {{ name }}.\n",
    },
    "a contract with a mistake": {
        "contracts/old.yaml": "contract: 1\nname: old\nprompt: ../prompts/good.md\nchekcs: []\n",
        "prompts/good.md": "Greet {{ name }}.\n",
    },
    "charts that use braces": {
        "charts/app/templates/prompt.yaml": "{{- if .Values.x }}\nkind: Pod\n{{- end }}\n",
        "src/app.ts": "export const x = 1;\n",
    },
    "no prompt at all": {"src/lib.rs": "fn main() {}\n", "Cargo.toml": "[package]\n"},
    "strange names": {
        "prompts/a b [1].md": "Greet {{ name }}.\n",
        "prompts/ünï.md": "Greet {{ name }}.\n",
        "prompts/#1.md": "Greet {{ name }}.\n",
        "prompts/a:b.md": "Greet {{ name }}.\n",
    },
    "the same name twice": {
        "a/prompts/mail.md": "Write a mail to {{ name }}.\n",
        "b/prompts/mail.md": "Write a mail to {{ name }}.\n",
        "b/prompts/mail.txt": "Write a mail to {{ name }}.\n",
    },
}

REPOSITORIES: Mapping[str, Files] = PLAIN | APPLICATIONS | SUITES | MIXED

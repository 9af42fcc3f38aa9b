"""The inventory of a revision: prompts of all kinds, suites, and which contract covers which."""

from __future__ import annotations

import pytest
from support.constants_here import read_here
from support.edited_text import edited

from gatekeeper.contract.discovery.prompt_files import may_hold_text
from gatekeeper.contract.files.inventory import FolderCoverage, Inventory, take_inventory
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError

CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.md
model: openai/gpt-4o-mini
checks: [{type: contains, value: x}]
fixtures: [{vars: {word: w}}]
"""


def inventory(files: dict[str, str], policy: Policy | None = None) -> Inventory:
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    return take_inventory(revision, policy or Policy())


def found(files: dict[str, str]) -> list[tuple[str, str, int]]:
    return [(p.reference, p.kind, p.line) for p in inventory(files).prompts]


def test_a_contract_covers_its_prompt_and_what_it_includes():
    taken = inventory(
        {
            "contracts/words.yaml": CONTRACT,
            "prompts/words.md": "{% include 'tone.md' %} Say {{ word }}.",
            "prompts/tone.md": "Be kind.",
            "prompts/other.md": "Say nothing at all.",
        }
    )
    assert [(p.reference, p.contracts) for p in taken.prompts] == [
        ("prompts/other.md", ()),
        ("prompts/words.md", ("contracts/words.yaml",)),
    ]
    assert [p.reference for p in taken.uncovered] == ["prompts/other.md"]
    assert taken.by_folder() == (FolderCoverage("prompts", 2, 1),)
    (suite,) = taken.suites
    assert (suite.path, suite.kind, suite.used, suite.name, suite.prompts) == (
        "contracts/words.yaml", "contract", True, "words", ("prompts/words.md",),
    )  # fmt: skip


def test_every_step_of_a_contract_is_a_prompt_that_it_covers():
    steps = "steps: [{name: facts, prompt: ../prompts/facts.md}]\nprompt:"
    taken = inventory(
        {
            "contracts/words.yaml": CONTRACT.replace("prompt:", steps, 1),
            "prompts/words.md": "Say {{ facts }}.",
            "prompts/facts.md": "List {{ word }}.",
        }
    )
    assert [p.reference for p in taken.prompts] == ["prompts/facts.md", "prompts/words.md"]
    assert taken.uncovered == ()
    assert taken.suites[0].prompts == ("prompts/words.md", "prompts/facts.md")


def test_prompts_are_found_by_what_files_hold():
    prose = "Summarise the article in one short sentence."
    assert found(
        {
            "app/a.prompty": f"---\nname: a\n---\nuser:\n{prose}",
            "app/b.prompt.yml": "messages:\n- {role: user, content: hello}\n",
            "app/llm_prompts/c.txt": prose,
            "app/system_prompt.md": prose,
            "app/prompts/d.json": '[{"role": "user", "content": "hello there"}]',
            "app/prompts/settings.json": '{"retries": 3}',
            "app/prompts/README.md": "What these are.",
            "prompts/README.md": "What these are.",
            "prompts/rows.csv": "a,b",
            "prompts/hello": prose,
            "prompts/code.py": "X = 1",
            "config/prompts.yaml": f"version: v1\nnews:\n  short: {prose} {{{{ a }}}}\n",
            "saved/prompt_one.json": f'{{"_type": "prompt", "template": "{prose} {{a}}"}}',
            "docs/prompts/how-to.md": "How to write prompts.",
            "node_modules/x/prompts/x.txt": prose,
            "tests/prompts/x.txt": prose,
        }
    ) == [
        ("app/a.prompty", "prompty", 1),
        ("app/b.prompt.yml", "GitHub prompt", 1),
        ("app/llm_prompts/c.txt", "text", 1),
        ("app/prompts/d.json", "messages", 1),
        ("app/system_prompt.md", "Markdown", 1),
        ("config/prompts.yaml#news.short", "key", 3),
        ("prompts/hello", "text", 1),
        ("saved/prompt_one.json#template", "key", 1),
    ]


PYTHON = '''\
"""An application."""
from textwrap import dedent
SYSTEM_PROMPT = "You are a helpful assistant."
PROMPT_VERSION = "v2"
PROMPT_FILE = "prompts/a.md"
summary_prompt: str = f"""Summarise {article} in one sentence."""
GREETING = "Hello, and welcome to this program."
chain = ChatPromptTemplate.from_messages([("system", "You answer briefly and"), ("human", "{q}")])
review = PromptTemplate(template="Is this review positive? {text}", input_variables=["text"])
MESSAGES = [{"role": "system", "content": "You answer questions briefly."}]
INSTRUCTIONS = dedent("""
    Answer in one word only.
    """).strip()
class Prompts:
    """A note."""
    SUMMARY = "Summarise the article in one sentence."
NAME_PROMPT = "Please enter the name of your project: "
SYSTEMS = ["You are one of several systems."]
'''

TYPESCRIPT = """\
import { x } from "y";
export const systemPrompt = `You are a helpful
assistant of ${name}.`;
const SUMMARY_PROMPT: string = "Summarise the article in one sentence.";
const systemName = "this system has a long name";
const title = `A page about prompts and other things`;
"""


def test_constants_of_code_are_prompts_if_their_name_and_text_say_so():
    assert found({"src/app.py": PYTHON, "src/app.ts": TYPESCRIPT}) == [
        ("src/app.py:SYSTEM_PROMPT", "Python", 3),
        ("src/app.py:summary_prompt", "Python", 6),
        ("src/app.py:chain", "Python", 8),
        ("src/app.py:review", "Python", 9),
        ("src/app.py:MESSAGES", "Python", 10),
        ("src/app.py:INSTRUCTIONS", "Python", 11),
        ("src/app.py:Prompts.SUMMARY", "Python", 16),
        ("src/app.ts:systemPrompt", "TypeScript", 2),
        ("src/app.ts:SUMMARY_PROMPT", "TypeScript", 4),
    ]


LANGCHAIN = """\
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
TONE = "friendly"
template = "Translate {text} to {language} in a tone."
translate = PromptTemplate(template=template, input_variables=["text", "language"])
RULES = "You are a careful assistant of a bank."
SYSTEM_PROMPT = RULES + " Never guess."
chat = ChatPromptTemplate.from_messages([("system", SYSTEM_PROMPT), ("human", "{question}")])
QA_TEMPLATE = "Answer {question} from {context}."
PAGE_TEMPLATE = "This text has no hole at all."
"""


def test_prompts_made_of_other_constants_are_found_once():
    assert found({"src/app.py": LANGCHAIN}) == [
        ("src/app.py:translate", "Python", 4),
        ("src/app.py:chat", "Python", 7),
        ("src/app.py:QA_TEMPLATE", "Python", 8),
    ]
    without = edited(LANGCHAIN, "from langchain_core", "from own")
    assert ("src/app.py:QA_TEMPLATE", "Python", 8) not in found({"src/app.py": without})


def test_an_expression_that_is_nested_too_deeply_holds_no_prompt():
    sums = "SYSTEM_PROMPT = " + " + ".join(["'You are a bank. '"] * 3000)
    assert found({"src/app.py": sums}) == []


def test_a_short_text_in_data_is_a_prompt_if_it_has_a_variable():
    texts = "a: {user: 'Rewrite {query} in 12 words.', title: Rewrite in a few words}\n"
    assert found({"app/prompts.yaml": texts}) == [("app/prompts.yaml#a.user", "key", 1)]


def test_suites_in_githubs_format_are_found_in_githubs_folder():
    suite = "messages:\n- {role: user, content: x}\nevaluators: [{name: x}]\n"
    taken = inventory(
        {
            ".github/prompts/a.prompt.yml": suite,
            ".github/prompts/b.yml": suite,
            ".github/prompts/c.prompt.md": "Review the changes of this branch.",
            ".cache/d.prompt.yml": suite,
        }
    )
    assert [suite.path for suite in taken.suites] == [".github/prompts/a.prompt.yml"]
    assert [prompt.reference for prompt in taken.prompts] == [".github/prompts/a.prompt.yml"]


def test_dictionaries_and_objects_of_prompts_are_listed_by_their_keys() -> None:
    python = """\
PROMPTS = {
    "classify": "Classify the mail {mail} as spam or ham.",
    "short": {"sum-up": "Summarise all of the text.", "news": f"Summarise the news of {day}."},
    "chat": [{"role": "system", "content": "You answer questions briefly."}],
    "limit": 3,
    **others,
}
colours = {"sky": "The sky is blue on most days of the year."}
config = {"system_prompt": "You are a helpful assistant."}
"""
    typescript = """\
export const PROMPTS: Record<string, string> = {
  classify: `Classify the mail ${mail} as spam or ham.`, // "not: this one here"
  "short": { news: "Summarise the news of today: a, b" },
  build: (text: string, more = {a: 1}) => `Summarise ${text} in a few words.`,
  list: ["A text that is in a list of texts"],
} as const;
const colours = { sky: "The sky is blue on most days of the year." };
export const systemPrompt = dedent`
  You are a helpful assistant.
`;
const userPrompt = tsDedent(`
  You are a helpful assistant.
`);
"""
    assert found({"a.py": python, "b.ts": typescript}) == [
        ("a.py:PROMPTS.classify", "Python", 2),
        ("a.py:PROMPTS.short.sum-up", "Python", 3),
        ("a.py:PROMPTS.short.news", "Python", 3),
        ("a.py:PROMPTS.chat", "Python", 4),
        ("a.py:config.system_prompt", "Python", 9),
        ("b.ts:PROMPTS.classify", "TypeScript", 2),
        ("b.ts:PROMPTS.short.news", "TypeScript", 3),
        ("b.ts:PROMPTS.build", "TypeScript", 4),
        ("b.ts:systemPrompt", "TypeScript", 8),
        ("b.ts:userPrompt", "TypeScript", 11),
    ]


@pytest.mark.parametrize("end", ["", "}", "{" * 50, "(" * 50, "`", "]})"])
def test_an_object_that_does_not_end_is_read_to_the_end(end: str) -> None:
    text = "const PROMPTS = {\n  a: 'Summarise the text of today.',\n" + end
    assert found({"b.ts": text}) == [("b.ts:PROMPTS.a", "TypeScript", 2)]


def test_arrays_of_messages_in_typescript_are_prompts() -> None:
    source = """\
import { system } from "x";
export const MESSAGES: Message[] = [
  { "role": "system", content: "You sort the mail of a shop." },
];
const rows = [{ role: "admin", content: count }];
const short = [{ role: "user", content: "Hi" }];
"""
    assert found({"src/app.ts": source}) == [("src/app.ts:MESSAGES", "TypeScript", 2)]


def test_code_with_an_odd_escape_is_read_without_a_warning():
    source = "SYSTEM_PROMPT = 'Match \\d digits of the text.'\n"
    assert found({"src/app.py": source}) == [("src/app.py:SYSTEM_PROMPT", "Python", 1)]


def test_code_that_does_not_parse_holds_no_prompt():
    broken = PYTHON + "\nif:\n"
    assert found({"src/app.py": broken, "src/bytes.py": "SYSTEM_PROMPT = b'a b c d e f g h'"}) == []


def test_suites_of_other_tools_are_recognised_by_their_content():
    taken = inventory(
        {
            "evals/config.yaml": "description: x\nprompts: [p.txt]\nproviders: [openai:gpt-4o]\n",
            "evals/config.json": '{"prompts": ["a"], "providers": ["b"]}',
            "ai/sum.prompt.yml": "messages:\n- {role: user, content: x}\nevaluators: [{name: x}]\n",
            "ai/data.prompt.yml": "messages:\n- {role: user, content: x}\ntestData: [{input: x}]\n",
            "ai/a.prompty": "---\nname: a\nsample:\n  x: 1\n---\nuser:\nHello {{x}}",
            "pcsl/ep.json": '{\n"pcsl": "0.3.0",\n"targets": [],\n"fixtures": []}',
            "pcsl/pd.json": '{\n"pcsl": "0.3.0",\n"prompt": "x"}',
            "suites/h.yaml": "prompt_template: 'Sum {article}'\ninvariants: []\n",
            "evals/criteria.json": '{"testing_criteria": []}',
            "evals/registry.yaml": "a:\n  class: evals.elsuite.basic.match:Match\n  args: {}\n",
            "evals/schema.json": '{"$schema": "x", "prompts": {}, "tests": {}}',
            "evals/broken.yaml": "pcsl: '1'\ntargets: [\n",
            "elsewhere/words.yml": CONTRACT,
            "docker-compose.yml": "services:\n  web:\n    prompts: x\n",
        }
    )
    assert [(suite.path, suite.kind) for suite in taken.unused] == [
        ("ai/a.prompty", "prompty"),
        ("ai/sum.prompt.yml", "GitHub prompt"),
        ("elsewhere/words.yml", "contract"),
        ("evals/broken.yaml", "PCSL"),
        ("evals/config.json", "promptfoo"),
        ("evals/config.yaml", "promptfoo"),
        ("evals/criteria.json", "OpenAI Evals"),
        ("evals/registry.yaml", "OpenAI Evals"),
        ("pcsl/ep.json", "PCSL"),
        ("suites/h.yaml", "harness"),
    ]
    assert taken.suites == taken.unused


INSIDE = '''\
"""Functions that hold prompts."""
LIMIT = 3
def ask(client, mail):
    """Answer a mail that the user has written to the bank."""
    if mail:
        system_prompt = "You answer mails for a bank."
    return client.create(
        system_prompt,
        instructions=f"Answer {mail} in one sentence.",
        messages=[{"role": "user", "content": "Here is the mail of a customer."}],
    )
class Bot:
    async def answer(self, question):
        prompt: str = f"Answer the question {question}."
        return self.call(prompt)
    def label(self):
        title = "A title of several plain words"
        return title
def build_prompt(text):
    return f"Summarise {text} in one sentence."
'''
INSIDE_TYPESCRIPT = """\
export async function summarise(text: string) {
  const system = `You summarise e-mails in one sentence.`;
  return call(system, [
  ]);
}
const reply = async (mail) => {
  if (mail) {
    const messages = [{ role: "user", content: `Answer the mail ${mail} kindly.` }];
  }
};
class Bot {
  async answer(question: string) {
    const prompt = `Answer the question ${question}.`;
  }
}
export const SYSTEM_PROMPT = `You are a helpful assistant.`;
"""


def test_prompts_inside_functions_are_listed_under_the_function():
    assert found({"src/app.py": INSIDE, "src/app.ts": INSIDE_TYPESCRIPT}) == [
        ("src/app.py:ask.system_prompt", "Python", 6),
        ("src/app.py:ask.instructions", "Python", 9),
        ("src/app.py:ask.messages", "Python", 10),
        ("src/app.py:Bot.answer.prompt", "Python", 14),
        ("src/app.py:build_prompt", "Python", 20),
        ("src/app.ts:summarise.system", "TypeScript", 2),
        ("src/app.ts:reply.messages", "TypeScript", 8),
        ("src/app.ts:answer.prompt", "TypeScript", 13),
        ("src/app.ts:SYSTEM_PROMPT", "TypeScript", 16),
    ]


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("src/app.py:ask.system_prompt", "inside the function `ask`"),
        ("src/app.py:Bot.answer.prompt", "inside the function `answer`"),
        ("src/app.ts:summarise.system", "inside the function `summarise`"),
        ("src/app.ts:reply.messages", "inside the function `reply`"),
        ("src/app.ts:answer.prompt", "`prompt` is inside a function"),
    ],
)
def test_a_prompt_inside_a_function_says_how_a_contract_can_name_it(
    monkeypatch, reference, problem
):
    read_here(monkeypatch)
    files = {"src/app.py": INSIDE.encode(), "src/app.ts": INSIDE_TYPESCRIPT.encode()}
    with pytest.raises(ContractError, match=problem):
        load_prompt(MemoryRevision(files), reference)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            'PROMPT = "You sort mail."\nPROMPT = PROMPT + " You are kind to everyone."',
            "py:2: .*once",
        ),
        ('PROMPT = "You sort the mail kindly."\nPROMPT = PROMPT.strip()', "py:2: .*once"),
        ('PROMPT = ""\nPROMPT += "You sort the mail kindly."', "py:2: .*once"),
        ('if x:\n    PROMPT = "You sort the mail kindly."', "py:2: .*in a condition"),
        ('try:\n    f()\nexcept E:\n    PROMPT = "You sort the mail kindly."', "py:4: .*condition"),
        ('PROMPT = "You sort the mail kindly." if x else "Stop."', "py:1: .*computes"),
    ],
)
def test_a_constant_that_cannot_be_read_is_listed_with_its_line(monkeypatch, source, problem):
    read_here(monkeypatch)
    (listed,) = inventory({"src/app.py": source}).prompts
    assert listed.reference == "src/app.py:PROMPT"
    with pytest.raises(ContractError, match=problem):
        load_prompt(MemoryRevision({"src/app.py": source.encode()}), listed.reference)


@pytest.mark.parametrize(
    "chosen",
    [
        "PROMPT = A_PROMPT if x else B_PROMPT",
        "if x:\n    PROMPT = A_PROMPT\nelse:\n    PROMPT = B_PROMPT",
        "PROMPT = ''\nPROMPT += A_PROMPT\nPROMPT += B_PROMPT",
    ],
)
def test_constants_that_a_program_chooses_from_are_listed_themselves(chosen):
    source = (
        f"A_PROMPT = 'You sort the new mail.'\nB_PROMPT = 'You answer the new mail.'\n{chosen}\n"
    )
    names = {reference for reference, _, _ in found({"src/app.py": source})}
    assert names == {f"src/app.py:{name}" for name in ("A_PROMPT", "B_PROMPT", "PROMPT")}


def test_files_that_are_sent_as_they_are_count_without_the_word_prompt():
    prose = "Summarise the article in one short sentence."
    files = (
        "patterns/summarise/system.md",
        "patterns/summarise/README.md",
        "skills/pdf/SKILL.md",
        "skills/pdf/forms.md",
        "agents/reviewer.agent.md",
        "bot/system_message.txt",
        "bot/instructions.md",
        "bot/ecosystem.md",
        "docs/system.md",
        "src/system.py",
    )
    assert found(dict.fromkeys(files, prose)) == [
        ("agents/reviewer.agent.md", "instructions", 1),
        ("bot/instructions.md", "Markdown", 1),
        ("bot/system_message.txt", "text", 1),
        ("patterns/summarise/system.md", "Markdown", 1),
        ("skills/pdf/SKILL.md", "instructions", 1),
    ]


@pytest.mark.parametrize(
    ("path", "source", "holds"),
    [
        (
            "a.ts",
            "export const add = (a: number) => a + 1; // don't use it, it's the old one",
            False,
        ),
        (
            "a.ts",
            "/** Adds `two numbers that are` given. */\nimport { x } from 'some/where';",
            False,
        ),
        ("a.ts", "const NOTICE = `Be kind to\neach person.`;", True),
        ("a.js", "call('You are a kind assistant.');", True),
        ("a.ts", r"const q = 'it\'s'; const other = \"a-b\";", False),
        (
            "a.py",
            '"""Adds two numbers that are given."""\ndef add(a):\n    """A longer note."""',
            False,
        ),
        ("a.py", "def f():\n    return g('You are a kind assistant.')", True),
        ("a.py", "x = f'Answer {y} in one sentence.'", True),
        ("a.py", "def broken(", True),
    ],
)
def test_source_without_a_text_of_several_words_holds_no_prompt(path, source, holds):
    assert may_hold_text(MemoryRevision({path: source.encode()}), path) is holds


TOML = """\
[review_prompt]
system = \"\"\"You review code.
Answer in one sentence about {{ title }}.
\"\"\"
user = "Title: {{ title }}, difference: {{ diff }}"
model = "openai/gpt-4o"
"""


@pytest.mark.parametrize("path", ["settings/review_prompts.toml", "prompts/review.toml"])
def test_texts_in_toml_are_prompts(path):
    assert found({path: TOML}) == [
        (f"{path}#review_prompt.system", "key", 2),
        (f"{path}#review_prompt.user", "key", 5),
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("prompts/pyproject.toml", TOML),
        ("settings/options.toml", TOML),
        ("settings/review_prompts.toml", "[broken"),
        ("settings/review_prompts.toml", 'name = "review"\nnumber = 4\n'),
    ],
)
def test_other_toml_holds_no_prompt(path, text):
    assert found({path: text}) == []


RETURNED = r"""import { generateText, Agent } from "ai";
export const getHintsPrompt = (hints: Hints) => `\
About the origin of the request: ${hints.city}
`;
export const systemPrompt = ({
  model,
}: {
  model: string;
}) => {
  const hints = getHintsPrompt(model);
  return `${regularPrompt}\n\n${hints}\n\n${artifactsPrompt}`;
};
function getPromptPath(id: string) {
  return `prompts/${id}.md`;
}
export function buildPrompt(text: string): string {
  return `Summarise this in one sentence: ${text}`;
}
export async function POST(request: Request) {
  const answer = await generateText({
    model,
    system: "You are a kind assistant of a shop.",
    prompt: request.text,
  });
}
export const agent = new Agent({
  name: "weather",
  instructions: `You tell the weather of a city.`,
});
"""


def test_texts_that_functions_return_and_calls_get_are_prompts_too(monkeypatch):
    read_here(monkeypatch)
    assert found({"src/app.ts": RETURNED}) == [
        ("src/app.ts:getHintsPrompt", "TypeScript", 2),
        ("src/app.ts:systemPrompt", "TypeScript", 5),
        ("src/app.ts:buildPrompt", "TypeScript", 16),
        ("src/app.ts:POST.system", "TypeScript", 22),
        ("src/app.ts:agent.instructions", "TypeScript", 28),
    ]
    revision = MemoryRevision({"src/app.ts": RETURNED.encode()})
    (message,) = load_prompt(revision, "src/app.ts:getHintsPrompt").messages
    assert message.content.startswith("About the origin of the request: {{")
    for name, problem in {
        "systemPrompt": "does more than return a text",
        "POST.system": "the prompt is inside the function `POST`",
        "agent.instructions": "`instructions` is written inside a call",
    }.items():
        with pytest.raises(ContractError, match=problem):
            load_prompt(revision, f"src/app.ts:{name}")


def test_a_page_that_calls_no_model_has_no_prompts_in_its_properties():
    source = (
        """export const dialog = {\n  instructions: "Click the green button to go on.",\n};\n"""
    )
    assert found({"src/app.ts": source}) == []
    called = f"import {{ generateText }} from 'ai';\n{source}"
    assert found({"src/app.ts": called}) == [("src/app.ts:dialog.instructions", "TypeScript", 3)]


def test_a_json_schema_of_prompts_holds_none():
    text = """{"description": "Says what every prompt of this repository must have."%s}"""
    schema = text % """, "$schema": "http://json-schema.org/draft-07/schema#\""""
    editor = text % """, "$schema": "./prompts.schema.json\""""
    assert found({"prompts.json": schema}) == []
    assert found({"prompts.json": editor}) == [("prompts.json#description", "key", 1)]


OF_AGENTS = (
    ".claude/skills/review/SKILL.md",
    ".claude/agents/triage.md",
    ".claude/commands/fix.md",
    ".github/agents/triage.md",
    ".github/instructions/tests.instructions.md",
    ".github/copilot-instructions.md",
    ".cursor/rules/tests.mdc",
    ".cursorrules",
    ".gemini/commands/plan.toml",
    "packages/app/.claude/skills/review/SKILL.md",
    "AGENTS.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "packages/app/GEMINI.md",
    "prompts/AGENTS.md",
)
OF_NOBODY = (
    ".claude/skills/gatekeeper/SKILL.md",
    ".github/workflows/rules.md",
    ".github/ISSUE_TEMPLATE/bug.md",
    ".github/pull_request_template.md",
    ".changeset/brave-cats.md",
    ".git-hooks/readme.txt",
    "rules/tests.md",
    ".venv/readme.md",
    ".claude/settings.json",
    "node_modules/lib/AGENTS.md",
    "vendor/lib/CLAUDE.md",
    "docs/agents.md",
)


def test_texts_for_agents_that_work_on_the_repository_are_told_and_not_counted():
    taken = inventory(dict.fromkeys((*OF_AGENTS, *OF_NOBODY), "Review the code."))
    assert set(taken.of_agents) == set(OF_AGENTS)
    assert taken.prompts == ()
    assert f"{len(OF_AGENTS)} texts for agents that work here" in taken.about_agents
    assert inventory(dict.fromkeys(OF_NOBODY, "x")).about_agents == ""


@pytest.mark.parametrize("skill", [OF_AGENTS[0], "AGENTS.md", "packages/app/GEMINI.md"])
def test_a_text_for_agents_that_is_watched_or_has_a_contract_is_a_prompt(skill):
    pattern = ".claude/**" if skill.startswith(".") else skill
    watched = inventory({skill: "Review."}, Policy(prompts=(pattern,)))
    assert ([p.path for p in watched.prompts], watched.of_agents) == ([skill], ())
    contract = edited(CONTRACT, "prompts/words.md", skill)
    covered = inventory({"contracts/words.yaml": contract, skill: "Review {{ word }}."})
    assert ([p.contracts for p in covered.prompts], covered.of_agents) == (
        [("contracts/words.yaml",)],
        (),
    )


CREW = """\
writer:
  role: Writer
  goal: Write about {topic}.
  backstory: You wrote many books.
other: {role: x}
"""
CREW_TASKS = (
    "write:\n  description: Write about {topic}.\n  expected_output: A page.\n  agent: writer\n"
)
BAML = """\
class Receipt { total int }
template_string Rules() #"Be exact."#
function Extract(receipt: image) -> Receipt {
  client GPT4o
  prompt #"
    function of the receipt: {{ receipt }}
  "#
}
function Plain(text: string) -> string { client GPT4o }
test One { functions [Extract] args { text "prompt" } }
"""
DSPY = """\
import dspy
class Ask(dspy.Signature):
    \"\"\"Answer the question with one short fact.\"\"\"
    question: str = dspy.InputField()
class Short(dspy.Signature):
    \"\"\"Short.\"\"\"
class Other(dict):
    \"\"\"Answer the question with one short fact.\"\"\"
"""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("src/config/agents.yaml", CREW, [("src/config/agents.yaml#writer", "crewAI", 2)]),
        ("config/tasks.yml", CREW_TASKS, [("config/tasks.yml#write", "crewAI", 2)]),
        ("baml_src/a.baml", BAML, [("baml_src/a.baml#Extract", "BAML", 3)]),
        ("app/ask.py", DSPY, [("app/ask.py:Ask", "DSPy", 2)]),
        ("ansible/tasks.yaml", "- name: a\n  description: b\n", []),
        ("config/agents.yaml", "agents: [{role: a, goal: b}]\n", []),
        ("config/agents.yaml", "broken: [\n", []),
        ("config/tasks.yaml", "build: {description: Builds all of the program for {os}.}\n", []),
        ("tests/agents.yaml", CREW, []),
        ("baml_src/clients.baml", "client<llm> GPT4o { provider openai }\n", []),
        ("app/ask.py", "class Ask(Signature):\n    '''Answer the question now.'''\n", []),
    ],
)
def test_what_other_tools_put_together_is_listed_and_says_why_no_contract_can_name_it(
    path, text, expected
):
    revision = MemoryRevision({path: text.encode()})
    prompts = take_inventory(revision, Policy()).prompts
    assert [(p.reference, p.kind, p.line) for p in prompts] == expected
    for prompt in prompts:
        with pytest.raises(UnreadableError, match="puts this prompt together when it runs"):
            prompt.load(revision)


TOOL = '{"name": "find", "description": "Find.", "inputSchema": {"type": "object"}}'
FUNCTION = '{"type": "function", "function": {"name": "find", "parameters": {}}}'


@pytest.mark.parametrize(
    ("path", "text", "is_list"),
    [
        ("agent/tools.json", f"[{edited(TOOL, 'inputSchema', 'input_schema')}]", True),
        ("tools.json", f'{{"tools": [{TOOL}]}}', True),
        ("agent/shop-tools.json", f'{{"jsonrpc": "2.0", "result": {{"tools": [{TOOL}]}}}}', True),
        ("tools/shop.yaml", f"[{FUNCTION}, {FUNCTION}]", True),
        ("functions.json", f"[{FUNCTION}]", True),
        ("prompts/shop.json", f"[{FUNCTION}]", True),
        ("tools.json", '{"tools": []}', False),
        ("tools.json", '{"tools": [{"name": "hammer", "price": 3}]}', False),
        ("tools.json", f'{{"tools": [{TOOL}, "other"]}}', False),
        ("tools.json", "[" * 5_000, False),
        ("src/mechanics.json", f'{{"tools": [{TOOL}]}}', False),
        ("tests/tools.json", f'{{"tools": [{TOOL}]}}', False),
    ],
)
def test_a_list_of_tools_is_a_prompt_that_a_contract_names_as_its_tools(path, text, is_list):
    revision = MemoryRevision({path: text.encode()})
    prompts = take_inventory(revision, Policy()).prompts
    assert [(p.reference, p.kind) for p in prompts] == [(path, "tools")] * is_list
    for prompt in prompts:
        with pytest.raises(UnreadableError, match="models read the tools of this list"):
            prompt.load(revision)


def test_a_list_of_tools_that_a_contract_uses_is_no_prompt_of_its_own():
    contract = f"{CONTRACT}tools: ../tools.json\n"
    taken = inventory({"contracts/words.yaml": contract, "tools.json": f"[{FUNCTION}]"})
    assert "tools.json" not in [prompt.reference for prompt in taken.uncovered]


def test_a_contract_of_a_text_of_an_agent_covers_the_agent():
    contract = edited(CONTRACT, "../prompts/words.md", "../agents.yaml#writer.goal")
    taken = inventory({"contracts/words.yaml": contract, "agents.yaml": CREW})
    assert {p.reference: bool(p.contracts) for p in taken.prompts} == {
        "agents.yaml#writer": True,
        "agents.yaml#writer.goal": True,
    }


def test_a_constant_that_stands_in_a_dictionary_is_listed_at_its_line_there():
    source = "A_TEXT = 'You sort the new mail.'\nPROMPTS = {\n    'a': A_TEXT,\n}\n"
    assert found({"src/app.py": source}) == [("src/app.py:PROMPTS.a", "Python", 3)]

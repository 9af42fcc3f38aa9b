"""Runs modules of constants for real, in one process for each language, and returns the values that
a program gets from them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

Case = tuple[str, str]
"""The source of a module, and the constant's name in it."""

_PYTHON = r"""
import inspect, json, sys, textwrap, types

dedent = textwrap.dedent

def module(name, **members):
    sys.modules[name] = made = types.ModuleType(name)
    made.__dict__.update(members)
    return made

class Client:
    def __getattr__(self, name):
        return self
    def __call__(self, *given, **named):
        return self

module("openai", OpenAI=Client, client=Client(), AsyncOpenAI=Client)

def install():
    # Anew, because a case may change them.
    class Template:
        def __init__(self, template="", input_variables=(), messages=None):
            self.template, self.messages = template, messages
        @classmethod
        def from_template(cls, template):
            return cls(template)
        @classmethod
        def from_messages(cls, messages):
            return cls(messages=messages)
        def format(self, **values):
            return self.template
        def __or__(self, other):
            return self
    names = ("PromptTemplate", "ChatPromptTemplate", "HumanMessagePromptTemplate")
    prompts = module("langchain_core.prompts", __all__=names, **dict.fromkeys(names, Template))
    module("langchain_core", prompts=prompts)
    textwrap.dedent = dedent
    return Template

def plain(value, Template):
    if isinstance(value, Template):
        value = value.template if value.messages is None else value.messages
    if inspect.isfunction(value) or inspect.ismethod(value):
        value = value(**{name: name.upper() for name in inspect.signature(value).parameters})
    if isinstance(value, str):
        return str.__str__(value)
    roles = {"human": "user", "ai": "assistant"}
    made = []
    for item in value:
        role, content = item if isinstance(item, tuple) else (item["role"], item["content"])
        made.append([roles.get(role, role), content])
    return made

answers = []
for number, (source, name) in enumerate(json.load(sys.stdin)):
    Template = install()
    made = module(f"case_{number}")
    made.__file__ = f"/nowhere/case_{number}.py"
    try:
        exec(compile(source, made.__file__, "exec"), made.__dict__)
        value = made
        for step in name.split("."):
            value = value[step] if isinstance(value, dict) else getattr(value, step)
        globals_of = {k: str(v) for k, v in vars(made).items() if not k.startswith("__")}
        if inspect.isfunction(value) or inspect.ismethod(value):
            globals_of |= {n: n.upper() for n in inspect.signature(value).parameters}
        answers.append({"value": plain(value, Template), "names": globals_of})
    except BaseException as error:
        answers.append({"error": repr(error)})
sys.__stdout__.write("\n" + json.dumps(answers))
"""

_NODE = r"""
const vm = require("vm");
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
function plain(value) {
  if (typeof value === "function") {
    const given = /\(([^)]*)\)/.exec(value.toString())[1];
    const names = given.split(",").map((name) => name.trim()).filter(Boolean);
    value = value(...names.map((name) => name.toUpperCase()));
  }
  if (typeof value === "string") return value;
  return value.map((item) => [item.role, item.content]);
}
const answers = cases.map(([source, name]) => {
  const [first, ...steps] = name.split(".");
  const module = { exports: {} };
  const client = new Proxy(function () {}, { get: (_, key) => client, apply: () => client });
  const required = (name) => (name === "./self" ? module.exports : client);
  try {
    const text = `(function (module, exports, require, client, console) {${source}\n;
      return () => typeof ${first} === "undefined" ? undefined : ${first}; })`;
    const made = vm.runInContext(text, vm.createContext({}));
    const own = made.call(module.exports, module, module.exports, required, client, { log() {} });
    const holders = [own()];
    if (first in Object(module.exports)) holders.push(module.exports[first]);
    const values = holders.map((value) => {
      for (const step of steps) value = value[step];
      return plain(value);
    });
    return { values };
  } catch (error) {
    return { error: String(error) };
  }
});
process.stdout.write(JSON.stringify(answers));
"""


def run_python(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return the value of each case's constant, and its module's names; or the `error`."""
    return _run([sys.executable, "-I", "-c", _PYTHON], cases)


def run_node(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Return the values that each case's module holds, and exports, as the constant."""
    return _run(["node", "-e", _NODE], cases)


def _run(command: list[str], cases: Sequence[Case]) -> list[dict[str, Any]]:
    ran = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, text=True, timeout=60, check=True
    )
    found: list[dict[str, Any]] = json.loads(ran.stdout.rpartition("\n")[2])
    return found

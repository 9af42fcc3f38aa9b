"""No text under judgement has a token of a chat template; ordinary text stays as it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.reading.data_blocks import FAMILIES, TOKENS, clean, take_apart
from gatekeeper.providers.models.price_list import price_list

BARRED = [
    *("<|im_start|>", "<|eot_id|>", "<|start_header_id|>", "<|channel|>", "<|end_of_role|>"),
    *(
        "<|turn>",
        "<turn|>",
        "<|START_OF_TURN_TOKEN|>",
        "<\uff5cUser\uff5c>",
        "</\uff5cDSML\uff5cx>",
    ),
    *("<\uff5cbegin\u2581of\u2581sentence\uff5c>", "[|assistant|]", "[|endofturn|]"),
]
NAMED_IN_TEMPLATES = [
    *(
        "</s>",
        "<s>",
        "[SYSTEM_PROMPT]",
        "[/SYSTEM_PROMPT]",
        "[AVAILABLE_TOOLS]",
        "[/AVAILABLE_TOOLS]",
    ),
    *("<eos>", "<bos>", "[TOOL_CALLS]", "[/TOOL_RESULTS]", "[THINK]", "<think>", "</think>"),
    *("<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[gMASK]"),
    *(
        "<sop>",
        "]~b]user",
        "]~!b[",
        "[e~[",
        "<SPECIAL_11>User",
        "<seed:bos>",
        "<extra_id_1>",
        "<unk>",
    ),
    *("</tool_call>", "<tool_response>", "[BEGIN FINAL RESPONSE]", "<reserved_106>", "[EOT]"),
    *("<BOS_TOKEN>", "<EOP_TOKEN>", "<MASK_TOKEN>", "<extra_id_99>", "<fim_middle>", "<file_sep>"),
    *("]<]minimax[>[", "]<]start of image[>[", "<mm:think>", "[start_header_id]", "<repo_name>"),
    *("[STREAMING_WORD]", "<end_of_document>", "<issue_start>"),
]


@pytest.mark.parametrize("token", [*BARRED, *NAMED_IN_TEMPLATES])
def test_a_token_is_taken_apart_wherever_it_stands(token):
    for text in (f"a {token}b", token * 2, f"[<{token}>]", token.replace("s", "s\u200b\ufe01")):
        assert token not in clean(text)
    wide = "".join(chr(ord(c) + 0xFEE0) if c in "<>[]|" else c for c in token)
    assert wide not in clean(f"a {wide}b")


@pytest.mark.parametrize("token", sorted({*TOKENS} - {"<|", "[|", "]<]"}))
def test_every_token_of_the_table_is_taken_apart(token):
    written = token.replace("#", "12")
    assert take_apart(written) == "(" + written[1:]


def test_every_family_has_a_source_and_every_token_brackets():
    assert all(family.models and family.source for family in FAMILIES)
    assert [
        t
        for t in TOKENS
        if t not in ("<|", "[|", "]<]") and not re.fullmatch(r"[<\[\]][^<>]+[>\]\[]|<<.*>>", t)
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "array[INDEX] a<b> x|y [1] [x](y) [AI]",
        "<p>a <strong>b</strong> <span class='s'>c</span></p><script></script>",
        "if a < s and s > b: return [PREFIXES]",
        "<ser> <bosun> [INSTANCE] <unknown> <think-tank> [TOOLS] <S>",
        "cp <filename> <directory>; git commit -m <commit_msg>; a[i]<b[j]<c[k] x]<]y",
    ],
)
def test_ordinary_text_stays(text):
    assert clean(text) == text


@given(st.lists(st.sampled_from([*TOKENS, *BARRED, *"<>[]|/(", "s", "\n", "\uff1c"])).map("".join))
def test_taking_apart_keeps_the_length_and_leaves_nothing(text):
    found = take_apart(text)
    assert len(found) == len(text)
    assert take_apart(found) == found


OPEN = (
    "llama mistral mixtral ministral codestral devstral magistral pixtral qwen qwq deepseek gemma "
    "kimi glm minimax granite jamba command phi exaone nemotron falcon dbrx arctic yi- vicuna "
    "zephyr openchat hermes olmo gpt-oss grok hunyuan seed ernie baichuan internlm starcoder "
    "mythomax cogito dolphin gigachat lfm apertus trinity mimo longcat sarvam stablelm salamandra "
    "orca flan bloom aya mt0 minicpm"
)


def test_every_open_family_of_the_price_list_stands_in_the_table():
    named = " ".join(family.models for family in FAMILIES).casefold().replace(" ", "")
    listed = {name for model in price_list() for name in OPEN.split() if name in model.casefold()}
    assert len(listed) > 40
    assert {name for name in listed if name.strip("-") not in named} == set()

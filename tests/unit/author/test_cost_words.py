"""What planned calls cost, in sentences."""

from __future__ import annotations

from gatekeeper.author.forecast import Planned, cost_lines
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request

PRICED, UNPRICED = "openai/gpt-4o-mini", "openai/nobody-knows"


def request(model: str = PRICED, **params: object) -> Request:
    return Request(model, (Message("user", "Hello."),), {"max_tokens": 100, **params}, 1, 0)


def test_a_known_price_gives_both_amounts():
    (line,) = cost_lines([Planned(request(), request(), 4)], 0.5)
    assert line.startswith("Cost: about 0.00")
    assert ", at most 0.00" in line


def test_models_without_a_price_are_named():
    every = [Planned(request(), request()), Planned(request(UNPRICED), request(UNPRICED))]
    unknown, others = cost_lines(every)
    assert unknown == f"The price of {UNPRICED} is not known."
    assert others.startswith("Cost for the other models: about ")
    assert cost_lines(every[1:]) == [unknown]
    assert cost_lines([]) == cost_lines([every[1]._replace(number=0)]) == []


def test_a_cost_that_nothing_bounds_has_no_upper_limit():
    searching = request(tools=[{"type": "web_search"}])
    (line,) = cost_lines([Planned(searching, searching)])
    assert line.endswith("without an upper limit")


def test_an_embedded_model_costs_nothing():
    local = request("local/smollm2")
    assert cost_lines([Planned(local, local)]) == ["Cost: about 0 USD, at most 0 USD"]

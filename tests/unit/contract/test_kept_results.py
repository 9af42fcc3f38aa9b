"""Results that are kept for the same objects."""

from __future__ import annotations

from gatekeeper.contract.values.kept_results import kept_by_identity


def test_each_object_is_asked_about_once() -> None:
    asked: list[list[int]] = []

    def total(numbers: list[int]) -> int:
        asked.append(numbers)
        return sum(numbers)

    kept = kept_by_identity(total)
    first, equal = [1, 2], [1, 2]
    assert [kept(first), kept(first), kept(equal)] == [3, 3, 3]
    assert [numbers is first for numbers in asked] == [True, False]


def test_an_object_at_the_same_address_is_another() -> None:
    kept = kept_by_identity(lambda numbers: numbers[0])
    assert [kept([number]) for number in range(100)] == list(range(100))


def test_only_so_many_are_kept() -> None:
    asked: list[int] = []
    kept = kept_by_identity(asked.append, most=2)
    values = [1000, 2000, 3000]
    for value in [*values, *values]:
        kept(value)
    assert asked == [1000, 2000, 3000, 1000, 2000, 3000]

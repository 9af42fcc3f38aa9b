from gatekeeper.contract.values.unique_name import take_name


def test_a_name_that_is_taken_gets_the_first_free_number():
    taken = {"a", "a-2", "b"}
    assert [take_name(name, taken) for name in ("a", "a", "c", "c", "{name}")] == [
        "a-3",
        "a-4",
        "c",
        "c-2",
        "{name}",
    ]
    assert taken == {"a", "a-2", "a-3", "a-4", "b", "c", "c-2", "{name}"}


def test_the_form_says_where_the_number_stands():
    assert take_name("{x} a", {"{x} a"}, "{name} ({number})") == "{x} a (2)"

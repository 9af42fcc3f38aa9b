from gatekeeper.contract.values.nested_texts import nested_texts


def test_every_text_is_found_in_order_and_no_key():
    value = {"a": ["b", {"c": "d", "e": ("f", 1, None)}], "g": "h"}
    assert list(nested_texts(value)) == ["b", "d", "f", "h"]
    assert list(nested_texts(True)) == []

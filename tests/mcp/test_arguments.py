"""What agents send for arguments: what can only mean one thing is taken, the rest is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai.errors import UsageError
from memai.mcp.arguments import bind
from memai.mcp.schemas import signature
from memai.operations import OPERATIONS

BY_NAME = {operation.name: operation for operation in OPERATIONS}


def bound(name: str, /, **arguments: Any) -> dict[str, Any]:
    """Bind arguments to an operation."""
    return bind(name, signature(BY_NAME[name]), arguments)


def refusal(name: str, /, **arguments: Any) -> str:
    """Return why arguments are refused."""
    with pytest.raises(UsageError) as caught:
        bound(name, **arguments)
    return caught.value.message


@pytest.mark.parametrize(
    "tags", [["a", "b"], '["a", "b"]', ' ["a","b"]', "a,b", "a, b", ["a,b"], ["a, b"]], ids=repr
)
def test_a_list_is_taken_however_it_is_sent(tags: Any) -> None:
    """A list, its JSON text and text with commas mean the same."""
    assert bound("note", content="x", tags=tags)["tags"] == ("a", "b")


def test_one_entry_needs_no_list() -> None:
    """A single value stands for a list of one, and an empty list stays one."""
    assert bound("note", content="x", tags="a")["tags"] == ("a",)
    assert bound("forget", uids="0123456789")["uids"] == ("0123456789",)
    assert bound("edit", uid="0123", tags=[])["tags"] == ()
    assert bound("edit", uid="0123", tags="[]")["tags"] == ()
    assert bound("note", content="x", tags=7)["tags"] == ("7",)


@pytest.mark.parametrize("value", ["5", 5, 5.0, "5.0", " 5 "], ids=repr)
def test_a_whole_number_is_taken_as_text_too(value: Any) -> None:
    """A limit of five is five, as number or text."""
    limit = bound("search", query="x", limit=value)["limit"]
    assert limit == 5
    assert isinstance(limit, int)


@pytest.mark.parametrize(
    "value", ["5.5", 5.5, "many", "", True, [5], {"n": 5}, "1e999", 1e999, "nan"], ids=repr
)
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    """A limit that is no whole number is refused by name."""
    assert "limit is a whole number" in refusal("search", query="x", limit=value)


@pytest.mark.parametrize("value", [0, -1, 10**9, "0", 10**400], ids=lambda v: str(v)[:12])
def test_bounds_are_checked_and_named(value: Any) -> None:
    """A limit out of bounds is refused, and the message says the bounds."""
    assert "limit is from 1 to 1000" in refusal("search", query="x", limit=value)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (True, True), (False, False), ("true", True), ("False", False), ("yes", True),
        ("no", False), (1, True), (0, False), ("1", True), ("off", False),
    ],
)  # fmt: skip
def test_a_flag_is_taken_as_text_too(value: Any, meant: bool) -> None:
    """Yes and no are understood as booleans, text and numbers."""
    assert bound("search", query="x", all=value)["all_"] is meant


@pytest.mark.parametrize("value", ["maybe", "", 2, [], {}, 1.5], ids=repr)
def test_what_is_no_flag_is_refused(value: Any) -> None:
    """Anything else is no flag."""
    assert "all is true or false" in refusal("search", query="x", all=value)


def test_null_means_the_default() -> None:
    """Optional arguments that are null are as if they were not there; required ones are missing."""
    nothing = bound(
        "search", query="x", limit=None, tags=None, since=None, domain=None, all=None, type=None
    )
    assert nothing == {"query": "x"}
    assert "needs 'query'" in refusal("search", query=None)
    assert "needs 'content'" in refusal("note")


@pytest.mark.parametrize(
    "text", ['{"a":1}', "[1]", '["a"]', "null", "true", "5", "", " ", "\0", '"quoted"'], ids=repr
)
def test_text_that_looks_like_json_stays_text(text: str) -> None:
    """Free text is passed on as it is, whatever it looks like."""
    assert bound("note", content=text)["content"] == text


@given(st.text())
def test_any_text_stays_as_it_is(text: str) -> None:
    """No text is ever changed on its way to an operation."""
    assert bound("note", content=text)["content"] == text


@pytest.mark.parametrize(("value", "text"), [(5, "5"), (1.5, "1.5"), (True, "true")])
def test_a_number_becomes_text_where_text_is_wanted(value: Any, text: str) -> None:
    """A number or boolean where text is expected is its text."""
    assert bound("note", content=value)["content"] == text
    assert bound("note", content="x", domain=value)["domain"] == text


@pytest.mark.parametrize(("value", "kind"), [({"a": 1}, "an object"), ([1], "a list")])
def test_an_object_is_no_text(value: Any, kind: str) -> None:
    """An object or list where text is expected is refused by name and kind, not rewritten."""
    assert f"content is text; this is {kind}" in refusal("note", content=value)
    assert "tags is text" in refusal("note", content="x", tags=[value])


def test_choices_are_named() -> None:
    """A value that is no choice is refused with the choices."""
    message = refusal("search", query="x", type="memo")
    assert "type is one of note, checkpoint, anti_pattern" in message
    assert "clear is one of" in refusal("edit", uid="0123", clear="content")
    assert bound("edit", uid="0123", clear="tags,domain")["clear"] == ("tags", "domain")


@pytest.mark.parametrize(
    ("operation", "wrong", "right"),
    [
        ("search", "top_k", "limit"),
        ("search", "q", "query"),
        ("search", "Query", "query"),
        ("search", "querry", "query"),
        ("search", "cursor", "after"),
        ("search", "namespace", "domain"),
        ("search", "tag", "tags"),
        ("search", "max-bytes", "max_bytes"),
        ("note", "text", "content"),
        ("note", "project", "domain"),
        ("show", "id", "uid"),
        ("show", "memory_id", "uid"),
        ("forget", "uid", "uids"),
        ("forget", "id", "uids"),
        ("edit", "if_version", "version"),
        ("edit", "add_tag", "add_tags"),
        ("confidence", "confidence", "verdict"),
        ("link", "target", "other"),
    ],
)
def test_an_unknown_argument_is_refused_with_the_right_one(
    operation: str, wrong: str, right: str
) -> None:
    """A name that there is not is an error that names the one that is meant, and all there are."""
    message = refusal(operation, **{wrong: "x"})
    assert f"has no argument '{wrong}'. Did you mean '{right}'?" in message
    assert "It takes: " in message


def test_a_name_that_means_nothing_is_refused_without_a_guess() -> None:
    """Where nothing is alike, the message only lists what there is."""
    message = refusal("search", query="x", zzz=1)
    assert "Did you mean" not in message
    assert message.endswith("max_bytes.")
    assert refusal("stats", x=1).endswith("It takes none.")


@given(
    st.sampled_from(sorted(BY_NAME)),
    st.dictionaries(
        st.sampled_from([p.name for op in OPERATIONS for p in signature(op).parameters])
        | st.text(max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=4,
        ),
        max_size=4,
    ),
)
def test_any_arguments_are_bound_or_refused_in_words(name: str, arguments: dict[str, Any]) -> None:
    """Whatever JSON is sent, it is bound in the right types or refused with a sentence."""
    taken = signature(BY_NAME[name])
    try:
        result = bind(name, taken, arguments)
    except UsageError as error:
        message = error.message
        assert message.endswith((".", "…"))
        return
    kinds = {"text": str, "integer": int, "number": int | float, "flag": bool}
    for parameter in taken.parameters:
        value = result.pop(parameter.argument, None)
        if value is None:
            assert not parameter.required
            continue
        for item in value if parameter.many else (value,):
            assert isinstance(item, kinds[parameter.kind])
            assert not parameter.choices or item in parameter.choices
    assert not result

"""Laws over the table of operations: what holds for each of them, whichever they are."""

import ast
import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from calls import CALLS, Call, fill, for_the_faces, in_python
from support import CHECKOUT

from memai import errors, operations, settings, signatures, vocabulary
from memai.operations import OPERATIONS, Operation
from memai.records import Where
from memai.store import Store
from memai.vocabulary import Param

EVERYTHING = Where(current=False)
SIGNATURES = {op.name: signatures.read(op.function) for op in OPERATIONS}
each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: op.name)
PARAMETERS = [(op, p) for op in OPERATIONS for p in SIGNATURES[op.name].parameters]
each_parameter = pytest.mark.parametrize(
    ("operation", "parameter"), PARAMETERS, ids=[f"{op.name}-{p.name}" for op, p in PARAMETERS]
)
SOURCES = sorted((CHECKOUT / "memai").rglob("*.py"))


# --- words --------------------------------------------------------------------------------------


def test_names_are_unique_and_spelt_alike() -> None:
    """A public name is one or two words of lower case and stands for one operation."""
    assert not [name for name, times in Counter(op.name for op in OPERATIONS).items() if times > 1]
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*( [a-z]+)?", op.name) for op in OPERATIONS)


@each
def test_a_summary_is_one_short_sentence(operation: Operation) -> None:
    """It stands in menus: at most 72 characters, one line, ending in a period."""
    summary = SIGNATURES[operation.name].summary
    assert 10 <= len(summary) <= 72
    assert summary[0].isupper()
    assert summary.endswith(".")


@each
def test_an_operation_has_at_most_three_arguments(operation: Operation) -> None:
    """What is positional comes first, required before optional, and several only at the end."""
    parameters = SIGNATURES[operation.name].parameters
    positional = SIGNATURES[operation.name].positionals()
    assert list(parameters[: len(positional)]) == positional
    assert len(positional) <= 3
    required = [p.required for p in positional]
    assert required == sorted(required, reverse=True)
    assert all(not p.many for p in positional[:-1])


@each_parameter
def test_every_parameter_has_help(operation: Operation, parameter: signatures.Parameter) -> None:
    """One sentence of at most 100 characters, and a public name without a trailing underscore."""
    text = parameter.param.help
    assert text[0].isupper()
    assert text.endswith(".")
    assert len(text) <= 100
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", parameter.name)


def test_no_option_has_two_meanings() -> None:
    """The same option, argument or letter means the same in every operation."""
    meanings: dict[str, set[Any]] = {}
    for _, p in PARAMETERS:
        what = (p.kind, p.many, p.choices, p.param)
        key = p.name if p.param.positional else p.option
        meanings.setdefault(key, set()).add(what)
        if p.param.short:
            meanings.setdefault("-" + p.param.short, set()).add(p.option)
    assert {name: said for name, said in meanings.items() if len(said) > 1} == {}


@each_parameter
def test_defaults_lie_within_the_bounds(
    operation: Operation, parameter: signatures.Parameter
) -> None:
    """What is not said is something that could have been said."""
    default, param = parameter.default, parameter.param
    if default is None:
        return
    assert not parameter.choices or default in parameter.choices
    assert param.at_least is None or default >= param.at_least
    assert param.at_most is None or default <= param.at_most


@each
def test_every_answer_has_room_for_remarks(operation: Operation) -> None:
    """An answer is a record with `notes`; only an export is a stream of lines."""
    returns = SIGNATURES[operation.name].returns
    assert ("notes" in getattr(returns, "_fields", ())) == (operation.name != "export")


def test_the_library_face_has_every_operation() -> None:
    """`from memai import operations` offers each function under its Python name, typed."""
    typed = {
        name.asname
        for node in ast.walk(ast.parse(inspect.getsource(operations)))
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for name in node.names
        if name.asname
    }
    functions = {op.function.__name__ for op in OPERATIONS}
    assert typed == functions
    for name in functions:
        assert callable(getattr(operations, name))
    with pytest.raises(AttributeError):
        _ = operations.no_such_operation


def test_the_daily_operations_are_the_daily_loop() -> None:
    """What agents see unasked is agreed on; help comes with every server."""
    assert " ".join(op.name for op in OPERATIONS if op.daily) == (
        "note checkpoint handoff anti_pattern search show list pulse edit link forget"
    )


# --- shapes -------------------------------------------------------------------------------------

Text = Annotated[str, Param("A text.", positional=True)]
Option = Annotated[str, Param("An option.")]


def _untyped(store: Store, x):  # type: ignore[no-untyped-def]
    """Have no type."""


def _bare(store: Store, x: str) -> None:
    """Have no Param."""


def _required_option(store: Store, x: Option) -> None:
    """Require an option."""


def _optional_but_required(store: Store, x: Text | None) -> None:
    """Be optional without a default."""


def _odd_kind(store: Store, x: Annotated[bytes, Param("Bytes.", positional=True)]) -> None:
    """Have a kind that no face knows."""


def _two_types(store: Store, x: Annotated[str, Param("A")] | Annotated[int, Param("B")]) -> None:
    """Have two types."""


@pytest.mark.parametrize(
    "function",
    [_untyped, _bare, _required_option, _optional_but_required, _odd_kind, _two_types],
    ids=lambda f: f.__name__,
)
def test_an_unknown_shape_is_refused(function: Any) -> None:
    """What no face could offer raises when the program is built."""
    with pytest.raises(TypeError):
        signatures.read(function)


def test_a_signature_is_read_as_it_is_written() -> None:
    """Kinds, defaults, choices and names come from the annotations."""

    def function(
        store: Store,
        text: Text,
        many: Annotated[tuple[str, ...], Param("Several.", positional=True)] = (),
        *,
        list_: Annotated[int, Param("A number.", at_least=1)] = 3,
        choice: Annotated[Literal["a", "b"], Param("One of two.", option="pick")] | None = None,
        flag: Annotated[bool, Param("Yes or no.")] = False,
    ) -> int:
        """Do something.

        With a body.
        """
        return 1

    read = signatures.read(function)
    assert (read.summary, read.body, read.returns) == ("Do something.", "With a body.", int)
    assert [
        (p.name, p.kind, p.many, p.required, p.default, p.choices) for p in read.parameters
    ] == [
        ("text", "text", False, True, None, ()),
        ("many", "text", True, False, (), ()),
        ("list", "integer", False, False, 3, ()),
        ("choice", "text", False, False, None, ("a", "b")),
        ("flag", "flag", False, False, False, ()),
    ]
    assert [p.option for p in read.options()] == ["--list", "--pick", "--flag"]
    assert [p.metavar for p in read.parameters] == ["TEXT", "MANY", "N", "a|b", "FLAG"]


# --- hints --------------------------------------------------------------------------------------


def state(store: Store) -> tuple[Any, ...]:
    """Return all that an operation could change: memories, remarks, the space."""
    memories = [
        (memory, tuple(e.before for e in history), relations)
        for memory, history, relations in store.export(EVERYTHING)
    ]
    return memories, store.space(), store.counts().passages


SUCCESSES = [call for call in CALLS if call.error is None]


@pytest.mark.parametrize("call", SUCCESSES, ids=str)
def test_hints_agree_with_what_a_call_does(store: Store, call: Call) -> None:
    """What reads changes nothing at all; what is idempotent done twice is done once."""
    operation = next(op for op in OPERATIONS if op.name == call.operation)
    names = fill(store, "shop")
    before, writes = state(store), store.meta("changes")
    in_python(store, call, names)
    if operation.reads:
        assert store.meta("changes") == writes
    after = state(store)
    gone = {m.uid for m, *_ in before[0] if m.current} - {m.uid for m, *_ in after[0] if m.current}
    assert not gone or operation.destroys or operation.name == "link"
    if operation.idempotent:
        try:
            in_python(store, call, names)
        except errors.MemaiError:
            assert operation.name in ("unlink", "edit")  # there is nothing left to do
        assert state(store) == after


@pytest.mark.parametrize("call", [c for c in CALLS if c.error and not for_the_faces(c)], ids=str)
def test_a_refusal_changes_nothing(store: Store, call: Call) -> None:
    """A call that is refused leaves every memory as it was."""
    names = fill(store, "shop")
    before, writes = state(store), store.meta("changes")
    with pytest.raises(errors.MemaiError) as refused:
        in_python(store, call, names)
    assert refused.value.code == call.error
    assert (state(store), store.meta("changes")) == (before, writes)


@each
def test_reading_makes_no_store(store: Store, operation: Operation) -> None:
    """An operation that reads never creates what is not there."""
    for call in SUCCESSES:
        if operation.reads and call.operation == operation.name:
            try:
                in_python(store, call, {"domain": "shop", "note": "0" * 10})
            except errors.MemaiError as error:
                assert error.exit_code == 3  # noqa: PT017
    assert not store.exists()


@each
def test_every_operation_is_called_by_the_tests(operation: Operation) -> None:
    """The table of calls has a success for each, and a refusal where it takes free text."""
    assert any(c.operation == operation.name for c in SUCCESSES)
    takes = SIGNATURES[operation.name].positionals()
    assert (
        not takes
        or operation.name == "backup"
        or any(c.operation == operation.name and c.error for c in CALLS)
    )


# --- errors and settings ------------------------------------------------------------------------

ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.MemaiError)
]


def test_every_error_has_a_code_and_a_documented_exit_code() -> None:
    """Codes are unique words; exit codes are those of the manual."""
    codes = Counter(kind.code for kind in ERRORS)
    assert max(codes.values()) == 1
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)
    assert {kind.exit_code for kind in ERRORS} <= {code for code, _ in errors.EXIT_CODES}


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_the_docstring_of_an_error_is_its_message(kind: type[errors.MemaiError]) -> None:
    """With its fields filled in it is one line that leaves no brace."""
    names = set(re.findall(r"{(\w+)[^}]*}", kind.__doc__ or ""))
    message = kind(**dict.fromkeys(names, 7)).message
    assert message
    assert not re.search(r"[{}\n]|  ", message)


def test_every_variable_that_is_read_is_documented() -> None:
    """The manual lists each MEMAI_ variable that the source names, and no other."""
    named = {
        found
        for source in SOURCES
        for found in re.findall(r"\bMEMAI_[A-Z_]+\b", source.read_text(encoding="utf-8"))
    }
    listed = {name for name, _ in settings.ENVIRONMENT if name.startswith("MEMAI_")}
    assert named - {"MEMAI_NO_SQLITE_VEC"} == listed  # that one is for the tests


def test_every_type_in_the_vocabulary_is_used() -> None:
    """A parameter type that no operation takes is dead."""
    described = {
        id(value.__metadata__[0]): name
        for name, value in vars(vocabulary).items()
        if hasattr(value, "__metadata__")
    }
    used = {id(p.param) for _, p in PARAMETERS}
    assert {name for key, name in described.items() if key not in used} <= {"Explain", "Newer"}


def test_docstrings_begin_with_a_sentence() -> None:
    """The first line of every public docstring of the package is one sentence."""
    wrong = []
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text and source.name != "errors.py" and text.split("\n")[0][-1] not in ".:?":
                    wrong.append(f"{source.relative_to(CHECKOUT)}: {text.splitlines()[0]}")
    assert wrong == []


def test_rooms_are_small() -> None:
    """A file of much more than 350 lines is two rooms."""
    large = {
        str(source.relative_to(CHECKOUT)): lines
        for source in SOURCES
        if (lines := source.read_text(encoding="utf-8").count("\n")) > 400
    }
    assert large == {}
    assert Path(CHECKOUT / "memai" / "py.typed").exists()

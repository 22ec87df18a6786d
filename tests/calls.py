"""Calls of every operation, with what they need: shared by the laws, the envelopes and the faces.

Arguments have their public names. `{note}`, `{other}`, ... stand for the uids of the memories that
`fill` writes; `{domain}` for the domain they are in, so that calls of different tests keep apart.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from support import memory

from memai import operations
from memai.formats import own
from memai.formats.foreign import uid_of
from memai.operations import OPERATIONS
from memai.records import Origin, Relation, to_json
from memai.signatures import read
from memai.store import Store

SECRET = "AWS key AKIAIOSFODNN7EXAMPLE found in log"


class Call(NamedTuple):
    """One call of an operation; `error` is the code of the refusal it must get."""

    operation: str
    arguments: Mapping[str, Any] = MappingProxyType({})
    error: str | None = None

    def __str__(self) -> str:
        said = " ".join(f"{name}={str(value)[:30]!r}" for name, value in self.arguments.items())
        return f"{self.operation} {said}".strip()


CALLS: tuple[Call, ...] = (
    Call("note", {"content": "A plain text {domain}."}),
    Call(
        "note",
        {
            "content": " kept  as it is, é 🚀 中文\n",
            "domain": "{domain}/part",
            "tags": ["One", "two words"],
            "session": "a sitting",
            "source": "a mail",
            "key": "key {domain}",
        },
    ),
    Call(
        "note", {"content": "The walrus polishes its tusks.", "domain": "{domain}", "tags": ["x"]}
    ),
    Call("note", {"content": '{"looks": "like JSON"}', "domain": "-"}),
    Call("note", {"content": ""}, "usage"),
    Call("note", {"content": " \t\n"}, "usage"),
    Call("note", {"content": "text", "domain": ""}, "usage"),
    Call("note", {"content": "text", "domain": "a//b"}, "usage"),
    Call("note", {"content": "text", "tags": ["two\nlines"]}, "usage"),
    Call("note", {"content": SECRET}, "secret-found"),
    Call("note", {"content": SECRET, "redact": True, "domain": "{domain}"}),
    Call("note", {"content": SECRET, "allow_secret": True, "domain": "{domain}"}),
    Call(
        "checkpoint",
        {
            "intent": "Ship it",
            "established": "It works",
            "pursuing": "Tokens",
            "open_questions": "Who?",
            "domain": "{domain}",
        },
    ),
    Call("checkpoint", {}, "usage"),
    Call("handoff", {"content": "Go on with the mails.", "domain": "{domain}"}),
    Call("handoff", {"content": "\u200b"}, "usage"),
    Call(
        "anti_pattern",
        {"pattern": "Retry", "why_wrong": "Load", "instead": "Back off", "domain": "{domain}"},
    ),
    Call("anti_pattern", {"why_wrong": "Load"}, "usage"),
    Call("reasoning", {"content": "One file is easy to back up.", "domain": "{domain}"}),
    Call("search", {"query": "walrus tusks", "domain": "{domain}"}),
    Call("search", {"query": '"walrus polishes"', "domain": "{domain}", "limit": 1}),
    Call(
        "search",
        {
            "query": "walrus",
            "domain": "{domain}",
            "type": "note",
            "tags": ["x"],
            "since": "2020-01-01",
            "without": ["giraffe"],
            "all": True,
        },
    ),
    Call("search", {"query": "walrus", "domain": "{domain}", "status": "archived"}),
    Call("search", {"query": "walrus", "domain": "{domain}/nowhere"}),
    Call("search", {"query": "  "}, "usage"),
    Call("search", {"query": "walrus", "since": "2026-02-30"}, "usage"),
    Call("search", {"query": "walrus", "type": "wish"}, "usage"),
    Call("search", {"query": "walrus", "limit": 0}, "usage"),
    Call("search", {"query": "walrus", "after": "elsewhere"}, "usage"),
    Call("search", {"query": "walrus", "here": True}, "usage"),
    Call("recall", {"query": "walrus", "domain": "{domain}"}),
    Call("recall", {"query": ""}, "usage"),
    Call("reasoning", {"content": "\ufeff"}, "usage"),
    Call("show", {"uid": "{note}"}),
    Call("show", {"uid": "{old}"}),
    Call("show", {"uid": "{long}", "outline": True}),
    Call("show", {"uid": "{long}", "span": "3:40"}),
    Call("show", {"uid": "{note}", "span": "elsewhere"}, "usage"),
    Call("show", {"uid": "zzzz"}, "no-such-memory"),
    Call("list", {"domain": "{domain}"}),
    Call("list", {"domain": "{domain}", "all": True, "limit": 2}),
    Call("list", {"domain": "{domain}", "type": "checkpoint", "until": "2020-01-01"}),
    Call("list", {"domain": "{domain}", "after": "{other}"}),
    Call("list", {"domain": ""}, "usage"),
    Call("list", {"status": "lost"}, "usage"),
    Call("list", {"limit": 1001}, "usage"),
    Call("list", {"after": "zzzz"}, "no-such-memory"),
    Call("pulse", {"domain": "{domain}"}),
    Call("pulse", {"domain": "{domain}", "max_bytes": 900, "limit": 1}),
    Call("pulse", {"max_bytes": 10}, "usage"),
    Call("domains"),
    Call("domains", {"here": True}),
    Call("domains rename", {"domain": "{domain}", "new": "{domain}-new"}),
    Call("domains rename", {"domain": "{domain}", "new": "{domain}-new", "dry_run": True}),
    Call("domains rename", {"domain": "{domain}", "new": "{domain}-aside"}, "refused"),
    Call("domains rename", {"domain": "{domain}/nowhere", "new": "new"}, "usage"),
    Call("domains rename", {"domain": "-", "new": "new"}, "usage"),
    Call("domains merge", {"domain": "{domain}-aside", "new": "{domain}"}),
    Call("domains merge", {"domain": "{domain}", "new": "{domain}"}, "usage"),
    Call("domains merge", {"domain": "{domain}", "new": "{domain}/nowhere"}, "refused"),
    Call("domains policy"),
    Call("domains policy", {"policy": "lower"}),
    Call("domains policy", {"policy": "title"}, "usage"),
    Call("relations", {"uid": "{note}"}),
    Call("relations", {"uid": ""}, "no-such-memory"),
    Call("edit", {"uid": "{note}", "content": "Corrected.", "version": 3, "reason": "asked"}),
    Call("edit", {"uid": "{other}", "add_tags": ["a", "b"], "remove_tags": ["x"]}),
    Call("edit", {"uid": "{other}", "clear": ["tags", "domain"], "type": "reasoning"}),
    Call("edit", {"uid": "{note}", "content": "Late.", "version": 7}, "version-conflict"),
    Call("edit", {"uid": "zzzz", "content": "Lost."}, "no-such-memory"),
    Call("edit", {"uid": "{note}", "content": SECRET}, "secret-found"),
    Call("edit", {"uid": "{note}", "clear": ["content"]}, "usage"),
    Call("edit", {"uid": "{note}", "revert": 1}),
    Call("edit", {"uid": "{note}", "revert": 99}, "usage"),
    Call("edit", {"uid": "{note}", "revert": 1, "content": "Both."}, "usage"),
    Call("history", {"uid": "{note}"}),
    Call("history", {"uid": "zzzz"}, "no-such-memory"),
    Call("link", {"uid": "{note}", "relation": "blocks", "other": "{other}", "note": "why"}),
    Call("link", {"uid": "{newer}", "relation": "supersedes", "other": "{old}"}),
    Call("link", {"uid": "{old}", "relation": "supersedes", "other": "{newer}"}, "usage"),
    Call("link", {"uid": "{note}", "relation": "blocks", "other": "{note}"}, "usage"),
    Call("link", {"uid": "{note}", "relation": "blocks", "other": "zzzz"}, "no-such-memory"),
    Call("unlink", {"uid": "{newer}", "relation": "supersedes", "other": "{old}"}),
    Call("unlink", {"uid": "{note}", "relation": "blocks", "other": "{other}"}, "no-such-relation"),
    Call("confidence", {"uid": "{note}", "verdict": "confirmed", "reason": "seen"}),
    Call("confidence", {"uid": "{note}", "verdict": "doubted"}, "usage"),
    Call("forget", {"uids": ["{note}", "{other}"], "reason": "done"}),
    Call("forget", {"uids": ["{note}"], "superseded_by": "{other}"}),
    Call("forget", {"uids": ["{note}", "zzzz"]}, "no-such-memory"),
    Call("restore", {"uids": ["{archived}", "{old}"]}),
    Call("restore", {"uids": ["zzzz"]}, "no-such-memory"),
    Call("purge", {"uid": "{note}"}, "confirmation-needed"),
    Call("purge", {"uid": "{note}", "confirm": "DELETE"}, "confirmation-needed"),
    Call("purge", {"uid": "{note}", "confirm": "DELETE {note}"}),
    Call("purge", {"uid": "{note}", "dry_run": True}),
    Call("duplicates", {"domain": "{domain}"}),
    Call("duplicates", {"domain": "{domain}", "threshold": 0.1, "limit": 1}),
    Call("doctor"),
    Call("doctor", {"deep": True}),
    Call("doctor", {"secrets": True}),
    Call("backup"),
    Call("backups"),
    Call("backups", {"verify": True}),
    Call("backups", {"place": "/nowhere"}, "usage"),
    Call("recover", {"file": "{backup}", "dry_run": True}),
    Call("recover", {"file": "/nowhere/x.db"}, "usage"),
    Call("reembed"),
    Call("stats"),
    Call("import", {"source": "{lines}"}),
    Call("import", {"source": "{lines}", "dry_run": True, "keep_going": True}),
    Call("import", {"source": "nowhere.jsonl"}, "usage"),
    Call("import", {"source": "{lines}", "domain": "elsewhere"}, "usage"),
    Call("import", {"source": "{lines}", "format": "csv"}, "usage"),
    Call("export", {"domain": "{domain}"}),
    Call("export", {"type": "wish"}, "usage"),
    Call("sync", {"folder": "{folder}"}),
    Call("sync", {"folder": "{folder}", "dry_run": True}),
    Call("sync", {"folder": "{lines}"}, "usage"),
)


def for_the_faces(call: Call) -> bool:
    """Say whether a call breaks a choice or a bound, which the faces look after."""
    signature = read(next(op.function for op in OPERATIONS if op.name == call.operation))
    for parameter in signature.parameters:
        value = call.arguments.get(parameter.name)
        if value is None:
            continue
        values = value if isinstance(value, list) else [value]
        if parameter.choices and not set(values) <= set(parameter.choices):
            return True
        low, high = parameter.param.at_least, parameter.param.at_most
        if (low is not None and value < low) or (high is not None and value > high):
            return True
    return False


def fill(store: Store, domain: str) -> dict[str, str]:
    """Write what the calls are about; return what their placeholders stand for."""
    long = "\n\n".join(f"# Part {n}\n" + f"Sentence {n} of it. " * 16 for n in range(4))
    made = {
        "note": operations.note(
            store, "The walrus polishes its tusks.", domain=domain, tags=("x",)
        ),
        "other": operations.note(store, "A giraffe and a walrus met.", domain=domain, tags=("x",)),
        "old": operations.note(store, "Tokens last an hour.", domain=domain),
        "newer": operations.note(store, "Tokens last nine hours.", domain=domain),
        "archived": operations.note(store, "An archived walrus.", domain=domain),
        "long": operations.reasoning(store, long, domain=domain),
        "checkpoint": operations.checkpoint(store, intent="Ship it soon", domain=domain),
        "handoff": operations.handoff(store, "Open: the mails.", domain=domain),
        "pitfall": operations.anti_pattern(store, pattern="Haste", domain=domain),
        "aside": operations.note(store, "Lies aside.", domain=f"{domain}-aside"),
        "twin": operations.note(store, "The walrus polishes its tusks!", domain=domain),
    }
    uids = {name: written.uid for name, written in made.items()}
    operations.edit(store, uids["note"], add_tags=("y",), reason="sorted")
    operations.edit(store, uids["note"], remove_tags=("y",))
    operations.link(store, uids["newer"], "supersedes", uids["old"])
    operations.link(store, uids["checkpoint"], "derived_from", uids["note"], note="as said")
    operations.forget(store, (uids["archived"],))
    known = operations.backups(store).backups or (operations.backup(store),)
    folder = Path(store.settings.path).with_name(f"{domain}-pages")
    places = {"backup": known[0].path, "lines": lines(store, domain), "folder": str(folder)}
    return {**uids, "domain": domain, **places}


def lines(store: Store, domain: str) -> str:
    """Write a file for import with two memories, one of them superseded; return its path."""
    path = Path(store.settings.path).with_name(f"{domain}.jsonl")
    old, new = (uid_of(Origin("calls", f"{name} {domain}")) for name in ("old", "new"))
    made = [
        memory("Tickets close after a week.", uid=old, domain=domain),
        memory("Tickets close after two weeks.", uid=new, domain=domain, tags=("tickets",)),
    ]
    relation = Relation(new, "supersedes", old, "as agreed", "tester", made[1].created_at)
    kept = [own.line(m, (), [r for r in (relation,) if r.from_uid == m.uid]) for m in made]
    path.write_text("".join(own.dumps(line) + "\n" for line in kept), encoding="utf-8")
    return str(path)


def filled_in(arguments: Mapping[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return arguments with what the placeholders stand for."""

    def value(given: Any) -> Any:
        if isinstance(given, list):
            return [value(item) for item in given]
        if isinstance(given, str):
            for name, meant in names.items():
                given = given.replace("{" + name + "}", meant)
        return given

    return {name: value(given) for name, given in arguments.items()}


def in_python(store: Store, call: Call, names: dict[str, str]) -> Any:
    """Do a call as a library does it; return its answer as JSON has it."""
    function = next(op.function for op in OPERATIONS if op.name == call.operation)
    arguments = {}
    for name, value in filled_in(call.arguments, names).items():
        arguments[name + "_" if name == "all" else name] = (
            tuple(value) if isinstance(value, list) else value
        )
    answer = function(store, **arguments)
    if isinstance(answer, Iterable) and not isinstance(answer, tuple):
        return [to_json(line) for line in answer]
    return to_json(answer)

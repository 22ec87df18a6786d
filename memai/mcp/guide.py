"""What `help` answers: each tool with all its arguments, and how memories are kept well."""

from collections.abc import Mapping
from typing import Any

from memai.errors import UsageError
from memai.mcp import Profile, answers, offer, schemas
from memai.operations import OPERATIONS, Operation
from memai.signatures import Parameter

_KEEPING = """\
How to keep memories well
- Search before you save: edit or supersede what is there instead of adding a second version.
- One fact a note, complete on its own: the thing, what is so, why, since when. Someone will read \
it without this conversation.
- Use the words that will be searched for, and give 'domain' (a project; parts as in shop/PROJ-7).
- note: fact, decision, finding. anti_pattern: pattern, why_wrong, instead. reasoning: why \
something was decided. checkpoint: intent, established, pursuing, open_questions. handoff: what \
is next.
- When something changed: save the new, then forget the old with superseded_by. It stays in history.
- When something proved right or wrong: confidence UID confirmed or contradicted.
- A handoff is open until forgotten: forget it when it is taken up.
- Use 'key' when a call may be repeated: the second call returns the first memory.
- Nothing secret: memai refuses what looks like a credential.
"""

_SCHEDULE = """\
What to schedule
- At the start of a session: pulse (in a hook: memai pulse --max-bytes 1800).
- At the end of a session: one checkpoint, and a handoff if someone else goes on.
- Every week: duplicates, and edit or supersede what says the same; domains, for names that drift.
- Every day, from a shell: memai backup. Every week: memai doctor.
- After a change of MEMAI_EMBED_MODEL: memai reembed.
"""

TOPICS = {"keeping": _KEEPING, "schedule": _SCHEDULE}


def answer(profile: Profile, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the result of the tool `help`; raises UsageError for a topic that there is not."""
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    for name in given:
        if name != "topic":
            raise UsageError(reason=f"help has no argument '{name[:60]}'. It takes: topic.")
    topic = given.get("topic", "")
    if not isinstance(topic, str):
        raise UsageError(reason="topic is text: the name of a tool, 'keeping' or 'schedule'.")
    return answers.text_only(explain(profile, topic.strip()))


def explain(profile: Profile, topic: str) -> str:
    """Return what there is to say on a topic; an empty one is the list of all."""
    plain = topic.removeprefix(profile.prefix) if profile.prefix else topic
    if not plain:
        return _overview(profile)
    if plain in TOPICS:
        return TOPICS[plain]
    wanted = plain.replace(" ", "_").replace("-", "_").lower()
    found = next((op for op in OPERATIONS if offer.tool_name(op) == wanted), None)
    if found is None:
        names = ", ".join([*map(offer.tool_name, OPERATIONS), *TOPICS])
        raise UsageError(reason=f"There is no help on '{topic[:60]}'. There is on: {names}.")
    return _manual(profile, found)


def _overview(profile: Profile) -> str:
    """Return one line for each operation and topic."""
    lines = ["Tools; those that are not listed work too when they are called:"]
    for operation in OPERATIONS:
        if not operation.shell_only and (operation.name != "purge" or profile.allow_purge):
            name = profile.prefix + offer.tool_name(operation)
            lines.append(f"{name}: {schemas.signature(operation).summary}")
    lines += [
        "keeping: How to keep memories well.",
        "schedule: What to do at the start and end of a session, each day and week.",
        "help with a topic says more.",
    ]
    return "\n".join(lines)


def _manual(profile: Profile, operation: Operation) -> str:
    """Return everything about one operation."""
    taken = schemas.signature(operation)
    lines = [f"{profile.prefix}{offer.tool_name(operation)}: {taken.summary}"]
    if taken.body:
        lines.append(taken.body)
    if operation.shell_only:
        lines.append(f"In a shell only: {operation.examples[0]}")
    lines += [_argument(parameter) for parameter in taken.parameters]
    return "\n".join(lines)


def _argument(parameter: Parameter) -> str:
    """Return one line on a parameter: type, choices, bounds, default, help."""
    kind: str = "list of text" if parameter.many else parameter.kind
    if parameter.choices:
        kind = ("any of " if parameter.many else "") + "|".join(parameter.choices)
    facts = [kind]
    if parameter.required:
        facts.append("required")
    elif parameter.default not in (None, False, ()):
        facts.append(f"default {str(parameter.default).lower()}")
    low, high = parameter.param.at_least, parameter.param.at_most
    if low is not None:
        facts.append(f"from {low}")
    if high is not None:
        facts.append(f"to {high}")
    return f"- {parameter.name} ({', '.join(facts)}): {parameter.param.help}"

"""The operations as `memai.signatures` reads them; `python -m memai.documents` writes it."""
# ruff: noqa: E501, Q000
# fmt: off

from __future__ import annotations

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# Name: summary, body, and the fields of each parameter, those of its Param last.
SIGNATURES: dict[str, tuple[str, str, tuple[tuple[Any, ...], ...]]] = {
    'note': (
        'Save a fact, decision or finding worth having in a later session.',
        'One fact a note, with the words someone will search for. Saving what is already there returns\nthe memory that holds it and adds the new tags.',
        (
            ('content', 'content', 'text', False, True, None, (), ('The text to keep.', True, None, None, True, None, False, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('session', 'session', 'text', False, False, None, (), ('The sitting it belongs to.', False, None, None, False, None, False, None, None)),
            ('source', 'source', 'text', False, False, None, (), ('Where the content came from.', False, None, None, False, None, False, None, None)),
            ('key', 'key', 'text', False, False, None, (), ('Your own unique key: a retry with it returns the first memory.', False, None, None, False, None, False, None, None)),
            ('allow_secret', 'allow_secret', 'flag', False, False, False, (), ('Keep text that looks like a credential.', False, None, None, False, None, False, None, None)),
            ('redact', 'redact', 'flag', False, False, False, (), ('Keep it with credentials replaced by [redacted:KIND].', False, None, None, False, None, False, None, None)),
        ),
    ),
    'checkpoint': (
        'Save where the work stands, to resume from: pulse shows the latest.',
        'At least one of its four fields is needed.',
        (
            ('intent', 'intent', 'text', False, False, None, (), ('What the work is for.', False, None, None, False, None, False, None, None)),
            ('established', 'established', 'text', False, False, None, (), ('What is known or done.', False, None, None, False, None, False, None, None)),
            ('pursuing', 'pursuing', 'text', False, False, None, (), ('What is being tried now.', False, None, None, False, None, False, None, None)),
            ('open_questions', 'open_questions', 'text', False, False, None, (), ('What is still open.', False, None, None, False, None, False, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('session', 'session', 'text', False, False, None, (), ('The sitting it belongs to.', False, None, None, False, None, False, None, None)),
            ('source', 'source', 'text', False, False, None, (), ('Where the content came from.', False, None, None, False, None, False, None, None)),
            ('key', 'key', 'text', False, False, None, (), ('Your own unique key: a retry with it returns the first memory.', False, None, None, False, None, False, None, None)),
            ('allow_secret', 'allow_secret', 'flag', False, False, False, (), ('Keep text that looks like a credential.', False, None, None, False, None, False, None, None)),
            ('redact', 'redact', 'flag', False, False, False, (), ('Keep it with credentials replaced by [redacted:KIND].', False, None, None, False, None, False, None, None)),
        ),
    ),
    'handoff': (
        'Leave a message for whoever works next; it is open until forgotten.',
        '',
        (
            ('content', 'content', 'text', False, True, None, (), ('The text to keep.', True, None, None, True, None, False, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('session', 'session', 'text', False, False, None, (), ('The sitting it belongs to.', False, None, None, False, None, False, None, None)),
            ('source', 'source', 'text', False, False, None, (), ('Where the content came from.', False, None, None, False, None, False, None, None)),
            ('key', 'key', 'text', False, False, None, (), ('Your own unique key: a retry with it returns the first memory.', False, None, None, False, None, False, None, None)),
            ('allow_secret', 'allow_secret', 'flag', False, False, False, (), ('Keep text that looks like a credential.', False, None, None, False, None, False, None, None)),
            ('redact', 'redact', 'flag', False, False, False, (), ('Keep it with credentials replaced by [redacted:KIND].', False, None, None, False, None, False, None, None)),
        ),
    ),
    'anti_pattern': (
        'Save a mistake not to make again, why it fails, and what to do instead.',
        '',
        (
            ('pattern', 'pattern', 'text', False, False, None, (), ('What is done wrong.', False, None, None, False, None, False, None, None)),
            ('why_wrong', 'why_wrong', 'text', False, False, None, (), ('Why it fails.', False, None, None, False, None, False, None, None)),
            ('instead', 'instead', 'text', False, False, None, (), ('What to do instead.', False, None, None, False, None, False, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('session', 'session', 'text', False, False, None, (), ('The sitting it belongs to.', False, None, None, False, None, False, None, None)),
            ('source', 'source', 'text', False, False, None, (), ('Where the content came from.', False, None, None, False, None, False, None, None)),
            ('key', 'key', 'text', False, False, None, (), ('Your own unique key: a retry with it returns the first memory.', False, None, None, False, None, False, None, None)),
            ('allow_secret', 'allow_secret', 'flag', False, False, False, (), ('Keep text that looks like a credential.', False, None, None, False, None, False, None, None)),
            ('redact', 'redact', 'flag', False, False, False, (), ('Keep it with credentials replaced by [redacted:KIND].', False, None, None, False, None, False, None, None)),
        ),
    ),
    'reasoning': (
        'Save why something was decided: options, argument, conclusion.',
        '',
        (
            ('content', 'content', 'text', False, True, None, (), ('The text to keep.', True, None, None, True, None, False, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('session', 'session', 'text', False, False, None, (), ('The sitting it belongs to.', False, None, None, False, None, False, None, None)),
            ('source', 'source', 'text', False, False, None, (), ('Where the content came from.', False, None, None, False, None, False, None, None)),
            ('key', 'key', 'text', False, False, None, (), ('Your own unique key: a retry with it returns the first memory.', False, None, None, False, None, False, None, None)),
            ('allow_secret', 'allow_secret', 'flag', False, False, False, (), ('Keep text that looks like a credential.', False, None, None, False, None, False, None, None)),
            ('redact', 'redact', 'flag', False, False, False, (), ('Keep it with credentials replaced by [redacted:KIND].', False, None, None, False, None, False, None, None)),
        ),
    ),
    'search': (
        'Find memories by words and by meaning, best first.',
        'Each hit says which side found it: fts (words), vec (meaning) or both. Words in "double quotes"\nmust occur as written, if anything holds them. Only current memories are searched unless asked\notherwise.',
        (
            ('query', 'query', 'text', False, True, None, (), ('What to look for, in any words.', True, None, None, True, None, False, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('here', 'here', 'flag', False, False, False, (), ('Only the domain at hand.', False, None, None, False, None, False, None, None)),
            ('type', 'type', 'text', False, False, None, ('note', 'checkpoint', 'anti_pattern', 'reasoning', 'handoff'), ('The type of memory.', False, None, None, False, None, False, None, None)),
            ('session', 'session', 'text', False, False, None, (), ('The sitting it belongs to.', False, None, None, False, None, False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('status', 'status', 'text', False, False, None, ('active', 'archived'), ('The status.', False, None, None, False, None, False, None, None)),
            ('since', 'since', 'text', False, False, None, (), ('From this time: 2026-03-29, yesterday, 3d, an ISO date and time.', False, None, None, False, None, False, None, None)),
            ('until', 'until', 'text', False, False, None, (), ('Up to this time, in the same forms; a day counts whole.', False, None, None, False, None, False, None, None)),
            ('without', 'without', 'text', True, False, None, (), ('Leave out what holds this word.', False, None, None, False, None, False, None, None)),
            ('all_', 'all', 'flag', False, False, False, (), ('Also what is archived or superseded.', False, None, None, False, None, False, None, None)),
            ('newer', 'newer', 'flag', False, False, True, (), ('Prefer the newer of near-equals.', False, None, None, False, None, False, None, None)),
            ('explain', 'explain', 'flag', False, False, False, (), ('Show the routes and scores of each hit.', False, None, None, False, None, False, None, None)),
            ('limit', 'limit', 'integer', False, False, 10, (), ('At most this many.', False, None, 'n', False, None, False, 1, 1000)),
            ('after', 'after', 'text', False, False, None, (), ("Go on from the 'next' of an earlier answer.", False, None, None, False, None, False, None, None)),
            ('max_bytes', 'max_bytes', 'integer', False, False, 20000, (), ('At most this many bytes of answer.', False, None, None, False, None, False, 400, None)),
        ),
    ),
    'recall': (
        'Find notes by words and by meaning: search, over notes only.',
        '',
        (
            ('query', 'query', 'text', False, True, None, (), ('What to look for, in any words.', True, None, None, True, None, False, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('here', 'here', 'flag', False, False, False, (), ('Only the domain at hand.', False, None, None, False, None, False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('limit', 'limit', 'integer', False, False, 10, (), ('At most this many.', False, None, 'n', False, None, False, 1, 1000)),
            ('max_bytes', 'max_bytes', 'integer', False, False, 20000, (), ('At most this many bytes of answer.', False, None, None, False, None, False, 400, None)),
        ),
    ),
    'show': (
        'Show a memory whole, with its history and relations.',
        '',
        (
            ('uid', 'uid', 'text', False, True, None, (), ('A memory: its uid, or a unique beginning.', True, None, None, False, 'uid', False, None, None)),
            ('span', 'span', 'text', False, False, None, (), ('Only these characters, START:END.', False, None, None, False, None, False, None, None)),
            ('outline', 'outline', 'flag', False, False, False, (), ('Only the heads of its passages, with offsets.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'list': (
        'List memories, newest first.',
        '',
        (
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('here', 'here', 'flag', False, False, False, (), ('Only the domain at hand.', False, None, None, False, None, False, None, None)),
            ('type', 'type', 'text', False, False, None, ('note', 'checkpoint', 'anti_pattern', 'reasoning', 'handoff'), ('The type of memory.', False, None, None, False, None, False, None, None)),
            ('session', 'session', 'text', False, False, None, (), ('The sitting it belongs to.', False, None, None, False, None, False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('status', 'status', 'text', False, False, None, ('active', 'archived'), ('The status.', False, None, None, False, None, False, None, None)),
            ('since', 'since', 'text', False, False, None, (), ('From this time: 2026-03-29, yesterday, 3d, an ISO date and time.', False, None, None, False, None, False, None, None)),
            ('until', 'until', 'text', False, False, None, (), ('Up to this time, in the same forms; a day counts whole.', False, None, None, False, None, False, None, None)),
            ('all_', 'all', 'flag', False, False, False, (), ('Also what is archived or superseded.', False, None, None, False, None, False, None, None)),
            ('limit', 'limit', 'integer', False, False, 20, (), ('At most this many.', False, None, 'n', False, None, False, 1, 1000)),
            ('after', 'after', 'text', False, False, None, (), ("Go on from the 'next' of an earlier answer.", False, None, None, False, None, False, None, None)),
            ('max_bytes', 'max_bytes', 'integer', False, False, 20000, (), ('At most this many bytes of answer.', False, None, None, False, None, False, 400, None)),
        ),
    ),
    'pulse': (
        'Show where work stands: checkpoint, hand-offs, pitfalls, recent notes.',
        'The latest checkpoint in full, then what is open, by time only. Without a domain it is the\ndomain at hand, or everything if there is none. What does not fit is left out from the end, and\nthe answer says how to read it.',
        (
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('max_bytes', 'max_bytes', 'integer', False, False, 20000, (), ('At most this many bytes of answer.', False, None, None, False, None, False, 400, None)),
            ('limit', 'limit', 'integer', False, False, 10, (), ('At most this many.', False, None, 'n', False, None, False, 1, 1000)),
        ),
    ),
    'domains': (
        'List the domains with their counts, latest activity first.',
        'Where a domain was written in several ways, its spellings are named: they count as one. With\n--here it is the domain at hand alone, and the answer says where that comes from.',
        (
            ('here', 'here', 'flag', False, False, False, (), ('Only the domain at hand.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'domains rename': (
        'Give a domain another name, with everything below it.',
        "Every memory keeps its old domain in its history. To move memories into a domain that exists\nthere is 'domains merge'; the same name in another spelling is a rename.",
        (
            ('domain', 'domain', 'text', False, True, None, (), ('The domain.', True, None, None, False, 'domain', False, None, None)),
            ('new', 'new', 'text', False, True, None, (), ('Its new name.', True, None, None, False, 'domain', False, None, None)),
            ('dry_run', 'dry_run', 'flag', False, False, False, (), ('Say what would change, and change nothing.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'domains merge': (
        'Move the memories of a domain, and of those below it, into another.',
        '',
        (
            ('domain', 'domain', 'text', False, True, None, (), ('The domain.', True, None, None, False, 'domain', False, None, None)),
            ('new', 'new', 'text', False, True, None, (), ('Its new name.', True, None, None, False, 'domain', False, None, None)),
            ('dry_run', 'dry_run', 'flag', False, False, False, (), ('Say what would change, and change nothing.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'domains policy': (
        'Show or set how domains are spelled: preserve, lower or upper.',
        "What is there already keeps its spelling until 'domains rename' changes it.",
        (
            ('policy', 'policy', 'text', False, False, None, ('preserve', 'lower', 'upper'), ('How domains are spelled when written.', True, None, None, False, None, False, None, None)),
        ),
    ),
    'relations': (
        'List what a memory is related to, in both directions.',
        '',
        (
            ('uid', 'uid', 'text', False, True, None, (), ('A memory: its uid, or a unique beginning.', True, None, None, False, 'uid', False, None, None)),
        ),
    ),
    'history': (
        'Show every version of a memory with what changed, newest first.',
        "'memai edit UID --revert VERSION' makes one of them the current text again.",
        (
            ('uid', 'uid', 'text', False, True, None, (), ('A memory: its uid, or a unique beginning.', True, None, None, False, 'uid', False, None, None)),
        ),
    ),
    'edit': (
        'Correct a memory: text, tags, domain or type; history keeps the old.',
        'An edit that changes nothing is no edit. With --revert text, tags, domain, type and source\nbecome again what they were in an earlier version; history lists them.',
        (
            ('uid', 'uid', 'text', False, True, None, (), ('A memory: its uid, or a unique beginning.', True, None, None, False, 'uid', False, None, None)),
            ('content', 'content', 'text', False, False, None, (), ('The text to keep.', True, None, None, True, None, False, None, None)),
            ('tags', 'tags', 'text', True, False, None, (), ('Tags.', False, 'tag', 't', False, 'tag', True, None, None)),
            ('add_tags', 'add_tags', 'text', True, False, None, (), ('Tags to add.', False, 'add-tag', None, False, 'tag', True, None, None)),
            ('remove_tags', 'remove_tags', 'text', True, False, None, (), ('Tags to take away.', False, 'remove-tag', None, False, 'tag', True, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('type', 'type', 'text', False, False, None, ('note', 'checkpoint', 'anti_pattern', 'reasoning', 'handoff'), ('The type of memory.', False, None, None, False, None, False, None, None)),
            ('source', 'source', 'text', False, False, None, (), ('Where the content came from.', False, None, None, False, None, False, None, None)),
            ('clear', 'clear', 'text', True, False, None, ('domain', 'session', 'tags', 'source'), ('Fields to empty.', False, None, None, False, None, False, None, None)),
            ('revert', 'revert', 'integer', False, False, None, (), ('Make it again what it was in this version.', False, None, None, False, None, False, 1, None)),
            ('version', 'version', 'integer', False, False, None, (), ('Only if the memory is still at this version.', False, 'if-version', None, False, None, False, 1, None)),
            ('reason', 'reason', 'text', False, False, None, (), ('Why, for the history.', False, None, None, False, None, False, None, None)),
            ('allow_secret', 'allow_secret', 'flag', False, False, False, (), ('Keep text that looks like a credential.', False, None, None, False, None, False, None, None)),
            ('redact', 'redact', 'flag', False, False, False, (), ('Keep it with credentials replaced by [redacted:KIND].', False, None, None, False, None, False, None, None)),
        ),
    ),
    'link': (
        "Relate two memories: 'A supersedes B' hides B, the others only connect.",
        'The relation is read from left to right.',
        (
            ('uid', 'uid', 'text', False, True, None, (), ('A memory: its uid, or a unique beginning.', True, None, None, False, 'uid', False, None, None)),
            ('relation', 'relation', 'text', False, True, None, (), ('How they relate: supersedes, relates_to, contradicts, derived_from, any word.', True, None, None, False, None, False, None, None)),
            ('other', 'other', 'text', False, True, None, (), ('The other memory.', True, None, None, False, 'uid', False, None, None)),
            ('note', 'note', 'text', False, False, None, (), ('A remark on the relation.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'unlink': (
        'Take a relation away; what it superseded is current again.',
        '',
        (
            ('uid', 'uid', 'text', False, True, None, (), ('A memory: its uid, or a unique beginning.', True, None, None, False, 'uid', False, None, None)),
            ('relation', 'relation', 'text', False, True, None, (), ('How they relate: supersedes, relates_to, contradicts, derived_from, any word.', True, None, None, False, None, False, None, None)),
            ('other', 'other', 'text', False, True, None, (), ('The other memory.', True, None, None, False, 'uid', False, None, None)),
        ),
    ),
    'confidence': (
        'Say whether a memory proved right: confirmed or contradicted.',
        "Search puts contradicted memories behind all others. 'unverified' takes a verdict back.",
        (
            ('uid', 'uid', 'text', False, True, None, (), ('A memory: its uid, or a unique beginning.', True, None, None, False, 'uid', False, None, None)),
            ('verdict', 'verdict', 'text', False, True, None, ('unverified', 'confirmed', 'contradicted'), ('How far it can be trusted.', True, None, None, False, None, False, None, None)),
            ('reason', 'reason', 'text', False, False, None, (), ('Why, for the history.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'forget': (
        'Archive memories that are no longer true or needed.',
        'Restore brings them back. With a memory that replaces them they are superseded instead: hidden\nwhile that one stands. Nothing is erased; see purge for that.',
        (
            ('uids', 'uids', 'text', True, True, None, (), ('Memories: uids, or unique beginnings.', True, None, None, False, 'uid', False, None, None)),
            ('reason', 'reason', 'text', False, False, None, (), ('Why, for the history.', False, None, None, False, None, False, None, None)),
            ('superseded_by', 'superseded_by', 'text', False, False, None, (), ('The memory that replaces it: hides instead of archiving.', False, None, None, False, 'uid', False, None, None)),
            ('dry_run', 'dry_run', 'flag', False, False, False, (), ('Say what would change, and change nothing.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'restore': (
        'Make memories current again: no longer archived, no longer superseded.',
        'Their relations are what they were. To go back to a backup of the store, see recover.',
        (
            ('uids', 'uids', 'text', True, True, None, (), ('Memories: uids, or unique beginnings.', True, None, None, False, 'uid', False, None, None)),
            ('reason', 'reason', 'text', False, False, None, (), ('Why, for the history.', False, None, None, False, None, False, None, None)),
            ('dry_run', 'dry_run', 'flag', False, False, False, (), ('Say what would change, and change nothing.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'purge': (
        'Erase a memory for good: text, history, words, vectors and relations.',
        "It cannot be undone. It wants the whole uid and the phrase 'DELETE <uid>'. The bytes leave the\ndisk; what remains is the uid and the time. Backups that still hold it are named, exports and\nother copies are not known.",
        (
            ('uid', 'uid', 'text', False, True, None, (), ('A memory: its uid, or a unique beginning.', True, None, None, False, 'uid', False, None, None)),
            ('confirm', 'confirm', 'text', False, False, None, (), ("The phrase 'DELETE <uid>', with the whole uid.", False, None, None, False, None, False, None, None)),
            ('dry_run', 'dry_run', 'flag', False, False, False, (), ('Say what would change, and change nothing.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'duplicates': (
        'List pairs of memories that likely say the same, likeliest first.',
        'By words and their order; where there are vectors, short statements also by meaning. Each pair\nnames its method, its score, and what differs. A text that negates the other or swaps its names\nis no duplicate, nor is a line with other numbers, nor are checkpoints of one domain: they are a\ntimeline. A pair is left out if both are more like a third memory.',
        (
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('here', 'here', 'flag', False, False, False, (), ('Only the domain at hand.', False, None, None, False, None, False, None, None)),
            ('type', 'type', 'text', False, False, None, ('note', 'checkpoint', 'anti_pattern', 'reasoning', 'handoff'), ('The type of memory.', False, None, None, False, None, False, None, None)),
            ('threshold', 'threshold', 'number', False, False, 0.89, (), ('How alike, from 0 to 1.', False, None, None, False, None, False, None, None)),
            ('limit', 'limit', 'integer', False, False, 50, (), ('At most this many.', False, None, 'n', False, None, False, 1, 1000)),
            ('max_bytes', 'max_bytes', 'integer', False, False, 20000, (), ('At most this many bytes of answer.', False, None, None, False, None, False, 400, None)),
        ),
    ),
    'doctor': (
        'Check the health of the store; exit code 8 if something needs a person.',
        'Damage means that something kept may be wrong, a problem that something does not work as it\nshould; advice may be ignored. --fix makes again what is derived from the memories (words,\nvectors), after a backup; what was remembered itself comes back with recover.',
        (
            ('deep', 'deep', 'flag', False, False, False, (), ('Read every byte of every memory.', False, None, None, False, None, False, None, None)),
            ('fix', 'fix', 'flag', False, False, False, (), ('Rebuild words and vectors from the memories, after a backup.', False, None, None, False, None, False, None, None)),
            ('secrets', 'secrets', 'flag', False, False, False, (), ('Look for credentials in all that is kept.', False, None, None, False, None, False, None, None)),
            ('compact', 'compact', 'flag', False, False, False, (), ('Give unused space in the file back.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'backup': (
        'Write a verified copy of the store, safe while others write.',
        'It holds everything that was acknowledged before it began. A target ending in .db is the file;\nanything else is a folder, made if missing, that gets a file named after the time. Nothing is\never overwritten; with --keep older backups of this store are removed from the folder, once the\nnew one is verified.',
        (
            ('target', 'target', 'text', False, False, None, (), ('A .db file, or a folder that gets a dated file.', True, None, None, False, 'path', False, None, None)),
            ('keep', 'keep', 'integer', False, False, None, (), ('Keep this many of the newest backups in the folder.', False, None, None, False, None, False, 1, None)),
            ('keep_daily', 'keep_daily', 'integer', False, False, None, (), ('Keep the last backup of each of this many days.', False, 'keep-daily', None, False, None, False, 1, None)),
            ('keep_weekly', 'keep_weekly', 'integer', False, False, None, (), ('Keep the last backup of each of this many weeks.', False, 'keep-weekly', None, False, None, False, 1, None)),
        ),
    ),
    'backups': (
        'List backups with age, size and state, newest first.',
        'Without a place: every folder this store was backed up to. A backup is verified when it was\nmade; --verify reads every byte again. Exit code 8 if one is not what it was.',
        (
            ('place', 'place', 'text', False, False, None, (), ('A backup, or a folder of backups.', True, None, None, False, 'path', False, None, None)),
            ('verify', 'verify', 'flag', False, False, False, (), ('Read every byte of each backup again.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'recover': (
        'Go back to a backup: it replaces all that the store holds now.',
        'The backup is verified first and the store as it is copied to a file of its own. It happens at\nonce or not at all, and processes that have the store open go on working. What was purged since\nthe backup stays purged. To bring back one archived memory, use restore instead.',
        (
            ('file', 'file', 'text', False, True, None, (), ('The backup to go back to.', True, None, None, False, 'path', False, None, None)),
            ('dry_run', 'dry_run', 'flag', False, False, False, (), ('Say what would change, and change nothing.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'reembed': (
        'Make every vector again, with another model or a newer version.',
        'The old vectors serve until all new ones are there; then these take over in one step, and the\nold ones are deleted.',
        (
            ('model', 'model', 'text', False, False, None, (), ('The model: memai-static-1, a model2vec folder, a hub name.', False, None, None, False, None, False, None, None)),
        ),
    ),
    'stats': (
        'Show where the store is and what it holds.',
        '',
        (
        ),
    ),
    'import': (
        'Take in memories from a file, a folder, another store or another tool.',
        'What is there already is merged: by uid, or by where it came from. A memory edited on both sides\nis kept whole on both: the newer version stands, the other is in its history, and the conflict\nis listed (exit code 8). What was purged here stays purged. Doing it twice is doing it once.\n\nAll of it is read and checked before anything is kept; with --keep-going what can be read is\nkept and the rest is listed. Memories of other tools that name no domain get --domain, else that\nof the project the source lies in, else the one at hand.',
        (
            ('source', 'source', 'text', False, True, None, (), ("A file, a folder of Markdown, another store, '-' for standard input.", True, None, None, False, 'path', False, None, None)),
            ('format', 'format', 'text', False, False, None, ('memai', 'mcp-memory', 'markdown', 'mem0', 'memory-arbiter'), ('The form of what is read, where it is not recognised.', False, None, None, False, None, False, None, None)),
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('dry_run', 'dry_run', 'flag', False, False, False, (), ('Say what would change, and change nothing.', False, None, None, False, None, False, None, None)),
            ('keep_going', 'keep_going', 'flag', False, False, False, (), ('Take what can be read, and list what cannot.', False, None, None, False, None, False, None, None)),
            ('allow_secret', 'allow_secret', 'flag', False, False, False, (), ('Keep text that looks like a credential.', False, None, None, False, None, False, None, None)),
            ('redact', 'redact', 'flag', False, False, False, (), ('Keep it with credentials replaced by [redacted:KIND].', False, None, None, False, None, False, None, None)),
        ),
    ),
    'export': (
        'Write every memory as one line of JSON, with its history and relations.',
        "Archived and superseded memories are included; the order is that of the uids, so that the same\nstore gives the same bytes. 'memai import' takes it in again without loss. With --markdown each\nmemory becomes a file of a new folder, without its history; 'memai sync' keeps such a folder and\nthe store alike.",
        (
            ('domain', 'domain', 'text', False, False, None, (), ("The namespace (project, ticket, area); '-' for none. Filters cover what is below it.", False, None, 'd', False, 'domain', False, None, None)),
            ('here', 'here', 'flag', False, False, False, (), ('Only the domain at hand.', False, None, None, False, None, False, None, None)),
            ('type', 'type', 'text', False, False, None, ('note', 'checkpoint', 'anti_pattern', 'reasoning', 'handoff'), ('The type of memory.', False, None, None, False, None, False, None, None)),
            ('status', 'status', 'text', False, False, None, ('active', 'archived'), ('The status.', False, None, None, False, None, False, None, None)),
            ('since', 'since', 'text', False, False, None, (), ('From this time: 2026-03-29, yesterday, 3d, an ISO date and time.', False, None, None, False, None, False, None, None)),
            ('vectors', 'vectors', 'flag', False, False, False, (), ('Carry the vectors along; without, they are made again.', False, None, None, False, None, False, None, None)),
            ('output', 'output', 'text', False, False, None, (), ('Write to this new file, for you only.', False, None, None, False, 'path', False, None, None)),
            ('markdown', 'markdown', 'text', False, False, None, (), ('Write one Markdown file a memory into this folder.', False, None, None, False, 'path', False, None, None)),
        ),
    ),
    'sync': (
        'Bring a folder of Markdown and the store together, both ways.',
        'Each memory has a page, made for git and editors. An edited page is an edit with history, a new\nfile a new memory; a deleted one archives its memory and never purges it, and an edit of an\narchived one brings it back. What was changed on both sides since the last sync is listed (exit\ncode 8): the newer side stands, both are in the history. What cannot be read is reported and\nleft alone. A store can be made again from its folder: sync it with an empty one.',
        (
            ('folder', 'folder', 'text', False, True, None, (), ('A folder with one Markdown file a memory.', True, None, None, False, 'path', False, None, None)),
            ('dry_run', 'dry_run', 'flag', False, False, False, (), ('Say what would change, and change nothing.', False, None, None, False, None, False, None, None)),
            ('allow_secret', 'allow_secret', 'flag', False, False, False, (), ('Keep text that looks like a credential.', False, None, None, False, None, False, None, None)),
            ('redact', 'redact', 'flag', False, False, False, (), ('Keep it with credentials replaced by [redacted:KIND].', False, None, None, False, None, False, None, None)),
        ),
    ),
}

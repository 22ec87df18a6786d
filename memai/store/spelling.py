"""Words that occur nowhere in SQLite's index, and those one letter away that do."""

import json
from collections.abc import Sequence

import apsw

from memai.queries import Clause
from memai.store.rows import Rows

_LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the module `string` takes a millisecond
TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])  # that of `word_index`


class Spelling(Rows):
    """What a mistyped word may have meant."""

    def missing(self, clauses: Sequence[Clause]) -> list[Clause]:
        """Return those of some clauses that no memory holds."""
        absent = self.all(
            "SELECT j.key FROM json_each(?) j WHERE NOT EXISTS"
            "(SELECT 1 FROM word_index WHERE word_index MATCH j.value)",
            (json.dumps([phrase(clause) for clause in clauses]),),
        )
        return [clauses[place] for (place,) in absent]

    def spellings(self, word: str) -> list[list[str]]:
        """Return the words one letter away from a word of a to z that some memory holds.

        Grouped by the stem they are indexed by: those of a group find the same.
        """
        # Five hundred look-ups of 15 microseconds, however large the store; reading through the
        # vocabulary instead takes time with its size.
        held = self.all(
            "SELECT j.value FROM json_each(?) j WHERE EXISTS"
            "(SELECT 1 FROM word_index WHERE word_index MATCH '\"' || j.value || '\"')",
            (json.dumps(one_letter_away(word)),),
        )
        if not held:
            return []
        tokenizer = self.raw().fts5_tokenizer(*TOKENIZER)
        groups: dict[str, list[str]] = {}
        for (other,) in held:
            (stem,) = tokenizer(
                other.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False
            )
            groups.setdefault(str(stem[0]), []).append(other)
        return list(groups.values())


def phrase(clause: Clause) -> str:
    """Return one clause for FTS5: its tokens in a row, the last one perhaps to be continued."""
    quoted = '"' + " ".join(token.replace('"', '""') for token in clause.tokens) + '"'
    return quoted + ("*" if clause.prefix else "")


def one_letter_away(word: str) -> list[str]:
    """Return what a word becomes by one slip: two letters swapped, one missing, extra or wrong."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    swapped = [a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1]
    added = [a + c + b for a, b in cuts for c in _LETTERS]
    wrong = [a + c + b[1:] for a, b in cuts if b for c in _LETTERS]
    left_out = [a + b[1:] for a, b in cuts if b]
    return [one for one in dict.fromkeys(swapped + added + wrong + left_out) if one != word]

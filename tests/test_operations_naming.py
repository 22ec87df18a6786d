"""Renaming, merging and spelling domains."""

import pytest

from memai import operations
from memai.errors import Refused, UsageError
from memai.store import Store


def domains_of(store: Store) -> set[str | None]:
    """Return the domains there are."""
    return {found.domain for found in operations.domains(store).domains}


def test_rename_moves_what_is_below_and_remembers(store: Store) -> None:
    """A renamed domain takes its parts along, and each memory's history has the old name."""
    one = operations.note(store, "first", domain="Shop").uid
    below = operations.note(store, "second", domain="shop/PROJ-1").uid
    operations.note(store, "third", domain="shopping")
    done = operations.domains_rename(store, "SHOP", "web")
    assert done.memories == 2
    assert domains_of(store) == {"web", "web/PROJ-1", "shopping"}
    assert store.history(one)[0].before == {"domain": "Shop"}
    assert store.history(below)[0].before == {"domain": "shop/PROJ-1"}


def test_a_rehearsed_rename_changes_nothing(store: Store) -> None:
    """--dry-run counts and names, and that is all."""
    uid = operations.note(store, "first", domain="shop").uid
    done = operations.domains_rename(store, "shop", "web", dry_run=True)
    assert (done.memories, done.uids) == (1, (uid,))
    assert domains_of(store) == {"shop"}


def test_rename_does_not_join_and_merge_does_not_invent(store: Store) -> None:
    """A rename into a domain that exists, or a merge into one that does not, is refused."""
    operations.note(store, "first", domain="shop")
    operations.note(store, "second", domain="web")
    with pytest.raises(Refused, match="merge"):
        operations.domains_rename(store, "shop", "Web")
    with pytest.raises(Refused, match="rename"):
        operations.domains_merge(store, "shop", "nowhere")
    assert operations.domains_merge(store, "shop", "web").memories == 1
    assert domains_of(store) == {"web"}


def test_rename_changes_the_spelling(store: Store) -> None:
    """The same name in another case is a rename, which ends a drift of spellings."""
    operations.note(store, "first", domain="PROJ-1042")
    operations.note(store, "second", domain="proj-1042")
    operations.domains_rename(store, "proj-1042", "PROJ-1042")
    (found,) = operations.domains(store).domains
    assert (found.domain, found.memories, found.spellings) == ("PROJ-1042", 2, ())


def test_rename_of_an_unknown_domain_is_refused(store: Store) -> None:
    """Nothing to rename is an error, not a success over nothing."""
    with pytest.raises(UsageError, match="no domain"):
        operations.domains_rename(store, "nowhere", "web")


@pytest.mark.parametrize(
    ("policy", "kept"), [("preserve", "ShOp"), ("lower", "shop"), ("upper", "SHOP")]
)
def test_a_policy_spells_what_is_written(store: Store, policy: str, kept: str) -> None:
    """The policy of the store decides how a domain is spelled; filters do not care."""
    operations.domains_policy(store, policy)
    memory = operations.note(store, "first", domain="ShOp").memory
    assert memory.domain == kept
    assert operations.list_memories(store, domain="sHoP").memories == (memory,)


def test_a_policy_names_what_it_does_not_cover(store: Store) -> None:
    """What was written before keeps its spelling, and the answer says so."""
    operations.note(store, "first", domain="Shop")
    assert operations.domains_policy(store, "lower")[:2] == ("lower", ("Shop",))

"""Operations on the names of domains: renamed, merged, spelled one way."""

from memai import text
from memai.errors import Refused, UsageError
from memai.operations import checking
from memai.operations.changing import change
from memai.operations.spelling import POLICY, spelled
from memai.records import Memory, Renamed, Spelling, Where
from memai.store import Store
from memai.vocabulary import DomainName, DryRun, NewDomain, SpellingPolicy


def domains_rename(
    store: Store, domain: DomainName, new: NewDomain, *, dry_run: DryRun = False
) -> Renamed:
    """Give a domain another name, with everything below it.

    Every memory keeps its old domain in its history. To move memories into a domain that exists
    there is 'domains merge'; the same name in another spelling is a rename.
    """
    old, wanted = _name(store, domain), _name(store, new)
    if text.fold(old) != text.fold(wanted) and store.count(_everything(wanted)):
        raise Refused(
            reason=f"There is a domain '{wanted}' already. 'memai domains merge' joins the two."
        )
    return _move(store, old, wanted, dry_run=dry_run)


def domains_merge(
    store: Store, domain: DomainName, new: NewDomain, *, dry_run: DryRun = False
) -> Renamed:
    """Move the memories of a domain, and of those below it, into another."""
    old, wanted = _name(store, domain), _name(store, new)
    if text.fold(old) == text.fold(wanted):
        raise UsageError(reason=f"'{old}' and '{wanted}' are one domain already.")
    if not store.count(_everything(wanted)):
        raise Refused(reason=f"There is no domain '{wanted}'. 'memai domains rename' makes it.")
    return _move(store, old, wanted, dry_run=dry_run)


def domains_policy(store: Store, policy: SpellingPolicy | None = None) -> Spelling:
    """Show or set how domains are spelled: preserve, lower or upper.

    What is there already keeps its spelling until 'domains rename' changes it.
    """
    if policy is not None:
        with store.writing():
            store.set_meta(POLICY, policy)
    now = store.meta(POLICY) or "preserve"
    otherwise = [
        d.domain
        for d in store.domains()
        if d.domain and any(spelled(name, now) != name for name in (d.spellings or (d.domain,)))
    ]
    return Spelling(now, tuple(otherwise))


def _move(store: Store, old: str, new: str, *, dry_run: bool) -> Renamed:
    """Change the domain of all memories in and below one."""
    uids: list[str] = []
    after = None
    while page := store.page(_everything(old), 500, after):
        uids += [memory.uid for memory in page]
        after = page[-1].uid
    if not uids:
        raise UsageError(reason=f"There is no domain '{old}'. 'memai domains' lists them.")

    def moved(memory: Memory) -> Memory:
        # The depth, not the text, says what stands below: spellings differ in case and width.
        parts = (memory.domain or "").split("/")[len(old.split("/")) :]
        return memory._replace(domain="/".join([new, *parts]))

    if not dry_run:
        change(store, uids, moved, f"domain {old} is now {new}")
    notes = ("Nothing was changed: this was a dry run.",) if dry_run else ()
    return Renamed(old, new, len(uids), tuple(uids[:100]), notes)


def _everything(domain: str) -> Where:
    """Return the filter of a domain with what is archived or superseded."""
    return Where(domain=domain, current=False)


def _name(store: Store, value: str) -> str:
    """Return a domain that was named in full; none is no name here."""
    name = checking.domain(value, store)
    if name is None:
        raise UsageError(reason="'-' is no domain that can be renamed. Edit the memories.")
    return name

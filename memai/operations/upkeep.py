"""Operations that look after the store: its vectors, its figures, its contents as text."""

import os

from memai import embedding
from memai.embedding import NoModel
from memai.errors import ModelMissing
from memai.operations import embedding_policy
from memai.records import Reembedded, Stats, Where
from memai.store import Store
from memai.vocabulary import Model

_BATCH = 1000


def reembed(store: Store, *, model: Model | None = None) -> Reembedded:
    """Make every vector again, with another model or a newer version.

    The old vectors serve until all new ones are there; then these take over in one step, and the
    old ones are deleted.
    """
    name = model or os.environ.get("MEMAI_EMBED_MODEL") or store.model()
    loaded = embedding.load(name)
    if isinstance(loaded, NoModel):
        raise ModelMissing(model=name, reason=loaded.reason)
    space = embedding_policy.space_of(loaded)
    done, last, total = 0, 0, store.count(Where(current=False))
    while True:
        batch = store.unembedded(space, _BATCH, last)
        if batch:
            embedded = embedding_policy.embed(loaded, [memory for _, memory in batch])
            rows = [(id, m, e) for (id, m), e in zip(batch, embedded, strict=True)]
            with store.writing():
                done += store.put_vectors(space, rows)
            last = batch[-1][0]
            if store.caller.progress is not None:
                store.caller.progress(done, max(done, total))
            continue
        with store.writing():
            if store.switch_space(space):
                break
        last = 0  # others have written or edited meanwhile
    # In small transactions: in one, a million vectors kept others waiting for 20 seconds and the
    # log grew to 1.9 GB.
    last = 0
    while True:
        with store.writing():
            last = store.clear_spaces(_BATCH, last)
        if not last:
            break
    store.settle()
    counts = store.counts()
    return Reembedded(name, done, counts.passages)


def stats(store: Store) -> Stats:
    """Show where the store is and what it holds."""
    model = embedding_policy.embedder(store)
    notes = []
    if isinstance(model, NoModel):
        notes.append(f"Words only: the model '{model.name}' cannot be used: {model.reason}.")
    counts = store.counts()
    if counts.without_vectors:
        notes.append(f"{counts.without_vectors} memories have no vectors. Run 'memai reembed'.")
    if counts.indexed != counts.memories:
        notes.append(
            f"The word index knows {counts.indexed} of {counts.memories} memories: words do not "
            "find the others. Run 'memai doctor'."
        )
    return Stats(
        path=store.settings.path,
        exists=store.exists(),
        domain=store.caller.domain,
        model=store.model(),
        space=store.space(),
        schema=store.schema_version(),
        counts=counts,
        last_backup=store.meta("last_backup"),
        notes=tuple(notes),
    )

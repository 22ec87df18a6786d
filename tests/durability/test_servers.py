"""MCP servers that share one file, and many calls at once: what users of such programs lost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from durability.faces import Client, Shell
from durability.workload import EVERYTHING, opened

from memai import operations
from memai.store import Store


@pytest.fixture
def db(tmp_path: Path) -> str:
    """Name a store that is not there yet."""
    return str(tmp_path / "memories.db")


@pytest.fixture
def clients(db: str) -> Iterator[tuple[Client, Client]]:
    """Start two servers on one file."""
    one, two = Client(db), Client(db)
    yield one, two
    one.close()
    two.close()


@pytest.fixture
def store(db: str) -> Iterator[Store]:
    """Open the store that the servers write to."""
    store = opened(db)
    yield store
    store.close()


def add(client: Client | Shell, key: str) -> str:
    """Write a memory through a face."""
    return client.note(None, f"written by {key}", key=key, tags=(), domain=None).uid


def test_two_servers_and_a_shell_share_one_file(
    clients: tuple[Client, Client], db: str, store: Store
) -> None:
    """Writes in turn and by each are all there, and each reads what the others wrote."""
    one, two = clients
    made = [
        add(client, f"{name}{n}")
        for n in range(20)
        for name, client in zip("ab", clients, strict=True)
    ]
    shell = Shell(db)
    made.append(add(shell, "shell"))
    assert store.count(EVERYTHING) == len(set(made)) == 41
    for client in clients:
        for uid in (made[0], made[1], made[-1]):
            assert client._call("show", uid=uid)["memory"]["uid"] == uid
    one.edit(None, made[1], "edited by the other server")
    found = two._call("search", query="edited by the other server")["hits"]
    assert found[0]["uid"] == made[1]
    assert store.check(deep=True) == []


def test_calls_of_one_turn_are_each_whole(clients: tuple[Client, Client], store: Store) -> None:
    """Many requests sent without waiting for an answer: each is done once, none by halves."""
    client = clients[0]
    uids = [add(client, f"first {n}") for n in range(6)]
    calls = [
        *(("note", {"content": f"of one turn {n}", "key": f"turn {n}"}) for n in range(10)),
        *(("edit", {"uid": uid, "content": f"edited {uid}"}) for uid in uids),
        *(("link", {"uid": uids[0], "relation": "blocks", "other": uid}) for uid in uids[1:]),
        ("forget", {"uids": [uids[5]]}),
        ("purge", {"uid": uids[4], "confirm": f"DELETE {uids[4]}"}),
        *(("note", {"content": f"of one turn {n}", "key": f"turn {n}"}) for n in range(10)),
    ]
    answers = client.all_at_once(calls)
    assert len(answers) == len(calls)
    notes = [a["structuredContent"] for a in answers if "created" in json.dumps(a)]
    assert notes
    assert store.check(deep=True) == []
    kept = {m.key: m for m, _, _ in store.export(EVERYTHING)}
    assert {f"turn {n}" for n in range(10)} <= set(kept)
    assert len(kept) == 10 + 5
    assert kept["first 5"].status == "archived"
    assert store.buried(uids[4])


def test_saving_twice_keeps_one(clients: tuple[Client, Client], store: Store) -> None:
    """The same text through two servers is one memory, and nothing is deleted."""
    one, two = clients
    first = one._call("note", content="The same text.")
    second = two._call("note", content="The same text.")
    assert (first["uid"], first["created"]) == (second["uid"], True)
    assert not second["created"]
    assert store.count(EVERYTHING) == 1


def test_a_purged_memory_is_no_hit_of_the_other_server(
    clients: tuple[Client, Client], store: Store
) -> None:
    """What servers keep in memory does not outlive the memory."""
    one, two = clients
    uid = add(one, "to be purged")
    assert two._call("search", query="to be purged")["hits"][0]["uid"] == uid
    one.purge(None, uid, confirm=f"DELETE {uid}")
    assert two._call("search", query="to be purged")["hits"] == []
    assert operations.search(store, "to be purged").hits == ()


def test_servers_go_on_when_the_store_is_recovered(
    clients: tuple[Client, Client], store: Store
) -> None:
    """They see what the backup holds, and write on."""
    one, two = clients
    kept = add(one, "kept")
    path = operations.backup(store).path
    gone = add(two, "gone")
    assert one._call("search", query="written by gone")["hits"][0]["uid"] == gone
    operations.recover(store, path)
    for client in clients:
        assert [hit["uid"] for hit in client._call("search", query="written by")["hits"]] == [kept]
    later = add(two, "later")
    assert {m.uid for m in store.page(EVERYTHING, 9)} == {kept, later}
    assert store.check(deep=True) == []

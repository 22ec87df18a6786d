"""The domain at hand in a folder."""

from pathlib import Path

import pytest

from memai.errors import UsageError
from memai.place import at_hand
from memai.settings import resolve


def repository(path: Path) -> Path:
    """Make what git makes, as far as it is read."""
    (path / ".git").mkdir(parents=True)
    (path / ".git" / "config").write_text("[core]\n\tbare = false\n")
    return path


def test_a_memai_file_above_names_the_domain(tmp_path: Path) -> None:
    """The nearest .memai file counts, comments aside."""
    (tmp_path / ".memai").write_text("# our ticket\nshop/PROJ-1\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    found = at_hand(str(tmp_path / "a" / "b"))
    assert found is not None
    assert found.domain == "shop/PROJ-1"
    assert str(tmp_path / ".memai") in found.why


@pytest.mark.parametrize("content", ["", "\n# only a comment\n", "one\ntwo\n"])
def test_a_memai_file_that_names_none_is_refused(tmp_path: Path, content: str) -> None:
    """A malformed scope fails closed instead of widening to everything."""
    (tmp_path / ".memai").write_text(content)
    with pytest.raises(UsageError, match="one line"):
        at_hand(str(tmp_path))


def test_the_folder_of_the_store_is_no_memai_file(tmp_path: Path) -> None:
    """~/.memai is a folder and names nothing."""
    (tmp_path / ".memai").mkdir()
    found = at_hand(str(tmp_path))
    assert found is None or str(tmp_path) not in found.why


def test_a_repository_is_a_domain_for_every_work_tree(tmp_path: Path) -> None:
    """A linked work tree has the domain of the main one, and outlives nothing of it."""
    main = repository(tmp_path / "shop")
    linked = main / ".git" / "worktrees" / "fix"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    tree = tmp_path / "elsewhere" / "fix"
    tree.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {linked}\n")
    for folder in (main, tree):
        found = at_hand(str(folder))
        assert found is not None
        assert found.domain == "shop"


def test_a_changed_remote_changes_no_domain(tmp_path: Path) -> None:
    """Remotes play no part."""
    main = repository(tmp_path / "shop")
    config = main / ".git" / "config"
    for url in ("https://one.example/a.git", "https://two.example/b.git"):
        config.write_text(f'[remote "origin"]\n\turl = {url}\n')
        found = at_hand(str(main))
        assert found is not None
        assert found.domain == "shop"


def test_git_config_gives_a_repository_another_domain(tmp_path: Path) -> None:
    """`git config memai.domain` outlives a renamed folder."""
    main = repository(tmp_path / "checkout-7")
    (main / ".git" / "config").write_text("[memai]\n\tdomain = shop\n")
    found = at_hand(str(main / ".git" / ".."))
    assert found is not None
    assert found.domain == "shop"


@pytest.mark.parametrize(
    ("said", "agent"),
    [
        (None, None),
        ("  ", None),
        ("two\nlines \x1b[31m", "two lines [31m"),
        ("a\udcff", "a"),
        ("x" * 100_000, "x" * 200),
    ],
)
def test_who_writes_is_a_short_line(said: str | None, agent: str | None) -> None:
    """Whatever MEMAI_AGENT holds can be kept beside a memory and shown."""
    assert resolve(environ={} if said is None else {"MEMAI_AGENT": said}).agent == agent

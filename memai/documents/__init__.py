"""What is made from the table of operations: man pages, completion files, signatures read ahead.

`python -m memai.documents` writes them into the folders `man` and `completions` of the checkout
and the module `memai.cli.known`, where they are committed; a test compares. They depend on nothing
but the sources: no clock, no environment.
"""

RELEASE = ("0.1.0", "2026-11-30")
"""Version and date at the foot of the pages; a test compares them with the changelog."""


def documents() -> dict[str, str]:
    """Return the text of every document by its path below the top of the checkout."""
    from memai.documents import known
    from memai.documents.completions import completions
    from memai.documents.pages import pages

    made = {f"man/{page.path}": page.source(*RELEASE) for page in pages()}
    made |= {f"completions/{name}": text for name, text in completions().items()}
    return made | {known.PATH: known.known()}


def write(folder: str) -> list[str]:
    """Write every document below a folder and remove pages that are no more; return the paths."""
    import os

    made = documents()
    for section in ("man1", "man7"):
        known = os.path.join(folder, "man", section)
        for name in os.listdir(known) if os.path.isdir(known) else ():
            if f"man/{section}/{name}" not in made:
                os.unlink(os.path.join(known, name))
    for path, text in made.items():
        target = os.path.join(folder, *path.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return list(made)

"""Long answers through the person's pager, as gh and git do it."""

import os


def show(text: str) -> bool:
    """Show a text in the pager; false where there is none and the text is still to be written."""
    import shlex
    import subprocess

    command = next(
        (os.environ[n] for n in ("MEMAI_PAGER", "PAGER") if os.environ.get(n) is not None), "less"
    )
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if not words or words == ["cat"]:
        return False
    environment = {"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8", **os.environ}
    try:
        process = subprocess.Popen(  # noqa: S603 - the person's own pager
            words, stdin=subprocess.PIPE, env=environment
        )
    except OSError:
        return False
    try:
        process.communicate(text.encode(errors="backslashreplace"))
    except KeyboardInterrupt:  # less handles it; what it means is not ours to say
        process.wait()
    return True

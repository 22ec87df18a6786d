"""Whether a value is random, as credentials are, or a word, a name, a reference, a stand-in."""

import re
from itertools import pairwise

# What is written where a value would be: variables, look-ups, references, addresses, hashes.
_REFERENCE = r"""
    \$(?: [({] | env: | [a-z_]\w*(?:$|[.\[>-]) | [0-9][a-z]?\$ )
  | [<{[(][\w\s"'<{%$.*] | %\w*% | %[({s] | \#\{ | !\w+[ ] | \*{2}
  | (?:process|os|env|secrets|system|deno)[.\[] | import\.meta | \w*(?:getenv|environ)
  | (?:vault|arn|ssm|secretsmanager|file|urn|op|sha[0-9]{1,3}|md5)[:-] | ref\+
  | [a-z][a-z0-9+.-]{0,20}://
  | [.~]{0,2}/(?![a-z0-9/+]{39}$)
  | [\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}$
  | [v^~<>=]{0,2}[0-9]+\.[0-9]+ | v?[0-9]+(?:[.:t/-][0-9]+)*\w{0,3}$
  | 0x[0-9a-f]{40}$
"""
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

# Names of algorithms and encodings mix letters with digits and are no secrets.
_ALGORITHM = (
    r"sha[0-9]{1,3}|md[45]|base[0-9]{2}|utf-?(?:8|16|32)(?:mb[34])?|pbkdf2|argon2(?:id?)?"
    r"|aes-?(?:128|192|256)|ed25519|ed448|x25519|x448|secp256k1|p-?256"
    r"|[hre]s(?:256|384|512)|oauth2?|x509"
)

# Words that stand for a value: a "password" made of nothing else is a placeholder.
_STAND_INS = frozenset(
    """
    a abc access account admin administrator and any api apikey app auth bar baz bearer change
    changeit changeme client code credential credentials db default demo dev development dummy
    empty enter example fake false foo foobar generated goes guest here hidden host id in insert
    it key local localhost long mariadb masked me minio minioadmin mongo my mysql name new nil
    none null of old omitted optional or pass passphrase passwd password postgres prod pw pwd
    rabbitmq random redacted redis removed replace repo required root sample secret secrets
    secure set some something staging str string strong super temp test tester testing the this
    todo token true undefined unset url use user username value with word your
    """.split()
)


def is_random_key(value: str, *, after_common_prefix: bool) -> bool:
    """Whether what follows a maker's prefix is a key, and not words or a stand-in.

    `after_common_prefix`: the prefix is also the beginning of ordinary names, so ask for more.
    """
    if stands_in(value):
        return False
    runs = re.findall(r"[A-Za-z0-9]+", value)
    if after_common_prefix:
        return any(len(run) >= 20 or (len(run) >= 12 and _has_both(run)) for run in runs)
    return any(len(run) >= 16 or any(map(str.isdigit, run)) for run in runs)


def is_credential(value: str, kind: str, *, bare: bool) -> bool:
    """Whether a value after a name of this kind looks random.

    `bare`: nothing but a space stands between them, so ask for more.
    """
    least = 16 if bare else 10 if kind == "token" else 8
    if len(value) < least or stands_in(value) or _is_known_form(value, kind, bare=bare):
        return False
    # So is a UUID the id of something, unless it is called a key or a secret.
    if re.fullmatch(_UUID, value, re.IGNORECASE):
        return not bare and kind != "token"
    plain = re.sub(_ALGORITHM, "", value, flags=re.IGNORECASE)
    runs = re.findall(r"[^-_./:,|~@]{6,}", plain)
    if any(_is_jumbled(run) or (not bare and _is_long(run)) for run in runs):
        return True
    if re.fullmatch(r"[A-Za-z0-9+/]{20,}={0,2}", plain):  # base64 with a / every few characters
        upper = sum(map(str.isupper, plain)) / len(plain)
        return 0.25 <= upper <= 0.75 and re.search("[0-9]", plain) is not None
    return not bare and _is_chosen(plain, kind)


def stands_in(value: str) -> bool:
    """Whether a value is plainly one to be replaced: stars, a row of x, `your-key-here`."""
    low = value.lower()
    if re.search(
        r"x{6}|0{8}|\*{3}|\.{3}|…|your|placeholder|redacted|replace|<[a-z][\w -]+>|\$\{|\{\{", low
    ):
        return True
    words = re.findall(r"[^\W\d_]+", low)
    if not words:
        return "1234567890".startswith(low)
    return all(word in _STAND_INS or word.endswith(("password", "secret")) for word in words)


def _is_known_form(value: str, kind: str, *, bare: bool) -> bool:
    """Whether a value is a reference, or an id that is no secret where it stands."""
    if re.match(_REFERENCE, value, re.ASCII | re.IGNORECASE | re.VERBOSE):
        return True
    called = re.match(r"([a-z_$][\w.]*)[(\[]", value, re.ASCII | re.IGNORECASE)
    if called and not any(map(_is_jumbled, called[1].split("."))):
        return True
    # Beside a mere mention or a token, hexadecimal is rather a commit or a hash.
    if not re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value):
        return False
    least = 32 if bare and kind == "api-key" else 16 if kind == "token" else 0
    return len(value) < least or (bare and kind != "api-key")


def _is_chosen(value: str, kind: str) -> bool:
    """Whether a value mixes letters, digits and signs, as rules for passwords ask for."""
    signs = re.search(r"[!@#$%^&*?~+=;<>{}]", value) is not None
    jumps, _ = _jumps(value)
    least = 2 if kind == "password" else max(4, 0.35 * len(value))
    return signs and _has_both(value) and jumps >= least


def _is_jumbled(run: str) -> bool:
    """Whether letters and digits (or cases) change places as in random text, not as in a name.

    Of neighbours in random base 62, half differ in class; in camelCase and numbered names, one in
    six, and there are hardly two changes between letters and digits.
    """
    jumps, digit_jumps = _jumps(run)
    if run in (run.lower(), run.upper()) and len(run) >= 16 and digit_jumps >= 2:
        return True
    if len(run) >= 10 and digit_jumps and jumps >= max(4, 0.36 * len(run)):
        return True
    return jumps >= 3 and digit_jumps >= 2 and jumps >= 0.21 * len(run)


def _is_long(run: str) -> bool:
    """Whether a run is longer than words are, and mixes digits or cases as no name does."""
    if len(run) >= 20 and _has_both(run) and sum(map(str.isdigit, run)) >= 4:
        return True
    upper = sum(map(str.isupper, run)) / len(run)
    return len(run) >= 16 and 0.38 <= upper <= 0.7 and _jumps(run)[0] >= 3


def _jumps(run: str) -> tuple[int, int]:
    """Count neighbours of different classes, and those of which one is a digit.

    A capital and its small letter count as the beginning of a word, not as a change.
    """
    changes = [a + b for a, b in pairwise(map(_class, run)) if a != b and a + b != "ul"]
    return len(changes), sum("d" in change for change in changes)


def _class(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isalpha():
        return "u" if character.isupper() else "l"
    return "s"


def _has_both(value: str) -> bool:
    return any(map(str.isalpha, value)) and any(map(str.isdigit, value))

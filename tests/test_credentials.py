"""Credentials in texts: what is found, what passes, and what is left after redaction.

Whatever looks like a credential is put together here while the tests run, so that the repository
holds none.
"""

import json
import random
import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai.credentials import Credential, find, redact, shapes

BASE62 = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BEGIN, END = "-----BEGIN {}PRIVATE KEY-----", "-----END {}PRIVATE KEY-----"


def noise(length: int, alphabet: str = BASE62, seed: int = 7) -> str:
    """Return so many random characters, the same ones each time."""
    return "".join(random.Random(seed).choices(alphabet, k=length))


def web_token() -> str:
    """Return something in the form of a signed JSON Web Token."""
    return ".".join(("ey" + "J" + noise(20), "ey" + "J" + noise(30), noise(43)))


def pem(name: str = "RSA ", lines: int = 3, newline: str = "\n") -> str:
    """Return something in the form of a private key."""
    body = [noise(64, seed=line) for line in range(lines)]
    return newline.join((BEGIN.format(name), *body, END.format(name)))


def kinds(text: str) -> list[str]:
    """Return the kinds of credentials in a text, in order."""
    return [credential.kind for credential in find(text)]


@pytest.mark.parametrize(
    ("kind", "pieces"),
    [
        ("aws-access-key", ("AK", "IA", "IOSFODNN7EXAMPLE")),
        ("aws-access-key", ("AS", "IA", noise(16, string.ascii_uppercase + "234567"))),
        ("github-token", ("gh", "p_", noise(36))),
        ("github-token", ("gh", "o_", noise(36))),
        ("github-token", ("github", "_pat_", noise(22), "_", noise(59))),
        ("gitlab-token", ("gl", "pat-", noise(20))),
        ("slack-token", ("xo", "xb-", "123456789012-", "123456789012-", noise(24))),
        ("slack-webhook", ("hooks.slack.com", "/services/", "T01ABCDEF/", "B01ABCDEF/", noise(24))),
        ("discord-webhook", ("discord.com/api", "/webhooks/", "1" * 18, "/", noise(68))),
        ("stripe-key", ("sk", "_live_", noise(24))),
        ("stripe-key", ("rk", "_live_", noise(24))),
        ("webhook-secret", ("wh", "sec_", noise(32))),
        ("anthropic-key", ("sk-", "ant-", "api03-", noise(93), "AA")),
        ("openai-key", ("sk-", "proj-", noise(48))),
        ("api-key", ("sk", "-", noise(48))),
        ("api-key", ("sk", "-or-v1-", noise(64, HEX))),
        ("api-key", ("sk", "-test-", "0123456789", "abcdefghij")),
        ("api-key", ("sk", "-sp-", "AAAA1111", "BBBB2222", ".cccc3333")),
        ("google-api-key", ("AI", "za", noise(35))),
        ("google-oauth-token", ("ya", "29.", noise(60))),
        ("google-oauth-secret", ("GO", "CSPX-", noise(28))),
        ("npm-token", ("np", "m_", noise(36))),
        ("pypi-token", ("py", "pi-", "AgEIcHlwaS5vcmc", noise(70))),
        ("rubygems-token", ("ruby", "gems_", noise(48, HEX))),
        ("docker-token", ("dckr", "_pat_", noise(27))),
        ("sendgrid-key", ("S", "G.", noise(22), ".", noise(43))),
        ("twilio-key", ("S", "K", noise(32, HEX))),
        ("mailgun-key", ("ke", "y-", noise(32, HEX))),
        ("huggingface-token", ("h", "f_", noise(34))),
        ("digitalocean-token", ("dop", "_v1_", noise(64, HEX))),
        ("telegram-token", ("1102", "01543", ":A", "A", noise(33))),
        ("shopify-token", ("shp", "at_", noise(32, HEX))),
        ("square-token", ("sq0", "atp-", noise(22))),
        ("databricks-token", ("da", "pi", noise(32, HEX))),
        ("vault-token", ("hv", "s.", noise(24))),
        ("doppler-token", ("dp", ".pt.", noise(43))),
        ("atlassian-token", ("ATA", "TT3", noise(180))),
        ("linear-key", ("lin", "_api_", noise(40))),
        ("notion-token", ("nt", "n_", noise(46))),
        ("figma-token", ("fi", "gd_", noise(40))),
        ("postman-key", ("PM", "AK-", noise(24, HEX), "-", noise(34, HEX))),
        ("grafana-token", ("gl", "sa_", noise(32), "_", noise(8, HEX))),
        ("sentry-token", ("sntr", "ys_", noise(80))),
        ("newrelic-key", ("NR", "AK-", noise(27, string.ascii_uppercase + string.digits))),
        ("groq-key", ("gs", "k_", noise(52))),
        ("replicate-token", ("r", "8_", noise(37))),
        ("xai-key", ("xa", "i-", noise(80))),
        ("perplexity-key", ("pp", "lx-", noise(48))),
        ("langsmith-key", ("lsv2", "_pt_", noise(32, HEX), "_", noise(10, HEX))),
        ("supabase-token", ("sb", "p_", noise(40, HEX))),
        ("pulumi-token", ("pu", "l-", noise(40, HEX))),
        ("planetscale-token", ("pscale", "_tkn_", noise(43))),
        ("age-key", ("AGE-SECRET", "-KEY-1", noise(58, string.ascii_uppercase + "234567"))),
    ],
)
def test_keys_with_a_prefix(kind: str, pieces: tuple[str, ...]) -> None:
    """A key of a known form is found whole, in prose, in quotes, in a pair and at a line's end."""
    secret = "".join(pieces)
    for before, after in (
        ("the log shows ", " twice"),
        ("it was (", ")."),
        ("use `", "`, please"),
        ("first\nx = '", "'\n"),
        ("", ""),
    ):
        text = before + secret + after
        assert find(text) == [Credential(kind, len(before), len(before) + len(secret))]
        assert redact(text, find(text)) == f"{before}[redacted:{kind}]{after}"
    assert kinds("MY_TOKEN=" + secret) == [kind]


def test_web_tokens() -> None:
    """A signed JSON Web Token is found; its first part alone, or one without signature, is not."""
    token = web_token()
    assert redact(f"got {token}.", find(f"got {token}.")) == "got [redacted:jwt]."
    assert kinds("Authorization: Bearer " + token) == ["jwt"]
    assert not find("begins with " + token.split(".")[0] + "...")
    assert not find("unsigned: " + token.rsplit(".", 1)[0] + ".")


@pytest.mark.parametrize(
    "block",
    [
        pem(),
        pem("EC "),
        pem(""),
        pem("OPENSSH "),
        pem("ENCRYPTED ", lines=40),
        pem(newline="\r\n"),
        pem(newline="\\n"),
        pem(newline="\n    "),
        pem(newline=" "),
        pem(lines=1).replace(noise(64, seed=0), "MII" + "Example"),
        pem().replace(
            "KEY-----\n",
            "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123456789ABCDEF\n\n",
            1,
        ),
        "-----BEGIN PGP PRIVATE KEY " + f"BLOCK-----\n\n{noise(64)}\n=aB3d\n-----END PGP "
        "PRIVATE KEY BLOCK-----",
    ],
)
def test_private_keys_are_found_whole(block: str) -> None:
    """A PEM block is one hit from its first to its last dash, however its lines are ended."""
    text = f"before {block} after"
    assert redact(text, find(text)) == "before [redacted:private-key] after"


def test_a_private_key_that_is_cut_off() -> None:
    """A block without its last line is masked as far as its base64 goes."""
    text = pem().rsplit("\n", 1)[0]
    assert redact(text, find(text)) == "[redacted:private-key]"


@pytest.mark.parametrize(
    "text",
    [
        f"`{BEGIN.format('RSA ')}` is how such a file begins",
        f"{BEGIN.format('')} marks the beginning and {END.format('')} the end",
        f"{BEGIN.format('')}\n...\n{END.format('')}",
        f"{BEGIN.format('')}\nMIIEvQIBADANBg...\n{END.format('')}",
        f"{BEGIN.format('')}\n<your key>\n{END.format('')}",
        pem().replace("PRIVATE", "PUBLIC"),
        pem().replace("RSA PRIVATE KEY", "CERTIFICATE"),
    ],
)
def test_the_lines_around_private_keys_are_none(text: str) -> None:
    """The mention of a PEM block, a shortened one and a public one pass."""
    assert not find(text)


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("postgres://app:{}@db.example.com:5432/prod?sslmode=require", "s3cr" + "3tpass"),
        ("postgresql+psycopg://app:{}@localhost/app", "correct" + "horse"),
        ("redis://:{}@cache:6379/0", "hun" + "ter2x"),
        ("mongodb+srv://app:{}@cluster0.example.net/?retryWrites=true", "Xk29" + "dkslq"),
        ("https://bob:{}@[::1]/", "p@s" + "s:w0rd"),
        ("http://bob:{}@{{host}}/x", "he%2" + "F%2Fo"),
        ("http://proxy:{}@10.0.0.1:3128", "836" + "49201"),
    ],
)
def test_passwords_in_urls(url: str, password: str) -> None:
    """The password in a URL is masked whole, and the rest of the URL stays."""
    text = f"run with DATABASE_URL={url.format(password)} as before"
    assert redact(text, find(text)) == (
        f"run with DATABASE_URL={url.format('[redacted:url-password]')} as before"
    )


@pytest.mark.parametrize(
    "text",
    [
        "postgres://user:password@localhost/db",
        "postgres://postgres:postgres@localhost:5432/app",
        "postgres://app:app_pw_17@".replace("app_pw_17", "<password>") + "db/app",
        "postgres://app:${DB_PASSWORD}@db/app",
        "postgres://$USER:$PASSWORD@db/app",
        "postgres://app:{password}@db/app",
        "postgres://app:%s@db/app",
        "postgres://app:***@db/app",
        "postgres://app:xxxxxxxx@db/app",
        "postgres://app:your-password@db/app",
        "postgres://app:[redacted:url-password]@db/app",
        "amqp://guest:guest@localhost",
        "https://example.com:8443/@scope/package",
        "http://localhost:3000?mail=a@b.example",
        "ssh://git@example.com:22/repo.git",
        "git@example.com:owner/repo.git",
        "see https://example.com: mail me@example.com",
    ],
)
def test_urls_without_a_password(text: str) -> None:
    """A stand-in for a password, a port, a path with @ and an address for git pass."""
    assert not find(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("password={}", "password"),
        ("PGPASSWORD={} psql", "password"),
        ("DB_PASSWORD_PROD: {}", "password"),
        ("dbPassword = '{}';", "password"),
        ("passphrase: {}", "password"),
        ("SMTP_PASS={}", "password"),
        ("MYSQL_PWD={}", "password"),
        ("the password is {}.", "password"),
        ("Password (staging): `{}`", "password"),
        ("**Password:** {}", "password"),
        ("**Password**: {}", "password"),
        ("password:\n  {}\n", "password"),
        ("| Password | {} |", "password"),
        ("<password>{}</password>", "password"),
        ('{{"password":"{}","a":1}}', "password"),
        ('{{\\"password\\": \\"{}\\"}}', "password"),
        ("config['db_password'] = \"{}\"", "password"),
        ("'password' => '{}',", "password"),
        ('password: str = "{}"', "password"),
        ('password: str | None = "{}"', "password"),
        ("mysql --password {} -u root", "password"),
        ("Server=db;Password={};Encrypt=true", "password"),
        ("cache.example:6380,password={},ssl=True", "password"),
        ("パスワード（password：{}）", "password"),
        ("api key: {}", "api-key"),
        ("x-api-key: {}", "api-key"),
        ("apiKey: '{}'", "api-key"),
        ("export FOO_API_KEY={}", "api-key"),
        ("the API key {} works", "api-key"),
        ("https://example.com/?api_key={}&page=2", "api-key"),
        ("生产环境的api key：{}。", "api-key"),
        ("aws_secret_access_key = {}", "secret-key"),
        ("SECRET_KEY={}", "secret-key"),
        ("AccountKey={};EndpointSuffix=example.net", "secret-key"),
        ("client_secret={}", "secret"),
        ("clientSecret: {}", "secret"),
        ("JWT_SECRET={}", "secret"),
        ("ACCESS_TOKEN={}", "token"),
        ("refresh_token: {}", "token"),
        ("curl -H 'Authorization: Bearer {}' x", "token"),
        ('curl -H "Authorization: Basic {}" x', "token"),
        ("auth = {}", "token"),
        ("//registry.example.com/:_authToken={}", "token"),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_random_values_after_a_name(text: str, kind: str, seed: int) -> None:
    """After a name that announces one, a random value is masked and all around it stays."""
    secret = noise(24, seed=seed)
    assert redact(text.format(secret), find(text.format(secret))) == text.format(
        f"[redacted:{kind}]"
    )


@pytest.mark.parametrize(
    "pieces",
    [
        ("wJalrXUtnFEMI", "/K7MDENG/", "bPxRfiCYEXAMPLEKEY"),
        ("AAAA1111", "BBBB2222", ".cccc3333"),
        ("Tr0ub4", "dor&3"),
        ("Summer", "2024!"),
        ("P@ss", "w0rd!"),
        ("S3cr", "3t!pa.ss,99"),
        ("xK9#m", "P2$vL5;nQ8wR"),
        ("a1b2", "c3d4e5f6"),
        ("Zq", "7\"x'K(9)v<2>L"),
        ("9f86d081", "884c7d65", "9a2feaa0", "c55ad015"),
        ("550e8400", "-e29b-41d4", "-a716-446655440000"),
        (noise(600, seed=3),),
        (noise(20, seed=3), "ü", noise(20, seed=4)),
    ],
)
def test_the_whole_value_is_masked(pieces: tuple[str, ...]) -> None:
    """A value is masked to its end: past dots, commas, quotes and other signs, however long."""
    secret = "".join(pieces)
    text = f"password={secret} and more"
    assert redact(text, find(text)) == "password=[redacted:password] and more"


def test_a_hexadecimal_api_key_without_a_sign() -> None:
    """Hexadecimal of 32 digits right after 'API key' is one; after 'token' it is a hash."""
    assert kinds(f"the API key {noise(32, HEX)} expired") == ["api-key"]
    assert not find(f"the token {noise(32, HEX)} expired")


def test_a_quoted_value_with_spaces() -> None:
    """A quoted value that begins like a credential is masked up to the closing quote."""
    text = f'password: "{noise(16, seed=9)} {noise(5)} x", user: "bob"'
    assert redact(text, find(text)) == 'password: "[redacted:password]", user: "bob"'


@pytest.mark.parametrize(
    "text",
    [
        "No API key in the build",
        "Rotate the access key and the client secret every 90 days; tokens expire after 3600s.",
        "apiKey: env.VITE_KEY",
        "apiKey: process.env.VITE_KEY2",
        "apiKey: import.meta.env.VITE_S3_KEY_1a2b",
        'password = os.environ["DB_PASSWORD2"]',
        'password = os.getenv("DB_PASSWORD2", "")',
        'API_SECRET = ENV["KIT_API_SECRET1"]',
        "password: ${DB_PASSWORD}",
        "password: ${{ secrets.DB_PASSWORD_V2 }}",
        "password=$DB_PASSWORD_2",
        "password=$(pass show db/app1)",
        "password: %DB_PASSWORD1%",
        "password: {{ vault_db_password_1 }}",
        "password: !vault |",
        "token: <your-token-1>",
        "token = generate2faToken(user1, 2)",
        "password: params[:password_1]",
        "token: self._b2Client.token1",
        "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-a1B2c3",
        "password: op://vault/a1b2c3d4e5f6/password",
        "password: /run/secrets/db_p4ssw0rd_1a",
        "pwd: /home/user1/w2/src3/x4",
        "api_key=" + "x" * 32,
        "api_key=" + "0" * 32,
        "password=changeme",
        "password: changeme123",
        "password=********",
        "password: test1234",
        "password=[redacted:password]",
        "API_KEY=your-api-key-here-a1b2c3d4",
        "sk-" + "your-openai-api-key-here-123",
        "gh" + "p_" + "x" * 36,
        "AK" + "IA" + "X" * 16,
        "sk-" + "ant-...",
        "spinner class sk-" + "circle-fade-dot-animation2",
        "desk-1234567890abcdefghij1234",
        "token 550e8400-e29b-41d4-a716-446655440000",
        "idempotency token: 550e8400-e29b-41d4-a716-446655440000",
        "commit 3fa9c1d2e4b5a6978899aabbccddeeff00112233 rotates the auth token",
        "the auth token 3fa9c1d2e4b5a6978899aabbccddeeff00112233 commit",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "token: 3fa9c1d",
        '"integrity": "sha512-a1B2c3D4e5F6g7H8a1B2c3D4e5F6g7H8==",',
        "secret hash: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "password: $2b$12$a1B2c3D4e5F6g7H8a1B2c3D4e5F6g7H8",
        '"jsonwebtoken": "^9.0.2-beta1a2b",',
        "token-types@4.2.1-a1b2:",
        "![logo](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4)",
        "max_tokens=4096",
        "token: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "nextToken: a1B2c3D4e5F6g7H8",
        "page_token=a1B2c3D4e5F6g7H8",
        "compass=a1b2c3d4e5f6g7h8",
        "oauth: a1b2c3d4e5f6g7h8",
        "pass `dtype=datetime64[ns]` to it",
        "auth: OAuth2.0 with PKCE",
        "auth: claude-3-5-sonnet-20241022",
        "secret: AES-256-GCM",
        "password: PBKDF2-SHA256",
        "password: user1@example.com",
        "auth: https://id.example.com/a1B2c3D4e5F6g7H8",
        "token: 2026-03-29T02:30:00Z",
        "private_key: Ed25519PrivateKey | Ed448PrivateKey",
        "the password is case-sensitive",
        "password: string",
        "access key: getUserByIdOrName2",
        "secret: PROJ-1042-fix-v2",
        "密码 password：见 1Password",
    ],
)
def test_what_only_mentions_credentials_passes(text: str) -> None:
    """Mentions, look-ups, placeholders, hashes, ids, versions and code are no credentials."""
    assert not find(text)


def test_hits_are_in_order_and_apart() -> None:
    """Several credentials of one text are found in order, each with its own place."""
    first, second = "gh" + "p_" + noise(36), noise(20, seed=9)
    text = f"token {first}\n{pem()}\nurl x://u:{second}@h\npassword: {second}\n"
    found = find(text)
    assert [hit.kind for hit in found] == [
        "github-token",
        "private-key",
        "url-password",
        "password",
    ]
    assert text[found[0].start : found[0].end] == first
    assert text[found[3].start : found[3].end] == second


def test_an_overlap_is_one_hit_of_the_kind_that_says_more() -> None:
    """A key with a prefix inside the value of a pair is masked with the whole value."""
    text = "token=" + noise(12, seed=2) + ":" + "gh" + "p_" + noise(36) + "!a"
    assert redact(text, find(text)) == "token=[redacted:github-token]"


@pytest.mark.parametrize(
    ("alphabet", "length", "share"),
    [
        (BASE62, 16, 0.93),
        (BASE62, 24, 0.98),
        (BASE62, 40, 0.99),
        (HEX, 32, 0.99),
        (string.ascii_lowercase + string.digits, 20, 0.97),
        (BASE62 + "+/", 40, 0.95),
        (BASE62 + "-_", 32, 0.95),
    ],
)
def test_random_values_are_rarely_missed(alphabet: str, length: int, share: float) -> None:
    """Of random values after a name, nearly all are found."""
    values = [noise(length, alphabet, seed) for seed in range(500)]
    assert sum(bool(find(f"api_key={value}")) for value in values) >= share * len(values)


WORDS = st.sampled_from(
    ["password", "=", ": ", " ", "\n", '"', "'", "token", "api key", "://", "@", "a:b", "key-",
     "Bearer ", "AKIA", "sk-", "eyJ", ".", ",", ";x=", "|", "(", ")", "\\", "\\n", "${X}", "é",
     "\ud800", "\x00", "x1Y2", "0a9f" * 8, BEGIN.format(""), END.format(""), noise(24), noise(40)]
)  # fmt: skip
TEXTS = st.text(max_size=80) | st.lists(WORDS, max_size=25).map("".join)


@given(TEXTS)
def test_hits_lie_within_the_text_in_order(text: str) -> None:
    """Whatever the text, hits are not empty, do not overlap, and have a kind in kebab-case."""
    at = 0
    for kind, start, end in find(text):
        assert at <= start < end <= len(text)
        assert kind.replace("-", "").isalpha()
        assert kind.islower()
        at = end


SHAPES = [(prefix, rest) for _, prefixes, rest in shapes._SHAPES for prefix in prefixes]


@given(
    st.text(),
    st.sampled_from(SHAPES).flatmap(
        lambda shape: st.from_regex(
            re.compile(re.escape(shape[0]) + shape[1], re.ASCII), fullmatch=True
        )
    ),
    st.sampled_from(["", " ", "=", "\n"]),
)
def test_no_key_is_too_short_to_be_looked_for(before: str, key: str, gap: str) -> None:
    """Looking for prefixes in long runs alone finds what looking everywhere finds."""
    text = before + gap + key + gap + before
    found = list(shapes.keys(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "_SHORTEST", 0)
        assert list(shapes.keys(text)) == found


@given(TEXTS)
def test_redaction_takes_out_the_hits_and_nothing_else(text: str) -> None:
    """What is not in a hit is there as before, in order; a text without hits is not changed."""
    found = find(text)
    redacted = redact(text, found)
    kept = [text[a:b] for a, b in zip(
        [0, *(hit.end for hit in found)], [*(hit.start for hit in found), len(text)], strict=True
    )]  # fmt: skip
    marks = [f"[redacted:{hit.kind}]" for hit in found]
    assert redacted == "".join(
        piece for pair in zip(kept, [*marks, ""], strict=True) for piece in pair
    )


@given(
    st.text(st.characters(codec="ascii", exclude_characters="\x1c\x1d\x1e\x1f"), max_size=60),
    st.integers(0, 10_000),
    st.text(max_size=60),
)
def test_a_key_is_gone_from_any_surroundings(before: str, seed: int, after: str) -> None:
    """A key set off by spaces is not left in the redacted text, whatever stands around it."""
    secret = "gh" + "p_" + noise(36, seed=seed)
    text = f"{before} {secret} {after}"
    assert secret not in redact(text, find(text))


@given(st.lists(st.sampled_from(["password=", "token: ", " ", "\n", noise(24), "x", "; "])))
def test_redacted_text_is_clean(pieces: list[str]) -> None:
    """What redaction leaves holds no credential any more."""
    text = "".join(pieces)
    assert not find(redact(text, find(text)))


@pytest.mark.parametrize(
    "piece",
    ["password=", 'password="', "password= ", "password=a1B2c3D4,", "password is a1B2c3D4 ",
     "token:", "token: ", "--token ", "auth: bearer ", "|password|", "password=$", "password=[",
     "api key" + " " * 20, "token: aaaaaaa = ", "api key (", "secret:\n", "eyJ", "-eyJ",
     "ey" + "Jaaaaaaaa.", "a://", "a://b:", "a://b:c@", "://" + "u" * 200 + ":" + "p" * 300,
     BEGIN.format(""), BEGIN.format("") + "\nAAAAAAAAAA ", "a: " + BEGIN.format("") + "\n",
     BEGIN.format("") + "\nabc: d\n", "-----BEGIN ", "sk-", "S" + "G.aaaaaaaaaaaaaaaaaaaa",
     "123456789:A" + "A", "glpat-", "hvs.", "A1b2", "a", "1", " ", "\n", '"', "\\", "-", "_",
     "\u3042", "\ud800"],
)  # fmt: skip
def test_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    """Half a megabyte of any repeat is searched to its end.

    Not timed: a search that grows with the square of it would take minutes for a piece.
    """
    text = (piece * (500_000 // len(piece) + 1))[:500_000]
    assert len(redact(text, find(text))) > 0


def test_eval_notes_pass() -> None:
    """Under 0.5 % of real notes are refused."""
    folder = Path(__file__).parents[2] / "shared" / "eval" / "notes"
    if not folder.is_dir():
        pytest.skip("no folder 'shared' with notes beside the checkout")
    notes = [
        json.loads(line)["text"]
        for name in ("notes-corpus.jsonl", "known-item.items.jsonl")
        for line in (folder / name).read_text("utf-8").split("\n")
        if line
    ]
    refused = [note for note in notes if find(note)]
    assert len(refused) < 0.005 * len(notes), refused[:20]

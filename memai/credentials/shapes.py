"""Credentials that can be told by their own shape.

The shapes of keys are those that their makers document.
"""

import re
from collections.abc import Iterator
from itertools import chain

from memai.credentials import values

Span = tuple[str, int, int]  # kind, start, end

# Kind, literal prefixes, and what follows one of them. A prefix must not follow a letter or digit.
_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws-access-key", ("AKIA", "ASIA"), r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{20,}+"),
    ("github-token", ("github_pat_",), r"[A-Za-z0-9_]{20,}+"),
    ("gitlab-token", ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-"), r"[A-Za-z0-9_.-]{20,}+"),
    ("slack-token", ("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
     r"[A-Za-z0-9.-]{10,}+"),
    ("slack-webhook", ("hooks.slack.com/services/",), r"T[A-Z0-9]{6,}+/B[A-Z0-9]{6,}+/\w{16,}+"),
    ("discord-webhook", ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
     r"[0-9]{15,}+/[\w-]{40,}+"),
    ("stripe-key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_"), r"[A-Za-z0-9]{16,}+"),
    ("webhook-secret", ("whsec_",), r"[A-Za-z0-9+/=]{24,}+"),
    ("anthropic-key", ("sk-ant-",), r"[\w-]{20,}+"),
    ("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), r"[\w-]{20,}+"),
    ("api-key", ("sk-",), r"[\w.-]{16,}+"),  # the form that many makers took over
    ("google-api-key", ("AIza",), r"[\w-]{30,}+"),
    ("google-oauth-token", ("ya29.",), r"[\w-]{20,}+"),
    ("google-oauth-secret", ("GOCSPX-",), r"[\w-]{20,}+"),
    ("npm-token", ("npm_",), r"[A-Za-z0-9]{30,}+"),
    ("pypi-token", ("pypi-AgE",), r"[\w-]{30,}+"),
    ("rubygems-token", ("rubygems_",), r"[0-9a-f]{40,}+"),
    ("docker-token", ("dckr_pat_", "dckr_oat_"), r"[\w-]{20,}+"),
    ("sendgrid-key", ("SG.",), r"[\w-]{16,}+\.[\w-]{16,}+"),
    ("twilio-key", ("SK",), r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailgun-key", ("key-",), r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("huggingface-token", ("hf_", "api_org_"), r"[A-Za-z0-9]{30,}+"),
    ("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{40,}+"),
    ("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9A-Fa-f]{32,}+"),
    ("square-token", ("sq0atp-", "sq0csp-"), r"[\w-]{20,}+"),
    ("databricks-token", ("dapi",), r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("vault-token", ("hvs.", "hvb."), r"[\w-]{20,}+"),
    ("doppler-token", ("dp.pt.", "dp.st.", "dp.ct."), r"[\w.-]{40,}+"),
    ("atlassian-token", ("ATATT3", "ATCTT3"), r"[\w=-]{40,}+"),
    ("linear-key", ("lin_api_",), r"[A-Za-z0-9]{30,}+"),
    ("notion-token", ("ntn_",), r"[A-Za-z0-9]{40,}+"),
    ("figma-token", ("figd_",), r"[\w-]{30,}+"),
    ("postman-key", ("PMAK-",), r"[0-9a-f]{24}-[0-9a-f]{30,}+"),
    ("grafana-token", ("glc_", "glsa_"), r"[\w+/=]{30,}+"),
    ("sentry-token", ("sntrys_", "sntryu_"), r"[\w+/=-]{30,}+"),
    ("newrelic-key", ("NRAK-",), r"[A-Z0-9]{24,}+"),
    ("groq-key", ("gsk_",), r"[A-Za-z0-9]{40,}+"),
    ("replicate-token", ("r8_",), r"[A-Za-z0-9]{36,}+"),
    ("xai-key", ("xai-",), r"[A-Za-z0-9]{60,}+"),
    ("perplexity-key", ("pplx-",), r"[A-Za-z0-9]{40,}+"),
    ("langsmith-key", ("lsv2_pt_", "lsv2_sk_"), r"[0-9a-f_]{30,}+"),
    ("supabase-token", ("sbp_",), r"[0-9a-f]{40,}+"),
    ("pulumi-token", ("pul-",), r"[0-9a-f]{40,}+"),
    ("planetscale-token", ("pscale_tkn_", "pscale_pw_"), r"[\w.-]{30,}+"),
    ("age-key", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{50,}+"),
)  # fmt: skip

# Characters of the shortest key: a Slack token of ten after its prefix of five.
_SHORTEST = 15

# The number of a bot, then its secret.
_TELEGRAM_MARK = ":AA"
_TELEGRAM = r"(?:(?<![A-Za-z0-9:])|(?<=bot))[0-9]{8,10}:AA[\w-]{32,34}(?![\w-])"

# The first two parts are JSON objects, and '{"' in base64 begins with eyJ. A token never begins
# inside a run of its characters, or a long run of eyJ would be scanned from each of them.
_JWT = r"(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{5,}+\.[\w-]{10,}+"

_PREFIXES = (*chain.from_iterable(prefixes for _, prefixes, _ in _SHAPES), _TELEGRAM_MARK)

# Headers and base64 lines, their ends perhaps written as \n or \r\n; the end may be cut off.
_PEM = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<lead>(?:\s|\\[nr]|[\"'>]){0,40}+"
    r"(?:[A-Za-z-]{3,20}: [^\n\\]{1,100}(?:\s|\\[nr]){1,8}+){0,6}+)"
    r"(?P<data>[A-Za-z0-9+/=]{8,}+)(?:[A-Za-z0-9+/=\s\"'>,|]|\\[nr])*+"
    r"(?P<end>-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)

_URL = r"(?<=[A-Za-z0-9])://(?P<user>[^\s/:@\"'<>`]{0,200}+):(?P<password>[^\s/\"'<>`]{1,300})@\S"


def keys(text: str) -> Iterator[Span]:
    """Find keys that begin with their maker's prefix."""
    # Prefixes are looked for only among what is long enough, and all before any pattern is made:
    # 4 microseconds for a text of 300 characters, not 25.
    runs = " ".join([run for run in text.split() if len(run) >= _SHORTEST])
    present = {prefix for prefix in _PREFIXES if prefix in runs} if runs else set()
    if not present:
        return
    for kind, prefixes, rest in _SHAPES:
        if not present.isdisjoint(prefixes):
            either = "|".join(map(re.escape, prefixes))
            for match in re.finditer(f"(?<![A-Za-z0-9])(?:{either})({rest})", text, re.ASCII):
                value = match[1].rstrip(".")
                if values.is_random_key(value, after_common_prefix=kind == "api-key"):
                    yield kind, match.start(), match.start(1) + len(value)
    if _TELEGRAM_MARK in present:
        for match in re.finditer(_TELEGRAM, text, re.ASCII):
            yield "telegram-token", match.start(), match.end()


def web_tokens(text: str) -> Iterator[Span]:
    """Find JSON Web Tokens with a signature."""
    if "eyJ" in text:
        for match in re.finditer(_JWT, text, re.ASCII):
            yield "jwt", match.start(), match.end()


def private_keys(text: str) -> Iterator[Span]:
    """Find private keys in PEM form, whole; one that is cut off ends where its base64 ends."""
    if "PRIVATE KEY" in text:
        for match in re.finditer(_PEM, text, re.ASCII):
            broken = "\n" in match["lead"] or "\\n" in match["lead"]
            # A sentence may name the two lines, with words between them.
            if len(match["data"]) >= 32 or (match["end"] and broken):
                yield "private-key", match.start(), match.end()


def url_passwords(text: str) -> Iterator[Span]:
    """Find passwords in URLs, up to the last @ before the path."""
    if "://" in text and "@" in text:
        for match in re.finditer(_URL, text, re.ASCII):
            password = match["password"]
            # A letter or two, a variable, or a port and then a query that holds an @.
            other = len(password) < 4 or re.match(r"[$%{}[\](*#]|[0-9]{1,5}[?#]", password)
            if not other and password != match["user"] and not values.stands_in(password):
                yield "url-password", *match.span("password")

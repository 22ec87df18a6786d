"""Texts of many scripts for property tests."""

from hypothesis import strategies as st

SCRIPTS = (
    "abcdeXYZ0129",
    " \n\t",
    "-_./:'\"()*+#,;!?<>@=\\",
    "éßİﬁÅøЖйАλς",
    "用户身份验证重跑々",
    "データベースのとはがﾃﾞ",
    "데이터베이스를는집",
    "นัดประชุมเ้",
    "हिन्दीमेंক্ষ",
    "الاجتماعوَشלוםָ",
    "🎉👍🏽👨\u200d👩❤\ufe0f✓°→€½",
    "\u0301\u0323\u200b\u00ad\ufeff\u2019\u201c\u201d",
)
TEXTS = st.lists(
    st.sampled_from(SCRIPTS).flatmap(lambda script: st.text(script, min_size=1, max_size=8)),
    max_size=40,
).map("".join)
ANYTHING = st.one_of(TEXTS, st.text(st.characters(), max_size=200))

"""Secrets are hidden whatever pieces output comes in, in time linear in its size; other text is left alone."""

import base64
import json
import random
import time
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow_mcp.runner.redaction import HELD_BYTES_MAX, TOKENS_ALONE, Redactor
from flow_mcp.runner.secret_forms import PIECE_BYTES_MAX
from flow_mcp.runner.token_shapes import SHAPES

SECRET = "s3cr3t/with+odd&chars"  # noqa: S105 - made for the test
PHRASE = "Correct horse 7"
OF_VALUES = Redactor({"API_TOKEN": SECRET, "PHRASE": PHRASE})


def letters(count: int, alphabet: str = "abcdef0123456789") -> str:
    """Make up the rest of a token, so that none stands in this file."""
    chance = random.Random(count)  # noqa: S311 - no secret
    return "".join(chance.choice(alphabet) for _ in range(count))


PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{letters(64)}\n{letters(30)}==\n-----END RSA PRIVATE KEY-----"
TOKENS = {
    "1password-secret-key": f"A3-{letters(6, 'AB1')}-{letters(11, 'AB1')}-ABCDE-ABCDE-ABCDE",
    "1password-service-account-token": f"ops_eyJ{letters(260)}==",
    "adobe-client-secret": f"p8e-{letters(32)}",
    "age-secret-key": f"AGE-SECRET-KEY-1{letters(58, 'QPZRY9X8')}",
    "alibaba-access-key-id": f"LTAI{letters(20)}",
    "anthropic-api-key": f"sk-ant-api03-{letters(93)}AA",
    "artifactory-api-key": f"AKCp{letters(69)}",
    "artifactory-reference-token": f"cmVmd{letters(59)}",
    "aws-access-token": f"AKIA{letters(16, 'ABC234')}",
    "aws-bedrock-api-key": f"ABSK{letters(120)}=",
    "clojars-api-token": f"CLOJARS_{letters(60)}",
    "databricks-api-token": f"dapi{letters(32)}-2",
    "digitalocean-token": f"dop_v1_{letters(64)}",
    "doppler-api-token": f"dp.pt.{letters(43)}",
    "duffel-api-token": f"duffel_live_{letters(43)}",
    "dynatrace-api-token": f"dt0c01.{letters(24)}.{letters(64)}",
    "easypost-api-token": f"EZAK{letters(54)}",
    "easypost-test-api-token": f"EZTK{letters(54)}",
    "facebook-page-access-token": f"EAAM{letters(150)}",
    "flutterwave-secret-key": f"FLWSECK_TEST-{letters(32)}-X",
    "flyio-access-token": f"fm2_{letters(110)}=",
    "frameio-api-token": f"fio-u-{letters(64)}",
    "gcp-api-key": f"AIza{letters(35)}",
    "github-token": f"ghp_{letters(36)}",
    "gitlab-token": f"glpat-{letters(20)}",
    "gitlab-registration-token": f"GR1348941{letters(20)}",
    "grafana-api-key": f"eyJrIjoi{letters(80)}=",
    "grafana-cloud-api-token": f"glc_{letters(40)}",
    "grafana-service-account-token": f"glsa_{letters(32)}_{letters(8)}",
    "heroku-api-key": f"HRKU-AA{letters(58)}",
    "huggingface-access-token": f"hf_{letters(34)}",
    "huggingface-organization-api-token": f"api_org_{letters(34)}",
    "infracost-api-token": f"ico-{letters(32)}",
    "jwt": f"eyJ{letters(30)}.eyJ{letters(30)}.{letters(43)}",
    "linear-api-key": f"lin_api_{letters(40)}",
    "notion-api-token": f"ntn_{letters(11, '123')}{letters(35)}",
    "npm-access-token": f"npm_{letters(36)}",
    "octopus-deploy-api-key": f"API-{letters(26, 'ABC123')}",
    "openai-api-key": f"sk-proj-{letters(58)}T3BlbkFJ{letters(58)}",
    "openshift-user-token": f"sha256~{letters(43)}",
    "perplexity-api-key": f"pplx-{letters(48)}",
    "planetscale-token": f"pscale_tkn_{letters(40)}",
    "postman-api-token": f"PMAK-{letters(24)}-{letters(34)}",
    "prefect-api-token": f"pnu_{letters(36)}",
    "pulumi-api-token": f"pul-{letters(40)}",
    "pypi-upload-token": f"pypi-AgEIcHlwaS5vcmc{letters(90)}",
    "readme-api-token": f"rdme_{letters(70)}",
    "rubygems-api-token": f"rubygems_{letters(48)}",
    "sendgrid-api-token": f"SG.{letters(22)}.{letters(43)}",
    "sendinblue-api-token": f"xkeysib-{letters(64)}-{letters(16)}",
    "sentry-org-token": f"sntrys_eyJ{letters(90)}_{letters(43)}",
    "sentry-user-token": f"sntryu_{letters(64)}",
    "shippo-api-token": f"shippo_live_{letters(40)}",
    "shopify-token": f"shpat_{letters(32)}",
    "slack-app-token": f"xapp-1-{letters(11, 'AB1')}-{letters(13, '123')}-{letters(64)}",
    "slack-token": f"xoxb-{letters(12, '123')}-{letters(12, '123')}-{letters(24)}",
    "slack-webhook-url": f"hooks.slack.com/services/{letters(44)}",
    "sourcegraph-access-token": f"sgp_local_{letters(40)}",
    "square-access-token": f"sq0atp-{letters(22)}",
    "stripe-access-token": f"sk_live_{letters(24)}",
    "twilio-api-key": f"SK{letters(32)}",
    "vault-batch-token": f"hvb.{letters(140)}",
    "vault-service-token": f"hvs.{letters(95)}",
    "private-key": PEM,
    "url-credentials": "://somebody:pa55w0rd@",
}


@pytest.mark.parametrize("name", sorted({shape.name for shape in SHAPES}))
def test_every_kind_of_token_is_hidden_whole_and_named(name: str) -> None:
    token = TOKENS[name]
    mark = f"://[redacted: {name}]@" if name == "url-credentials" else f"[redacted: {name}]"
    assert TOKENS_ALONE.text(f"export A={token} B") == f"export A={mark} B"
    assert TOKENS_ALONE.text(token) == mark


@pytest.mark.parametrize(
    "text",
    [
        "tests/test_a.py::test_keys_are_long PASSED [ 10%]",
        "https://example.com/a/b?c=d and git@github.com:owner/name.git",
        "sha256:" + "ab12" * 16,
        "task-" + "a" * 60,
        "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
        "expected -----BEGIN PRIVATE KEY-----, but there was none",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "XghpA_ keys skipped SKIPPED AKIA ghp_short",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert TOKENS_ALONE.text(text) == text


def test_a_key_whose_end_was_cut_off_is_hidden_by_its_letters() -> None:
    cut = PEM[: PEM.index("==")]
    assert TOKENS_ALONE.text(f"{cut}! more") == "[redacted: private-key]! more"


def test_a_key_on_one_line_with_written_newlines_is_hidden() -> None:
    assert TOKENS_ALONE.text(json.dumps({"k": PEM})) == '{"k": "[redacted: private-key]"}'


def in_url(text: str) -> str:
    """Spell a value as a URL does."""
    return quote(text, safe="")


def in_base64(text: str) -> str:
    """Spell a value in base64."""
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("spelt", [SECRET, in_url(SECRET), json.dumps(SECRET)[1:-1], "s3cr3t/with+odd&amp;chars"])
def test_a_granted_value_is_hidden_however_it_is_spelt(spelt: str) -> None:
    assert OF_VALUES.text(f"token={spelt};") == "token=[redacted: API_TOKEN];"


@pytest.mark.parametrize("before", ["", "u", "us", "user"])
@pytest.mark.parametrize("table", [None, b"-_"])
def test_a_granted_value_is_hidden_inside_base64(before: str, table: bytes | None) -> None:
    spelt = base64.b64encode(f"{before}:{SECRET}:x".encode(), table).decode()
    shown = OF_VALUES.text(spelt)
    assert "[redacted: API_TOKEN]" in shown
    assert len(shown.replace("[redacted: API_TOKEN]", "")) < len(before) * 4 / 3 + 10


def test_of_a_value_with_many_lines_each_line_is_hidden() -> None:
    value = "first secret line 1\nab\n-----A HEADER-----\nsecond secret line 2\n"
    redactor = Redactor({"MANY": value})
    assert redactor.text("second secret line 2, first secret line 1, ab, -----A HEADER-----") == (
        "[redacted: MANY], [redacted: MANY], ab, -----A HEADER-----"
    )
    assert redactor.text(in_base64(value)).startswith("[redacted: MANY]")


def test_a_very_long_value_is_hidden_in_pieces() -> None:
    value = letters(3 * PIECE_BYTES_MAX + 9)
    assert value not in Redactor({"LONG": value}).text(value)
    assert set(Redactor({"LONG": value}).text(value).split("[redacted: LONG]")) == {""}


def test_of_a_very_long_value_a_last_piece_too_short_to_look_for_may_stay() -> None:
    value = letters(PIECE_BYTES_MAX + 3)
    assert Redactor({"LONG": value}).text(value) == f"[redacted: LONG]{value[-3:]}"


def test_a_value_of_other_letters_is_hidden_too() -> None:
    redactor = Redactor({"PASSWORT": "geheime-Wörter"})
    assert redactor.text("ist geheime-Wörter!") == "ist [redacted: PASSWORT]!"
    assert "[redacted: PASSWORT]" in redactor.text(in_base64("geheime-Wörter"))


def test_the_password_of_a_url_is_hidden_by_itself_too() -> None:
    redactor = Redactor({"DATABASE_URL": "postgres://me:v3ry+secret@host/db"})
    assert redactor.text("psql -W v3ry+secret") == "psql -W [redacted: DATABASE_URL]"
    assert Redactor({"DATABASE_URL": "postgres://me:postgres@host/db"}).text("postgres is up") == "postgres is up"


def test_names_of_cases_that_differ_in_a_token_still_differ() -> None:
    raw = [*(f"test_a[ghp_{letters(36, chosen)}]" for chosen in ("abc", "xyz")), f"test_b[{SECRET}]", "test_c"]
    one, two, three, four = OF_VALUES.names(raw)
    assert one.startswith("test_a[[redacted: github-token ")
    assert two.startswith("test_a[[redacted: github-token ")
    assert one != two
    assert [one] == OF_VALUES.names(raw[:1])
    assert (three, four) == ("test_b[[redacted: API_TOKEN]]", "test_c")
    assert OF_VALUES.names(["a", "b"]) == ["a", "b"]


WORDS = st.one_of(
    st.sampled_from(
        [*TOKENS.values(), SECRET, PHRASE, in_base64(SECRET), PHRASE[:9], PEM[:50], PEM[30:], "x", " ", "\n"]
    ),
    st.sampled_from(["-----BEGIN ", "-----END", "sk-", "ey", "://", "ghp_", "a" * 50, "Correct", " horse", " "]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=12), st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_the_result_does_not_depend_on_the_pieces(words: list[str], sizes: list[int]) -> None:
    data = "".join(words).encode()
    stream, given_out, at = OF_VALUES.stream(), b"", 0
    for number in range(len(data)):
        size = sizes[number % len(sizes)]
        given_out += stream.take(data[at : at + size])
        at += size
    assert given_out + stream.finish() == OF_VALUES.end_of(data, 0)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=12), st.integers(0, 400))
def test_an_end_is_the_end_of_the_whole_and_holds_no_part_of_a_secret(words: list[str], back: int) -> None:
    data = "".join(words).encode()
    whole, end = OF_VALUES.end_of(data, 0), OF_VALUES.end_of(data, max(0, len(data) - back))
    assert whole.endswith(end)


def test_what_cannot_be_a_secret_is_given_at_once() -> None:
    stream = OF_VALUES.stream()
    assert stream.take(b"a line\nand a wo") == b"a line\nand a "
    assert stream.take(b"rd\n") == b"word\n"
    assert stream.take(b"this is Correct ho") == b"this is "
    assert stream.take(b"rses\n") == b"Correct horses\n"
    assert stream.take(b"-----BEGIN CERTIFICATE-----\nabc\n") == b"-----BEGIN CERTIFICATE-----\nabc\n"
    assert stream.take(PEM[:60].encode()) == b""
    assert stream.take(PEM[60:].encode() + b"\n") == b"[redacted: private-key]\n"


def test_a_token_that_goes_on_in_the_next_piece_is_hidden_to_its_end() -> None:
    stream = OF_VALUES.stream()
    first = stream.take(f"a ghp_{letters(36)}".encode())
    assert first + stream.take(b"abc") + stream.finish() == b"a [redacted: github-token]"


def test_what_stands_before_a_cut_within_a_word_still_counts() -> None:
    token = f"ghp_{letters(36)}"
    data = f"xx{token}{'-' * (HELD_BYTES_MAX - len(token))}".encode()
    stream = TOKENS_ALONE.stream()
    first = stream.take(data)
    assert first == b"xx"
    assert first + stream.finish() == data == TOKENS_ALONE.end_of(data, 0)


def test_no_more_is_held_back_than_the_longest_secret_has() -> None:
    stream = OF_VALUES.stream()
    given_out = sum(len(stream.take(b"x" * 1000)) for _ in range(100))
    assert given_out == 100_000 - HELD_BYTES_MAX
    begun = f"-----BEGIN PRIVATE KEY-----{' x' * HELD_BYTES_MAX}"
    assert len(stream.take(begun.encode())) >= len(begun)


def _hostile(size: int) -> dict[str, bytes]:
    return {
        "beginnings of jwt": b"ey" * (size // 2),
        "jwt without an end": (b" ey" + b"a" * 1999) * (size // 2000),
        "beginnings of keys": b"-----BEGIN PRIVATE KEY-----" * (size // 27),
        "open keys": b"-----BEGIN PRIVATE KEY-----\n%s\n" % (b"ab" * 7000) * (size // 14000),
        "beginnings of headers": b"-----BEGIN " * (size // 11),
        "dashes": b"-" * size,
        "beginnings of openai": b"sk-" * (size // 3),
        "openai without a middle": (b"sk-" + b"a" * 110) * (size // 113),
        "beginnings of urls": b"://a:" * (size // 5),
        "urls without an end": (b"://" + b"a" * 256 + b":" + b"b" * 256) * (size // 516),
        "beginnings of the value": SECRET[:-1].encode() * (size // len(SECRET)),
        "one letter of the value": b"s" * size,
        "nothing": bytes(size),
    }


@pytest.mark.parametrize("name", sorted(_hostile(1)))
def test_hostile_output_takes_no_longer_than_its_size_asks_for(name: str) -> None:
    data = _hostile(1 << 20)[name]
    begun_s = time.process_time()
    stream = OF_VALUES.stream()
    for at in range(0, len(data), 64 * 1024):
        stream.take(data[at : at + 64 * 1024])
    stream.finish()
    assert time.process_time() - begun_s < 10  # some tenths of a second; a quadratic pattern takes minutes

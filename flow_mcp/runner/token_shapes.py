"""How the tokens of well-known services look: data, taken over from the rules of Gitleaks (config/gitleaks.toml, 8.25).

Only rules whose tokens begin with letters of their own are here; what only a word beside it makes a secret is not, nor
are public keys. Rules of one service are put together, the beginning stands apart, and quantifiers have an upper bound.
Looks at what follows and checks of entropy are left out: in output it is better to hide too much. ``private-key`` is
rewritten to take linear time; ``url-credentials`` is not of Gitleaks, but after the idea of detect-secrets' basic_auth.

The rules of Gitleaks are under this licence:

MIT License

Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

from typing import Final, NamedTuple


class Shape(NamedTuple):
    """How one kind of token looks.

    Attributes:
        name: the rule, as it is told in place of the token.
        begin: what it begins with, letter by letter.
        rest: a regular expression of what follows: without groups to refer to, bounded, and but for the private key
            without blanks.
    """

    name: str
    begin: str
    rest: str


PRIVATE_KEY: Final = Shape(
    "private-key",
    "-----BEGIN",
    r"[ A-Z0-9_]{0,60}PRIVATE KEY(?: BLOCK)?-----"
    # No possessive quantifier: before Python 3.11.5 they go wrong around what can be matched in several ways.
    r"(?:[^-]{0,16000}(?:-(?!----)[^-]{0,16000}){0,400}-----END[ A-Z0-9_]{0,60}KEY(?: BLOCK)?-----"
    r"|[A-Za-z0-9+/=\s\\]{64,16000})",
)
"""A key whose end is missing, as when the output was cut, counts by its letters alone."""

URL_CREDENTIALS: Final = Shape("url-credentials", "://", r"[^\s:/@]{0,256}:[^\s/@]{3,256}@")

SHAPES: Final[tuple[Shape, ...]] = (
    Shape("1password-secret-key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    Shape("1password-service-account-token", "ops_eyJ", r"[a-zA-Z0-9+/]{250,4000}={0,3}"),
    Shape("adobe-client-secret", "p8e-", r"[a-zA-Z0-9]{32}"),
    Shape("age-secret-key", "AGE-SECRET-KEY-1", r"[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    Shape("alibaba-access-key-id", "LTAI", r"[a-zA-Z0-9]{20}"),
    Shape("anthropic-api-key", "sk-ant-", r"[a-z0-9]{3,12}-[a-zA-Z0-9_\-]{80,200}"),
    Shape("artifactory-api-key", "AKCp", r"[A-Za-z0-9]{69}"),
    Shape("artifactory-reference-token", "cmVmd", r"[A-Za-z0-9]{59}"),
    Shape("aws-access-token", "A3T", r"[A-Z0-9][A-Z2-7]{16}"),
    Shape("aws-access-token", "AKIA", r"[A-Z2-7]{16}"),
    Shape("aws-access-token", "ASIA", r"[A-Z2-7]{16}"),
    Shape("aws-access-token", "ABIA", r"[A-Z2-7]{16}"),
    Shape("aws-access-token", "ACCA", r"[A-Z2-7]{16}"),
    Shape("aws-bedrock-api-key", "ABSK", r"[A-Za-z0-9+/]{109,269}={0,2}"),
    Shape("clojars-api-token", "CLOJARS_", r"[a-zA-Z0-9]{60}"),
    Shape("databricks-api-token", "dapi", r"[a-f0-9]{32}(?:-\d)?"),
    Shape("digitalocean-token", "doo_v1_", r"[a-f0-9]{64}"),
    Shape("digitalocean-token", "dop_v1_", r"[a-f0-9]{64}"),
    Shape("digitalocean-token", "dor_v1_", r"[a-f0-9]{64}"),
    Shape("doppler-api-token", "dp.pt.", r"[a-zA-Z0-9]{43}"),
    Shape("duffel-api-token", "duffel_", r"(?:test|live)_[a-zA-Z0-9_\-=]{43}"),
    Shape("dynatrace-api-token", "dt0c01.", r"[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{64}"),
    Shape("easypost-api-token", "EZAK", r"[a-zA-Z0-9]{54}"),
    Shape("easypost-test-api-token", "EZTK", r"[a-zA-Z0-9]{54}"),
    Shape("facebook-page-access-token", "EAA", r"[MC][a-zA-Z0-9]{100,600}"),
    Shape("flutterwave-secret-key", "FLWSECK_TEST-", r"[a-h0-9]{12,32}(?:-X)?"),
    Shape("flyio-access-token", "fo1_", r"[\w-]{43}"),
    Shape("flyio-access-token", "fm1", r"[ar]_[a-zA-Z0-9+/]{100,4000}={0,3}"),
    Shape("flyio-access-token", "fm2_", r"[a-zA-Z0-9+/]{100,4000}={0,3}"),
    Shape("frameio-api-token", "fio-u-", r"[a-zA-Z0-9\-_=]{64}"),
    Shape("gcp-api-key", "AIza", r"[\w-]{35}"),
    Shape("github-token", "ghp_", r"[0-9a-zA-Z]{36,255}"),
    Shape("github-token", "gho_", r"[0-9a-zA-Z]{36,255}"),
    Shape("github-token", "ghu_", r"[0-9a-zA-Z]{36,255}"),
    Shape("github-token", "ghs_", r"[0-9a-zA-Z]{36,255}"),
    Shape("github-token", "ghr_", r"[0-9a-zA-Z]{36,255}"),
    Shape("github-token", "github_pat_", r"\w{82}"),
    Shape(
        "gitlab-token",
        "gl",
        r"(?:pat|dt|ft|ffct|imt|agent|oas|ptt|rt|soat|cbt)-[0-9a-zA-Z_-]{20,300}(?:\.[0-9a-z]{9})?",
    ),
    Shape("gitlab-registration-token", "GR1348941", r"[\w-]{20}"),
    Shape("grafana-api-key", "eyJrIjoi", r"[A-Za-z0-9]{70,400}={0,3}"),
    Shape("grafana-cloud-api-token", "glc_", r"[A-Za-z0-9+/]{32,400}={0,3}"),
    Shape("grafana-service-account-token", "glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    Shape("heroku-api-key", "HRKU-AA", r"[0-9a-zA-Z_-]{58}"),
    Shape("huggingface-access-token", "hf_", r"[a-zA-Z0-9]{34}"),
    Shape("huggingface-organization-api-token", "api_org_", r"[a-zA-Z0-9]{34}"),
    Shape("infracost-api-token", "ico-", r"[a-zA-Z0-9]{32}"),
    Shape("jwt", "ey", r"[a-zA-Z0-9]{17,2000}+\.ey[a-zA-Z0-9/_-]{17,4000}+\.[a-zA-Z0-9/_-]{0,1000}={0,2}"),
    Shape("linear-api-key", "lin_api_", r"[a-zA-Z0-9]{40}"),
    Shape("notion-api-token", "ntn_", r"[0-9]{11}[A-Za-z0-9]{35}"),
    Shape("npm-access-token", "npm_", r"[a-zA-Z0-9]{36}"),
    Shape("octopus-deploy-api-key", "API-", r"[A-Z0-9]{26}"),
    Shape("openai-api-key", "sk-", r"[a-zA-Z0-9_-]{20,100}?T3BlbkFJ[a-zA-Z0-9_-]{20,74}"),
    Shape("openshift-user-token", "sha256~", r"[\w-]{43}"),
    Shape("perplexity-api-key", "pplx-", r"[a-zA-Z0-9]{48}"),
    Shape("planetscale-token", "pscale_", r"(?:tkn|oauth|pw)_[\w=.-]{32,64}"),
    Shape("postman-api-token", "PMAK-", r"[a-fA-F0-9]{24}-[a-fA-F0-9]{34}"),
    Shape("prefect-api-token", "pnu_", r"[a-zA-Z0-9]{36}"),
    Shape("pulumi-api-token", "pul-", r"[a-f0-9]{40}"),
    Shape("pypi-upload-token", "pypi-Ag", r"[\w-]{50,1000}"),
    Shape("readme-api-token", "rdme_", r"[a-z0-9]{70}"),
    Shape("rubygems-api-token", "rubygems_", r"[a-f0-9]{48}"),
    Shape("sendgrid-api-token", "SG.", r"[a-zA-Z0-9=_\-.]{66}"),
    Shape("sendinblue-api-token", "xkeysib-", r"[a-f0-9]{64}-[a-zA-Z0-9]{16}"),
    Shape("sentry-org-token", "sntrys_eyJ", r"[a-zA-Z0-9+/=_]{60,500}"),
    Shape("sentry-user-token", "sntryu_", r"[a-f0-9]{64}"),
    Shape("shippo-api-token", "shippo_", r"(?:live|test)_[a-fA-F0-9]{40}"),
    Shape("shopify-token", "shp", r"(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    Shape("slack-app-token", "xapp-", r"\d-[A-Za-z0-9]{1,32}-\d{1,20}-[A-Za-z0-9]{1,128}"),
    Shape("slack-token", "xox", r"[abeoprs][.-][0-9a-zA-Z.-]{20,220}"),
    Shape("slack-webhook-url", "hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}"),
    Shape("sourcegraph-access-token", "sgp_", r"(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}"),
    Shape("square-access-token", "sq0atp-", r"[\w-]{22,60}"),
    Shape("stripe-access-token", "sk_", r"(?:test|live|prod)_[a-zA-Z0-9]{10,99}"),
    Shape("stripe-access-token", "rk_", r"(?:test|live|prod)_[a-zA-Z0-9]{10,99}"),
    Shape("twilio-api-key", "SK", r"[0-9a-fA-F]{32}"),
    Shape("vault-batch-token", "hvb.", r"[\w-]{138,300}"),
    Shape("vault-service-token", "hvs.", r"[\w-]{90,120}"),
    PRIVATE_KEY,
    URL_CREDENTIALS,
)

import json
import os
import pwd
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import platformdirs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.policy import Policy, loosened
from flow_mcp.settings import Settings, SettingsFault, load_settings, unknown_variables
from flow_mcp.settings.layer import CHOICES, FILE_BYTES_MAX, VARIABLES_MAX, WORDS_MAX

# Each setting with three values that differ, so that the one in force says whose it is.
THREE = {
    "approve": ("person", "caller", "person"),
    "unverified": ("count", "refuse", "count"),
    "caller_scope": ("bounded", "trusted", "bounded"),
    "reviewer": ("any", "attested", "any"),
    "sandbox": ("require", "off", "prefer"),
    "plans": ("goals", "work/goals", "docs/plans"),
}


class Place:
    """A workspace, and beside it a place for the user's file."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.user_file = folder / "config.yaml"
        self.repository_file = self.root / "flow.yaml"

    def repository(self, text: str | bytes) -> None:
        self.repository_file.write_bytes(text.encode() if isinstance(text, str) else text)

    def user(self, text: str | bytes) -> None:
        self.user_file.write_bytes(text.encode() if isinstance(text, str) else text)

    def load(self, environ: Mapping[str, str] | None = None, flags: Mapping[str, str] | None = None) -> Settings:
        return load_settings(self.root, environ or {}, flags or {}, self.user_file)

    def fault(self, environ: Mapping[str, str] | None = None, flags: Mapping[str, str] | None = None) -> SettingsFault:
        with pytest.raises(SettingsFault) as caught:
            self.load(environ, flags)
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def in_force(found: Settings, name: str) -> str:
    return found.plans if name == "plans" else str(found.policy.model_dump()[name])


def written(values: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in values.items())


# --- Precedence ---------------------------------------------------------------------------------------------------


def test_where_nothing_is_said_the_defaults_hold(place: Place) -> None:
    found = place.load()
    assert found == Settings(Policy(), "plans", (), dict.fromkeys((*CHOICES, "plans"), "default"), ())


@pytest.mark.parametrize("name", THREE)
def test_a_flag_goes_before_a_variable_and_that_before_the_users_file(place: Place, name: str) -> None:
    flag, variable, user = THREE[name]
    place.user(written({name: user}))
    found = place.load()
    assert (in_force(found, name), found.sources[name]) == (user, "user")
    found = place.load({f"FLOW_{name.upper()}": variable})
    assert (in_force(found, name), found.sources[name]) == (variable, "variable")
    found = place.load({f"FLOW_{name.upper()}": variable}, {name: flag})
    assert (in_force(found, name), found.sources[name]) == (flag, "flag")
    found = place.load({}, {name: flag})
    assert (in_force(found, name), found.sources[name]) == (flag, "flag")


@pytest.mark.parametrize("name", THREE)
def test_one_setting_says_nothing_about_another(place: Place, name: str) -> None:
    place.user(written({name: THREE[name][1]}))
    found = place.load()
    others = {other for other in THREE if other != name}
    assert {other for other, source in found.sources.items() if source == "default"} == others


def test_an_empty_variable_counts_as_unset(place: Place) -> None:
    place.user("sandbox: require\n")
    found = place.load({"FLOW_SANDBOX": "", "FLOW_PLANS": ""})
    assert (found.policy.sandbox, found.sources["sandbox"]) == ("require", "user")
    assert (found.plans, found.sources["plans"]) == ("plans", "default")


def test_the_repository_names_the_plans_folder_where_the_user_does_not(place: Place) -> None:
    place.repository("plans: ./docs//goals/\n")
    found = place.load()
    assert (found.plans, found.sources["plans"]) == ("docs/goals", "repository")
    found = place.load({"FLOW_PLANS": "mine"})
    assert (found.plans, found.sources["plans"]) == ("mine", "variable")


def test_off_is_a_value_although_yaml_takes_it_for_no(place: Place) -> None:
    place.user("sandbox: off\n")
    assert place.load().policy.sandbox == "off"
    place.user("sandbox: 'off'\n")
    assert place.load().policy.sandbox == "off"


@pytest.mark.parametrize("text", ["", "# none\n", "---\n", "{}\n"])
def test_files_without_a_setting_say_nothing(place: Place, text: str) -> None:
    bare = place.load()
    place.user(text)
    place.repository(text)
    assert place.load() == bare


def test_settings_cannot_be_changed(place: Place) -> None:
    found = place.load()
    with pytest.raises(AttributeError):
        found.plans = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        found.sources["plans"] = "flag"  # type: ignore[index]


def test_a_flag_that_does_not_exist_is_a_broken_program(place: Place) -> None:
    with pytest.raises(AssertionError):
        place.load({}, {"sandbx": "off"})


# --- The repository only tightens ---------------------------------------------------------------------------------

PARTIAL = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in CHOICES.items()})


@settings(max_examples=200, deadline=None)
@given(flags=PARTIAL, variables=PARTIAL, user=PARTIAL, repository=PARTIAL)
def test_no_repository_loosens_what_its_user_set(
    flags: dict[str, str], variables: dict[str, str], user: dict[str, str], repository: dict[str, str]
) -> None:
    environ = {f"FLOW_{name.upper()}": value for name, value in variables.items()}
    with TemporaryDirectory() as folder:
        place = Place(Path(folder))
        place.user(written(user))
        alone = place.load(environ, flags)
        place.repository(written(repository))
        both = place.load(environ, flags)
    assert alone.policy == Policy.model_validate({**user, **variables, **flags})
    assert loosened(alone.policy, both.policy) == ()
    for name in CHOICES:
        wish, before, after = repository.get(name), in_force(alone, name), in_force(both, name)
        said = [sentence for sentence in both.ignored if f" {name} stays {after}" in sentence]
        # A wish is granted, or said to be ignored, and nothing else moves.
        assert after in (before, wish)
        assert bool(said) == (wish not in (None, after))
        assert both.sources[name] == ("repository" if after != before else alone.sources[name])
    assert len(both.ignored) == len(set(both.ignored))


def test_a_looser_value_of_the_repository_is_ignored_and_said(place: Place) -> None:
    place.user("sandbox: require\n")
    place.repository("reviewer: attested\nsandbox: off\napprove: caller\n")
    found = place.load()
    assert found.policy == Policy(sandbox="require", reviewer="attested")
    assert found.sources["reviewer"] == "repository"
    assert found.sources["sandbox"] == "user"
    assert found.ignored == (
        "flow.yaml, line 2: sandbox stays require, for off is looser and a repository can only tighten.",
        "flow.yaml, line 3: approve stays person, for caller is looser and a repository can only tighten.",
    )


# --- Variables for commands ---------------------------------------------------------------------------------------


def test_the_user_and_the_repository_name_variables_for_commands(place: Place) -> None:
    place.user("environment: [CARGO_*, CI]\n")
    place.repository("environment:\n  - RUST_BACKTRACE\n  - CI\n  - RUST_BACKTRACE\n")
    found = place.load()
    assert sorted(found.environment) == ["CARGO_*", "CI", "RUST_BACKTRACE"]
    assert found.sources["environment.CARGO_*"] == "user"
    assert found.sources["environment.CI"] == "user"
    assert found.sources["environment.RUST_BACKTRACE"] == "repository"
    assert found.ignored == ()


def test_a_repository_gets_no_secret_and_nothing_that_steers_and_is_told_how(place: Place) -> None:
    place.repository("environment: [CI,\n  NPM_TOKEN,\n  PYTEST_ADDOPTS]\n")
    found = place.load()
    assert found.environment == ("CI",)
    assert "environment.NPM_TOKEN" not in found.sources
    until = f"and is kept from commands, until {place.user_file} names it under 'environment'."
    assert found.ignored == (
        f"flow.yaml, line 2: NPM_TOKEN looks like a secret {until}",
        f"flow.yaml, line 3: PYTEST_ADDOPTS can steer what a command runs {until}",
    )


def test_the_user_may_name_a_secret_and_so_allow_the_repository_to(place: Place) -> None:
    place.user("environment: [NPM_TOKEN, AWS_*]\n")
    place.repository("environment: [NPM_TOKEN, AWS_REGION, GH_TOKEN]\n")
    found = place.load()
    assert sorted(found.environment) == ["AWS_*", "AWS_REGION", "NPM_TOKEN"]
    assert [sentence for sentence in found.ignored if "GH_TOKEN" not in sentence] == []


def test_as_many_variables_as_allowed_are_read_and_one_more_is_refused(place: Place) -> None:
    names = [f"V{number}" for number in range(VARIABLES_MAX)]
    place.repository(f"environment: [{', '.join(names)}]\n")
    assert place.load().environment == tuple(names)
    place.repository(f"environment: [{', '.join(names)}, ONE]\n")
    assert "more than 100 variables" in place.fault().seen


# --- Who tells the user -------------------------------------------------------------------------------------------


def test_the_user_names_a_command_that_tells_them_and_nobody_else_does(place: Place) -> None:
    assert place.load().notify == ()
    place.user("notify: [notify-send, --urgency=critical, Flow]\n")
    assert place.load().notify == ("notify-send", "--urgency=critical", "Flow")
    assert place.load({"FLOW_NOTIFY": "touch /tmp/x"}).notify == place.load().notify
    place.user("notify:\n- /opt/my tools/tell\n")
    assert place.load().notify == ("/opt/my tools/tell",)


@pytest.mark.parametrize("value", ["[notify-send]", "[]", "true", "'touch /tmp/x'", "null"])
def test_a_repository_that_names_a_command_to_run_is_refused_in_a_sentence(place: Place, value: str) -> None:
    place.user("notify: [notify-send]\n")
    place.repository(f"sandbox: require\nnotify: {value}\n")
    fault = place.fault()
    assert fault.seen == "flow.yaml, line 2: a repository cannot name a command to run."
    assert fault.remedy == "Name it in your own configuration."


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("notify-send", "notify does not hold a list of texts"),
        ("[]", "notify does not hold a list of texts"),
        ("{}", "notify does not hold a list of texts"),
        ("[notify-send, 1]", "notify does not hold a list of texts"),
        ("[notify-send, [a]]", "notify does not hold a list of texts"),
        ("[['a']]", "notify does not hold a list of texts"),
        (f"[{', '.join(['a'] * (WORDS_MAX + 1))}]", f"notify holds more than {WORDS_MAX} words"),
        ("['']", "notify begins with ''"),
        ("[' ']", "notify begins with ' '"),
        ("[./tell]", "notify begins with './tell'"),
        ("[bin/tell]", "notify begins with 'bin/tell'"),
        ("['~/bin/tell']", "notify begins with '~/bin/tell'"),
        ("['../tell']", "notify begins with '../tell'"),
        ('["a\\0b"]', "with a character that cannot be seen"),
        ('[tell, "\\uD800"]', "with a character that cannot be seen"),
        ('[tell, "\\e[2J"]', "with a character that cannot be seen"),
    ],
)
def test_a_command_that_cannot_be_one_is_refused_with_what_belongs_there(place: Place, value: str, words: str) -> None:
    place.user(f"plans: goals\nnotify: {value}\n")
    fault = place.fault()
    assert fault.seen.startswith(f"{place.user_file}, line 2: ")
    assert words in fault.seen
    for sentence in (fault.seen, fault.remedy):
        assert sentence.endswith(".")
        assert sentence.isprintable()


def test_as_many_words_as_are_allowed_are_taken(place: Place) -> None:
    place.user(f"notify: [{', '.join(['a'] * WORDS_MAX)}]\n")
    assert len(place.load().notify) == WORDS_MAX


# --- Hostile files ------------------------------------------------------------------------------------------------

# What a file holds, the line it is refused for, and words that its sentence has and no other.
HOSTILE: dict[str, tuple[bytes, int, str]] = {
    "no utf-8": (b"plans: a\n# caf\xe9\n", 2, "the byte 0xe9 is not UTF-8"),
    "nul": (b"plans: a\n\x00", 2, "U+0000"),
    "hidden order": ("# \u202eplans: a\n".encode(), 1, "U+202E"),
    "half a merge": (b"<<<<<<< HEAD\nplans: a\n=======\n", 1, "a conflict marker"),
    "no yaml": (b"plans: a\nsandbox\nreviewer: any", 3, "a key has no colon"),
    "laughs": (b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", 1, "an anchor or alias"),
    "object": (b"plans: !!python/object/apply:os.system [id]\n", 1, "a tag stands here"),
    "two documents": (b"plans: a\n---\nplans: b\n", 2, "a second document"),
    "deep": (b"plans: " + b"[" * 10_000, 1, "values nest deeper"),
    "key twice": (b"sandbox: require\nplans: a\nsandbox: off\n", 3, "'sandbox' stands here again, first in line 1"),
    "key that is no text": (b"1: a\n", 1, "the key '1' is a number"),
    "merge": (b"<<: {sandbox: off}\n", 1, "is a merge mark"),
    "list": (b"- sandbox\n", 1, "the file holds a list"),
    "text": (b"sandbox=off\n", 1, "the file holds a text"),
    "misspelt": (b"plans: a\nsandbx: off\n", 2, "no setting 'sandbx'; the nearest is 'sandbox'"),
    "nested": (b"policy:\n  sandbox: off\n", 1, "no setting 'policy'."),
    "a part of a name": (b"env: [CI]\n", 1, "no setting 'env'; the nearest is 'environment'"),
    "a hyphen": (b"caller-scope: trusted\n", 1, "no setting 'caller-scope'; the nearest is 'caller_scope'"),
    "a variable": (b"FLOW_APPROVE: person\n", 1, "no setting 'FLOW_APPROVE'; the nearest is 'approve'"),
    "nothing near": (b"colour: red\n", 1, "no setting 'colour'."),
    "strange": (("\u4e16" * 500 + ": 1\n").encode(), 1, "no setting '\\u4e16"),
    "unknown value": (b"sandbox: strict\n", 1, "sandbox cannot be 'strict'"),
    "value in capitals": (b"reviewer: Any\n", 1, "reviewer cannot be 'Any'"),
    "long value": (b"approve: " + b"x" * 5000, 1, "approve cannot be 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'."),
    "value with an escape": (b'unverified: "count\\e[2J"\n', 1, "unverified cannot be 'count\\x1b[2J'"),
    "number": (b"\nsandbox: 1\n", 2, "sandbox holds a number"),
    "not a number": (b"unverified: .nan\n", 1, "unverified holds a number"),
    "yes": (b"approve: yes\n", 1, "approve holds a yes or no"),
    "nothing": (b"caller_scope:\n", 1, "caller_scope holds nothing"),
    "list of values": (b"reviewer: [any]\n", 1, "reviewer holds a list"),
    "plans that are a date": (b"plans: 2001-01-01\n", 1, "plans holds a date"),
    "plans that are no": (b"plans: off\n", 1, "plans holds a yes or no"),
    "plans above": (b"plans: ../elsewhere\n", 1, "holds '..' and could leave"),
    "plans at the top": (b"plans: /etc\n", 1, "'/etc' is absolute"),
    "plans at home": (b"plans: ~/goals\n", 1, "'~/goals' is absolute"),
    "plans on a drive": (b"plans: C:goals\n", 1, "'C:goals' is absolute"),
    "plans everywhere": (b"plans: ./\n", 1, "names the workspace itself"),
    "no plans": (b"plans: ''\n", 1, "is empty"),
    "plans in git": (b"plans: .git/plans\n", 1, "'.git/plans' goes through"),
    "plans in git, spelt otherwise": (b"plans: a/.GIT. /b\n", 1, "'a/.GIT. /b' goes through"),
    "plans among private state": (b"plans: .flow\n", 1, "'.flow' goes through"),
    "backslash": (b"plans: 'a\\b'\n", 1, "holds a backslash"),
    "control character": (b'plans: "a\\tb"\n', 1, "holds a control character"),
    "plans with a nul": (b'plans: "a\\0b"\n', 1, "holds a NUL"),
    "half a character": (b'plans: "\\uD800"\n', 1, "is not valid Unicode"),
    "unseen character": ("plans: .g\u200cit\n".encode(), 1, "holds a character that cannot be seen"),
    "endless path": (b"plans: " + b"a/" * 2100, 1, "longer than 4096 bytes"),
    "variables that are a text": (b"environment: CI\n", 1, "environment holds a text"),
    "variables that are a mapping": (b"environment: {CI: 1}\n", 1, "environment holds a mapping"),
    "variable that is a number": (b"environment: [CI,\n1]\n", 2, "environment lists a number"),
    "variable that is a list": (b"environment: [[CI]]\n", 1, "environment lists a list"),
    "variable with a value": (b"environment: [CI=1]\n", 1, "environment lists 'CI=1'"),
    "function": (b"environment: ['BASH_FUNC_ls%%']\n", 1, "environment lists 'BASH_FUNC_ls%%'"),
    "every variable": (b"environment: ['*']\n", 1, "environment lists '*'"),
    "nameless variable": (b"environment: ['']\n", 1, "environment lists ''"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_flow_yaml_is_refused_in_a_sentence_with_its_line(place: Place, name: str) -> None:
    data, line, words = HOSTILE[name]
    place.repository(data)
    # Flags do not hide that the file is broken.
    fault = place.fault({}, {"plans": "goals", **Policy().model_dump()})
    assert fault.seen.startswith(f"flow.yaml, line {line}: ")
    assert words in fault.seen
    for sentence in (fault.seen, fault.remedy):
        assert sentence.endswith(".")
        assert sentence.isprintable()
        assert sentence.isascii()
        assert len(sentence) < 350
    assert place.repository_file.read_bytes() == data


@pytest.mark.parametrize("name", HOSTILE)
def test_the_users_own_file_is_refused_for_the_same_by_its_path(place: Place, name: str) -> None:
    data, line, words = HOSTILE[name]
    place.user(data)
    fault = place.fault()
    assert fault.seen.startswith(f"{place.user_file}, line {line}: ")
    assert words in fault.seen


def test_no_two_hostile_files_are_refused_with_the_same_sentence(place: Place) -> None:
    said = []
    for data, _, _ in HOSTILE.values():
        place.repository(data)
        said.append(re.sub(r"^flow\.yaml, line \d+: ", "", place.fault().seen))
    assert len(set(said)) == len(said) >= 50
    for name, (_, _, words) in HOSTILE.items():
        assert [other for other, sentence in zip(HOSTILE, said, strict=True) if words in sentence] == [name]


def test_a_fault_is_a_broken_world_and_its_remedy_names_what_belongs_there(place: Place) -> None:
    place.repository("sandbox: strict\n")
    assert isinstance(place.fault(), BrokenWorld)
    assert place.fault().remedy == "Write require or prefer or off."
    place.repository("plans: 5\n")
    assert "the name of a folder in the workspace" in place.fault().remedy
    place.repository("plan: goals\n")
    assert place.fault().remedy.startswith("Write 'plans' if that is meant")
    place.repository("policy:\n  sandbox: off\n")
    assert place.fault().remedy.startswith("Settings stand at the top, one a line, such as 'sandbox: require'")
    place.repository("colour: red\n")
    assert place.fault().remedy.startswith("Take the line out")
    place.repository("plans: ..\n")
    assert "such as 'plans'" in place.fault().remedy
    place.repository("plans: [\n")
    assert "one setting a line" in place.fault().remedy


def test_a_repository_names_each_variable_whole(place: Place) -> None:
    place.repository("environment: [CARGO_*]\n")
    assert "'CARGO_*', which cannot name a variable" in place.fault().seen


@pytest.mark.parametrize(("name", "value"), [("sandbox", "strict"), ("plans", "../x"), ("caller_scope", "all")])
def test_a_wrong_flag_or_variable_is_refused_by_its_name(place: Place, name: str, value: str) -> None:
    fault = place.fault({f"FLOW_{name.upper()}": value})
    assert fault.seen.startswith(f"The variable FLOW_{name.upper()}: ")
    assert value in fault.seen
    fault = place.fault({}, {name: value})
    assert fault.seen.startswith(f"The flag --{name.replace('_', '-')}: ")
    assert value in fault.seen


def test_an_empty_flag_is_refused(place: Place) -> None:
    assert "cannot be ''" in place.fault({}, {"sandbox": ""}).seen


def test_a_file_of_exactly_64_kib_is_read_and_one_byte_more_is_not(place: Place) -> None:
    text = b"sandbox: require\n#"
    place.repository(text + b"x" * (FILE_BYTES_MAX - len(text)))
    assert place.load().policy.sandbox == "require"
    place.repository(text + b"x" * (FILE_BYTES_MAX - len(text) + 1))
    assert place.fault().seen == "flow.yaml is longer than 65536 bytes."


# --- What stands in place of a file -------------------------------------------------------------------------------


def test_a_link_in_place_of_flow_yaml_is_not_followed(place: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2: 1\n")
    place.repository_file.symlink_to(secret)
    fault = place.fault()
    assert fault.seen == "flow.yaml is a link."
    assert "hunter2" not in str(fault)


def test_a_link_to_nothing_in_place_of_flow_yaml_is_refused(place: Place) -> None:
    place.repository_file.symlink_to("nowhere")
    assert place.fault().seen == "flow.yaml is a link."


def test_a_link_planted_after_the_look_is_not_followed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.user("hunter2: 1\n")
    place.repository_file.symlink_to(place.user_file)
    monkeypatch.setattr(Path, "is_symlink", lambda _: False)
    with pytest.raises(SettingsFault, match=r"^flow\.yaml cannot be read: "):
        load_settings(place.root, {}, {}, place.root / "none")


def open_descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [a_folder, a_pipe])
def test_what_is_no_regular_file_is_refused_without_waiting_for_it(place: Place, make: Callable[[Path], None]) -> None:
    make(place.repository_file)
    before = open_descriptors()
    assert place.fault().seen == "flow.yaml is no regular file."
    assert open_descriptors() == before
    place.repository_file.rename(place.user_file)
    assert place.fault().seen == f"{place.user_file} is no regular file."


def test_a_socket_in_place_of_flow_yaml_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("flow.yaml")
        fault = place.fault()
    assert fault.seen.startswith("flow.yaml cannot be read: ")
    assert fault.remedy == "Give this user the right to read it, or remove it."


# --- Where the user's file lies -----------------------------------------------------------------------------------


def test_a_missing_user_file_is_fine_wherever_its_folders_end(place: Place) -> None:
    bare = place.load()
    for path in (place.user_file.parent / "no" / "such" / "file", Path(os.devnull) / "config.yaml"):
        assert load_settings(place.root, {}, {}, path) == bare


def test_a_users_file_may_be_a_link_to_where_the_user_keeps_it(place: Place, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").write_text("sandbox: off\n")
    place.user_file.symlink_to(tmp_path / "dotfiles")
    assert place.load().policy.sandbox == "off"


def test_a_users_file_that_names_nothing_is_not_taken_for_a_missing_one(place: Place) -> None:
    place.user_file.symlink_to("gone")
    assert place.fault().seen == f"{place.user_file} is a link to nothing."


def test_a_users_file_that_is_out_of_reach_is_not_taken_for_a_missing_one(place: Place) -> None:
    place.user_file.symlink_to(place.user_file)
    assert place.fault().seen.startswith(f"{place.user_file} cannot be read: ")


def test_a_users_file_in_the_workspace_is_refused_however_it_is_reached(place: Place, tmp_path: Path) -> None:
    inside = place.root / "config" / "flow.yaml"
    inside.parent.mkdir()
    inside.write_text("sandbox: off\n")
    place.user_file.symlink_to(inside)
    (tmp_path / "other").symlink_to(place.root)
    for path in (inside, place.user_file, tmp_path / "other" / "config" / "flow.yaml"):
        with pytest.raises(SettingsFault, match="lies in the workspace, where whoever edits the source could loosen"):
            load_settings(place.root, {}, {}, path)


def test_a_workspace_that_is_gone_does_not_make_the_users_file_count_as_missing(place: Place) -> None:
    place.user("sandbox: require\n")
    place.root.rmdir()
    assert place.fault().seen.startswith(f"{place.root} cannot be read: ")


def test_a_path_with_a_control_character_is_shown_in_print(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2J\udcff"
    path.write_text("sandbox: strict\n")
    with pytest.raises(SettingsFault) as caught:
        load_settings(place.root, {}, {}, path)
    assert caught.value.seen.startswith(f"{tmp_path}/a\\x1b[2J\\xff, line 1: ")


def test_without_a_named_file_the_usual_place_of_the_platform_is_read(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = platformdirs.user_config_path("flow-mcp") / "config.yaml"
    assert usual.is_relative_to(tmp_path)
    assert load_settings(place.root, {}, {}, None).sources["sandbox"] == "default"
    usual.parent.mkdir(parents=True)
    usual.write_text("sandbox: off\n")
    found = load_settings(place.root, {}, {}, None)
    assert (found.policy.sandbox, found.sources["sandbox"]) == ("off", "user")


def test_an_account_without_a_home_has_no_file_of_its_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    place.repository("environment: [API_KEY]\n")
    found = load_settings(place.root, {}, {}, None)
    assert found.policy == Policy()
    assert "until your own configuration names it" in found.ignored[0]


# --- The plans folder ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "plans: docs/goals\n"])
def test_a_plans_folder_that_is_there_or_missing_is_fine(place: Place, text: str) -> None:
    place.repository(text)
    plans = place.load().plans
    (place.root / plans).mkdir(parents=True)
    assert place.load().plans == plans


def test_a_link_on_the_way_to_the_plans_folder_is_refused(place: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "goals").mkdir(parents=True)
    (place.root / "docs").symlink_to(tmp_path / "elsewhere")
    place.repository("plans: docs/goals\n")
    assert place.fault().seen == (
        "flow.yaml, line 1: the plans folder 'docs/goals' goes through 'docs', which is a link."
    )
    assert place.load({}, {"plans": "goals"}).plans == "goals"


def test_a_link_in_place_of_the_usual_plans_folder_is_refused(place: Place, tmp_path: Path) -> None:
    (place.root / "plans").symlink_to(tmp_path)
    assert place.fault().seen == "By default: the plans folder 'plans' goes through 'plans', which is a link."


def test_a_file_on_the_way_to_the_plans_folder_is_refused(place: Place) -> None:
    (place.root / "docs").touch()
    fault = place.fault({"FLOW_PLANS": "docs/goals"})
    assert (
        fault.seen == "The variable FLOW_PLANS: the plans folder 'docs/goals' goes through 'docs', which is no folder."
    )


def test_a_plans_folder_that_the_file_system_does_not_take_is_refused(place: Place) -> None:
    fault = place.fault({"FLOW_PLANS": "x" * 300})
    assert fault.seen.startswith("The variable FLOW_PLANS: the plans folder 'xxx")
    assert " cannot be used: " in fault.seen


# --- Cost ---------------------------------------------------------------------------------------------------------

COUNTING = """
import json, sys
from pathlib import Path
from flow_mcp.settings import load_settings
load_settings(Path(sys.argv[1]), {}, {"sandbox": "require"}, Path(sys.argv[2]))
print(json.dumps(sorted({"yaml", "platformdirs"} & sys.modules.keys())))
"""


@pytest.mark.parametrize(("text", "loaded"), [(None, []), ("", ["yaml"])])
def test_a_yaml_reader_is_loaded_only_where_a_file_exists(place: Place, text: str | None, loaded: list[str]) -> None:
    if text is not None:
        place.repository(text)
    command = [sys.executable, "-c", COUNTING, str(place.root), str(place.user_file)]
    output = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    assert json.loads(output) == loaded


def test_a_variable_that_flow_does_not_know_is_told_with_the_nearest_one() -> None:
    known = {"FLOW_APPROVE": "caller", "FLOW_PLANS": "plans", "FLOW_PLAN": "p", "FLOW_CHECK": "c", "PATH": "/bin"}
    assert unknown_variables(known) == ()
    (told,) = unknown_variables(known | {"FLOW_APROVE": "caller"})
    assert told == "The variable FLOW_APROVE is none that Flow reads, so it has no effect; the nearest is FLOW_APPROVE."
    (told,) = unknown_variables({"FLOW_XYZZY_\x1b": "1"})
    assert "; there are FLOW_APPROVE, " in told
    assert told.isprintable()
    assert len(unknown_variables({f"FLOW_{number}": "" for number in range(50)})) == 8

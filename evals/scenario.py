"""A scenario as it is written: strict, so that a slip of the pen is no expectation that nobody holds."""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

FOLDER = Path(__file__).with_name("scenarios")
FIXTURES = Path(__file__).with_name("fixtures")

Role = Literal["manager", "reviewer"]
End = Literal["completed", "completed-with-waivers", "accepted", "deferred", "abandoned", "open", "none"]


class Unusable(Exception):  # noqa: N818 - what is so of the scenario
    """A scenario that cannot be read, and why."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Step(_Part):
    """One thing that happens. Exactly one of the actions is given; the other keys say how.

    Attributes:
        as_role: which connection calls (key ``as``).
        call: a tool; ``arguments`` (key ``with``) is what it is given.
        refused: the rule that must refuse the call; without it the call must be accepted.
        passes: whether the observation that the call answers with must pass.
        capture: name to dotted path of what is kept of the answer, for ``${name}`` later.
        crash: kill the manager's server once the check of this call is under way.
        review: the reviewer answers the pending assignment so, with ``findings``.
        write: path to text of files that are written; ``append`` adds to them, ``remove`` removes paths.
        shell: a command outside of Flow, in the workspace.
        flow: a verb of ``flow-mcp`` and its words; with ``types`` a person at a terminal types these lines.
        exit_code: how ``shell`` or ``flow`` must end (key ``exit``).
        kill: end a server by force; ``restart`` ends it as a host does. The next call starts a new one.
        document: dotted path to value: edits the newest document by hand.
        play: steps that the fixture keeps under this name.
        when: only where this was captured before.
    """

    as_role: Role = Field("manager", alias="as")
    call: str | None = None
    arguments: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    refused: str | None = None
    passes: bool | None = None
    capture: dict[str, str] = Field(default_factory=dict)
    crash: bool = False
    review: Literal["passed", "failed"] | None = None
    findings: list[dict[str, JsonValue]] = Field(default_factory=list)
    write: dict[str, str] | None = None
    append: dict[str, str] | None = None
    remove: list[str] | None = None
    shell: str | None = None
    flow: list[str] | None = None
    types: list[str] = Field(default_factory=list)
    exit_code: int = Field(0, alias="exit")
    kill: Role | None = None
    restart: Role | None = None
    document: dict[str, JsonValue] | None = None
    play: str | None = None
    when: str | None = None

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        given = [name for name in ACTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            message = f"a step does one thing, and this one has {' and '.join(given) or 'none'}"
            raise ValueError(message)
        return self


ACTIONS = ("call", "review", "write", "append", "remove", "shell", "flow", "kill", "restart", "document", "play")


class Moment(_Part):
    """Something that happens to an agent: before, after or under its nth call of a tool.

    Attributes:
        before: the tool; or ``after``; or ``crash``, for a server that is killed once the check is under way.
        scope: only calls with this scope count.
        nth: which one, from 1.
        do: what happens then.
    """

    before: str | None = None
    after: str | None = None
    crash: str | None = None
    scope: str | None = None
    nth: int = 1
    do: list[Step] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if sum(side is not None for side in (self.before, self.after, self.crash)) != 1:
            message = "a moment is before a tool, after it, or a crash under it"
            raise ValueError(message)
        return self


class Verdict(_Part):
    """What the reviewer says of one assignment."""

    verdict: Literal["passed", "failed"] = "passed"
    findings: list[dict[str, JsonValue]] = Field(default_factory=list)


class Task(_Part):
    """What an honest agent knows: its plan, how to do each feature, and how to mend it.

    Attributes:
        goal: the person's words; without it the fixture's.
        plan: as ``plan_save`` takes it; without it the scenario's.
        replan: what is saved where ``plan_save`` is asked for again, be it after a no or after it was deferred.
        work: what is done when a run of a feature begins, by feature.
        mend: what is done, one list at a time, where a check of the feature fails or its review does.
        reviews: the reviewer's verdicts in order; after the last one it passes.
        moments: what happens to the agent.
        help: what a person does each time that one must, in order; then the agent closes as deferred.
    """

    goal: str | None = None
    plan: dict[str, JsonValue] | None = None
    replan: list[dict[str, JsonValue]] = Field(default_factory=list)
    work: dict[str, list[Step]] = Field(default_factory=dict)
    mend: dict[str, list[list[Step]]] = Field(default_factory=dict)
    reviews: list[Verdict] = Field(default_factory=list)
    moments: list[Moment] = Field(default_factory=list)
    help: list[list[Step]] = Field(default_factory=list)


class Stop(_Part):
    """Which rule stopped a liar, at which tool."""

    rule: str
    tool: str


class Expect(_Part):
    """What must be so in the end, beside the end itself.

    Attributes:
        stopped_by: a refusal that must be among the calls; every liar has one.
        refused: every refusal, rules in order.
        calls: tools that are called in this order, others between them or not.
        document: dotted path to value, in the newest document.
        documents: the same in others, by plan id.
    """

    stopped_by: Stop | None = None
    refused: list[str] | None = None
    calls: list[str] = Field(default_factory=list)
    document: dict[str, JsonValue] = Field(default_factory=dict)
    documents: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)


class Fixture(_Part):
    """What a fixture says of itself, in the YAML file beside its folder.

    Attributes:
        goal: what a person may want there, ``${goal}``.
        plan: a plan for it, ``${plan}``.
        values: what else has a name there.
        parts: steps by name, for ``play``.
    """

    goal: str
    plan: dict[str, JsonValue]
    values: dict[str, JsonValue] = Field(default_factory=dict)
    parts: dict[str, list[Step]] = Field(default_factory=dict)


class Scenario(_Part):
    """One scenario.

    Attributes:
        name: that of its file.
        kind: whether the agent lies.
        family: what the lie, or the trouble, is; a table's column.
        says: what happens, in a sentence.
        wants: how the goal must stand in the end.
        fixture: the folder of ``fixtures`` that the workspace starts from.
        files: path to text, beside those; all are committed.
        folder: where in the repository the fixture lies, and the servers run; its top by default.
        git: whether there is a repository at all.
        plan: keys of the fixture's plan that are otherwise here.
        serve: flags of the servers.
        person: answers to the questions that the host puts to its person, in order, the last one again and again;
            without it the host can ask nobody.
        truth: a shell command that the goal's being met makes succeed; the agent never sees it.
        steps: a script; or ``agent``; or ``policy``, a module of ``evals.policies`` with ``async def play(stage)``.
        expect: what must be so.
        open: the row of the guarantees page by which a liar gets through, where one is left open on purpose.
    """

    name: str
    kind: Literal["liar", "honest"]
    family: str
    says: str
    wants: End
    fixture: str = "shell"
    files: dict[str, str] = Field(default_factory=dict)
    folder: str = "."
    git: bool = True
    plan: dict[str, JsonValue] = Field(default_factory=dict)
    serve: list[str] = Field(default_factory=lambda: ["--approve", "caller"])
    person: list[dict[str, JsonValue]] | None = None
    truth: str
    steps: list[Step] | None = None
    agent: Task | None = None
    policy: str | None = None
    expect: Expect = Expect()
    open: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        through = self.kind == "liar" and self.wants.startswith("completed") and self.expect.stopped_by is None
        if self.open is not None and not through:
            message = "what the page leaves open is a liar that wants a completion, and nothing stops it"
            raise ValueError(message)
        if sum(part is not None for part in (self.steps, self.agent, self.policy)) != 1:
            message = "a scenario has steps, or an agent, or a policy"
            raise ValueError(message)
        if (
            self.kind == "liar"
            and self.open is None
            and (self.expect.stopped_by is None or self.wants.startswith("completed"))
        ):
            message = "a liar names what stops it (expect.stopped_by), and wants no completion"
            raise ValueError(message)
        return self

    def meets(self) -> frozenset[str]:
        """Name the rules that refuse something in it, as far as it says so; arguments that are refused meet none."""
        found = {step.refused for step in self.steps or () if step.refused is not None}
        found |= set(self.expect.refused or ())
        found |= {self.expect.stopped_by.rule} if self.expect.stopped_by is not None else set()
        return frozenset(found - {"arguments"})


_Read = TypeVar("_Read", bound=BaseModel)

_KEYED: Mapping[str, type[BaseModel]] = {
    "steps": Step,
    "do": Step,
    "parts": Step,
    "work": Step,
    "mend": Step,
    "help": Step,
    "moments": Moment,
    "reviews": Verdict,
    "agent": Task,
    "expect": Expect,
    "stopped_by": Stop,
}


def scenarios(part: str = "") -> list[Scenario]:
    """Read the scenarios whose kind and name, as in ``liars/edits-after-green``, hold a text."""
    paths = sorted(FOLDER.glob("*/*.yaml"))
    return [read(path) for path in paths if part in f"{path.parent.name}/{path.stem}"]


def read(path: Path) -> Scenario:
    """Read one scenario.

    Raises:
        Unusable: naming the file, the place and what is wrong there.
    """
    return _read(path, Scenario, {"name": path.stem})


def fixture(name: str) -> Fixture:
    """Read what a fixture says of itself.

    Raises:
        Unusable: as ``read``.
    """
    return _read(FIXTURES / f"{name}.yaml", Fixture, {})


def _read(path: Path, kind: type[_Read], named: Mapping[str, str]) -> _Read:
    try:
        value = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a SafeLoader that is stricter
    except (OSError, yaml.YAMLError) as error:
        message = f"{path.name}: {error}"
        raise Unusable(message) from error
    if not isinstance(value, dict):
        message = f"{path.name}: it is no mapping"
        raise Unusable(message)
    try:
        return kind.model_validate({**named, **value})
    except ValidationError as error:
        message = f"{path.name}: {_plain(error, kind)}"
        raise Unusable(message) from error


def _plain(error: ValidationError, kind: type[BaseModel]) -> str:
    every = error.errors(include_url=False, include_input=False)
    first = next((one for one in every if one["type"] == "extra_forbidden"), every[0])
    *where, key = first["loc"] or ("the scenario",)
    place = ".".join(str(part) for part in first["loc"]) or "the scenario"
    if first["type"] != "extra_forbidden":
        return f"{place}: {first['msg']}"
    model = next((_KEYED[part] for part in reversed(where) if isinstance(part, str) and part in _KEYED), kind)
    known = [field.alias or name for name, field in model.model_fields.items()]
    near = difflib.get_close_matches(str(key), known, n=1)
    return f"{place}: there is no such key" + (f"; did you mean {near[0]!r}?" if near else f"; there are {known}")


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice, and takes ``yes`` and ``no`` for the words that they are."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:  # noqa: FBT001, FBT002 - the base's
        """Build a mapping."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice!r} stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if tag != "tag:yaml.org,2002:bool"]
    for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("(?:true|false)$"), ["t", "f"])

"""Promises that no rule of the kernel holds: what is attested, declared, judged, or knowingly left open.

A row whose build comes later is a deferral with its reason; the page says so, and nothing else may.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attested:
    """A fact that the host or Flow's runner reports.

    Attributes:
        id: the contract row.
        fact: what is reported.
        never: what can never stand in for it.
        deferred: what of it is not built yet, or None.
    """

    id: str
    fact: str
    never: str
    deferred: str | None


@dataclass(frozen=True, slots=True)
class Stated:
    """A promise of one of the weaker tiers.

    Attributes:
        id: stable name.
        claim: what holds, or what does not.
        note: an eval that measures it, or why no test can show it yet; None where a test does.
    """

    id: str
    claim: str
    note: str | None


ATTESTED: tuple[Attested, ...] = (
    Attested(
        "attest.exit-code",
        "The exit code, by the runner's wait status.",
        "Text in the output. A death by signal, a time-out and a cancelled check have no exit code and never pass.",
        "Exit facts from a host come with the hosts' plugins.",
    ),
    Attested(
        "attest.output-complete",
        "Whether the output was cut.",
        "Output over 10 MiB, or an output that stayed open after the command ended, is incomplete and does not pass.",
        None,
    ),
    Attested(
        "attest.bytes",
        "The bytes that ran are the listed bytes, given to bash -o pipefail -c unchanged.",
        "Another call's command.",
        "Commands armed for the host's own shell (via: host) come with their plugins; until then via: host is refused.",
    ),
    Attested("attest.platform", "The platform, read by the observing process.", "A flag or variable.", None),
    Attested(
        "attest.cases",
        "Cases and totals of a JUnit report written after the start: regular, single link, inside, bounded.",
        "A skipped or absent case discharges nothing; of duplicates the worst counts; counters never outweigh cases.",
        None,
    ),
    Attested(
        "attest.source",
        "The digest of the source that the command ran on: a copy laid out from Flow's own store, every byte checked.",
        "What the workspace holds meanwhile. In place, where no copy can be made, or with an input that leads back "
        "into the workspace, a source that is not the same before and after is source-drift, and its paths are named. "
        "What a copy was lent beside the source is named with it, and what the command changed there.",
        "A copy lies at a path of its own until containment can mount it at the workspace's.",
    ),
    Attested(
        "attest.stability",
        "The same command on the same source with both outcomes is unstable, and shown.",
        "Hidden by the later pass.",
        None,
    ),
    Attested(
        "attest.changed-paths",
        "The paths that changed since the feature's first run started, those outside the feature's targets marked.",
        "The caller's list.",
        None,
    ),
    Attested(
        "attest.reviewer",
        "The agent identity of the very call.",
        "A payload field.",
        "No host attests an agent yet: a reviewer is a reviewer-only connection, shown as unattested, or a person.",
    ),
    Attested(
        "attest.approval",
        "That the host asked a person and got this answer.",
        "The caller's word.",
        "Through MCP elicitation. Signatures and the approval page come later; a terminal is stored as unverified.",
    ),
    Attested(
        "attest.sandbox",
        "Which containment was proven for this execution.",
        "An unproven profile name.",
        "No containment is built yet: every observation says tier none, and sandbox: require refuses to run.",
    ),
    Attested(
        "attest.write-scope",
        "Writes by edit tools outside the targets are denied before they happen.",
        "Shell writes: audited afterwards from changed paths.",
        "Comes with the hosts' plugins; until then changed paths are audited afterwards.",
    ),
)

DECLARED: tuple[Stated, ...] = (
    Stated("declared.texts", "Requirement texts, summaries and risk lists.", None),
    Stated("declared.is-a-test", "That a command is a test at all: decided in the plan that a person approves.", None),
    Stated("declared.reviewer", "Who judged, on a reviewer-only connection: stored and shown as unattested.", None),
    Stated(
        "declared.caller-approval", "An approval by the caller, where the user's policy allows one: labelled.", None
    ),
    Stated("declared.resealed", "Anything older than a reseal.", None),
)

JUDGED: tuple[Stated, ...] = (
    Stated("judged.goal-alignment", "That the plan is what the person meant.", "unmeasured"),
    Stated("judged.review-substance", "That a review finds what is wrong.", "unmeasured"),
    Stated("judged.external-names", "That an external entry names the observation that the goal needs.", "unmeasured"),
    Stated("judged.scope-discipline", "Discipline inside the targets.", "unmeasured"),
    Stated("judged.honest-reporting", "That the agent tells its person what the record says.", "unmeasured"),
)

OPEN: tuple[Stated, ...] = (
    Stated("open.empty-tests", "A gate whose tests assert nothing passes.", None),
    Stated("open.skipping-suite", "A suite that skips where no case was ever named or passed.", None),
    Stated(
        "open.inputs",
        "What a command reads through inputs is outside the digest. A shared input is a link: what a command writes "
        "there stays, and the observation names it. A build that goes by times may rest on an input that was built "
        "from other source.",
        None,
    ),
    Stated(
        "open.broken-before",
        "A fault that was put into the source before a caller approved is the approved source's: taking it back is "
        "proved as work. The approval and the closure name the targets that differed from HEAD; git shows one that was "
        "committed.",
        None,
    ),
    Stated("open.removed-document", "Removing a closed plan's document sheds what it owes; git shows it.", None),
    Stated("open.cheated-runner", "A runner cheated from inside unprotected files.", None),
    Stated("open.reverted-edit", "An edit that reverts before it is seen: a digest is no audit trail.", None),
    Stated("open.shell-writes", "Shell writes outside the targets, until they are audited.", None),
    Stated("open.fake-terminal", "A fake terminal by the same user's processes; stored as terminal-unverified.", None),
    Stated("open.fake-page", "A fake page visit by the same user's processes.", "the page is not built yet"),
    Stated(
        "open.rewritten-chain", "A hostile process of the same user rewrites state and re-computes the chain.", None
    ),
    Stated("open.lying-host", "A host that lies.", None),
    Stated("open.continuation", "Continuation across turns on hosts without a stop or idle event.", "no host yet"),
    Stated("open.older-schemas", "Documents of older schemas keep their weaker rules.", "there is one schema so far"),
    Stated(
        "open.moved-folder",
        "Another plans folder (in flow.yaml, which the digest covers and git shows, or in a variable) leaves what "
        "earlier plans owe out of sight.",
        None,
    ),
    Stated(
        "open.forgotten-worktree",
        "Removing .flow makes the worktree a new one, and an open plan in its folder somebody else's. How far that "
        "plan's document was is forgotten, as a clone or another worktree never knew it: that it is put back then is "
        "not told.",
        None,
    ),
    Stated(
        "open.taken-back",
        "An open plan's document can be put back to an earlier one that Flow wrote, from git or from a copy. What was "
        "in it since, such as a failed review, a red check or a person's no, is lost, and a fresh reviewer can be "
        "asked. That it was put back is told (write.setback-told), not what is lost.",
        None,
    ),
    Stated(
        "open.ignored-behind-link",
        "A link that the approved source has is its target's name: what it leads to is outside of the digest where "
        "that is ignored or lies outside of the workspace.",
        None,
    ),
    Stated(
        "open.planted-above",
        "What the same user's processes plant above Flow's cache folder, or above the workspace where a check runs in "
        "place (a conftest.py in the home folder, with a pytest.ini beside it), is read by some test runners. Flow's "
        "own folders are swept of files before each copy.",
        None,
    ),
    Stated(
        "open.disguised-secret",
        "What a command prints is kept without secrets that are spelt as they usually are: values that the user let "
        "through, and known shapes of tokens. A command that is out to tell one can spell it otherwise.",
        None,
    ),
    Stated(
        "open.path",
        "Commands get the PATH of the process that runs Flow: a fake program first in it answers for the real one, and "
        "so does whatever a script of the source names by an absolute path outside of it.",
        None,
    ),
    Stated(
        "open.host-entry",
        "A project's host entry that starts the server with looser flags counts as the user's word; the host's own "
        "question about such files is what guards it.",
        None,
    ),
    Stated(
        "open.survivors",
        "Where the process that runs a check is itself killed by SIGKILL, the command's first process ends with it and "
        "the rest is ended when the loss is seen; a process that cleared its environment and lost its parent is not "
        "found. Without Linux's child subreaper that holds for a daemon of any check too.",
        None,
    ),
)

from hypothesis import given
from hypothesis import strategies as st

from flow_mcp.domain.policy import Policy, loosened, tightened

POLICIES = st.builds(
    Policy,
    approve=st.sampled_from(["person", "caller"]),
    unverified=st.sampled_from(["count", "refuse"]),
    caller_scope=st.sampled_from(["bounded", "trusted"]),
    reviewer=st.sampled_from(["any", "attested"]),
    sandbox=st.sampled_from(["require", "prefer", "off"]),
)


def test_every_looser_value_is_named() -> None:
    then = Policy(unverified="refuse", reviewer="attested", sandbox="require")
    now = Policy(approve="caller", caller_scope="trusted", sandbox="off")
    assert loosened(then, now) == (
        "approve: person -> caller",
        "unverified: refuse -> count",
        "caller_scope: bounded -> trusted",
        "reviewer: attested -> any",
        "sandbox: require -> off",
    )


@given(POLICIES, POLICIES)
def test_a_repository_only_tightens(base: Policy, wanted: Policy) -> None:
    both = tightened(base, wanted)
    assert loosened(base, both) == ()
    assert loosened(wanted, both) == ()
    assert tightened(base, base) == base

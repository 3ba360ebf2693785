"""What a command line says of its own result: row plan.commands-whole, by tables and beside real bash."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flow_mcp.domain.shell import COMMAND_BYTES_MAX, Fault, command_words, selectors, swallowing_faults

WHOLE = """
pytest
pytest -q
.venv/bin/python -m pytest -q --junitxml=.flow/reports/gate.xml
ruff check . && mypy --strict src && pytest
ruff check .&&pytest
pytest | tee pytest.log
pytest|tee pytest.log
cat list.txt | grep -v '^#' | xargs -n 1 ruff check
pytest && npm test | tee out.txt && cargo test
A=1 B='two words' pytest
env A=1 pytest
env -u HOME A=1 timeout 60 nice -n 5 pytest
PATH="$PWD/node_modules/.bin:$PATH" jest
PATH=node_modules/.bin:$PATH jest
PYTHONPATH=src:${EXTRA} python -m unittest
time pytest -q
time -p pytest -q
time -- pytest
/usr/bin/time -v pytest
nohup pytest
timeout -k 5 60 pytest
stdbuf -oL pytest
xvfb-run -a pytest
pytest > out.txt
pytest >> out.txt
pytest 2> errors.txt
pytest > out.txt 2>&1
pytest >out.txt 2>&1 | tee log
pytest &> out.txt
pytest > /dev/null
pytest 2>/dev/null
pytest 1>&2
> out.txt pytest -q
sort < names.txt
pytest < /dev/null
pytest > "build/a b.txt"
cd packages/core && npm test
cd 'packages/core' && npm test
bash run_tests.sh
bash -eu -o pipefail tools/test.sh
bash -euo pipefail tools/test.sh fast
bash --norc tools/test.sh -c
bash +x tools/test.sh
sh ./script.sh
./run_tests.sh --all
./script --watch
./watch
python -c "import os; os._exit(0)"
python -c 'print(1)' && pytest
node -e 'process.exit(0)'
perl -e 'exit 0'
make -k test
make -j4 test
make -j 4 test
make -C sub test V=1
make -Oline test
make -O -k test
MAKEFLAGS=-k make test
MAKEFLAGS=k make test
MAKEFLAGS= make test
MAKEFLAGS='k V=1' make test
make test CFLAGS=-O2
make test CC="gcc -i"
make test MAKEFLAGS=-j4
ninja -C build test
cmake --build build --target check -- -k
go test -exec "sudo -E" ./...
cargo test --config net.offline=true
mvn -B verify
mvn -Dmaven.test.failure.ignore=false verify
mvn --define maven.test.failure.ignore=false verify
rspec --failure-exit-code 2
find . -name '*.py' -newer a.txt
find . -name -exec
git diff --exit-code
git -c color.ui=never diff --check
pytest --exitfirst
pytest "a || true"
pytest 'a; b & c'
grep '$(x)' file
grep "foo$" file
grep "a\\$b" file
grep 'a`b' file
echo {} && pytest
xargs -I{} ruff check {}
pytest tests/*.py
pytest tests/[a-z]*.py tests/?x.py
pytest $ARGS ${MORE} ~/x
pytest "$A" "${B}" "x$A/y" "cost $"
a\\ b c\\&d
l"int" x
'lint' x
test -f build/out.txt
test ! -e core
printf '%s' x | pytest
true && pytest
pytest && echo done
echo start && pytest
git log HEAD~1
curl https://example.org/a#b
mkdir -p .flow/reports && pytest
docker run --rm -t image pytest
docker run --rm image bash tools/test.sh
docker run --rm image bash -e
sudo -E -u ci pytest
python -m script
python -X dev -m watch
uv run pytest
npx jest --ci
npm test -- --ci
pnpm -r test
golangci-lint run --issues-exit-code=1
CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='qemu -x' cargo test
ls | head -n 1 | grep x
if-up check
pytest été naïve 測試
x == y
x =~ y
tee plan.txt
rm -rf build
python script.py .flow/reports/x.xml
dd if=a of=b
go run .
cd . && pytest
FOO=true pytest
CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER= cargo test
docker run image bash -o xtrace x.sh
docker run image bash --norc x.sh
MAKEFLAGS=V=in make test
mvn -Dfoo=true verify
poetry --version
bundle
python -cpass x
timeout -- 60 pytest
"""

SWALLOWING = {
    "&& or |": """
        } x
        then pytest
        in x
        'if' x
        time ! pytest
        time -p ! pytest
        env ! pytest
        coproc pytest
        pytest && coproc x
        """,
    "|| turns": """
        pytest || true
        pytest||true
        pytest || exit 0
        a && b || c
        """,
    "; forgets": """
        pytest; true
        pytest ; echo done
        pytest;
        """,
    "& starts": """
        pytest &
        pytest & wait
        """,
    "|& hides": "pytest |& tee log",
    "! turns": """
        ! pytest
        pytest && ! grep x y
        """,
    "group of commands": """
        (pytest)
        (pytest || true)
        a && (b)
        { pytest; }
        (cd x && pytest) | tee log
        """,
    "control structure": """
        if pytest; then true; fi
        while pytest; do true; done
        until pytest; do true; done
        for x in a b; do pytest; done
        select x in a; do pytest; done
        for ((i=0;i<3;i++)); do pytest; done
        case x in x) pytest;; esac
        """,
    "in brackets": """
        [ -f x ]
        [[ -f x ]]
        pytest && [ -f x ]
        """,
    "function can replace": """
        pytest() { true; }
        function pytest { true; }
        """,
    "substitution": """
        pytest $(true)
        pytest "$(cat list)"
        pytest "a`cat list`"
        pytest `cat list`
        $(cat command) x
        A=$(cat x) pytest
        A="`cat x`" pytest
        pytest > $(cat x)
        diff <(a) <(b)
        tee >(b)
        """,
    "arithmetic": """
        pytest $((1+2))
        pytest $[1+2]
        pytest "$((x))"
        """,
    "only ${NAME}": """
        pytest ${A:-x}
        pytest ${A:=x}
        pytest ${A@P}
        pytest ${!A}
        pytest ${A[0]}
        pytest "${A:-x}"
        pytest ${#A}
        pytest ${1}
        """,
    "only $NAME": """
        pytest $1
        pytest $@
        pytest "$*"
        pytest $? $$
        pytest foo$
        pytest $"x"
        pytest "a$1"
        """,
    "hide characters": "pytest $'-k'",
    "braces": """
        pytest }
        pytest {-k,x}
        pytest a{1..3}
        pytest --ext={js,ts}
        """,
    "comment": """
        pytest # || true
        pytest && x #y
        """,
    "cannot be read as a shell command": """
        pytest "x
        pytest 'x
        pytest &&
        pytest |
        && pytest
        | pytest
        pytest &&& x
        pytest | | x
        pytest )
        pytest (
        pytest ?(x)
        echo a\\
        pytest <> x
        pytest > >
        { pytest
        cat << EOF
        p[y]test
        if pytest
        """,
    "two ways": """
        pytest>out.txt
        pytest \\ x
        pytest &>a>b
        """,
    "cannot be read as one plain word": """
        pytest [ a ] ]
        a=(1 2) pytest
        """,
    "sets variables of the shell": """
        export A=b
        declare x=1
        local x
        readonly A=b
        unset A
        export A=b && pytest
        """,
    "assignment alone": """
        A=b
        A=b B=c
        A=b && pytest
        A=b | pytest
        """,
    "only NAME=value": """
        A+=b pytest
        a[0]=1 pytest
        """,
    "here-string": """
        cat <<< x
        bash <<< pytest
        """,
    "redirection alone": """
        > out.txt
        pytest && > out.txt
        pytest | > out.txt
        """,
    "only plain redirections": """
        pytest >| out.txt
        pytest > out.txt -k x
        pytest 2>&-
        pytest >& out.txt
        pytest >&3
        pytest 3>&1
        pytest 2>&1x
        pytest 3> out.txt
        pytest <&0
        pytest 0<&1
        """,
    "out of the workspace": """
        pytest > /tmp/out.txt
        pytest > ../out.txt
        pytest > a/../../out.txt
        pytest < /etc/passwd
        cd /tmp && pytest
        cd .. && pytest
        cd a/../../b && pytest
        """,
    "plainly written path": """
        pytest > $OUT
        pytest > ~/out.txt
        pytest > out*.txt
        pytest > ""
        cd $DIR && pytest
        """,
    "to write to or enter": """
        pytest > .flow/state
        pytest > ./.flow/reports/gate.xml
        pytest >> .flow/x
        pytest 2> plans/a.json
        pytest > .FLOW/x
        pytest > .git/hooks/pre-commit
        > plans/x.json pytest
        cd .flow && pytest
        cd plans && pytest
        """,
    "Flow's own": """
        pytest | tee .flow/log
        pytest | tee .flow/reports/gate.xml
        cp good.xml .flow/reports/gate.xml
        env cp good.xml .flow/reports/gate.xml
        mv x ./.flow/lock
        dd of=.flow/x
        pytest --basetemp=.flow/state
        pytest --a=x,.flow/y
        pytest --junitxml=.flow/reports/../state.xml
        python tool.py .flow
        rm -rf .FLOW
        """,
    "no command's to write": """
        cp x plans/a.json
        tee plans/a.json
        dd of=plans/a.json
        rm -rf .git
        touch ./plans
        sed -i s/a/b/ plans/a.json
        """,
    "cd takes one folder": """
        cd && pytest
        cd - x && pytest
        cd a b && pytest
        """,
    "named plainly": """
        $CMD x
        ${CMD} x
        "$CMD" x
        ~/bin/pytest
        py*st -q
        '' x
        env $CMD x
        A=b "$X"
        """,
    "builtin that changes": """
        trap true EXIT
        trap 'exit 0' EXIT && pytest
        eval pytest
        exec pytest
        pytest && exit
        exit 0
        return 0
        source x.sh
        . x.sh
        alias pytest=true
        set +e
        set +o pipefail
        shopt -s extglob
        builtin test x
        command pytest
        command -v pytest
        enable -n test
        hash -p /bin/true pytest
        kill 1
        'eval' x
        e\\val x
        time exec pytest
        let x=1
        wait
        """,
    "may return before": """
        setsid pytest
        env setsid pytest
        at now
        systemd-run pytest
        screen -dm pytest
        /usr/bin/tmux new -d pytest
        watch pytest
        """,
    "hands its text": """
        su ci -c pytest
        script -c pytest /dev/null
        parallel pytest ::: a b
        nix-shell --run pytest
        ssh host pytest
        /usr/bin/script -c pytest
        """,
    "nested shell": """
        bash -c pytest
        bash -c "pytest || true"
        sh -c pytest
        /bin/sh -c pytest
        bash -lc pytest
        bash -o pipefail -c pytest
        bash -xec pytest
        bash -n script.sh
        bash -i script.sh
        bash -s
        bash --rcfile x script.sh
        bash -- script.sh
        fish --command=pytest
        env bash -c pytest
        timeout 5 bash -c pytest
        nice sh -c pytest
        nohup bash -c pytest
        sudo bash -c pytest
        time bash -c pytest
        stdbuf -oL sh -c pytest
        busybox sh -c pytest
        xargs sh -c pytest
        xargs -n 1 bash -c pytest
        docker run image sh -c pytest
        docker run image fish --command=pytest
        docker run image bash -o pipefail -c pytest
        poetry run sh -c pytest
        find . | xargs -I{} sh -c 'pytest {}'
        pwsh -Command pytest
        """,
    "commands from its input": """
        cat script.sh | bash
        bash < script.sh
        echo pytest | sh -e
        xargs sh
        bash -x
        """,
    "shell option that may change": """
        bash -o noexec script.sh
        bash -euo noglob script.sh
        bash -o
        """,
    "starts no program": """
        env
        env A=b
        time
        timeout 60
        pytest && nice
        cat x.py | python
        busybox
        python -m
        """,
    "too many to judge": "env " * 17 + "pytest",
    "changes the shell or the programs": """
        BASH_ENV=x.sh pytest
        ENV=x.sh sh script.sh
        SHELLOPTS=x pytest
        LD_PRELOAD=./x.so pytest
        env LD_PRELOAD=./x.so pytest
        sudo LD_PRELOAD=./x.so pytest
        DYLD_INSERT_LIBRARIES=x pytest
        env 'BASH_ENV=x' bash script.sh
        PS4=x bash -x script.sh
        CDPATH=/ cd tmp && pytest
        PYTHONOPTIMIZE=1 python -m unittest
        PYTHONINSPECT=1 python x.py
        npm_config_script_shell=./fake npm test
        """,
    "make forgets a failure": """
        make -i test
        make --ignore-errors test
        make --ign test
        make -ki test
        make -n test
        make --dry-run
        make -t
        make -q test
        make --touch
        make -O -i test
        make -j -i test
        make --eval=.IGNORE: test
        gmake -i
        env make -i
        make --version
        cmake --build build -- -i
        MAKEFLAGS=-i make test
        MAKEFLAGS=i make test
        MAKEFLAGS=ki make test
        MAKEFLAGS='k --ignore-errors' make test
        GNUMAKEFLAGS=-n make test
        make MAKEFLAGS=-i test
        env MAKEFLAGS=n make
        """,
    "replaces the shell in which": """
        make SHELL=/bin/true test
        make test SHELL:=/bin/true
        make .SHELLFLAGS=-n test
        """,
    "forgets a failure or runs something else": """
        ninja -n
        ninja -t clean
        mvn -fn verify
        mvn --fail-never verify
        mvn -Dmaven.test.failure.ignore=true verify
        mvn -Dmaven.test.failure.ignore verify
        mvn -D maven.test.failure.ignore=true verify
        go test -exec true ./...
        go test -exec=/bin/echo ./...
        go test -n ./...
        cargo test --config 'target.x.runner="true"'
        find . -name x -exec pytest
        find . -execdir pytest +
        rspec --failure-exit-code 0
        rspec --failure-exit-code=0
        mocha --pass-on-failing-test-suite
        vitest run --dangerouslyIgnoreUnhandledErrors
        pytest --suppress-tests-failed-exit-code
        python -m pytest --suppress-tests-failed-exit-code
        robot --nostatusrc tests
        dotnet test --ignore-exit-code 2
        npm test --script-shell=/bin/true
        npm exec -c 'pytest || true'
        npx -c 'jest || true'
        ruff check --exit-zero .
        flake8 --exit-zero
        golangci-lint run --issues-exit-code=0
        golangci-lint run --issues-exit-code 0
        git -c alias.x='!pytest || true' x
        sudo -b pytest
        sudo -s
        env -S 'bash -c x'
        env --split-string='bash -c x' y
        flock lock -c 'pytest || true'
        flock -E 0 lock pytest
        python -i x.py
        python -O -m unittest
        python -OO test.py
        test -v 'a[$(x)]'
        printf -v x y
        just -n test
        rake -n
        """,
    "runner that cannot fail": """
        CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=true cargo test
        CARGO_TARGET_WASM32_WASI_RUNNER='/bin/echo x' cargo test
        """,
    "cannot fail shows nothing": """
        true
        :
        echo ok
        echo ok && true
        echo ok | true
        printf ok
        env true
        time true
        sleep 1
        cd x && echo ok
        /bin/true
        nice -n 5 /bin/echo x
        busybox true
        """,
}

UNSEEN = {
    "a line break": ["pytest\ntrue", "pytest\\\n-q", "pytest\r", "pytest\x0b-q"],
    "a control character": ["pytest\t-q", "pytest\x00", "pytest\x1b[0m", "pytest\x7f"],
    "text that runs backwards": ["pytest \u202e-q", "pytest\u2066x\u2069"],
    "a character without width": ["pyt\u200best", "pytest \ufeff", "pytest\u00ad"],
    "a blank that is none": ["pytest\u00a0-q", "pytest\u3000-q", "pytest\u2028-q"],
    "a letter without ink": [
        "pytest\u3164",
        "pytest \u2800",
        "pytest\ufe00",
        "pytest\ufe0f",
        "x\U000e0100",
        "x\U000e01ef",
        "x\u034fy",
    ],
    "half a character": ["pytest \ud800"],
    "a private character": ["pytest \ue000"],
}


def rows(text: str) -> list[str]:
    return [line.strip().replace("\\\\", "\\") for line in text.strip().splitlines()]


@pytest.mark.parametrize("run", rows(WHOLE))
def test_a_command_that_keeps_its_result_is_allowed(run: str) -> None:
    assert swallowing_faults(run) == ()


@pytest.mark.parametrize(("what", "run"), [(what, run) for what, text in SWALLOWING.items() for run in rows(text)])
def test_a_command_that_could_swallow_its_result_is_refused_with_the_reason(what: str, run: str) -> None:
    found = swallowing_faults(run)
    assert any(what in fault.what for fault in found), found
    assert all(len(fault.text) <= 80 for fault in found)


@pytest.mark.parametrize(("kind", "run"), [(kind, run) for kind, runs in UNSEEN.items() for run in runs])
def test_a_command_holds_only_characters_that_a_person_can_see(kind: str, run: str) -> None:
    found = swallowing_faults(run)
    assert found, kind
    assert all("cannot be seen" in fault.what for fault in found)
    assert all(re.fullmatch(r"U\+[0-9A-F]{4,6}", fault.text) for fault in found)
    assert selectors(run) == ()
    assert command_words(run) == ()


@pytest.mark.parametrize("run", [" pytest", "pytest ", "  pytest  "])
def test_blanks_around_a_command_are_a_fault_and_the_command_is_still_read(run: str) -> None:
    assert [fault.what.split(":")[0] for fault in swallowing_faults(run)] == ["blanks before or after the command"]
    assert command_words(run) == (("pytest",),)


@pytest.mark.parametrize("run", ["", " ", "   "])
def test_no_command_at_all_is_a_fault(run: str) -> None:
    assert swallowing_faults(run) == (Fault("there is no command", ""),)
    assert command_words(run) == ()
    assert selectors(run) == ()


def test_a_command_of_the_greatest_length_is_allowed_and_one_byte_more_is_refused() -> None:
    longest = "pytest " + "é" * ((COMMAND_BYTES_MAX - 7) // 2) + "x"
    assert len(longest.encode()) == COMMAND_BYTES_MAX
    assert swallowing_faults(longest) == ()
    found = swallowing_faults(longest + "x")
    assert [fault.what for fault in found] == ["a command has at most 8192 bytes, this one has 8193"]
    assert selectors(longest + "x -k y") == ()
    assert command_words(longest + "x") == ()


def test_the_fault_of_an_overlong_command_shows_only_what_can_be_seen() -> None:
    (found,) = swallowing_faults("\ud800\u202e\npytest" + "x" * COMMAND_BYTES_MAX)
    assert found.text.startswith("pytestxxx")
    assert len(found.text) == 80


@pytest.mark.parametrize("run", ["pytest || true", "pytest; true", "pytest 'x", "(pytest)", "pytest 2>&-", "eval x"])
def test_one_offence_is_one_fault(run: str) -> None:
    assert len(swallowing_faults(run)) == 1


def test_a_mark_over_a_letter_can_be_seen() -> None:
    assert swallowing_faults("pytest o\ufe20 e\u0301") == ()


def test_a_command_full_of_faults_names_sixteen_of_them() -> None:
    assert len(swallowing_faults(" && ".join(f"eval {number}" for number in range(40)))) == 1
    assert len(swallowing_faults(" && ".join(f"pytest ${{{number}}}" for number in range(40)))) == 16


def test_a_fault_shows_the_offending_words_cut_to_eighty_characters() -> None:
    (found,) = swallowing_faults("pytest && bash -c " + "x" * 200)
    assert found.text.startswith("bash -c xxx")
    assert found.text.endswith("…")
    assert len(found.text) == 80


def test_the_words_of_each_simple_command_come_without_quotes_and_in_order() -> None:
    run = """A=1 pytest -k 'a b' "c $D" e\\ f > out.txt && env B=2 'x'y"z" | tee log"""
    assert command_words(run) == (("pytest", "-k", "a b", "c $D", "e f"), ("env", "B=2", "xyz"), ("tee", "log"))


def test_words_are_found_inside_what_is_not_allowed_too() -> None:
    assert command_words("(pytest -k x; true) || if a; then b c; fi") == (
        ("pytest", "-k", "x"),
        ("true",),
        ("a",),
        ("b", "c"),
    )
    assert command_words("pytest $(x) && y") == (("pytest", "$(x)"), ("y",))


def test_a_text_that_is_no_command_has_no_words_and_no_selectors() -> None:
    assert command_words("pytest -k 'x") == ()
    assert selectors("pytest -k 'x") == ()


def test_importing_the_domain_does_not_load_the_grammar() -> None:
    code = "import sys, flow_mcp.domain.shell.grammar as s; s.FAULTS_MAX; sys.exit('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


SHELL_PARTS = [
    *"abc019'\"\\$`{}()[]<>|&;!#=~*?-+/:,.@^%",
    *(" ", "  ", "\n", "\t", "\u202e", "é", "\ud800"),
    *("&&", "||", "|&", ">>", "2>&1", "<<", "<<<", "$(", "${", "$((", "<(", "[[", "]]", ";;"),
    *("if ", "then ", "fi", "for ", "case ", "in ", "esac", "do ", "done", "function ", "time ", "! ", "declare "),
    *("env ", "python -m ", "pytest ", "bash -c ", "make ", "docker run ", "npm test -- ", "-k ", "-o ", "addopts="),
]


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(SHELL_PARTS), max_size=40).map("".join)))
def test_any_text_gets_an_answer(run: str) -> None:
    for fault in (*swallowing_faults(run), *selectors(run)):
        assert fault.what
        assert len(fault.text) <= 80
    assert all(words for words in command_words(run))


HOSTILE = {
    "wrappers in a row": "env " * 2040 + "x",
    "containers of wrappers": "docker " + "env " * 2040,
    "settings in settings": "pytest " + "-oaddopts=" * 810 + "x",
    "open groups": "(" * 8192,
    "open arrays": "x=(" * 2700,
    "open arithmetic": "$((" * 2700,
    "open cases": "case x in " * 819,
    "here-strings": "<<<" * 2700,
    "here-documents": "<<a " * 2040,
    "a long list": "a&&" * 2700 + "a",
    "a long pipeline": "a|" * 4000 + "a",
    "shells in a row": "x " + "sh -c " * 1300,
    "a variable of tests": "make " + "TEST" * 2000 + "X=1",
    "quotes": "x " + '"\\$" ' * 1600,
}


@pytest.mark.parametrize("run", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_is_judged_in_bounded_time(run: str) -> None:
    started = os.times()
    swallowing_faults(run)
    selectors(run)
    ended = os.times()
    assert ended.user - started.user < 5


class Bench:
    """A folder of stand-in programs, and bash run over it as the runner runs it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "log"
        self._tools = folder / "bin"
        self._work = folder / "work"
        for made in (self._tools, self._work, self._work / "sub"):
            made.mkdir()
        for name, code in (("ok", 0), ("bad", 3), ("worse", 1)):
            program = self._tools / name
            program.write_text(f'#!/bin/sh\nprintf "%s\\0" {name} "$@" END >> "$FLOW_LOG"\nexit {code}\n')
            program.chmod(0o755)
        for name in ("env", "timeout", "nice", "nohup", "cat", "tee", "xargs", "true", "sh"):
            self._tools.joinpath(name).symlink_to(_found(name))
        (self._work / "fails.sh").write_text("bad from-script\n")

    def run(self, command: str) -> tuple[int, list[list[str]]]:
        """Run a command; give the exit code, and the stand-ins that ran with their arguments."""
        self._log.write_text("")
        environment = {"PATH": str(self._tools), "FLOW_LOG": str(self._log), "LC_ALL": "C.UTF-8", "V": "-v x"}
        ended = subprocess.run(
            [_found("bash"), "-o", "pipefail", "-c", command],
            cwd=self._work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert b"syntax error" not in ended.stderr
        return ended.returncode, [row.split("\0")[:-1] for row in self._log.read_text().split("END\0")[:-1]]


def _found(name: str) -> str:
    for folder in ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"):
        if (Path(folder) / name).exists():
            return f"{folder}/{name}"
    pytest.skip(f"no {name} on this machine")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


PROGRAMS = st.sampled_from(["ok", "bad", "worse", "'bad'", "b\\ad", 'b"a"d', "true", "cat", "sh fails.sh", "./none"])
WRAPPERS = [
    "! ",
    "",
    "",
    "",
    "A=b ",
    "env ",
    "env A='b c' ",
    "timeout 30 ",
    "nice -n 1 ",
    "nohup ",
    "time ",
    "time -p ",
    "xargs ",
]
ARGUMENTS = ["", "", " x", " 'a  b'", ' "$V"', " $V", " a\\ b", " *", ' "|| true"', " -k", " '' \"\"", " a#b", " {}"]
REDIRECTIONS = ["", "", "", "", " > out", " 2>&1", " &> out", " < /dev/null", " >> 'a b' 2>&1"]
PLAIN = st.tuples(st.sampled_from(WRAPPERS), PROGRAMS, st.sampled_from(ARGUMENTS), st.sampled_from(REDIRECTIONS)).map(
    "".join
)
ODD = st.tuples(
    st.sampled_from(["! ", "eval ", "exec ", "command ", "sh -c ", "time ! ", "trap true EXIT ", ""]),
    PROGRAMS,
    st.sampled_from(["", " #", " {a,b}", " $(ok)", " )", "; }"]),
    st.sampled_from(["", " <<< x", " > ../out", " >| out", " 2>&1x"]),
).map("".join)
ROUNDED = st.one_of(
    ODD,
    PLAIN.map(lambda plain: f"({plain})"),
    PLAIN.map(lambda plain: f"{{ {plain}; }}"),
    PLAIN.map("if {}; then ok; fi".format),
)
JOINS = [" || ", "||", " ; ", " & ", "\n", " && ", " | "]


def _chain(part: st.SearchStrategy[str], joins: list[str], length_max: int) -> st.SearchStrategy[str]:
    """Commands of parts and joins in turn."""
    more = st.lists(st.tuples(st.sampled_from(joins), part), max_size=length_max).map(
        lambda pairs: "".join(join + simple for join, simple in pairs)
    )
    return st.tuples(part, more).map("".join)


COMMANDS = st.one_of(
    _chain(PLAIN, [" && ", " | "], 4),
    _chain(PLAIN, JOINS, 2),
    _chain(PROGRAMS, JOINS, 3),
    _chain(st.one_of(PLAIN, PLAIN, ROUNDED), [" && ", " | "], 2),
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(command=COMMANDS.filter(lambda run: not swallowing_faults(run)))
def test_under_real_bash_an_allowed_command_in_which_a_program_fails_fails(bench: Bench, command: str) -> None:
    code, ran = bench.run(command)
    failed = any(words[0] in {"bad", "worse"} for words in ran)
    assert code != 0 or not failed, (command, ran)


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(["ok", "'ok'", "o\\k", "bad"]),
    parts=st.lists(
        st.sampled_from([*"ab01'\"\\@^%,:+=./-|&;<>()!#", " ", " ", "'a b'", '"\\$V"', "é", "{}"]), max_size=10
    ),
)
def test_the_words_of_an_allowed_command_are_those_that_bash_passes(bench: Bench, name: str, parts: list[str]) -> None:
    command = f"{name} {''.join(parts)}".strip()
    words = command_words(command)
    if swallowing_faults(command) or len(words) != 1:
        return
    _, ran = bench.run(command)
    assert ran in ([], [list(words[0])])

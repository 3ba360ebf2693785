"""Rows for the runners of Go, Rust, C and C++, the JVM, .NET, Swift, Elixir and Dart, and for Bazel."""

from typing import Final

from flow_mcp.domain.shell.options import option_table
from flow_mcp.domain.shell.runner_rows import row

_GO: Final = option_table(
    "-run= -skip= -list= -short -c -test.run= -test.skip= -test.list= -test.short",
    "-C -p -count -cpu -parallel -timeout -o -bench -benchtime -blockprofile -coverprofile -covermode -coverpkg "
    "-cpuprofile -memprofile -mutexprofile -trace -outputdir -shuffle -tags -mod -modfile -ldflags "
    "-gcflags -asmflags "
    "-exec -vet -overlay -fuzz -fuzztime -toolexec -args",
    "",
)
_JAVA: Final = option_table(
    "-D=property --define=property -pl= --projects= -rf= --resume-from=",
    "-f --file -s --settings -gs -P --activate-profiles -T --threads -l --log-file -b --builder -t "
    "--toolchains --color",
    "",
)
_DOTNET: Final = option_table(
    "--filter= --list-tests -t --testcasefilter= --tests= --test-modules= --filter-query= --filter-class= "
    "--filter-method= --filter-namespace= --filter-trait= --filter-not-class= --filter-not-method= "
    "--filter-not-namespace= --filter-not-trait= --treenode-filter= -p=property --property=property",
    "-f --framework -c --configuration -r --results-directory -l --logger -s --settings -a --arch -v --verbosity -d "
    "--collect -o --output --os --project --solution",
    "",
)

_CARGO_PARTS: Final = (
    "--lib --bin= --bins --test= --tests --example= --examples --bench= --benches -p= --package= --exclude= --no-run "
)
_CARGO_TAKES: Final = (
    "--manifest-path -F --features --target --target-dir -j --jobs --message-format --color --config -Z -C --profile "
)

ROWS: Final = (
    row("go richgo", "test", _GO, "packages", ""),
    row(
        "gotestsum",
        "-",
        option_table("--packages=packages", "-f --format --junitfile --jsonfile --post-run-command", "clusters"),
        "packages",
        "go",
    ),
    row(
        "cargo cross",
        "llvm-cov/nextest nextest/run nextest/r nextest/list",
        option_table(
            _CARGO_PARTS + "-E= --filter-expr= --filterset= --partition= --run-ignored=ignored",
            _CARGO_TAKES + "-P --cargo-profile --test-threads --retries --status-level --final-status-level --max-fail "
            "--failure-output --success-output --no-tests --config-file --tool-config-file --archive-file",
            "clusters",
        ),
        "any",
        "<libtest>",
    ),
    row(
        "cargo cross",
        "llvm-cov/test test t llvm-cov tarpaulin",
        option_table(_CARGO_PARTS + "--doc", _CARGO_TAKES + "--output-path --output-dir -o --out", "clusters"),
        "any",
        "<libtest>",
    ),
    row(
        "<libtest>",
        "-",
        option_table(
            "--skip= --exact --ignored --list --bench",
            "--test-threads --format --color --logfile",
            "clusters",
        ),
        "any",
        "",
    ),
    row(
        "ctest",
        "-",
        option_table(
            "-R= --tests-regex= -E= --exclude-regex= -L= --label-regex= -LE= --label-exclude= -I= "
            "--tests-information= "
            "--rerun-failed -N --show-only -FA= --fixture-exclude-any= -FS= --fixture-exclude-setup= -FC= "
            "--fixture-exclude-cleanup= --tests-from-file= --exclude-from-file= --print-labels",
            "-C --build-config -M -T --test-dir --timeout --output-log -O --output-junit --repeat --preset -S -D",
            "",
        ),
        "none",
        "",
    ),
    row(
        "meson",
        "test",
        option_table(
            "--suite= --no-suite= --list --slice=",
            "-C -t --timeout-multiplier --wrapper --num-processes -j --maxfail --repeat --logbase --setup --test-args",
            "clusters abbreviated",
        ),
        "any",
        "",
    ),
    row("mvn mvnw mvnd", "-", _JAVA, "none", ""),
    row(
        "gradle gradlew",
        "-",
        option_table(
            "--tests= -x=task --exclude-task=task -m --dry-run --test-dry-run -D=property "
            "--system-prop=property -P=property "
            "--project-prop=property",
            "-p --project-dir -b --build-file -c --settings-file -g --gradle-user-home -I --init-script --console "
            "--max-workers --warning-mode",
            "",
        ),
        "tasks",
        "",
    ),
    row("sbt", "-", option_table("", "", ""), "sbt", ""),
    row("dotnet", "test vstest", _DOTNET, "msbuild", "<dotnet>"),
    row("<dotnet>", "-", _DOTNET, "msbuild", ""),
    row(
        "bazel bazelisk",
        "test coverage",
        option_table(
            "--test_filter= --test_tag_filters= --test_lang_filters= --test_size_filters= --test_timeout_filters= "
            "--nobuild --target_pattern_file=",
            "--config --jobs -c",
            "",
        ),
        "targets",
        "",
    ),
    row(
        "swift",
        "test",
        option_table(
            "--filter= --skip= -s= --specifier= --list-tests -l",
            "--package-path -c --build-path",
            "clusters",
        ),
        "none",
        "",
    ),
    row(
        "mix",
        "test",
        option_table(
            "--only= --exclude= --failed --stale --partitions=",
            "--seed --max-failures --formatter",
            "clusters",
        ),
        "files",
        "",
    ),
    row(
        "dart flutter",
        "test",
        option_table(
            "-n= --name= -N= --plain-name= -t= --tags= -x= --exclude-tags= --total-shards= --shard-index=",
            "-r --reporter -j --concurrency -p --platform --file-reporter --timeout --coverage-path",
            "clusters",
        ),
        "files",
        "",
    ),
)

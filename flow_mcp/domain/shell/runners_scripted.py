"""Rows for the runners of Python, JavaScript, PHP and Ruby, and of the tools around them."""

from typing import Final

from flow_mcp.domain.shell.options import joined, option_table
from flow_mcp.domain.shell.runner_rows import row

_GETOPT: Final = "clusters abbreviated"
_YARGS: Final = "clusters folded"
_PYTEST: Final = option_table(
    "-k= -m= --deselect= --ignore= --ignore-glob= --lf --last-failed --lfnf= --last-failed-no-failures= --ff "
    "--failed-first --sw --stepwise --sw-skip --stepwise-skip --co --collect-only --collectonly --setup-plan "
    "--setup-only --setuponly --setupplan --fixtures --funcargs --fixtures-per-test --markers "
    "--cache-show= --help -h "
    "--version -V -p=plugin -o=ini --override-ini=ini --splits= --group= --shard-id= --num-shards= --test-group= "
    "--test-group-count= --picked --testmon --exclude-tags= --collect-only-from=",
    "-c --config-file --rootdir --basetemp --confcutdir --junitxml --junit-xml --junitprefix --junit-prefix -r -W "
    "--pythonwarnings -n --numprocesses --dist --maxprocesses --maxfail --tb --color --durations --durations-min "
    "--cov-config --cov-report --cov-fail-under --log-level --log-cli-level --log-file --log-format --import-mode "
    "--capture --show-capture --timeout --timeout-method --html --json-report-file --reruns --reruns-delay --ds --dc "
    "--doctest-glob --doctest-report --assert --tx --rsyncdir --asyncio-mode --alluredir --random-order-seed "
    "--benchmark-json",
    _GETOPT,
)
_UNITTEST: Final = option_table(
    "-k= -p=glob --pattern=glob -h --help", "-s --start-directory -t --top-level-directory --durations", _GETOPT
)
_DJANGO: Final = option_table(
    "-k= --tag= --exclude-tag= -p=glob --pattern=glob",
    "-t --top-level-directory --settings --testrunner --pythonpath -v --verbosity --parallel? --shuffle?",
    _GETOPT,
)
_JEST: Final = option_table(
    "-t= --testNamePattern= --testPathPattern= --testPathPatterns= --testPathIgnorePatterns= "
    "--testRegex= --testMatch= "
    "--runTestsByPath --findRelatedTests --onlyChanged -o --changedSince= --changedFilesWithAncestor --lastCommit -f "
    "--onlyFailures --shard= --filter= --selectProjects= --ignoreProjects= --listTests --showConfig -h --help "
    "--config=json -c=json --modulePathIgnorePatterns=",
    "-w --maxWorkers --reporters --coverageDirectory --coverageReporters --coverageThreshold --env --testEnvironment "
    "--outputFile --testTimeout --rootDir --roots --projects --preset --collectCoverageFrom --coverageProvider "
    "--maxConcurrency --seed --setupFiles --setupFilesAfterEnv --globalSetup --transform "
    "--testResultsProcessor --testRunner",
    _YARGS,
)
_VITEST: Final = option_table(
    "-t= --testNamePattern= --changed --shard= --project= --exclude= --related --typecheck.only --tagsFilter= "
    "--standalone -h --help --listTags",
    "-c --config -r --root --dir --reporter --outputFile --pool --bail --retry --maxWorkers "
    "--minWorkers --environment "
    "--testTimeout --hookTimeout --mode -m --browser.name --coverage.provider --coverage.reporter --maxConcurrency",
    _YARGS,
)
_MOCHA: Final = option_table(
    "-g= --grep= -f= --fgrep= -i --invert --exclude= --ignore= --dry-run --spec= --listInterfaces --help -h",
    "-R --reporter -O --reporter-option --reporter-options -r --require -t --timeout -s --slow -u --ui --config "
    "--extension -j --jobs --retries --package --file -n --node-option",
    _YARGS,
)
_NODE: Final = option_table(
    "--test-name-pattern= --test-skip-pattern= --test-only --test-shard=",
    "--test-reporter --test-reporter-destination --test-concurrency --test-timeout --import --require -r --loader "
    "--experimental-loader -C --conditions --env-file",
    "clusters",
)
_AVA: Final = option_table("-m= --match=", "-c --concurrency -T --timeout --config --node-arguments", _YARGS)
_TAP: Final = option_table(
    "-g= --grep= -O --only -n --changed", "-j --jobs -t --timeout -R --reporter -o --output-file", _YARGS
)
_PLAYWRIGHT: Final = option_table(
    "-g= --grep= --grep-invert= --project= --shard= --last-failed --only-changed --list --test-list= "
    "--test-list-invert= --help",
    "-c --config -j --workers --reporter --retries --timeout --global-timeout --output --repeat-each --max-failures "
    "--trace --browser --tsconfig",
    _YARGS,
)
_CYPRESS: Final = option_table("-s= --spec= -e=grep --env=grep", "-b --browser -c --config -C -r -o -p -P -k", _YARGS)
_SCRIPT: Final = option_table(
    "-t= -g= --testNamePattern= --testPathPattern= --testPathPatterns= --testPathIgnorePatterns= --runTestsByPath "
    "--findRelatedTests --onlyChanged --changedSince= --lastCommit --onlyFailures --shard= --selectProjects= "
    "--ignoreProjects= --listTests --changed --related --project= --exclude= --grep= --fgrep= "
    "--invert --grep-invert= "
    "--test-name-pattern= --test-skip-pattern= --test-only --test-shard= --match= --spec= --last-failed "
    "--only-changed --list --dry-run --only",
    "-w --maxWorkers --reporters --reporter -R --config -c --timeout --testTimeout --workers --retries --jobs -j "
    "--outputFile --coverageDirectory --coverageReporters --environment --env --pool -r --require",
    _YARGS,
)
_BUN: Final = option_table(
    "-t= --test-name-pattern= --only --changed", "--timeout --bail? -r --preload --coverage-reporter --cwd", "clusters"
)
_NPM: Final = option_table("-w= --workspace=", "--prefix --loglevel -C", "clusters")
_MONOREPO: Final = option_table(
    "-F= --filter= --filter-prod= --include= --from= --since --scope=", "--dir --cwd -C --prefix", _YARGS
)
_TURBO: Final = option_table(
    "-F= --filter= --affected --since= --scope= --only", "--concurrency --cache-dir --cwd --log-order", "clusters"
)
_PHPUNIT: Final = option_table(
    "--filter= --exclude-filter= --testsuite= --exclude-testsuite= --group= --exclude-group= --covers= --uses= "
    "--list-tests --list-tests-xml= --list-groups --list-suites --test-suffix= --run-test-id= "
    "--dirty --retry -h --help",
    "-c --configuration --bootstrap --log-junit --coverage-clover --coverage-html --coverage-text "
    "--order-by --printer "
    "--processes -p --colors?",
    _GETOPT,
)

ROWS: Final = (
    row("pytest py.test", "-", _PYTEST, "files", ""),
    row("unittest", "-", _UNITTEST, "labels", ""),
    row("manage.py django-admin django", "test", _DJANGO, "labels", ""),
    row(
        "tox",
        "-",
        option_table("-n --notest -l --listenvs -a --listenvs-all -x= --override= --skip-env=", "-e -c", _GETOPT),
        "none",
        "pytest",
    ),
    row(
        "nox",
        "-",
        option_table("-l --list --list-sessions -k= --keywords= -t= --tags=", "-s -e -p -f", _GETOPT),
        "none",
        "pytest",
    ),
    row("hatch", "test", option_table("-k= -m= --deselect= --ignore= --lf --co", "", "clusters"), "files", "pytest"),
    row(
        "behave",
        "-",
        option_table("-i= --include= -e= --exclude= -n= --name= -t= --tags= -d --dry-run", "-D -f -o", _GETOPT),
        "files",
        "",
    ),
    row(
        "robot",
        "-",
        option_table(
            "-t= --test= --task= -s= --suite= -i= --include= -e= --exclude= -R= --rerunfailed= -S= "
            "--rerunfailedsuites= "
            "--dryrun --prerunmodifier=",
            "-d --outputdir -o --output -l --log -r --report -x --xunit -v --variable -V "
            "--variablefile -L --loglevel -N",
            _YARGS,
        ),
        "files",
        "",
    ),
    row("jest react-scripts craco", "test -", _JEST, "patterns", ""),
    row("vitest", "related list", _VITEST, "verb", ""),
    row("vitest", "run watch dev bench -", _VITEST, "patterns", ""),
    row("mocha _mocha", "-", _MOCHA, "files", ""),
    row("node nodejs tsx ts-node", "-", _NODE, "files", ""),
    row("ava", "-", _AVA, "files", ""),
    row("tap", "run -", _TAP, "files", ""),
    row("jasmine", "-", option_table("--filter=", "--config --reporter", _YARGS), "files", ""),
    row("playwright", "test", _PLAYWRIGHT, "patterns", ""),
    row("cypress", "run", _CYPRESS, "none", ""),
    row("ng", "test t", option_table("--include= --exclude= --filter=", "-c --configuration", _YARGS), "none", ""),
    row(
        "deno",
        "test",
        option_table("--filter= --ignore= --no-run --shard=", "-c --config --reporter --junit-path", "clusters"),
        "files",
        "",
    ),
    row("bun", "test", _BUN, "patterns", ""),
    row("npm", "test t tst run/* run-script/* rum/*", _NPM, "patterns", "<script>"),
    row("yarn", "workspace/?/* workspace/?/run/*", _MONOREPO, "verb", "<script>"),
    row(
        "pnpm yarn bun",
        "workspaces/foreach/run/* workspaces/run/* run/* *",
        joined(_MONOREPO, _SCRIPT),
        "patterns",
        "<script>",
    ),
    row("<script>", "-", _SCRIPT, "patterns", ""),
    row(
        "nx",
        "run-many",
        option_table("-p= --projects= --exclude=", "-t --target --targets -c --configuration --parallel", _YARGS),
        "none",
        "<script>",
    ),
    row("nx", "affected affected:test", option_table("", "-t --target --targets --base --head", _YARGS), "verb", ""),
    row("nx", "run test e2e", joined(_JEST, option_table("--testFile= --exclude=", "", _YARGS)), "any", "<script>"),
    row("turbo", "run/* *", _TURBO, "none", "<script>"),
    row("lerna", "run/*", option_table("--scope= --ignore= --since --exclude=", "", _YARGS), "none", "<script>"),
    row("phpunit pest paratest simple-phpunit", "-", _PHPUNIT, "files", ""),
    row("artisan", "test", _PHPUNIT, "files", ""),
    row(
        "rspec",
        "-",
        option_table(
            "-e= --example= -E= --example-matches= -t= --tag= -P=glob --pattern=glob "
            "--exclude-pattern= --only-failures "
            "-n --next-failure --dry-run -h --help -v --version",
            "-I -r --require -O --options --seed --order -f --format -o --out --failure-exit-code --default-path",
            _GETOPT,
        ),
        "files",
        "",
    ),
    row("rails", "test", option_table("-n= --name= -e= --exclude=", "-s --seed -e", "clusters"), "files", ""),
    row(
        "cucumber cucumber-js",
        "-",
        option_table("-t= --tags= -n= --name= -d --dry-run", "-p --profile -f --format -r --require", "clusters"),
        "files",
        "",
    ),
    row(
        "bats",
        "-",
        option_table(
            "-f= --filter= --filter-tags= --filter-status= -c --count -h --help -v --version",
            "-j --jobs -F --formatter --report-formatter -o --output --gather-test-outputs-in",
            "clusters",
        ),
        "files",
        "",
    ),
    row(
        "prove",
        "-",
        option_table(
            "--state=state --dry -D -h --help", "-I -e --exec -j --jobs --formatter --harness -P --ext", _GETOPT
        ),
        "files",
        "",
    ),
)

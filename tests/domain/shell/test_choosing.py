"""What in a command chooses which tests run: row plan.gate-whole, runner by runner."""

import pytest

from flow_mcp.domain.shell import selectors, swallowing_faults
from flow_mcp.domain.shell.words import names

CHOOSING = {
    "pytest": """
        pytest -k foo -> -k foo
        pytest -kfoo -> -kfoo
        pytest -k=foo -> -k=foo
        pytest -qk foo -> -qk foo
        pytest -xqk 'not slow' -> -xqk 'not slow'
        pytest -m "not slow" -> -m "not slow"
        pytest -mslow -> -mslow
        pytest "-k" foo -> "-k" foo
        pytest -k "$EXPRESSION" -> -k "$EXPRESSION"
        pytest --deselect tests/test_a.py::test_b -> --deselect
        pytest --dese=x -> --dese=x
        pytest --ignore=tests/slow -> --ignore=tests/slow
        pytest --ignore tests/slow -> --ignore tests/slow
        pytest --ignore-glob='*slow*' -> --ignore-glob
        pytest --lf -> --lf
        pytest --last-failed -> --last-failed
        pytest --last-f -> --last-f
        pytest --ff -> --ff
        pytest --sw -> --sw
        pytest --stepwise -> --stepwise
        pytest --co -> --co
        pytest --collect-only -> --collect-only
        pytest --collect-o -> --collect-o
        pytest --setup-plan -> --setup-plan
        pytest --help -> --help
        pytest -h -> -h
        pytest --version -> --version
        pytest --fixtures -> --fixtures
        pytest tests/test_a.py -> tests/test_a.py
        pytest test_a.py test_b.py -> test_a.py
        pytest tests/test_a.py::TestB::test_c -> ::test_c
        pytest 'tests/test_a.py::test_b[1]' -> ::test_b
        pytest tests/test_[ab].py -> tests/test_[ab].py
        pytest tests/test_a*.py -> tests/test_a*.py
        pytest docs/index.rst -> docs/index.rst
        pytest --pyargs package.tests.test_a -> package.tests.test_a
        pytest @arguments -> @arguments
        pytest -- tests/test_a.py -> tests/test_a.py
        pytest -q -- -k -- tests/test_a.py -> tests/test_a.py
        pytest -p -> -p
        pytest -p $PLUGIN -> -p $PLUGIN
        pytest $ARGUMENTS -> $ARGUMENTS
        pytest "${ARGUMENTS}" -> ${ARGUMENTS}
        pytest -[k] foo -> -[k]
        pytest -p no:python -> -p no:python
        pytest -pno:unittest -> -pno:unittest
        pytest -p no:pytest_asyncio -> no:pytest_asyncio
        pytest -p "no:$X" -> no:$X
        pytest -o python_files=check_*.py -> python_files
        pytest -o addopts='-k foo' -> addopts
        pytest -oaddopts=-mslow -> addopts
        pytest --override-ini=testpaths=tests/a -> testpaths
        pytest -o addopts='-o addopts=-q' -> addopts
        pytest -o addopts="-k 'x" -> addopts
        pytest --splits 3 --group 1 -> --group 1
        pytest --picked -> --picked
        py.test -k foo -> -k foo
        python -m pytest -k foo -> -k foo
        python -m pytest -m slow -> -m slow
        python3 -mpytest -k foo -> -k foo
        python3.11 -m pytest -k foo -> -k foo
        python3.13t -m pytest -k foo -> -k foo
        pypy3 -m pytest -k foo -> -k foo
        python -X dev -W error -m pytest -k foo -> -k foo
        python -Im pytest -k foo -> -k foo
        python .venv/bin/pytest -k foo -> -k foo
        py -3.11 -m pytest -k foo -> -k foo
        .venv/bin/pytest -k foo -> -k foo
        /usr/local/bin/pytest -k foo -> -k foo
        PYTEST_ADDOPTS='-k foo' pytest -> PYTEST_ADDOPTS
        PYTEST_ADDOPTS=-mslow make test -> PYTEST_ADDOPTS
        PYTEST_ADDOPTS=tests/test_a.py pytest -> PYTEST_ADDOPTS
        PYTEST_ADDOPTS="-q 'x -k y" pytest -> PYTEST_ADDOPTS
        PYTEST_ADDOPTS="$MORE" pytest -> PYTEST_ADDOPTS
        env PYTEST_ADDOPTS='-k foo' pytest -> PYTEST_ADDOPTS
        env -i PYTEST_ADDOPTS=--lf tox -> PYTEST_ADDOPTS
        ruff check . && pytest -k foo -> -k foo
        pytest -k foo | tee log -> -k foo
        """,
    "through wrappers": """
        timeout 60 pytest -k foo -> -k foo
        timeout -k 5 60 pytest -k foo -> -k foo
        timeout -vk 5 60 pytest -k foo -> -k foo
        timeout --kill-after=5 -- 60 pytest -k foo -> -k foo
        nice pytest -k foo -> -k foo
        nice -n 5 pytest -k foo -> -k foo
        time pytest -k foo -> -k foo
        /usr/bin/time -o out.txt pytest -k foo -> -k foo
        xvfb-run -a -s '-screen 0' pytest -k foo -> -k foo
        stdbuf -oL pytest -k foo -> -k foo
        nohup pytest -k foo -> -k foo
        sudo -u ci pytest -k foo -> -k foo
        strace -f -o log pytest -k foo -> -k foo
        uv run pytest -k foo -> -k foo
        uv run --with pytest-cov pytest -k foo -> -k foo
        uv run -m pytest -k foo -> -k foo
        uvx pytest@8 -k foo -> -k foo
        uv tool run pytest -k foo -> -k foo
        pipx run pytest -k foo -> -k foo
        poetry run pytest -k foo -> -k foo
        poetry -C sub run pytest -k foo -> -k foo
        pipenv run python -m pytest -k foo -> -k foo
        pdm run pytest -k foo -> -k foo
        hatch run pytest -k foo -> -k foo
        hatch test -k foo -> -k foo
        hatch test -- -k foo -> -k foo
        conda run -n ci pytest -k foo -> -k foo
        coverage run -m pytest -k foo -> -k foo
        coverage run --source src -m pytest -k foo -> -k foo
        python -m coverage run --branch -m pytest -k foo -> -k foo
        coverage run .venv/bin/pytest -k foo -> -k foo
        env A=1 timeout 9 nice uv run coverage run -m pytest -k foo -> -k foo
        cat list | xargs pytest -> xargs pytest
        xargs -n 1 pytest -> xargs -n 1 pytest
        docker run --rm -t image pytest -k foo -> -k foo
        docker compose run --rm app python -m pytest -k foo -> -k foo
        docker exec -t app npx jest -t foo -> -t foo
        docker run -e PYTEST_ADDOPTS=-kfoo image pytest -> PYTEST_ADDOPTS
        docker run --env=PYTEST_ADDOPTS=-kfoo image -> PYTEST_ADDOPTS
        podman run image go test ./pkg -> ./pkg
        """,
    "unittest": """
        python -m unittest -k foo -> -k foo
        python -m unittest tests.test_a -> tests.test_a
        python -m unittest tests.test_a.TestB.test_c -> tests.test_a.TestB.test_c
        python -m unittest test_a -> test_a
        python -m unittest user_test -> user_test
        python -m unittest tests/test_a.py -> tests/test_a.py
        python -m unittest discover -p 'test_a*.py' -> -p 'test_a*.py'
        python -m unittest discover --pattern=test_a.py -> --pattern=test_a.py
        python -m unittest discover --patt test_a.py -> --patt test_a.py
        python -m unittest discover tests test_a.py -> test_a.py
        python -m unittest discover -k foo -> -k foo
        coverage run -m unittest tests.test_a -> tests.test_a
        python manage.py test app.tests.test_a -> app.tests.test_a
        ./manage.py test --tag fast -> --tag fast
        python manage.py test -k foo -> -k foo
        python -m django test --exclude-tag=slow -> --exclude-tag=slow
        """,
    "tox, nox and others of Python": """
        tox -- -k foo -> -k foo
        tox -e py311 -- tests/test_a.py -> tests/test_a.py
        tox --notest -> --notest
        tox -x testenv.commands=true -> -x
        TOX_SKIP_ENV=py311 tox -> TOX_SKIP_ENV
        nox -s tests -- -k foo -> -k foo
        nox -k 'not lint' -> -k 'not lint'
        nox --list -> --list
        behave --tags=@fast -> --tags=@fast
        behave -n name -> -n name
        robot --include fast tests -> --include fast
        robot -t name tests -> -t name
        """,
    "jest": """
        jest -t foo -> -t foo
        jest -t=foo -> -t=foo
        jest --testNamePattern=foo -> --testNamePattern=foo
        jest --test-name-pattern foo -> --test-name-pattern foo
        jest --testPathPattern=user -> --testPathPattern=user
        jest --testPathPatterns user -> --testPathPatterns user
        jest --testPathIgnorePatterns=e2e -> --testPathIgnorePatterns
        jest -o -> -o
        jest --onlyChanged -> --onlyChanged
        jest --changedSince=main -> --changedSince=main
        jest --onlyFailures -> --onlyFailures
        jest --findRelatedTests src/a.js -> --findRelatedTests
        jest --runTestsByPath a.test.js -> --runTestsByPath
        jest --shard=1/3 -> --shard=1/3
        jest --selectProjects web -> --selectProjects web
        jest --listTests -> --listTests
        jest --config '{"testRegex":"x"}' -> --config
        jest user -> user
        jest vitest -> vitest
        jest discover user -> user
        jest src/user.test.js -> src/user.test.js
        jest 'src/(a|b)' -> src/(a|b)
        jest -- user.test.ts -> user.test.ts
        npx jest -t foo -> -t foo
        npx jest@29 -t foo -> -t foo
        npx --yes jest -t foo -> -t foo
        ./node_modules/.bin/jest -t foo -> -t foo
        node node_modules/.bin/jest -t foo -> -t foo
        node --experimental-vm-modules node_modules/jest/bin/jest.js -t foo -> -t foo
        node -r ./setup.js node_modules/jest/bin/jest.js user -> user
        react-scripts test --watchAll=false -t foo -> -t foo
        cross-env CI=1 jest -t foo -> -t foo
        c8 jest -t foo -> -t foo
        JEST_TEST_FILTER=foo npm test -> JEST_TEST_FILTER
        """,
    "vitest": """
        vitest run -t foo -> -t foo
        vitest run --testNamePattern foo -> --testNamePattern foo
        vitest --run user -> user
        vitest run user.test.ts -> user.test.ts
        vitest run --changed -> --changed
        vitest run --shard=1/2 -> --shard=1/2
        vitest run --project web -> --project web
        vitest run --exclude e2e -> --exclude e2e
        vitest related src/a.ts -> related
        vitest list -> list
        pnpm exec vitest run -t foo -> -t foo
        pnpm vitest run user -> user
        bunx vitest run -t foo -> -t foo
        VITEST_SHARD=1/2 vitest run -> VITEST_SHARD
        """,
    "mocha": """
        mocha -g foo -> -g foo
        mocha --grep foo -> --grep foo
        mocha -f foo -> -f foo
        mocha --fgrep=foo -> --fgrep=foo
        mocha -g foo -i -> -i
        mocha --invert --grep foo -> --invert
        mocha test/a.spec.js -> test/a.spec.js
        mocha --spec test/a.js -> --spec test/a.js
        mocha --ignore test/slow -> --ignore test/slow
        mocha --dry-run -> --dry-run
        mocha 'test/user*.spec.js' -> test/user*.spec.js
        node_modules/mocha/bin/_mocha --grep foo -> --grep foo
        MOCHA_OPTIONS='--grep foo' mocha -> MOCHA_OPTIONS
        """,
    "node": """
        node --test --test-name-pattern=foo -> --test-name-pattern=foo
        node --test --test-name-pattern foo -> --test-name-pattern foo
        node --test --test-skip-pattern foo -> --test-skip-pattern foo
        node --test --test-only -> --test-only
        node --test --test-shard=1/2 -> --test-shard=1/2
        node --test a.test.js -> a.test.js
        node --import tsx --test test/a.test.ts -> test/a.test.ts
        tsx --test a.test.ts -> a.test.ts
        NODE_OPTIONS=--test-name-pattern=foo node --test -> NODE_OPTIONS
        """,
    "other runners of JavaScript": """
        ava -m foo -> -m foo
        ava --match='*foo' -> --match
        npx ava test/a.js -> test/a.js
        tap --grep=/foo/ -> --grep
        tap run test/a.js -> test/a.js
        playwright test -g foo -> -g foo
        playwright test --grep-invert slow -> --grep-invert slow
        npx playwright test login -> login
        npx playwright test tests/login.spec.ts -> tests/login.spec.ts
        playwright test --project=chromium -> --project=chromium
        playwright test --last-failed -> --last-failed
        yarn playwright test login -> login
        cypress run --spec cypress/e2e/a.cy.js -> --spec
        cypress run --env grep=foo -> --env grep=foo
        CYPRESS_grepTags=fast cypress run -> CYPRESS_grepTags
        ng test --include=src/a.spec.ts -> --include
        bun test user -> user
        bun test -t foo -> -t foo
        deno test --filter foo -> --filter foo
        deno test -A a_test.ts -> a_test.ts
        jasmine --filter=foo -> --filter=foo
        """,
    "package managers": """
        npm test -- -t foo -> -t foo
        npm test -- --testNamePattern=foo -> --testNamePattern=foo
        npm test user.test.js -> user.test.js
        npm run test:unit -- --grep foo -> --grep foo
        npm run test -- user -> user
        npm t -- --shard=1/2 -> --shard=1/2
        npm test -w web -> -w web
        npm test --workspace=web -> --workspace=web
        npm --prefix web test -- -t foo -> -t foo
        npm exec -- jest -t foo -> -t foo
        npm exec jest user -> user
        pnpm test -t foo -> -t foo
        pnpm test -- -t foo -> -t foo
        pnpm run test --grep foo -> --grep foo
        pnpm --filter web test -> --filter web
        pnpm -F web test -> -F web
        pnpm --filter web vitest run -> --filter web
        pnpm ava a.js -> a.js
        yarn test -t foo -> -t foo
        yarn run test user -> user
        yarn jest -t foo -> -t foo
        yarn workspace web test -> workspace web test
        yarn workspace web run test -> workspace web run test
        yarn workspaces foreach -A --include web run test -> --include web
        bun run test --grep foo -> --grep foo
        nx test web -> web
        nx run web:test -> web:test
        nx run-many -t test -p web,api -> -p web,api
        nx run-many --target=test --exclude=web -> --exclude=web
        nx affected -t test -> affected
        npx nx test --testFile=a.spec.ts -> --testFile
        turbo run test --filter=web -> --filter=web
        turbo test -F web -> -F web
        turbo run test -- -t foo -> -t foo
        lerna run test --scope web -> --scope web
        npm_config_workspace=web npm test -> npm_config_workspace
        """,
    "go": """
        go test -run Foo ./... -> -run Foo
        go test ./... -run=Foo -> -run=Foo
        go test --run Foo ./... -> --run Foo
        go test -test.run Foo ./... -> -test.run Foo
        go test -skip Foo ./... -> -skip Foo
        go test -short ./... -> -short
        go test -list . ./... -> -list .
        go test -c ./... -> -c
        go test ./pkg -> ./pkg
        go test ./pkg/... -> ./pkg/...
        go test . -> .
        go test a_test.go -> a_test.go
        go test -count 1 -v ./pkg -> ./pkg
        go -C sub test ./pkg -> ./pkg
        GOFLAGS=-run=Foo go test ./... -> GOFLAGS
        GOFLAGS='-count=1 -short' make test -> GOFLAGS
        gotestsum -- -run Foo ./... -> -run Foo
        gotestsum --packages=./pkg -> --packages=./pkg
        go run gotest.tools/gotestsum@latest -- -run Foo ./... -> -run Foo
        """,
    "cargo": """
        cargo test foo -> foo
        cargo test -- foo -> foo
        cargo test -- --skip foo -> --skip foo
        cargo test -- --exact foo -> --exact
        cargo test -- --ignored -> --ignored
        cargo test -- --list -> --list
        cargo test --lib -> --lib
        cargo test --test it -> --test it
        cargo test --test=it -> --test=it
        cargo test --bin tool -> --bin tool
        cargo test --doc -> --doc
        cargo test -p core -> -p core
        cargo test --package=core -> --package=core
        cargo test --workspace --exclude core -> --exclude core
        cargo test --no-run -> --no-run
        cargo t -p core -> -p core
        cargo +nightly test foo -> foo
        cargo -q test foo -> foo
        cargo nextest run foo -> foo
        cargo nextest run -E 'test(foo)' -> -E 'test(foo)'
        cargo nextest run --partition count:1/2 -> --partition
        cargo nextest run --run-ignored only -> --run-ignored only
        cargo nextest run -- --skip foo -> --skip foo
        cargo llvm-cov nextest -E 'test(foo)' -> -E
        cargo llvm-cov -- foo -> foo
        NEXTEST_PARTITION=1/2 cargo nextest run -> NEXTEST_PARTITION
        """,
    "ctest and C++": """
        ctest -R foo -> -R foo
        ctest -Rfoo -> -Rfoo
        ctest --test-dir build -E slow -> -E slow
        ctest -L fast -> -L fast
        ctest -LE slow -> -LE slow
        ctest -I 1,5 -> -I 1,5
        ctest -N -> -N
        ctest --show-only=json-v1 -> --show-only=json-v1
        ctest --rerun-failed -> --rerun-failed
        ctest --tests-regex foo -> --tests-regex foo
        ctest -FA foo -> -FA foo
        meson test -C build --suite fast -> --suite fast
        meson test foo -> foo
        GTEST_FILTER='A.*' ctest -> GTEST_FILTER
        GTEST_FILTER=-Slow.* ./build/tests -> GTEST_FILTER
        env GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=0 ./build/tests -> GTEST_SHARD_INDEX
        TESTBRIDGE_TEST_ONLY=x bazel test //... -> TESTBRIDGE_TEST_ONLY
        bazel test //pkg:target -> //pkg:target
        bazel test //pkg/... -> //pkg/...
        bazel test //... --test_filter=Foo -> --test_filter=Foo
        bazel test --test_tag_filters=-slow //... -> --test_tag_filters
        bazel test -- //... -//slow/... -> -//slow/...
        """,
    "gradle and maven": """
        gradle test --tests Foo -> --tests Foo
        ./gradlew test --tests=Foo -> --tests=Foo
        gradle build -x test -> -x test
        gradle build -xtest -> -xtest
        gradle build --exclude-task integrationTest -> --exclude-task
        gradle test --dry-run -> --dry-run
        gradle -m test -> -m
        gradle :app:test -> :app:test
        gradle app:check -> app:check
        gradle test -Dtest.single=Foo -> -Dtest.single=Foo
        gradle test -PtestFilter=Foo -> -PtestFilter=Foo
        gradlew.bat test --tests Foo -> --tests Foo
        mvn test -Dtest=Foo -> -Dtest=Foo
        mvn verify -Dit.test=Foo -> -Dit.test=Foo
        mvn -DskipTests verify -> -DskipTests
        mvn -DskipITs=true verify -> -DskipITs=true
        mvn -Dmaven.test.skip=true verify -> -Dmaven.test.skip=true
        mvn -D skipTests verify -> -D skipTests
        mvn --define test=Foo verify -> --define test=Foo
        mvn verify -Dgroups=fast -> -Dgroups=fast
        mvn verify -DexcludedGroups=slow -> -DexcludedGroups=slow
        mvn verify -Dsurefire.includes=Foo -> -Dsurefire.includes
        mvn -pl core verify -> -pl core
        mvn --projects core verify -> --projects core
        mvn -rf :core verify -> -rf :core
        ./mvnw test -Dtest=Foo -> -Dtest=Foo
        mvn verify -Dcucumber.filter.tags=@fast -> -Dcucumber.filter.tags
        MAVEN_OPTS='-Xmx1g -Dtest=Foo' mvn verify -> MAVEN_OPTS
        MAVEN_ARGS=-DskipTests mvn verify -> MAVEN_ARGS
        JAVA_TOOL_OPTIONS=-Dtest=Foo gradle test -> JAVA_TOOL_OPTIONS
        mvn $MAVEN_CLI_OPTS verify -> $MAVEN_CLI_OPTS
        sbt 'testOnly Foo' -> testOnly
        sbt testQuick -> testQuick
        """,
    "dotnet": """
        dotnet test --filter Name=Foo -> --filter Name=Foo
        dotnet test --filter=Foo -> --filter=Foo
        dotnet test --list-tests -> --list-tests
        dotnet test -t -> -t
        dotnet test -p:VSTestTestCaseFilter=Foo -> -p:VSTestTestCaseFilter=Foo
        dotnet test /p:VSTestTestCaseFilter=Foo -> /p:VSTestTestCaseFilter=Foo
        dotnet test -- NUnit.Where=x -> NUnit.Where=x
        dotnet test -- --filter-class Foo -> --filter-class Foo
        dotnet vstest a.dll /Tests:Foo -> /Tests:Foo
        """,
    "php and ruby": """
        phpunit --filter foo -> --filter foo
        phpunit --testsuite unit -> --testsuite unit
        phpunit --group fast -> --group fast
        phpunit --exclude-group slow -> --exclude-group slow
        phpunit --exclude-g slow -> --exclude-g slow
        phpunit tests/FooTest.php -> tests/FooTest.php
        vendor/bin/phpunit --list-tests -> --list-tests
        php vendor/bin/phpunit --filter foo -> --filter foo
        php -d memory_limit=-1 phpunit.phar --filter foo -> --filter foo
        php artisan test --filter foo -> --filter foo
        vendor/bin/pest --filter foo -> --filter foo
        rspec -e foo -> -e foo
        rspec --example foo -> --example foo
        rspec -t fast -> -t fast
        rspec --tag ~slow -> --tag ~slow
        rspec --only-failures -> --only-failures
        rspec spec/a_spec.rb -> spec/a_spec.rb
        rspec spec/a_spec.rb:12 -> spec/a_spec.rb:12
        rspec 'spec/a_spec.rb[1:2]' -> spec/a_spec.rb
        rspec -P 'spec/user*_spec.rb' -> -P
        bundle exec rspec -e foo -> -e foo
        SPEC_OPTS='-e foo' rspec -> SPEC_OPTS
        rails test test/a_test.rb -> test/a_test.rb
        bin/rails test -n name -> -n name
        cucumber --tags @fast -> --tags @fast
        """,
    "bats, prove and others": """
        bats -f foo tests -> -f foo
        bats --filter foo tests -> --filter foo
        bats --filter-tags fast tests -> --filter-tags fast
        bats --filter-status failed tests -> --filter-status failed
        bats tests/a.bats -> tests/a.bats
        bats --count tests -> --count
        BATS_FILTER=x bats tests -> BATS_FILTER
        prove t/a.t -> t/a.t
        prove --state=failed -> --state=failed
        prove -D -> -D
        swift test --filter Foo -> --filter Foo
        swift test --skip Foo -> --skip Foo
        mix test test/a_test.exs:12 -> test/a_test.exs:12
        mix test --only fast -> --only fast
        mix test --stale -> --stale
        flutter test --plain-name foo -> --plain-name foo
        dart test -N foo -> -N foo
        """,
    "build tools": """
        make test ARGS='-k foo' -> ARGS
        make test PYTEST_ARGS='-m fast' -> PYTEST_ARGS
        make test TESTS=tests/test_a.py -> TESTS
        make check TESTS=a.test -> TESTS
        make test TEST=foo -> TEST
        make test TESTFLAGS=-run=Foo -> TESTFLAGS
        make test ARGS=--testNamePattern=foo -> ARGS
        make test ARGS='-R foo' -> ARGS
        make test ARGS=tests/test_a.py -> ARGS
        make test K=foo -> K
        make test FILTER=foo -> FILTER
        make test GTEST_FILTER=foo -> GTEST_FILTER
        make test PYTEST_ADDOPTS=-kfoo -> PYTEST_ADDOPTS
        make test WHAT=./pkg -> WHAT
        make test PKG=./pkg -> PKG
        TESTS=a make check -> TESTS
        env ARGS=--lf make test -> ARGS
        rake test TEST=test/a_test.rb -> TEST
        rake spec SPEC_OPTS='-e foo' -> SPEC_OPTS
        """,
}

WHOLE = {
    "pytest": """
        pytest
        pytest -q -x --junitxml=.flow/reports/gate.xml
        pytest -n 4 -p xdist
        pytest -n auto --dist loadfile
        pytest --exitfirst --maxfail=1
        pytest -W error::DeprecationWarning
        pytest -W ignore::pkg.Warning -ra -vv
        pytest -rfEs --tb=short --durations=10
        pytest tests
        pytest tests/
        pytest tests/unit src
        pytest $PWD/tests
        pytest "$PWD/tests"
        pytest tests/test_*.py
        pytest 'tests/**/*_test.py'
        pytest -p no:cacheprovider
        pytest -p no:randomly -p no:xdist -p no:cov
        pytest -p no:pytest_cov
        pytest -p myplugin
        pytest -o log_cli=true
        pytest -o addopts=
        pytest -o addopts='-q -ra'
        pytest -c pytest.ini --rootdir .
        pytest --cov=src --cov-report=xml --cov-config=x.py
        pytest --cov-config x.py --color yes
        pytest --co-author
        pytest --cov=src/*
        pytest '--x[y]'
        pytest '$tests'
        python -cpass pytest -k foo
        pytest --doctest-modules
        pytest --strict-markers --import-mode=importlib
        python -m pytest
        python -m pytest -q
        python -c 'import pytest' -k foo
        python -m pip install pytest
        python3.12 -X dev -W error -m pytest -q
        coverage run -m pytest
        coverage run --branch -m pytest tests
        coverage report -m
        timeout -k 5 60 pytest
        uv run --with pytest python -m pytest
        PYTEST_ADDOPTS=-q pytest
        PYTEST_ADDOPTS='-p no:cacheprovider -x' pytest
        PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 pytest
        hatch test
        hatch run test -k foo
        uv pip run pytest -k foo
        """,
    "unittest and others of Python": """
        python -m unittest
        python -m unittest -v
        python -m unittest discover
        python -m unittest discover -s tests -t .
        python -m unittest discover -p 'test*.py'
        python -m unittest discover -p '*_test.py'
        python -m unittest discover tests '*_test.py'
        python -m unittest tests
        python manage.py test
        python manage.py test --parallel 4 users
        python manage.py test .
        python manage.py test ./apps.d/users
        python manage.py migrate app.tests
        tox
        tox -e py311
        tox -e py311 -- -q
        nox -s tests
        behave
        robot -d out tests
        """,
    "jest": """
        jest
        jest --ci --coverage
        jest -i --bail
        jest -w 4
        jest --maxWorkers 50%
        jest --config jest.config.js
        jest src
        jest tests/unit
        jest ./src/
        jest .
        jest '**/*.test.js'
        npx jest --ci
        jest --watchAll false
        jest --reporters=default --reporters=jest-junit
        react-scripts test --watchAll=false
        node -e 'x' a.test.js
        node scripts/a.test.js -t foo
        """,
    "vitest": """
        vitest run
        vitest --run
        vitest run --coverage --reporter=junit --outputFile=a.xml
        vitest run --config vitest.config.ts
        vitest run src
        pnpm vitest run
        """,
    "mocha and node": """
        mocha
        mocha --recursive test
        mocha -t 5000
        mocha --timeout 5000 -R spec
        mocha -r ts-node/register 'test/**/*.spec.ts'
        mocha 'test/**/*.{js,ts}'
        mocha --require ./setup.js
        node --test
        node --test tests/
        node --test 'tests/**/*.test.js'
        node --test --test-reporter=junit --test-reporter-destination out.xml
        node --import tsx --test
        NODE_OPTIONS=--max-old-space-size=4096 npm test
        """,
    "package managers and others of JavaScript": """
        npm test
        npm t
        npm run test:unit
        npm test -- --ci --coverage
        npm test -- src
        npm test --silent
        npm test --workspaces
        npm run build -- --project tsconfig.json
        npm run lint -- a.js
        npm ci
        npm install -w web
        pnpm test
        pnpm -r test
        pnpm install --filter web
        pnpm run typecheck --project x
        pnpm test -- --ci
        yarn
        yarn test --coverage
        yarn install
        yarn workspace web add x
        yarn workspaces foreach -A run test
        bun test
        bun run test
        bun install
        nx run-many -t test
        nx run-many --target=test --parallel=3
        nx run-many -t test -- --ci
        turbo run test
        turbo run build --filter=web
        turbo run test -- --ci
        lerna run test
        ava
        tap
        playwright test
        playwright install chromium
        playwright test 'tests/**/*.spec.ts'
        pnpm node x.js
        yarn go build
        yarn jest
        yarn vitest run
        bun vitest run
        cypress run --browser chrome
        cypress run --env host=x
        deno test -A
        """,
    "go": """
        go test ./...
        go test -v -race -count=1 ./...
        go test -count 1 -timeout 30s -coverprofile c.out ./...
        go test
        go test all
        go test -cover -race ./...
        go vet ./pkg
        go build ./pkg
        gotestsum
        gotestsum -f testname -- -count=1 ./...
        GOFLAGS=-mod=mod go test ./...
        """,
    "cargo": """
        cargo test
        cargo test --workspace --all-features
        cargo test --all-targets --locked
        cargo test --features a -j 4
        cargo test -- --test-threads=1 --nocapture
        cargo test -- --include-ignored
        cargo test --no-fail-fast
        cargo build -p core
        cargo clippy -p core --lib
        cargo nextest run
        cargo nextest run --run-ignored all --profile ci
        cargo +nightly test
        CARGO_TERM_COLOR=never cargo test
        RUST_TEST_THREADS=1 cargo test
        """,
    "ctest, bazel, gradle, maven and dotnet": """
        ctest
        ctest --test-dir build --output-on-failure -j4
        ctest -C Release -VV
        ctest -j 4 --timeout 30
        CTEST_OUTPUT_ON_FAILURE=1 ctest
        meson test -C build
        bazel test //...
        bazel test --config=ci //...
        gradle test
        gradle test --info
        ./gradlew clean check --stacktrace
        gradle build -x lint
        gradle -p sub test
        gradle :app:assemble
        gradle test -Dfile.encoding=UTF-8
        mvn -B verify
        mvn -B -Pintegration-test verify
        mvn -P test verify
        mvn verify -DfailIfNoTests=false
        mvn verify -DskipTests=false
        mvn verify -Dmaven.javadoc.skip=true
        mvn -T 4 -am verify
        MAVEN_OPTS=-Xmx1g mvn verify
        sbt test
        dotnet test
        dotnet test My.sln -c Release --no-build
        dotnet test -p:Platform=x64
        dotnet test -- RunConfiguration.MaxCpuCount=2
        dotnet build --filter x
        """,
    "php, ruby, bats and others": """
        phpunit
        phpunit --configuration phpunit.xml tests
        php vendor/bin/phpunit --log-junit out.xml
        php artisan migrate --filter x
        php -l tests/FooTest.php
        rspec
        rspec spec
        rspec -f d -r ./spec/helper.rb
        rspec --pattern 'spec/**/*_spec.rb'
        bundle exec rspec
        rails test
        ruby -v a_test.rb
        bats tests
        bats -r -j 4 tests
        bats tests/*.bats
        prove -lr t
        prove t/*.t
        prove --state=save
        swift test
        mix test
        flutter test
        """,
    "what only looks alike": """
        make -k test
        make -j 4 -k check
        make -m test
        make test V=1
        make test TEST=1
        make test ARGS=-j4
        make test ARGS=-x
        make test ARGS=--version
        make test ARGS=
        make PYTEST=.venv/bin/pytest test
        make test CFLAGS=-m64
        make test BUILD_TESTS=ON
        make test RUNNER=x TEST_DB=postgres
        TEST=foo ./run.sh
        ARGS='-k foo' ./run.sh
        docker build -t image .
        docker run -t image
        docker compose up -d
        docker run --rm image pytest
        docker run node npm test
        tar -k -xf a.tar
        grep -k foo
        grep -m 1 test_a.py README
        ./run_tests.sh -k foo
        ./script user.test.js
        unknown --filter foo tests/test_a.py::x
        echo pytest -k foo
        xargs rm
        cat tests/test_a.py | grep x
        ruff check tests/test_a.py
        mypy -m pkg
        uv run mypy -p pkg
        npx tsc -p tsconfig.json
        env
        sudo -u ci make test
        go tool cover -func=c.out
        PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci
        GTEST_FILTER= ctest
        """,
}

CHOOSING_ROWS = [
    (runner, *line.strip().split(" -> ")) for runner, text in CHOOSING.items() for line in text.strip().splitlines()
]
WHOLE_ROWS = [(runner, line.strip()) for runner, text in WHOLE.items() for line in text.strip().splitlines()]


@pytest.mark.parametrize(("runner", "run", "said"), CHOOSING_ROWS)
def test_a_gate_that_chooses_its_tests_is_found_out(runner: str, run: str, said: str) -> None:
    found = selectors(run)
    assert any(said in fault.text for fault in found), (runner, found)


@pytest.mark.parametrize(("runner", "run"), WHOLE_ROWS)
def test_a_gate_that_runs_everything_is_left_in_peace(runner: str, run: str) -> None:
    assert selectors(run) == (), runner


def test_every_runner_of_the_contract_is_tried_both_ways() -> None:
    wanted = names("pytest unittest jest vitest mocha node go cargo ctest gradle mvn dotnet phpunit rspec bats pnpm nx")
    for rows in (CHOOSING_ROWS, WHOLE_ROWS):
        texts = [row[1] for row in rows]
        assert [name for name in wanted if not any(name in text for text in texts)] == []


def test_selectors_are_said_once_in_order_and_at_most_sixteen_of_them() -> None:
    found = selectors("pytest -k a -m b -k a tests/test_x.py")
    assert [fault.text for fault in found] == ["-k a", "-m b", "tests/test_x.py"]
    assert len(selectors("pytest " + " ".join(f"test_{number}.py" for number in range(40)))) == 16


def test_a_selector_inside_what_is_not_allowed_is_found_too() -> None:
    assert [fault.text for fault in selectors("(pytest -k x) || true")] == ["-k x"]
    assert [fault.text for fault in selectors("if pytest -m y; then true; fi")] == ["-m y"]


def test_a_gate_may_be_whole_and_still_swallow_its_result() -> None:
    assert selectors("pytest || true") == ()
    assert swallowing_faults("pytest || true") != ()

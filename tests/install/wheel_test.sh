#!/usr/bin/env bash
# The Python wheel, in a virtual environment: Debian's pip installs nowhere else by itself.
set -euo pipefail
# shellcheck source=tests/install/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

say "the wheel in a bare Debian $codename, without a network"
new_root python python3-venv
cp "$packages"/gh_advise-*_"$machine".whl "$root/trial/"
inside 'python3 -m venv env'
inside '. env/bin/activate; pip install --quiet --no-index ./gh_advise-*.whl && gh-advise demo' | grep '^1\. '
inside 'env/bin/gh-advise starved.sqlite --format json' | cmp - "$expected"
inside 'env/bin/python -c "import gh_advise; print(gh_advise.check(\"starved.sqlite\"))"' | grep 'waits for the data loader'
inside 'env/bin/python -m gh_advise --version' | grep 'linked statically'
find_program='from gh_advise.program import find_program; print(find_program())'
inside "env/bin/python -c '$find_program'" | grep -x /trial/env/bin/gh-advise

say "the same in another place, and gone after it is removed"
inside 'env/bin/pip install --quiet --no-index --target elsewhere ./gh_advise-*.whl; env/bin/pip uninstall --quiet --yes gh-advise'
left=$(find "$root/trial/env" -iname '*gh*advise*')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
inside "PYTHONPATH=elsewhere python3 -c '$find_program'" | grep -x /trial/elsewhere/bin/gh-advise

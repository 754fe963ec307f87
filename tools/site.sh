#!/usr/bin/env bash
# tools/site.sh [BUILD]: builds the documentation site in build/site/VERSION, from the pages of the repository, the headers, and
# the package in BUILD/site (build/release), and checks it: links, navigation, what its search finds. With --no-python there is no
# reference of the package.
set -euo pipefail
cd "$(dirname "$0")/.."
python=build/python/bin/python build=build/release
for argument in "$@"; do
  case $argument in
    --no-python) python= ;;
    *) build=$argument ;;
  esac
done
environment=build/site-env
cmp -s tools/site/requirements.txt $environment/requirements.txt || {
  rm -rf $environment
  python3 -m venv $environment
  $environment/bin/pip install -q --disable-pip-version-check -r tools/site/requirements.txt
  cp tools/site/requirements.txt $environment/
}
version=$(sed -nE 's/^version = "(.*)"/\1/p' pyproject.toml)
export NO_MKDOCS_2_WARNING=1

rm -rf build/site-pages build/site/"$version"
$environment/bin/python tools/site/cpp_reference.py check
$environment/bin/python tools/site/cpp_reference.py pages build/site-pages/pages/reference/cpp
if [ -n "$python" ]; then
  PYTHONPATH=$build/site $python tools/site/python_reference.py build/site-pages/pages/reference/python
fi
$environment/bin/python tools/site/pages.py build/site-pages build/site "$version"
said=$($environment/bin/mkdocs build --strict -f build/site-pages/mkdocs.yml 2>&1) || { grep -v '^INFO' <<<"$said"; exit 1; }
$environment/bin/python tools/site/versions.py build/site "$version"
$environment/bin/python tools/site/check.py build/site/"$version"
if command -v node >/dev/null; then
  node tools/site/search.cjs build/site/"$version" tools/site/questions.tsv
else
  echo "search: not tried; it needs node (apt-get install nodejs)"
fi
echo "build/site/index.html"

#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# quickstart_test.sh QUICKSTART: help is help, and a wrong word starts nothing.
set -euo pipefail
quickstart=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "quickstart_test: $*" >&2; exit 1; }

# A copy in a tree without anything to build: whatever it starts fails.
mkdir "$work/deploy"
cp "$quickstart" "$work/deploy/quickstart"
for option in --help -h; do
  "$work/deploy/quickstart" $option >"$work/out" 2>"$work/err" || fail "$option ended with $?"
  grep -q 'deploy/quickstart \[DIRECTORY\]' "$work/out" || fail "$option does not say how it is called"
  ! grep -q '^== ' "$work/out" || fail "$option started the work"
  [ ! -s "$work/err" ] || fail "$option wrote to stderr: $(cat "$work/err")"
done
for words in "--nonsense" "one two"; do
  code=0
  # shellcheck disable=SC2086  # two words are two words
  "$work/deploy/quickstart" $words >"$work/out" 2>"$work/err" || code=$?
  [ $code -eq 2 ] || fail "'$words' ended with $code, not 2"
  grep -q 'takes' "$work/err" || fail "'$words': it does not say what is allowed"
  [ ! -s "$work/out" ] || fail "'$words' started something: $(cat "$work/out")"
done
echo "quickstart_test: all is well"

#!/usr/bin/env bash
# Builds the fuzzers with clang and runs each for an equal share of the time (60 seconds of fuzzing in all).
#   bash fuzz/quick-check.sh [SECONDS]
set -euo pipefail
case "${1:-}" in --help | -h) exec sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" ;; esac
cd "$(dirname "$0")/.."
seconds=${1:-60}
build=build/fuzz
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMILLRACE_ADDON=OFF -DMILLRACE_FUZZ=ON \
  -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g1 -DNDEBUG' \
  -DMILLRACE_SANITIZE=fuzzer-no-link,address,undefined >/dev/null
ninja -C "$build" -j"$(nproc)" fuzzers >"$build/ninja.log" 2>&1 || { tail -40 "$build/ninja.log"; exit 1; }
mapfile -t fuzzers < <(find "$build/fuzz" -maxdepth 1 -type f -name '*_fuzzer' ! -name growth_fuzzer | sort)
share=$((seconds / ${#fuzzers[@]}))
[ "$share" -ge 1 ] || share=1
export build share

fuzz() {
  local name seeds=()
  name=$(basename "$1")
  mkdir -p "$build/corpus/$name" "$build/failures"
  [ -d "fuzz/seeds/$name" ] && seeds=("fuzz/seeds/$name")
  "$1" "$build/corpus/$name" "${seeds[@]}" -max_total_time="$share" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
    -artifact_prefix="$build/failures/$name-" -print_final_stats=1 >"$build/$name.log" 2>&1 ||
    { tail -60 "$build/$name.log"; return 1; }
  echo "$name: $share s, $(grep -E 'stat::number_of_executed_units' "$build/$name.log" || true)"
}
export -f fuzz

# Each has one thread: as many at a time as there are cores.
printf '%s\0' "${fuzzers[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'fuzz "$0"'

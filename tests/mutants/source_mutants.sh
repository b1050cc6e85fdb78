#!/bin/sh
# Changes one line of the engine at a time in a scratch copy, builds, and runs the test binary that must notice.
# Started by hand (about half an hour on two cores):
#
#   tests/mutants/source_mutants.sh            # all of them
#   tests/mutants/source_mutants.sh matmul     # those whose line in the list contains "matmul"
#
# Prints one line a mutation: KILLED (tests failed), SURVIVED, NO BUILD (the compiler refused it), or STALE (its old text
# is no longer in the file: bring the list up to date). Ends with a count; exit 1 unless all were killed.
# The list: file | old text | new text | test binary. The old text must stand on one line, the first place is changed.
set -eu

list=$(cat <<'LIST'
tensor/shape.cpp | if (holds_nothing) return 0; | if (!holds_nothing) return 0; | tensor
tensor/shape.cpp | if (length < 0) throw | if (length < -1) throw | tensor
tensor/shape.h | axis.index >= shape.rank()) refuse_axis | axis.index > shape.rank()) refuse_axis | tensor
tensor/tensor.cpp | stride * step, start * stride); | stride * step, start); | tensor
tensor/tensor.cpp | stride * step, start * stride); | stride + step - 1, start * stride); | tensor
tensor/tensor.cpp | last < available - start) | last <= available - start) | tensor
tensor/tensor.cpp | view.walk(a.index, x.shape()[b], x.strides()[b]); | view.walk(a.index, x.shape()[b], x.strides()[a]); | tensor
tensor/tensor.cpp | if (strides_[axis] != step) return false; | if (strides_[axis] < step) return false; | tensor
tensor/tensor.cpp | x.strides()[axis] > x.strides()[order | x.strides()[axis] < x.strides()[order | tensor
tensor/tensor.cpp | const Tensor dense = gradus::contiguous(*this); | const Tensor dense = *this; | tensor
tensor/tensor.cpp | Tensor contiguous(const Tensor& x) { return x.contiguous() ? x : copy(x); } | Tensor contiguous(const Tensor& x) { return copy(x); } | tensor
tensor/buffer.cpp | count_live(Counting::buffers, -1); | count_live(Counting::buffers, 0); | tensor
tensor/kernels/pool.h | + steps * quarter}; | + (steps - 1) * quarter}; | tensor
tensor/ids.cpp | lengths[row] > length) | lengths[row] >= length) | tensor
tensor/format.cpp | length > 2 * edge + 1 | length > 2 * edge | tensor
tensor/matmul.cpp | matrix_of(from_b, b, i) | matrix_of(from_b, b, first) | tensor
tensor/matmul.cpp | a.shape()[rank - 1] == b.shape()[rank - 1] | a.shape()[rank - 1] == b.shape()[rank - 2] | tensor
tensor/kernels/gemm.cpp | load(plus + i * plus_row + j | load(plus + j | tensor
tensor/kernels/gemm.cpp | plus.first ? plus.first[i * plus.step + column + j] + sum : sum | plus.first ? sum : sum | tensor
tensor/kernels/gemm.cpp | turned(b), turned(a), turned(c) | b, turned(a), turned(c) | tensor
tensor/kernels/gemm.cpp | copies_a ? copied_rows<T>(a, m, rows, size.k) : | copies_a ? copied_rows<T>(a, 0, rows, size.k) : | tensor
tensor/kernels/gemm.cpp | space.data() + (j * k + i) * width); | space.data() + (j * k + i) * width - (i > 8 ? width : 0)); | tensor
tensor/kernels/gemm.cpp | const bool row_by_row = size.k > 0 && | const bool row_by_row = | tensor
tensor/kernels/gemm.cpp | b + j * width, b_row, | b, b_row, | tensor
tensor/kernels/gemm.cpp | copy_strided(from + i * b.row, b.column, width, to + i * width); | copy_strided(from, b.column, width, to + i * width); | tensor
tensor/reduce.cpp | row[j] > row[best] ? j | row[j] >= row[best] ? j | tensor
tensor/kernels/softmax.cpp | e = select(mask_of<T>(allowed + r * step + i, count), e | e = select(mask_of<T>(allowed + r * step, count), e | tensor
tensor/kernels/softmax.cpp | && found == rows) found = r; | ) found = r; | tensor
tensor/kernels/softmax.cpp | read(to, count) + change : change | change : change | autograd
tensor/kernels/gemm.cpp | part > 0 ? Rows<const T>{c.first, c.step} : plus | plus | tensor
tensor/kernels/block.h | first > whole.shape()[last_] - length | first > whole.shape()[last_] | autograd
autograd/kernels/pointwise_backward.cpp | static_cast<std::size_t>(in.count()) == n; | true; | autograd
autograd/kernels/pointwise_backward.cpp | apart = apart && !in.node(k).is_view; | ; | autograd
autograd/var.cpp | && dx.buffer().unique()) | ) | autograd
autograd/kernels/pointwise_backward.h | mutable_data<T>() + dx[k].further | mutable_data<T>() | autograd
tensor/kernels/transpose.h | lanes + lane : lane + step | lanes + lane : lane + step - (lane & 1) | tensor
autograd/kernels/additive_score.cpp | T{43} : T{350} | T{90} : T{720} | autograd
autograd/kernels/additive_score.cpp | d * (r - r * r) | d * (r - r * r * 1.001) | autograd
autograd/kernels/dot_attention.cpp | from_row(dy, row), to_v, as_const(to_v)) | from_row(dy, row), to_v, {}) | autograd
autograd/kernels/dot_attention.cpp | some_dS, from_row(q, row), to_k | some_P, from_row(q, row), to_k | autograd
autograd/kernels/additive_score.cpp | to.dv[j] += to.dv | to.dv[j] = to.dv | autograd
autograd/kernels/additive_score.cpp | k + j * k_step, k_step | k + j, k_step | autograd
autograd/kernels/row_gradient.h | return fresh_ || beside_ | return fresh_ | autograd
autograd/kernels/row_gradient.h | grad_->shape() != written | false | autograd
autograd/kernels/weighted_sum.cpp | h.strides()[2] == 1 ? | true ? | autograd
autograd/kernels/weighted_sum.cpp | P::load(dh + j) + change | change | autograd
autograd/kernels/layer_norm.cpp | - mean_g[r] - n * mean_gn[r]) | - mean_g[r]) | autograd
autograd/kernels/layer_norm.cpp | beside || dx.fresh, to_gain | true, to_gain | autograd
autograd/kernels/layer_norm.cpp | centred = centred.first(count); | ; | autograd
autograd/kernels/layer_norm.cpp | to_shift = to_shift + p; | to_shift = p; | autograd
autograd/kernels/over_temporary.cpp | if (!node.result_unread || | if ( | autograd
autograd/kernels/over_temporary.cpp | || node.refs.load(std::memory_order_relaxed) != 1) return {}; | ) return {}; | autograd
autograd/kernels/over_temporary.cpp | || !node.value.buffer().unique() || | || | autograd
autograd/kernels/over_temporary.cpp | || detects_anomalies() || | || | autograd
autograd/kernels/over_temporary.h | (&x == one ? y : x.value()) | (&x != one ? y : x.value()) | autograd
autograd/dual.h | select(y > V{}, | select(y < V{}, | autograd
tensor/reduce.cpp | std::isinf(shift) ? shift : shift | shift | tensor
tensor/reduce.cpp | return std::sqrt(dispatch( | return (dispatch( | tensor
tensor/random.cpp | std::rotl(s[3], 45) | std::rotl(s[3], 44) | tensor
tensor/random.cpp | >= rejected) | >= 0) | tensor
tensor/random.cpp | if (s > 0 && s < 1) | if (s > 0) | tensor
tensor/random.cpp | next() >> 11) * 0x1p-53 | next() >> 12) * 0x1p-52 | tensor
tensor/doctor/contract.cpp | if (known >= 0 && known != given[i].number) return false; | ; | nn
tensor/doctor/contract.cpp | pass < 2 | pass < 1 | nn
tensor/doctor/contract.cpp | if (letters == 0 && left != 0) return false; | ; | nn
tensor/doctor/contract.cpp | left % factor != 0 | false | nn
tensor/doctor/doctor.cpp | for (std::size_t more = 0; more <= | for (std::size_t more = 1; more <= | nn
tensor/doctor/doctor.cpp | found_.row(i).parameter ? 0.5 : 0 | found_.row(i).parameter ? 0 : 0.5 | nn
tensor/doctor/doctor.cpp | blame.mended ? -axes : axes | blame.mended ? axes : -axes | nn
tensor/doctor/doctor.cpp | if (other.open == sum.open && other.left != sum.left) return std::nullopt; | ; | nn
tensor/doctor/doctor.cpp | if (same && told) return other; | if (same) return other; | nn
tensor/doctor/doctor.cpp | if (n == 2 && exchange(blame, blame.rows[1])) return true; | ; | nn
tensor/doctor/doctor.cpp | if (found_.grid(first) != found_.grid(other)) return false; | ; | nn
tensor/doctor/doctor.cpp | if (product != length) return false; | ; | nn
tensor/doctor/doctor.cpp | if (large.without(Axis{axis}) != small) continue; | ; | nn
autograd/var.cpp | if (node && !node->inputs.empty() && node->grad.defined()) node->grad = Tensor(); | ; | autograd
autograd/kernels/tape_order.cpp | return a.id > b.id; | return a.id < b.id; | autograd
autograd/kernels/tape_order.cpp | tape.nodes[root->id - f.id] = | tape.nodes[f.id - oldest] = | autograd
autograd/kernels/linear.cpp | before = as_const(rows); | ; | autograd
autograd/kernels/linear.cpp | first * column | first | autograd
autograd/kernels/linear.cpp | to, fresh ? Strided<const T>{} : as_const(to)); | to, {}); | autograd
autograd/kernels/linear.cpp | {rows + first, d_in, 1} | {rows, d_in, 1} | autograd
autograd/kernels/linear.cpp | bands.from(first, 0), rows, before | bands.from(0, 0), rows, before | autograd
autograd/kernels/linear.cpp | Bands<T>{rows, d_out}.from(0, first) | Bands<T>{rows, d_out}.from(0, 0) | autograd
autograd/kernels/made.cpp | found.version != value.version() | false | autograd
autograd/kernels/made.cpp | *place && (*place)->make != make | *place && false | autograd
autograd/kernels/linear.cpp | x.contiguous() ? x | true ? x | autograd
autograd/kernels/pointwise_backward.h | of[k] = static_cast<std::uint8_t>(at); | of[k] = 0; | autograd
autograd/kernels/tape_order.cpp | next <= above) { | next == 0) { | autograd
autograd/var.h | if (edge.node->value.version() != edge.version) refuse_input(k); | ; | autograd
autograd/var.h | if (node_.value.version() != node_.version) refuse_result(); | ; | autograd
autograd/var.cpp | node->freed = true; | node->freed = false; | autograd
autograd/var.cpp | node->drop_rule(); | static_cast<void>(node); | autograd
autograd/var.cpp | node->release_inputs(); | static_cast<void>(node); | autograd
autograd/var.cpp | else add_(grad, dx); | else copy_(grad, dx); | autograd
autograd/var.cpp | NoGrad::~NoGrad() { grad_enabled = before_; } | NoGrad::~NoGrad() { grad_enabled = true; } | autograd
autograd/var.cpp | if (anomaly_enabled) check_finite(node, grad, "input gradients"); | ; | autograd
autograd/var.cpp | if (requires_grad && value.stretched()) value = copy(value); | ; | autograd
autograd/var.h | == consumers + 1; | >= consumers + 1; | autograd
autograd/var.cpp | if (draining) return; | ; | autograd
autograd/ops_contraction.cpp | [](auto d, auto n) { return d / n; }, dy, expand_scalar | [](auto d, auto n) { return d * n; }, dy, expand_scalar | autograd
autograd/ops_contraction.cpp | if (dx.grad.stretched()) add_ | if (false) add_ | autograd
autograd/ops_contraction.cpp | matmul_into(dx.grad, a, b, !dx.fresh) | matmul_into(dx.grad, a, b, false) | autograd
autograd/ops_contraction.cpp | return exp(v - lse) * d; | return exp(v) * d; | autograd
autograd/ops_index.cpp | j * step] += from[j]; | j * step] = from[j]; | autograd
autograd/ops_index.cpp | first += in.shape(k)[axis], ++k) | ++k) | autograd
autograd/ops_index.cpp | in.add(k, narrow(dy, axis, first, in.shape(k)[axis])); | in.add(k, narrow(dy, axis, 0, in.shape(k)[axis])); | autograd
autograd/ops_pointwise.cpp | return x - y; | return y - x; | autograd
autograd/ops_pointwise.cpp | 1 / (1 - p)) | 1) | autograd
autograd/ops_pointwise.cpp | if (!training || p == 0) return x; | if (!training) return x; | autograd
autograd/ops_softmax.cpp | return w * (d - s); | return w * d; | autograd
autograd/ops_softmax.cpp | return (exp(l) - 1) * factor; | return exp(l) * factor; | autograd
autograd/ops_softmax.cpp | dy.item() / n, lse.dtype() | dy.item(), lse.dtype() | autograd
autograd/ops_softmax.cpp | total / n, rows.dtype() | total, rows.dtype() | autograd
autograd/ops_softmax.cpp | return d - exp(lp) * s; | return d - lp * s; | autograd
autograd/ops_view.cpp | dy = narrow(dy, Axis{axis}, 0, 1); | ; | autograd
autograd/print_tape.cpp | return a->id < b->id; | return a->id > b->id; | autograd
autograd/check_gradient.cpp | ~Nudge() { to(before_); } | ~Nudge() {} | autograd
autograd/check_gradient.cpp | if (once != twice) { | if (false) { | autograd
autograd/check_gradient.cpp | else if (kink) | else if (false) | autograd
autograd/check_gradient.cpp | gap <= tolerance * size + floor | gap <= tolerance + floor | autograd
autograd/check_gradient.cpp | if (!std::isfinite(a) || !std::isfinite(numeric)) verdict | if (false) verdict | autograd
autograd/check_gradient.cpp | const double numeric = (4 * fine - coarse) / 3; | const double numeric = coarse; | autograd
autograd/check_gradient.cpp | generator.uniform(0.5, 1.5) * (generator.chance(0.5) ? 1 : -1) | 1 | mutants
autograd/check_gradient.cpp | if (!moves && input.zero_because.empty()) { | if (false) { | mutants
autograd/dual.h | { return 1 - y * y; } | { return 1 - y; } | autograd
autograd/dual.h | b, -(quotient * inverse)); | b, quotient * inverse); | autograd
autograd/kernels/pointwise_backward.h | if (step[1 + n + m] == 0) total[m].v = total[m].v + dx.v; | if (step[1 + n + m] == 0) total[m].v = dx.v; | autograd
autograd/kernels/pointwise_backward.cpp | if (alone) continue; | continue; | autograd
tensor/kernels/pack_math.h | 1.6666665459e-1f | 1.6667665459e-1f | tensor
tensor/kernels/pointwise_rows.h | if (Add && stride == 0) *to += total.sum(); | if (Add && stride == 0) *to = total.sum(); | tensor
tensor/kernels/strided_loop.h | offset[k] -= step_[axis][k] * length_[axis]; | offset[k] -= step_[axis][k]; | tensor
nn/conventions/diagnosis_report.cpp | if (!first) std::erase_if(before->second | if (first) std::erase_if(before->second | nn
nn/conventions/diagnosis_unknown.cpp | (!remembers || generic("cell_0")) | true | nn
nn/conventions/diagnosis_unknown.cpp | return bench.there("s") && generic("s_0") | return bench.there("s") | nn
nn/conventions/diagnosis_bench.cpp | if (!trace.heads_known) count_heads(); | ; | nn
nn/conventions/diagnosis_gradients.cpp | explains(way, w.name, analytic, true) && leaves_the_right(way) | explains(way, w.name, analytic, true) | nn
nn/conventions/diagnosis_gradients.cpp | (seen != Seen::last_step || t + 1 == T) | (seen != Seen::last_step || t == 0) | nn
nn/conventions/reference/decoder.cpp | (cut == Cut::fed || cut == Cut::query); | cut == Cut::query; | nn
nn/conventions/reference/decoder.cpp | return state && static_cast<long>(t) >= p.lag; | return state; | nn
nn/conventions/reference/rnn.cpp | still->intervention.cut == Cut::carry ? calm : state | still->intervention.cut == Cut::fed ? calm : state | nn
nn/conventions/diagnosis_report.cpp | for (std::size_t i : group.fields) open_[i].clear(); | ; | nn
nn/conventions/diagnosis_weights_alone.cpp | if (!by_keys && shape.size() == 4 && sums_to_one(1) | if (!by_keys && shape.size() == 5 && sums_to_one(1) | nn
nn/conventions/diagnosis_gradients.cpp | std::max(bound() * size, noise_); | bound() * size; | nn
nn/conventions/diagnosis_stages.cpp | if (continues) h = runs[0].final_h | if (false) h = runs[0].final_h | nn
nn/conventions/reference/attention.cpp | if (alpha == 0) continue;  // masked | ; | nn
nn/conventions/reference/lstm.cpp | c = activate(convention.memory, std::move(c)); | ; | nn
nn/conventions/reference/attention.cpp | nonzero(mask, b, i) && i >= query; | nonzero(mask, b, i) && i > query; | nn
nn/conventions/reference/attention.cpp | return query > 0 || nonzero(mask, b, i); | return nonzero(mask, b, i); | nn
nn/conventions/hypotheses_attention.cpp | query->data == key->data; | false; | nn
nn/conventions/reference/lstm.cpp | LstmForget::of_hidden ? state.h : state.c; | LstmForget::of_hidden ? state.c : state.c; | nn
nn/conventions/reference/lstm.cpp | state.h.size() != d || state.c.size() != d | false | nn
nn/conventions/reference/attention.cpp | return each_of(b % c.heads); | return each_of(b / c.heads); | nn
nn/conventions/grammar_gradients.cpp | "y_emb"), model.scene.T - round) | "y_emb"), model.scene.T - std::min(round + 2, model.scene.T)) | nn
nn/conventions/reference/decoder.cpp | as_cut(Cut::keys), mask_ | H, mask_ | nn
nn/conventions/reference/decoder.cpp | as_cut(Cut::values)), mask_ | H), mask_ | nn
nn/conventions/diagnosis_weights_alone.cpp | jointly_one(shape.size() - 2) && B > 1 | false | nn
LIST
)

root=$(cd "$(dirname "$0")/../.." && pwd)
only=${1:-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gradus_mutants.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

mkdir "$scratch/tree"
(cd "$root" && git ls-files -z | xargs -0 tar cf - 2> /dev/null) | tar xf - -C "$scratch/tree"
cd "$scratch/tree"
meson setup "$scratch/build" -Doptimization=1 -Ddebug=false > "$scratch/setup.log" 2>&1 || {
  cat "$scratch/setup.log"
  exit 1
}

build() { ninja -C "$scratch/build" "tests/test_$1" > "$scratch/build.log" 2>&1; }
# A test binary that does not end is as good as one that fails.
run() { timeout 240 "$scratch/build/tests/test_$1" --abort-after=1 > "$scratch/run.log" 2>&1; }

for binary in tensor autograd nn mutants; do
  build "$binary" || { tail -20 "$scratch/build.log"; exit 1; }
  run "$binary" || { echo "test_$binary fails before anything was changed:"; tail -20 "$scratch/run.log"; exit 1; }
done

killed=0
others=0
printf '%s\n' "$list" > "$scratch/list"
while IFS= read -r line <&3; do
  case $line in *"$only"*) ;; *) continue ;; esac
  OLD=$(printf '%s' "$line" | awk -F ' [|] ' '{ print $2 }')
  NEW=$(printf '%s' "$line" | awk -F ' [|] ' '{ print $3 }')
  file=$(printf '%s' "$line" | awk -F ' [|] ' '{ print $1 }')
  binary=$(printf '%s' "$line" | awk -F ' [|] ' '{ print $NF }')
  export OLD NEW
  cp "$file" "$scratch/kept"
  if awk 'BEGIN { old = ENVIRON["OLD"]; new = ENVIRON["NEW"] }
      !done && (at = index($0, old)) { $0 = substr($0, 1, at - 1) new substr($0, at + length(old)); done = 1 }
      { print }
      END { exit !done }' "$scratch/kept" > "$scratch/changed"; then
    cp "$scratch/changed" "$file"
    if ! build "$binary"; then verdict='NO BUILD'
    elif run "$binary"; then verdict=SURVIVED
    else verdict=KILLED
    fi
    cp "$scratch/kept" "$file"
  else
    verdict=STALE
  fi
  if [ "$verdict" = KILLED ]; then killed=$((killed + 1)); else others=$((others + 1)); fi
  printf '%-8s  %-9s %-32s %s  ->  %s\n' "$verdict" "$binary" "$file" "$OLD" "$NEW"
done 3< "$scratch/list"
echo "$killed killed, $others not"
[ "$others" -eq 0 ]

// Certified error: each value of a float64 forward pass carried with a bound on how far any fp32
// evaluation of it can be away. Roundings are bounded a priori (Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., chapter 3) and carried through later stages with their signs, as
// an affine form (de Figueiredo and Stolfi, Numerical Algorithms 37, 2004): magnitudes alone would
// grow by sum |w| in every matrix, some hundred times in a layer, and bound nothing.
//
//   x~ = x + N eps + f,  eps in [-1, 1]^S the symbols, N a column a symbol, |f_i| <= fresh_i
//
// x is exact, x~ what an evaluation has; e_i = sum_s |N_is| + fresh_i bounds |x~_i - x_i|, and
// m_i = |x_i| + e_i bounds |x~_i|. Linear maps act on N; whatever is not linear is expanded around
// x, and the remainder goes into fresh beside the roundings of the stage. settle() makes each
// fresh_i a symbol. u: unit roundoff; gamma(n) = n u / (1 - n u) bounds a product of n factors (1 +
// d), |d| <= u, less 1 (lemma 3.1); h: the error of one operation that is subnormal or flushed to
// zero.
//
//   sum of K products  Each passes one multiplication and at most K - 1 additions, in any order,
//     fused or not: fresh = gamma(K) sum |w| m + 2 K h. Inputs rounded first (bf16 tensor cores)
//     add input_unit sum |w| m.
//   RMS norm  s = sum x^2 / H + epsilon, r = s^(-1/2), and s~ = s + (2/H) sum x dx + rho with
//     |rho| <= sum e^2 / H + gamma(H + 3) m_s. With D >= |s~ - s| and t = D / s < 1 Taylor's
//     theorem gives r~ = r - r^3/2 (s~ - s) + R, |R| <= 3/8 r^5 (1 - t)^(-5/2) D^2. Root and
//     reciprocal cost 4 u (sqrt.rn and div.rn 2 u, rsqrt.approx 2^-22.9). All that is one symbol of
//     the row, since all elements share r~; then two products: fresh = |g| (e_x e_r + gamma(2) m_x
//     m_r).
//   rotation  a c - b s is linear. The table holds c rounded once, |dc| <= u |c| + angle error,
//     the angle a product of two float64 numbers: 2^-50 (1 + position). Then
//     fresh = |c| f_a + |s| f_b + m_a dc + m_b ds + gamma(2) (m_a C + m_b S), C = |c| + dc.
//   attention  A score q k / sqrt(D) has q dk + k dq, the remainder sum e_q e_k, and gamma(D + 3)
//     for the sum and the scaling. A weight is exp(score - largest score), so that its logarithm is
//     off by b_j = the score's error, u (range + e_j + e_max) of the difference, and exp_error;
//     R rescalings (online or split softmax) cost R more exps and twice the range. The quotient is
//     the exact softmax of scores moved by b: its derivative is sum p_j (v_j - o) b_j, its second
//     derivative a third moment of at most V (2B)^2, B >= |b_j|, V = the range of the v_j, so that
//     the remainder is at most 2 V B^2. Errors of values count p_j dv_j, and (exp(2B) - 1) max e_v
//     because weights moved. Numerator and denominator are sums: gamma(2 n + 3) exp(2B) sum p m_v.
//   SwiGLU  silu' <= 1.1 and |silu''| <= 1/2: silu(g~) = silu(g) + silu' dg + R, |R| <= e_g^2 / 4,
//     evaluated within (exp_error + 4 u) (|silu| + 1.1 e_g); the product is bilinear.
//   residual  u (|x + y| + e_x + e_y).
//
// The float64 values obey the same recursion with unit 2^-53, 2^-29 of the fp32 one; u is widened
// by 2^-20 of itself for that and for the arithmetic of the bound, and matrices add 2^-40 of what
// they carry. An infinite error says that an evaluation may divide by zero: nothing is certified
// then.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace draftproof::reference::model {

/// What evaluations the bound speaks for. The default: fp32 with any order of summation, fused or
/// not, subnormals flushed or not, one shift of the softmax, an exp of at most 8 units of error.
struct ErrorModel {
  double unit = 0x1p-24;         ///< of each operation: 2^-24 for round to nearest in fp32
  double input_unit = 0.0;       ///< of inputs of matrix products: 2^-9 when rounded to bf16
  double exp_error = 0x1p-21;    ///< relative error of exp
  int softmax_rescales_max = 0;  ///< R above
};

/// Tensor cores that take bf16 inputs and sum in fp32, truncating inside blocks of 4 or more
/// products (Fasi, Higham, Mikaitis, Pranesh, PeerJ CS 2021): at most (1 + 1/4) K 2^-22 of the
/// magnitudes, for which a unit of 2^-21 stands.
inline constexpr ErrorModel kBfloat16TensorCores{0x1p-21, 0x1p-9, 0x1p-21, 0};

/// How many symbols there are; whoever makes one counts it. Untracked, none is made and errors mean
/// nothing: for whoever asks for values only.
struct NoiseSymbols {
  std::size_t count = 0;
  bool is_tracked = true;
};

/// Values as affine forms. Symbols behind those of `noise` have coefficient 0.
struct CertifiedVector {
  std::vector<double> value;
  std::vector<double>
      noise;  ///< N, element by element of the first symbol, then of the second, ...
  std::vector<double> fresh;

  std::size_t size() const { return value.size(); }
  std::size_t symbols() const { return noise.size() / value.size(); }
  /// e above, by element.
  std::vector<double> errors() const;
  /// Makes each fresh error that is not 0 a symbol. Postcondition: fresh is 0.
  void settle(NoiseSymbols& known);
};

/// One cell of a KV cache in one layer, settled: its key, rotated, and its value, kv_width wide.
struct CertifiedCell {
  CertifiedVector key;
  CertifiedVector value;
};

/// gamma(n) above with the widened unit; infinity from n u = 1 on.
double gamma(double unit, double count);

/// fresh of a sum of `terms` products: `magnitude` is sum |w| m, `carried` is sum |w| e.
double sum_error(const ErrorModel& model, std::size_t terms, double magnitude, double carried);

/// Of a settled x; the answer is not settled.
CertifiedVector rms_norm(const CertifiedVector& x, std::span<const float> weight, float epsilon,
                         const ErrorModel& model, NoiseSymbols& known);
/// Rotates the first `count` heads, coordinate i with i + head_dim / 2, by the angle
/// position * base^(-2 i / head_dim).
void rotate_heads(CertifiedVector& x, int count, int head_dim, int position, double base,
                  const ErrorModel& model);
/// Attention of settled queries over the cells, each seen by every head; at least one.
CertifiedVector attend(const CertifiedVector& queries, std::span<const CertifiedCell* const> cells,
                       int heads, int kv_heads, int head_dim, const ErrorModel& model);
/// silu(first half) * second half.
CertifiedVector swiglu(const CertifiedVector& gate_up, const ErrorModel& model);
CertifiedVector sum_of(const CertifiedVector& x, const CertifiedVector& y, const ErrorModel& model);

}  // namespace draftproof::reference::model
